#!/usr/bin/env python3
"""Compares onefold with duperemove and with programs that share its command line.

Method. A data set is written once, with plain write() calls, to a btrfs with default options in an
image file, and a manifest is taken of it (content, mtime and mode of every file). Every tool then
gets a fresh copy of that image on a loop device with direct I/O and does, in this order:

  scan     no dedupe: the baselines hash everything, onefold makes a dry run
  dedupe   from nothing: what `scan` left behind is not used
  re-run   the same again, with the index of `dedupe`, after which nothing changed
  check    used data and `btrfs filesystem du`, and every file against the manifest

Before each of them the volume is mounted anew; before the first three all caches are dropped, and
each of these runs in a memory cgroup of its own that also bounds the page cache. Tools take turns,
and the one that begins changes from round to round. Indexes lie outside the measured volume.

Wall, CPU and peak RSS come from wait4(); bytes read from the statistics of the loop device. What a
tool leaves to the kernel (writing back, freeing) after it ended is not counted.

Exit status 1: after onefold more data is in use than after a baseline, or a file changed, or
onefold failed; slow is not a failure. 2: nothing could be measured.
"""

import argparse
import fcntl
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True  # this runs as root, perhaps in the checkout of somebody else

import data_sets
import machine
import report
from machine import BenchError, discard, run, say
from measure import Bench, Tool

ONEFOLD_PLACES = ["build/release/bin/onefold", "build/bin/onefold"]
DATA_SETS_DEFAULT = "tree,nas,image,snapshots"
SOURCE_DEFAULT = "/usr/src/linux-source-6.1.tar.xz"
# Up to 0.11, duperemove leaves out files smaller than a block of 128 KiB unless told otherwise.
BASELINE_DEFAULT = "duperemove=duperemove -b 4K"


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0],
                                     epilog="The method is described on top of this file.")
    parser.add_argument("--onefold", metavar="PATH", help="the binary, options may follow it; "
                        f"`none` leaves it out (default: {ONEFOLD_PLACES[0]})")
    parser.add_argument("--baseline", metavar="NAME=PATH", action="append",
                        help="a program with duperemove's command line, options may follow it; may "
                        f"be repeated; `none` for none (default: {BASELINE_DEFAULT})")
    parser.add_argument("--dataset", default=DATA_SETS_DEFAULT, metavar="NAME,…",
                        help=f"of {', '.join(data_sets.KINDS)} (default: %(default)s)")
    parser.add_argument("--source", type=pathlib.Path, default=SOURCE_DEFAULT,
                        help="folder or tar file to copy (default: %(default)s)")
    parser.add_argument("--copies", type=int, default=2, help="of the tree (default: 2)")
    parser.add_argument("--rounds", type=int, default=3, help="(default: 3)")
    parser.add_argument("--memory-cap", type=float, default=40, metavar="PERCENT",
                        help="of the data, where there is dedupe; 0 for none (default: 40)")
    parser.add_argument("--timeout", type=float, default=7200, metavar="SECONDS",
                        help="for one command (default: 7200)")
    parser.add_argument("--work", type=pathlib.Path, default="/var/tmp/onefold-bench",
                        help="folder for images, best on ext4 or xfs (default: %(default)s)")
    parser.add_argument("--keep", action="store_true",
                        help="keep the data sets in --work and use those of an earlier run")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="raw results")
    return parser.parse_args()


def program_of(text):
    """A path, which may hold spaces, or a shell-quoted path with options."""
    words = [text] if os.path.exists(text) else shlex.split(text)
    binary = shutil.which(words[0]) if words else None
    if not binary:
        raise BenchError(f"no such program: {text!r}")
    return [os.path.abspath(binary), *words[1:]]


def choose_tools(options):
    tools = []
    if options.onefold != "none":
        root = pathlib.Path(__file__).resolve().parent.parent
        places = [root / place for place in ONEFOLD_PLACES]
        built = next(filter(os.path.exists, places), places[0])
        tools.append(Tool("onefold", program_of(options.onefold or str(built)), is_onefold=True))
    for baseline in options.baseline or [BASELINE_DEFAULT]:
        if baseline != "none":
            name, _, program = baseline.partition("=")
            tools.append(Tool(name, program_of(program)))
    if not tools or len({tool.name for tool in tools}) < len(tools):
        raise BenchError("give at least one tool, and every tool a name of its own")
    return tools


def choose_data_sets(options):
    """In the order of KINDS, each with the smaller one it is compared with."""
    names = options.dataset.split(",")
    if unknown := set(names) - data_sets.KINDS.keys():
        raise BenchError(f"no such data set: {', '.join(sorted(unknown))}")
    names += [data_sets.KINDS[name].smaller for name in names]
    return [name for name in data_sets.KINDS if name in names]


def source_folder(options):
    """The folder to copy from; a tar file is unpacked."""
    source = options.source.resolve()
    if source.is_dir():
        return source
    if not source.exists():
        raise BenchError(f"{source} does not exist: install its package or give --source")
    folder, unfinished = options.work / f"source-{source.name}", options.work / "source-unfinished"
    if not folder.is_dir():
        say(f"unpacking {source}")
        discard(unfinished)
        unfinished.mkdir()
        run("tar", "--extract", "--file", source, "--directory", unfinished)
        unfinished.rename(folder)
    return folder


def measure_all(bench, names, tools, options):
    results = {}
    raw = {"machine": machine.description(), "results": results, "failures": bench.failures,
           "tools": {tool.name: [tool.version(), *tool.program] for tool in tools}}
    print(raw["machine"], "", *(f"* {tool.name}: {tool.version()}" for tool in tools), "", sep="\n")
    print(report.NOTES)
    source = source_folder(options)
    for name in names:
        data_set = data_sets.prepare(name, source, options)
        results[name] = bench.measure(data_set)
        print(report.table(data_set, results[name], tools, options), flush=True)
        smaller = data_sets.KINDS[name].smaller
        if smaller:
            print(report.growth(smaller, name, results, tools), flush=True)
        if options.json:
            options.json.write_text(json.dumps(raw, indent=1))


def benchmark(options):
    """True if nothing failed."""
    names, tools = choose_data_sets(options), choose_tools(options)
    bench = Bench(options, tools)
    try:
        measure_all(bench, names, tools, options)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        bench.close()
    for failure in bench.failures:
        print("FAILED:", failure, file=sys.stderr)
    return not bench.failures


def main():
    options = parse_options()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        if os.geteuid() != 0:
            raise BenchError("mounting needs root")
        options.work = options.work.resolve()
        for folder in ("mnt", "logs"):
            (options.work / folder).mkdir(parents=True, exist_ok=True)
        with open(options.work / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return 0 if benchmark(options) else 1
    except BlockingIOError:
        print(f"{options.work} is in use by another run", file=sys.stderr)
    except (BenchError, subprocess.CalledProcessError) as error:
        print(f"compare.py: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    return 2


if __name__ == "__main__":
    sys.exit(main())
