#!/usr/bin/env python3
"""What is printed where: JSON for programs, a calm line on a terminal, a few lines in a log."""

import datetime
import errno
import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "btrfs"))

import case
from volume import KIB, MIB, pattern

TOTALS = {"extents_total": int, "extents_scanned": int, "bytes_scanned": int,
          "file_bytes_read": int, "dedupe_requests": int, "bytes_shared": int, "bytes_freed": int,
          "bytes_written": int, "bytes_pinned": int, "pinned_by": dict,
          "metadata_bytes_grown": int, "skipped": dict}
RUN = {"schema": str, "run_id": str, "outcome": str, "dry_run": bool, "started_at": str,
       "elapsed_seconds": (int, float), "phases": dict, "volumes": list, "totals": dict}
VOLUME = dict(TOTALS, uuid=str, mount=str, incremental=bool, problems=list, problems_total=int)


class Screen:
    """What a terminal shows at the end, for the few control sequences a status line may use."""

    ALLOWED = re.compile(r"\x1b\[[0-9;]*[mK]|\x1b\[\?25[hl]")

    def __init__(self, output):
        self.lines, self.column, self.widest = [""], 0, 0
        at = 0
        while at < len(output):
            sequence = self.ALLOWED.match(output, at)
            if sequence:
                if sequence[0].endswith("K"):
                    self.lines[-1] = "" if "2K" in sequence[0] else self.lines[-1][:self.column]
                at = sequence.end()
                continue
            self._put(output[at])
            at += 1

    def _put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.lines.append("")
            self.column = 0
        elif character < " " or character == "\x7f":
            raise AssertionError(f"raw control character {character!r}")
        else:
            line = self.lines[-1].ljust(self.column)
            self.lines[-1] = line[:self.column] + character + line[self.column + 1:]
            self.column += 1
            self.widest = max(self.widest, self.column)

    @property
    def text(self):
        return "\n".join(line.rstrip() for line in self.lines)


class PairsTest(case.OnefoldTest):

    def volume_with_pairs(self, count=200, size=16 * KIB, **options):
        volume = self.volume(**options)
        for number in range(count):
            for name in ("a", "b"):
                volume.write(f"{name}/{number}", pattern(number, size))
        volume.sync()
        return volume


class OutputTest(PairsTest):

    def text_run(self, *arguments):
        return self.finish(self.start(*arguments))

    # One object with every promised field of the promised kind, and nothing else on stdout.
    def test_json(self):
        volume = self.volume_with_pairs()
        run = self.onefold(volume.root)
        self.assertEqual(len(run.stdout.splitlines()), 1, run)
        for fields, part in ((RUN, run.report), (TOTALS, run.totals),
                             (VOLUME, run.report["volumes"][0])):
            for name, kind in fields.items():
                self.assertIn(name, part)
                self.assertIsInstance(part[name], kind, name)
        self.assertEqual(set(run.report["phases"]),
                         {"scan_seconds", "plan_seconds", "execute_seconds"})
        started = datetime.datetime.fromisoformat(run.report["started_at"].replace("Z", "+00:00"))
        age = datetime.datetime.now(datetime.timezone.utc) - started
        self.assertLess(abs(age.total_seconds()), 60)
        self.assertEqual(run.report["volumes"][0]["mount"], volume.root)
        self.assertIn(run.report["volumes"][0]["uuid"],
                      subprocess.run(["btrfs", "filesystem", "show", volume.root], text=True,
                                     capture_output=True, check=True).stdout)

    # Also when the run is refused, and for a dry run: unknown figures are null, never 0.
    def test_json_of_other_ends(self):
        refused = self.onefold("/nowhere/at/all")
        self.assertEqual(refused.report["outcome"], "refused", refused)
        self.assertEqual(refused.report["volumes"], [], refused)
        dry = self.onefold("--dry-run", self.volume_with_pairs(10).root)
        self.assertTrue(dry.report["dry_run"])
        self.assertIn(dry.totals["bytes_freed"], (None, 0), dry)

    def test_run_ids_differ(self):
        volume = self.volume_with_pairs(5)
        ids = {self.onefold(volume.root).report["run_id"] for _ in range(3)}
        self.assertEqual(len(ids), 3)

    # A short summary for people: freed, shared, what was read, how long.
    def test_summary(self):
        volume = self.volume_with_pairs(64, size=16 * KIB)
        run = self.text_run(volume.root)
        self.assertEqual(run.code, 0, run)
        self.assertIn("1.00 MiB", run.stdout, run)
        for word in ("reed", "shared", "read", volume.root):
            self.assertIn(word, run.stdout, run)
        self.assertLess(len(run.stdout.splitlines()), 16, run)
        self.assertNotIn("\x1b", run.stdout + run.stderr)

    # Quiet: one line and what failed (case 130).
    def test_quiet(self):
        volume = self.volume_with_pairs(20)
        run = self.text_run("--quiet", volume.root, volume.path("missing"))
        self.assertEqual(run.code, 2, run)
        lines = (run.stdout + run.stderr).splitlines()
        self.assertLessEqual(len(lines), 3, run)
        self.assertTrue(any("missing" in line for line in lines), run)

    def test_verbose_says_more(self):
        volume = self.volume_with_pairs(20)
        plain = self.text_run("--dry-run", volume.root)
        verbose = self.text_run("--dry-run", "-v", volume.root)
        self.assertGreater(len(verbose.stdout + verbose.stderr),
                           len(plain.stdout + plain.stderr))

    # Ten lines a run in a log, not thousands: case 196.
    def test_plain_progress_has_few_lines(self):
        volume = self.volume_with_pairs(3000, size=8 * KIB)
        for options in ([], ["--progress=plain"], ["--progress=auto"]):
            run = self.text_run(*options, volume.root)
            self.assertEqual(run.code, 0, run)
            self.assertLessEqual(len(run.stderr.splitlines()), 10 + run.seconds / 5, run)
            self.assertNotIn("\r", run.stderr)

    def test_no_progress(self):
        volume = self.volume_with_pairs(20)
        run = self.onefold("--progress=none", volume.root)
        self.assertEqual(run.stderr, "", run)

    # One object a second on stderr; figures only grow.
    def test_json_progress(self):
        volume = self.volume_with_pairs(6000, size=8 * KIB)
        run = self.onefold("--progress=json", "--threads=1", volume.root)
        self.assertEqual(run.code, 0, run)
        lines = [json.loads(line) for line in run.stderr.splitlines()]
        self.assertGreaterEqual(len(lines), 1, run)
        self.assertLessEqual(len(lines), run.seconds + 2, run)
        for line in lines:
            for name in ("phase", "elapsed_seconds", "done_bytes", "total_bytes"):
                self.assertIn(name, line)
            if line["total_bytes"] is not None:
                self.assertLessEqual(line["done_bytes"], line["total_bytes"], line)
        requests = [line["dedupe_requests"] for line in lines]
        self.assertEqual(requests, sorted(requests))

    # Also warnings and problems are objects there.
    def test_json_progress_has_objects_only(self):
        volume = self.volume_with_pairs(2)
        run = self.onefold("--progress=json", "--exclude=/does/not/exist", volume.root, "/does/not/exist")
        self.assertEqual(run.code, 2, run)
        lines = [json.loads(line) for line in run.stderr.splitlines()]
        texts = [line["text"] for line in lines if line["schema"] == "onefold.message.v1"]
        self.assertTrue(any("warning" in text for text in texts), run)
        self.assertTrue(any("/does/not/exist" in text and "warning" not in text for text in texts), run)

    # Standard output closed early (`| head`): no crash, and the work is not lost.
    def test_closed_output(self):
        volume = self.volume_with_pairs(20)
        process = self.start(volume.root)
        process.stdout.close()
        process.stdout = open(os.devnull, "rb")
        run = self.finish(process)
        self.assertNotIn(run.code, (-11, -6, 139, 134), run)
        self.assertEqual(volume.used_data(), 20 * 16 * KIB)

    # A full disk behind the redirected report is no success.
    def test_full_output(self):
        volume = self.volume_with_pairs(20)
        with open("/dev/full", "wb") as full:
            code = subprocess.run(
                [case.binary(), "dedupe", "--state", self.state, "--json", volume.root],
                stdout=full, stderr=subprocess.DEVNULL, check=False, timeout=60).returncode
        self.assertNotEqual(code, 0)
        self.assertGreater(code, 0)


