"""Medians and ratios of what was measured, as Markdown."""

import statistics

from machine import MIB


def seconds(value):
    return f"{value:.2f} s"


def mebibytes(value):
    return f"{value / MIB:,.1f} MiB"


ROWS = [
    ("cold fingerprinting of everything ¹", "scan.fingerprint_seconds", seconds),
    ("cold scan, whole process ²", "scan.wall_seconds", seconds),
    ("… CPU", "scan.cpu_seconds", seconds),
    ("… read from the device", "scan.device_read_bytes", mebibytes),
    ("… peak RSS", "scan.peak_rss_bytes", mebibytes),
    ("cold run with dedupe", "dedupe.wall_seconds", seconds),
    ("… CPU", "dedupe.cpu_seconds", seconds),
    ("… read from the device", "dedupe.device_read_bytes", mebibytes),
    ("… peak RSS", "dedupe.peak_rss_bytes", mebibytes),
    ("re-run, nothing changed", "rerun.wall_seconds", seconds),
    ("… CPU", "rerun.cpu_seconds", seconds),
    ("… read from the device", "rerun.device_read_bytes", mebibytes),
    ("… peak RSS", "rerun.peak_rss_bytes", mebibytes),
    ("index on disk ³", "index_bytes", mebibytes),
    ("used data afterwards", "used_data_bytes", mebibytes),
    ("… freed", "freed_bytes", mebibytes),
    ("`btrfs filesystem du -s`: exclusive", "du_bytes.exclusive", mebibytes),
    ("… set shared", "du_bytes.set_shared", mebibytes),
]
GROWING = ["scan.fingerprint_seconds", "scan.wall_seconds", "scan.peak_rss_bytes",
           "dedupe.peak_rss_bytes", "rerun.wall_seconds", "rerun.peak_rss_bytes"]

NOTES = """\
Medians; (n×) is that many times onefold's value.
¹ onefold: phase `scan_seconds` of its dry run; the others: a whole run without `-d`.
² onefold: `--dry-run`; the others: a whole run without `-d`.
³ state directory or hashfile after the run with dedupe, in allocated blocks.
"""


def median(rounds, key):
    """Of a dotted key; None if a round has no value for it."""
    values = []
    for found in rounds:
        for part in key.split("."):
            found = found.get(part) if found else None
        values.append(found)
    return None if None in values else statistics.median(values)


def ratio(value, reference):
    times = value / reference
    return f"{times:.0f}×" if times >= 100 else f"{times:.3g}×"


def cell(value, form, reference):
    if value is None:
        return "–"
    return form(value) + (f" ({ratio(value, reference)})" if reference else "")


def mark(rounds, key):
    """What is added to the time of a program that failed."""
    step, _, field = key.partition(".")
    if field != "wall_seconds":
        return ""
    codes = {found[step]["exit_code"] for found in rounds if step in found} - {0}
    return ", **status " + ", ".join(map(str, sorted(codes))) + "**" if codes else ""


def table(data_set, rounds, tools, options):
    """One data set."""
    cap = data_set.memory_cap_bytes(options)
    ours = next((tool.name for tool in tools if tool.is_onefold), None)
    lines = [f"### {data_set.name}", "",
             f"{data_set.file_count:,} files, {mebibytes(data_set.used_data_bytes)} of data, "
             f"{mebibytes(data_set.duplicate_bytes)} of it written as duplicates; memory cap "
             f"{mebibytes(cap) if cap else 'none'}; rounds: {options.rounds}.", "",
             "| |" + "".join(f" {tool.name} |" for tool in tools), "|---|" + "---:|" * len(tools)]
    for label, key, form in ROWS:
        values = {tool.name: median(rounds[tool.name], key) for tool in tools}
        if set(values.values()) != {None}:
            cells = [cell(value, form, values.get(ours) if name != ours else None)
                     + mark(rounds[name], key) for name, value in values.items()]
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def growth(small_name, big_name, results, tools):
    """How much more the bigger data set takes of each tool, as a table."""
    lines = [f"### from {small_name} to {big_name}", "",
             "| |" + "".join(f" {tool.name} |" for tool in tools), "|---|" + "---:|" * len(tools)]
    for key in GROWING:
        pairs = [(median(results[small_name][tool.name], key),
                  median(results[big_name][tool.name], key)) for tool in tools]
        if any(small for small, _ in pairs):
            cells = [ratio(big, small) if small and big else "–" for small, big in pairs]
            lines.append(f"| {key} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
