"""A disk that goes bad when a test says so: an image behind a small FUSE program (fault_disk.c)."""

import mmap
import os
import shutil
import subprocess
import time
import unittest

from volume import Volume, command

_SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fault_disk.c")


def build(folder):
    """Compiles the FUSE program. Raises SkipTest where that cannot be done."""
    if not os.path.exists("/dev/fuse"):
        raise unittest.SkipTest("needs /dev/fuse")
    if not shutil.which("cc") or not os.path.exists("/usr/include/fuse3/fuse.h"):
        raise unittest.SkipTest("needs a C compiler and libfuse3-dev")
    program = os.path.join(folder, "fault_disk")
    command("cc", "-O1", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", "-o", program, _SOURCE,
            "-lfuse3", "-lpthread")
    return program


class FaultDisk:
    """The image, its FUSE mount and a btrfs volume on top."""

    def __init__(self, folder, size="256M"):
        self.image = os.path.join(folder, "fault.img")
        self._mount = os.path.join(folder, "fault")
        os.mkdir(self._mount)
        command("truncate", "-s", size, self.image)
        command("mkfs.btrfs", "-q", self.image)
        self._server = subprocess.Popen([build(folder), "-f", self.image, self._mount])
        deadline = time.monotonic() + 10
        while not os.path.exists(os.path.join(self._mount, "disk.img")):
            if time.monotonic() > deadline or self._server.poll() is not None:
                self._server.kill()
                raise unittest.SkipTest("FUSE cannot be mounted here")
            time.sleep(0.05)
        self.volume = Volume(folder, image=os.path.join(self._mount, "disk.img"))

    def set(self, **settings):
        for name, value in settings.items():
            with open(os.path.join(self._mount, "control"), "w", encoding="ascii") as control:
                control.write(f"{name}={value}")

    def find_all(self, data):
        """Where in the image these bytes lie, ascending."""
        places = []
        with open(self.image, "rb") as file:
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:
                at = content.find(data)
                while at >= 0:
                    places.append(at)
                    at = content.find(data, at + 1)
        return places

    def close(self):
        self.set(bad_begin=0, bad_end=0, rotten_begin=0, rotten_end=0, fail_writes=0)
        self.volume.close()
        command("umount", self._mount, check=False)
        self._server.terminate()
        self._server.wait()