class TerminalTest(PairsTest):

    def on_terminal(self, *arguments, columns=80):
        """Runs on a pseudo terminal; returns (exit code, everything that was written to it)."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen(
            [case.binary(), "dedupe", "--state", self.state, *arguments], stdin=follower,
            stdout=follower, stderr=follower, env=dict(os.environ, TERM="xterm"))
        os.close(follower)
        output = b""
        while True:
            try:
                chunk = os.read(leader, 65536)
            except OSError as error:  # how Linux says that the other side is closed
                if error.errno != errno.EIO:
                    raise
                break
            if not chunk:
                break
            output += chunk
        os.close(leader)
        return process.wait(), output.decode()

    # One line that is rewritten, never wider than the terminal, and nothing of it left at the end.
    def test_status_line(self):
        volume = self.volume_with_pairs(6000, size=8 * KIB)
        code, output = self.on_terminal("--threads=1", volume.root, columns=60)
        self.assertEqual(code, 0, output)
        self.assertIn("\r", output, "a status line was shown")
        screen = Screen(output)
        self.assertNotIn(" % ", screen.text)
        self.assertLess(len(screen.lines), 24, screen.text)
        for line in re.split(r"[\r\n]", Screen.ALLOWED.sub("", output)):
            if "%" in line:
                self.assertLessEqual(len(line), 60, line)

    # Errors survive the status line: case 137.
    def test_errors_are_still_there(self):
        volume = self.volume_with_pairs(3000, size=8 * KIB)
        code, output = self.on_terminal(volume.path("missing"), volume.root)
        self.assertEqual(code, 2, output)
        text = Screen(output).text.replace("\n", "")
        self.assertIn("missing", text)
        self.assertIn("reed", text)

    # The mount's name is part of the status line and must not steer the terminal: case 119.
    def test_hostile_mount_name(self):
        volume = self.volume_with_pairs(3000, size=8 * KIB)
        name = os.fsdecode(b"\x1b]0;owned\x07\x1b[2J\xe2\x80\xaefr\xff")
        target = self.bind(volume.root, os.path.join(self.folder, name))
        for options in ([], ["-v"], ["--dry-run", "-v"]):
            code, output = self.on_terminal(*options, target)
            self.assertEqual(code, 0, output)
            Screen(output)  # raises on control characters
            self.assertNotIn("\u202e", output)

    def test_quiet_on_a_terminal(self):
        volume = self.volume_with_pairs(50)
        code, output = self.on_terminal("--quiet", volume.root)
        self.assertEqual(code, 0)
        self.assertEqual(len(output.splitlines()), 1, output)

    # --json on a terminal still prints an object that can be cut out of it.
    def test_json_on_a_terminal(self):
        volume = self.volume_with_pairs(50, size=MIB // 16)
        code, output = self.on_terminal("--json", "--progress=none", volume.root)
        self.assertEqual(code, 0)
        self.assertEqual(json.loads(output)["totals"]["bytes_freed"], 50 * MIB // 16)

if __name__ == "__main__":
    case.main()
