#!/usr/bin/env python3
"""Completion in real shells, on a pseudo-terminal where they have no other way, and manual pages."""

import os
import pathlib
import pty
import select
import shutil
import subprocess
import tempfile
import time
import unittest

BIN = pathlib.Path(os.environ["ONEFOLD_BIN"])
PATIENCE_SECONDS = 60
# What a coordinator may be told to call a volume.
HOSTILE = ["my data", "$(touch pwned)", "a;touch pwned", "`touch pwned`"]


class Terminal:
    """A shell on a pseudo-terminal."""

    def __init__(self, command, folder, environment):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        self.seen = ""

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, text):
        """Returns once `text` was shown; forgets what was shown until then."""
        end = time.monotonic() + PATIENCE_SECONDS
        while text not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"{text!r} was not shown, but {self.seen!r}")
            self.seen += os.read(self.fd, 65536).decode(errors="replace")
        self.seen = self.seen.split(text, 1)[1]

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


class ShellTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="onefold_shells"))
        self.addCleanup(shutil.rmtree, self.folder)
        tools = self.folder / "bin"
        tools.mkdir()
        names = "\n".join(HOSTILE)
        (self.folder / "names").write_text(names + "\n")
        # The real program, but for the names, which no coordinator is there to tell.
        (tools / "onefold").write_text(
            f'#!/bin/sh\n[ "$1 $2" = "completion names" ] && exec cat "{self.folder}/names"\n'
            f'exec "{BIN}" "$@"\n')
        (tools / "onefold").chmod(0o755)
        (self.folder / "list.yaml").touch()
        self.environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}", TERM="xterm",
                                HOME=str(self.folder), PS1="$ ", LC_ALL="C.UTF-8")

    def script(self, shell):
        path = self.folder / f"completion.{shell}"
        path.write_bytes(subprocess.run([BIN, "completion", shell], check=True,
                                        capture_output=True).stdout)
        return path

    def check_nothing_ran(self):
        self.assertFalse((self.folder / "pwned").exists())

    # ---- bash ----

    def complete_in_bash(self, *words):
        """What the function offers for the last of `words`, without a terminal."""
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
        code = (f"source {self.script('bash')}; compopt() {{ printf 'opt:%s\\n' \"$*\"; }}; "
                f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _onefold; "
                "printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "--norc", "-c", code], cwd=self.folder, check=True,
                              env=self.environment, capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return [line for line in done.stdout.splitlines() if line]

    def test_bash_offers_commands_options_and_values(self):
        self.assertIn("dedupe", self.complete_in_bash("onefold", ""))
        self.assertEqual(self.complete_in_bash("onefold", "fleet", "dra"), ["drain"])
        self.assertEqual(self.complete_in_bash("onefold", "fleet", "user", "a"), ["add"])
        self.assertEqual(self.complete_in_bash("onefold", "dedupe", "--dry"), ["--dry-run"])
        self.assertEqual(self.complete_in_bash("onefold", "dedupe", "--match", "=", "e"),
                         ["extents"])
        self.assertEqual(self.complete_in_bash("onefold", "dedupe", "--match", "="),
                         ["extents", "all"])
        self.assertEqual(self.complete_in_bash("onefold", "dedupe", "--state", ""),
                         ["opt:-o dirnames"])
        self.assertEqual(self.complete_in_bash("onefold", "dedupe", "/sr"), ["opt:-o default"])
        self.assertEqual(self.complete_in_bash("onefold", "coordinator", "ba"), ["backup"])

    def test_bash_never_runs_a_name(self):
        self.assertEqual(self.complete_in_bash("onefold", "run", "now", "my"), ["my\\ data"])
        self.assertEqual(len(self.complete_in_bash("onefold", "run", "now", "")), len(HOSTILE))
        self.check_nothing_ran()

    def test_bash_on_a_terminal(self):
        terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], self.folder, self.environment)
        self.addCleanup(terminal.close)
        terminal.type(f"source {self.script('bash')}; echo rea''dy\n")
        terminal.wait_for("ready")
        terminal.type("onefold ded\t--dry-r\t")
        terminal.wait_for("onefold dedupe --dry-run ")
        terminal.type("\x15onefold policy apply li\t")
        terminal.wait_for("list.yaml")
        terminal.type("\x15echo onefold; onefold run now $\t")
        terminal.wait_for("run now ")
        terminal.type("\x15echo do''ne\n")
        terminal.wait_for("done")
        self.check_nothing_ran()

    # ---- zsh, fish ----

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh_on_a_terminal(self):
        terminal = Terminal(["zsh", "-f", "-i"], self.folder, self.environment)
        self.addCleanup(terminal.close)
        terminal.type("autoload -Uz compinit; compinit -u -D; "
                      f"source {self.script('zsh')}; echo rea''dy\n")
        terminal.wait_for("ready")
        for typed, shown in (("onefold ded\t", "dedupe"), ("onefold dedupe --dry-r\t", "--dry-run"),
                             ("onefold dedupe --match=ex\t", "--match=extents"),
                             ("onefold fleet user re\t", "remove"),
                             ("onefold run now my\t", "my\\ data"),
                             ("onefold policy apply li\t", "list.yaml")):
            terminal.type("\x15" + typed)
            # The line is drawn in pieces; as an argument of print it comes back whole.
            terminal.type("\x01print -r -- '\x05' e''nd\n")
            terminal.wait_for("\n" + typed.split()[0])
            terminal.wait_for(shown)
            terminal.wait_for(" end")
        self.check_nothing_ran()

    @unittest.skipUnless(shutil.which("fish"), "no fish")
    def test_fish(self):
        def offered(line):
            done = subprocess.run(
                ["fish", "--no-config", "-c",
                 f"source {self.script('fish')}; complete -C \"$LINE\""],
                cwd=self.folder, env=dict(self.environment, LINE=line), check=True,
                capture_output=True, text=True)
            self.assertEqual(done.stderr, "")
            return [item.split("\t")[0] for item in done.stdout.splitlines()]

        self.assertIn("dedupe", offered("onefold "))
        self.assertEqual(offered("onefold fleet dra"), ["drain"])
        self.assertEqual(offered("onefold dedupe --dry"), ["--dry-run"])
        self.assertEqual(sorted(offered("onefold dedupe --match ")), ["all", "extents"])
        self.assertIn("list.yaml", offered("onefold policy apply "))
        self.assertEqual(sorted(offered("onefold run now ")), sorted(HOSTILE))
        self.check_nothing_ran()


class ManualTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="onefold_manual"))
        self.addCleanup(shutil.rmtree, self.folder)

    def test_there_is_a_page_for_every_command(self):
        subprocess.run([BIN, "man", "--directory", self.folder], check=True)
        pages = {path.name for path in self.folder.iterdir()}
        self.assertLessEqual({"onefold.1", "onefold-dedupe.1", "onefold-fleet-user-add.1"}, pages)
        done = subprocess.run([BIN, "man", "no", "such"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no page onefold-no-such", done.stderr)

    @unittest.skipUnless(shutil.which("man") and shutil.which("groff"), "no man")
    def test_pages_are_roff_without_a_warning(self):
        subprocess.run([BIN, "man", "--directory", self.folder], check=True)
        for page in sorted(self.folder.iterdir()):
            # The options lintian uses.
            done = subprocess.run(
                ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page],
                env=dict(os.environ, LC_ALL="C.UTF-8", MANROFFSEQ="", MANWIDTH="80"),
                capture_output=True, check=True)
            self.assertEqual(done.stderr.decode(), "", page.name)

    @unittest.skipUnless(shutil.which("man") and shutil.which("groff"), "no man")
    def test_page_says_what_help_says(self):
        page = self.folder / "page.1"
        page.write_bytes(subprocess.run([BIN, "man", "dedupe"], capture_output=True,
                                        check=True).stdout)
        shown = subprocess.run(["man", "-l", page], capture_output=True, text=True, check=True,
                               env=dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH="80",
                                        MAN_KEEP_FORMATTING="")).stdout
        for text in ("onefold-dedupe - find and fold", "[PATH…]", "--exclude PATTERN",
                     "EXIT STATUS", "onefold dedupe --dry-run /srv/data"):
            self.assertIn(text, shown)


if __name__ == "__main__":
    unittest.main()
