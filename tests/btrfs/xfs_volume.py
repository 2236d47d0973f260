"""An XFS filesystem on a loop device, in the same language as volume.Volume."""

import os
import shutil

from volume import Volume, command


def why_no_xfs():
    """Why XFS cannot be used here, or None."""
    if not shutil.which("mkfs.xfs"):
        return "needs mkfs.xfs (xfsprogs)"
    if shutil.which("modprobe"):
        command("modprobe", "xfs", check=False)
    with open("/proc/filesystems", encoding="ascii") as kinds:
        if "\txfs\n" not in kinds.read():
            return "needs XFS in the kernel"
    return None


class XfsVolume(Volume):

    def __init__(self, folder, size="512M", mkfs=("-m", "reflink=1")):
        self._mkfs = mkfs
        super().__init__(folder, size=size)

    def make(self, mkfs):
        command("mkfs.xfs", "-q", *self._mkfs, self.image)

    def mount(self, options=None):
        if not self.loop:
            self.loop = command("losetup", "--find", "--show", "--direct-io=on",
                                self.image).strip()
        command("mount", "-t", "xfs", "-o", options or self.options, self.loop, self.root)

    def sync(self):
        command("sync", "-f", self.root)

    def used_data(self):
        """Blocks that are not free: with metadata, so only differences mean something."""
        self.sync()
        # Freed space is given back in the background.
        command("mount", "-o", "remount,ro", self.root)
        command("mount", "-o", f"remount,rw,{self.options}", self.root)
        status = os.statvfs(self.root)
        return (status.f_blocks - status.f_bfree) * status.f_frsize
