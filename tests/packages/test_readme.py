#!/usr/bin/env python3
"""README's section on containers, as it is written.

Only what it has to be spared is changed: the volume's place, names that somebody may have in use, the
published port, and the build of the image, which `./dev package` has done.
"""

import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "btrfs")]

from containers import command, podman, podman_command, unique_name, wait_until
from image import IMAGE, SOURCE, why_no_image
from volume import MIB, Volume, pattern


class ReadmeTest(unittest.TestCase):

    def test_the_section_on_containers_works(self):
        folder = tempfile.mkdtemp(prefix="onefold-readme-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, folder)
        volume = Volume(folder)
        self.addCleanup(volume.close)
        for name in ("a", "b"):
            volume.write(name, pattern(5, 4 * MIB))
        volume.sync()
        section = re.search(r"\n## In containers\n.*?```\n(.*?)```", (SOURCE / "README.md").read_text(), re.DOTALL)[1]
        name = unique_name("readme")
        self.addCleanup(self.clean_up, name)
        script, builds = re.subn(r"(?m)^podman build .*\n", "", section)
        self.assertEqual(builds, 1)
        script = script.replace(" -p 7171:7171", "").replace("/srv/data", volume.root)
        script = re.sub(r"(?<!/)onefold-(coordinator|worker|etc)", rf"{name}-\1", script)
        script = script.replace("network create onefold", f"network create {name}")
        script = script.replace("--network onefold", f"--network {name}")
        # The image: a word of its own at the end of podman's options.
        script = re.sub(r"(lib/onefold-coordinator|\$worker|FOWNER) onefold(?= |\n)", rf"\1 {IMAGE}", script)
        *first, last = script.replace("\\\n", " ").strip().split("\n")
        environment = podman_command()[1]
        said = command("bash", "-euc", "\n".join(first), env=environment)

        def is_folded():
            nonlocal said
            said += command("bash", "-euc", last, env=environment, check=False)
            volume.sync()
            return volume.same_place("a", "b")
        # A person types the last line some seconds later.
        try:
            wait_until("it dedupes", is_folded, 60)
        except AssertionError:
            self.fail(f"{script}\n{said}\n{podman('logs', f'{name}-worker', check=False)}")

    @staticmethod
    def clean_up(name):
        for role in ("worker", "coordinator"):
            podman("rm", "--force", "--time", "2", f"{name}-{role}", check=False)
        for volume in ("worker", "coordinator", "etc"):
            podman("volume", "rm", "--force", f"{name}-{volume}", check=False)
        podman("network", "rm", "--force", name, check=False)


if __name__ == "__main__":
    reason = why_no_image()
    if reason:
        print(f"SKIP: readme: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
