"""Runs tools over data sets, in rounds."""

import dataclasses
import json
import os
import subprocess

import data_sets
from machine import Volume, discard, disk_usage, drop_caches, launch, run, say


@dataclasses.dataclass
class Tool:
    name: str
    program: list  # the binary and further options
    is_onefold: bool = False

    def command(self, index, root, dedupe):
        binary, *more = self.program
        if self.is_onefold:
            mode = [] if dedupe else ["--dry-run"]
            return [binary, "dedupe", "--json", "--progress=none", "--state", index,
                    *mode, *more, root]
        mode = ["-d"] if dedupe else []
        return [binary, "-q", "-r", *mode, *more, f"--hashfile={index}/hashfile", root]

    def version(self):
        shown = subprocess.run([self.program[0], "--version"], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, check=False)
        return shown.stdout.partition("\n")[0].strip()


class Bench:
    """Works in the folder options.work. `failures` says in words what must not be."""

    def __init__(self, options, tools):
        self._options, self._tools, self._work = options, tools, options.work
        self._run_image = self._work / "run.img"
        self.failures = []

    def measure(self, data_set):
        """{tool name: [measurements of one round, …]}."""
        rounds = {tool.name: [] for tool in self._tools}
        for number in range(self._options.rounds):
            first = number % len(self._tools)
            for tool in self._tools[first:] + self._tools[:first]:
                say(f"{data_set.name}: round {number + 1}, {tool.name}")
                rounds[tool.name].append(self._round(tool, data_set))
        if not data_set.scan_only:
            self._compare_used_data(data_set, rounds)
        return rounds

    def close(self):
        """Leaves no mount, loop device or copy behind, whatever happened."""
        for name in ["run", *data_sets.KINDS]:
            Volume(self._work / f"{name}.img", self._work / "mnt").close()
        discard(*(self._work / name for name in ("run.img", "index", "padded", "ext4.img")))
        if not self._options.keep:
            discard(*(self._work / f"{name}.{kind}" for name in data_sets.KINDS
                      for kind in ("img", "json")), *self._work.glob("source-*"))

    def _round(self, tool, data_set):
        run("cp", "--sparse=always", "--reflink=auto", data_set.image, self._run_image)
        discard(self._work / "index")
        cap = data_set.memory_cap_bytes(self._options)

        def timed(step, index, dedupe):
            output = self._work / "logs" / f"{data_set.name}-{tool.name}-{step}.out"
            return self._timed(tool, self._work / "index" / index, dedupe, cap, output)

        found = {"scan": timed("scan", "scan", dedupe=False)}
        if not data_set.scan_only:
            found["dedupe"] = timed("dedupe", "dedupe", dedupe=True)
            found["index_bytes"] = disk_usage(self._work / "index" / "dedupe")
            found["rerun"] = timed("rerun", "dedupe", dedupe=True)
            found |= self._check(tool, data_set)
        discard(self._run_image)
        return found

    def _timed(self, tool, index, dedupe, cap_bytes, output):
        index.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._volume() as volume:
            command = tool.command(index, volume.path, dedupe)
            drop_caches()
            load, before = os.getloadavg()[0], volume.device_read_bytes()
            found = launch(command, cap_bytes, self._options.timeout, output)
            found |= {"device_read_bytes": volume.device_read_bytes() - before,
                      "load_before": load, "fingerprint_seconds": found["wall_seconds"]}
        say(f"  {output.stem}: {found['wall_seconds']:.2f} s")
        if found["exit_code"]:
            self._complain(tool, f"ended with status {found['exit_code']}", output)
        if tool.is_onefold:
            self._add_report(tool, found, output)
        return found

    def _add_report(self, tool, found, output):
        """onefold says itself how long its phases took."""
        found["fingerprint_seconds"] = None
        try:
            found["report"] = json.loads(output.read_text())
            found["fingerprint_seconds"] = found["report"]["phases"]["scan_seconds"]
        except (ValueError, KeyError, TypeError) as error:
            self._complain(tool, f"gave no usable --json: {error!r}", output)

    def _complain(self, tool, what, output):
        """A baseline may fail: then the table says what it got done."""
        say(f"  {output.stem} {what}, see {output}")
        if tool.is_onefold:
            self.failures.append(f"{output.stem} {what}, see {output}")

    def _check(self, tool, data_set):
        """After dedupe: what is in use, and whether every file is as it was."""
        with self._volume() as volume:
            used, du = volume.used_data_bytes(), volume.du_bytes()
            before, after = data_set.manifest, data_sets.manifest(volume.path)
        changed = sorted(path for path in before.keys() | after.keys()
                         if before.get(path) != after.get(path))
        if changed:
            self.failures.append(f"{data_set.name}: {tool.name} changed {len(changed)} files, "
                                 f"such as {changed[0]!r}")
        return {"used_data_bytes": used, "freed_bytes": data_set.used_data_bytes - used,
                "du_bytes": du, "changed_count": len(changed)}

    def _compare_used_data(self, data_set, rounds):
        ours = [tool.name for tool in self._tools if tool.is_onefold]
        for name in sorted(rounds.keys() - ours) if ours else []:
            for number, (mine, theirs) in enumerate(zip(rounds[ours[0]], rounds[name]), 1):
                more = mine["used_data_bytes"] - theirs["used_data_bytes"]
                if more > 0:
                    self.failures.append(f"{data_set.name}, round {number}: onefold leaves {more} "
                                         f"bytes more in use than {name}")

    def _volume(self):
        return Volume(self._run_image, self._work / "mnt")
