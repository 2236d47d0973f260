#!/usr/bin/env python3
"""What a run over many snapshots of many small files costs and saves: data and metadata together.

    sudo bench/snapshots_at_scale.py --onefold build/release/bin/onefold

Sharing an extent gives every snapshot that refers to it metadata of its own, so that folding small
files under a hundred snapshots can cost more than it frees. For several sizes of files this writes
half of the files, the same again as copies, takes snapshots of all of it, and runs onefold once.
The volume must not end larger than it was, or nothing of it may have been moved, and the report
must say what was left alone and why; status 1 says that it was otherwise.
"""

import argparse
import json
import pathlib
import random
import sys

from machine import MIB, Volume, description, discard, drop_caches, launch, run, say

ONEFOLD = "build/release/bin/onefold"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--onefold", type=pathlib.Path, default=ONEFOLD, metavar="PATH",
                        help="(default: %(default)s)")
    parser.add_argument("--files", type=int, default=50000, help="(default: %(default)s)")
    parser.add_argument("--snapshots", type=int, default=100, help="(default: %(default)s)")
    parser.add_argument("--kib", default="8,64", metavar="N,…",
                        help="sizes of the files, one volume each (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=7200, metavar="SECONDS",
                        help="for one run (default: %(default)s)")
    parser.add_argument("--work", type=pathlib.Path, default="/var/tmp/onefold-bench",
                        help="folder for images (default: %(default)s)")
    return parser.parse_args()


def write_files(root, options, size):
    """Folders of a hundred files; each file of `a` has its copy in `b`."""
    for number in range(options.files // 2):
        data = random.Random(number).randbytes(size)
        for half in "ab":
            folder = root / "live" / half / str(number // 100)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / str(number)).write_bytes(data)


def used_bytes(root):
    """(data, metadata) as they lie on the disk, copies counted."""
    run("btrfs", "filesystem", "sync", root)
    used = {"Data": 0, "Metadata": 0}
    for line in run("btrfs", "filesystem", "usage", "-b", root).splitlines():
        kind, _, rest = line.partition(",")
        if kind in used and "Used:" in rest:
            copies = 2 if rest.startswith(("DUP", "RAID1:")) else 1
            used[kind] += copies * int(rest.split("Used:")[1].split()[0])
    return used["Data"], used["Metadata"]


def measure(options, kib):
    """One volume from nothing to the row of the table."""
    image, index = options.work / "scale.img", options.work / "scale-index"
    discard(image, index)
    run("truncate", f"--size={options.files * kib // 1024 * 2 + 16 * 1024}M", image)
    run("mkfs.btrfs", "--quiet", image)
    mount_point = options.work / "scale"
    mount_point.mkdir(exist_ok=True)
    say(f"{kib} KiB: writing {options.files} files, {options.snapshots} snapshots")
    try:
        with Volume(image, mount_point) as volume:
            run("btrfs", "subvolume", "create", volume.path / "live")
            write_files(volume.path, options, kib << 10)
            for number in range(options.snapshots):
                run("btrfs", "subvolume", "snapshot", "-r", volume.path / "live",
                    volume.path / f"snapshot{number}")
        with Volume(image, mount_point) as volume:
            before = used_bytes(volume.path)
            drop_caches()
            read_before = volume.device_read_bytes()
            say(f"{kib} KiB: onefold")
            cost = launch([options.onefold, "dedupe", "--json", "--progress=none", "--state",
                           index, volume.path], 0, options.timeout, options.work / "scale.json")
            read = volume.device_read_bytes() - read_before
            after = used_bytes(volume.path)
        totals = json.loads((options.work / "scale.json").read_text())["totals"]
        return {"kib": kib, "before": before, "after": after, "read": read, **cost,
                "requests": totals["dedupe_requests"], "freed": totals["bytes_freed"],
                "pinned": totals["pinned_by"]}
    finally:
        discard(image, index)


def mebibytes(count):
    return f"{count / MIB:,.1f} MiB"


def table(options, rows):
    print(f"{options.files:,} files, half of them copies, {options.snapshots} read-only snapshots; "
          f"{description()}\n")
    print("| size of a file |" + "".join(f" {row['kib']} KiB |" for row in rows))
    print("|---|" + "---:|" * len(rows))
    lines = [
        ("data before", lambda row: mebibytes(row["before"][0])),
        ("… after", lambda row: mebibytes(row["after"][0])),
        ("metadata before", lambda row: mebibytes(row["before"][1])),
        ("… after", lambda row: mebibytes(row["after"][1])),
        ("both together fell by", lambda row: mebibytes(sum(row["before"]) - sum(row["after"]))),
        ("left alone", lambda row: ", ".join(f"{mebibytes(count)} {holder}" for holder, count in
                                             row["pinned"].items() if count) or "nothing"),
        ("requests", lambda row: f"{row['requests']:,}"),
        ("read from the device", lambda row: mebibytes(row["read"])),
        ("time", lambda row: f"{row['wall_seconds']:.1f} s"),
        ("peak RSS", lambda row: mebibytes(row["peak_rss_bytes"] or 0)),
    ]
    for name, cell in lines:
        print(f"| {name} |" + "".join(f" {cell(row)} |" for row in rows))


def main():
    options = parse_arguments()
    options.work.mkdir(parents=True, exist_ok=True)
    rows = [measure(options, int(kib)) for kib in options.kib.split(",")]
    table(options, rows)
    bad = [row for row in rows
           if row["exit_code"] != 0 or (sum(row["after"]) >= sum(row["before"]) and
                                        row["freed"] > 0)]
    for row in bad:
        print(f"{row['kib']} KiB: exit code {row['exit_code']}, "
              f"{mebibytes(sum(row['after']) - sum(row['before']))} more than before")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
