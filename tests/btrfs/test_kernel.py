#!/usr/bin/env python3
"""What the running kernel does, asked without onefold.

The expectations of the other tests rest on these answers: when a kernel changes its mind, this file
fails first and says where. It needs no program under test.
"""

import errno
import os
import subprocess

import case
from ioctls import FIDEDUPERANGE_DIFFERS, dedupe_ranges
from manifest import differences, extent_bytes, manifest
from volume import KIB, MIB, command, pattern, text


class KernelTest(case.OnefoldTest):
    """One fact a test."""

    def pair(self, volume, size=MIB):
        return volume.write("a", pattern(1, size)), volume.write("b", pattern(1, size))

    def status(self, source, target, length=MIB, offset=0, target_offset=0):
        return dedupe_ranges(source, offset, length, [(target, target_offset)])[0][0]

    # The figure all tests compare with: used data drops by exactly the dropped extent, and neither
    # times nor anything else of the file change (case 5).
    def test_dedupe_frees_the_whole_extent_and_changes_no_attribute(self):
        volume = self.volume()
        a, b = self.pair(volume)
        before, used = manifest(volume.root), volume.used_data()
        self.assertEqual(used, 2 * MIB)
        self.assertEqual(extent_bytes(volume.root), 2 * MIB)
        self.assertEqual(self.status(a, b), 0)
        self.assertEqual(volume.used_data(), MIB)
        self.assertEqual(extent_bytes(volume.root), MIB)
        self.assertEqual(differences(before, manifest(volume.root)), [])
        self.assertTrue(volume.same_place("a", "b"))

    # Tails: a range may end inside a block only where both files end (case 67).
    def test_unaligned_tail_is_freed(self):
        volume = self.volume()
        a, b = self.pair(volume, 1_000_000)
        self.assertEqual(self.status(a, b, 1_000_000), 0)
        self.assertEqual(volume.used_data(), 1_003_520)

    # A part of an extent frees nothing (case 168).
    def test_a_partly_shared_extent_stays(self):
        volume = self.volume()
        a, b = self.pair(volume)
        self.assertEqual(self.status(a, b, 512 * KIB), 0)
        self.assertEqual(volume.used_data(), 2 * MIB)

    # The kernel reports the requested length where it moved nothing (case 27).
    def test_reported_bytes_prove_nothing(self):
        volume = self.volume()
        a, b = self.pair(volume)
        places = volume.places("b")
        self.assertEqual(dedupe_ranges(a, 0, 100, [(b, 0)]), [(0, 100)])
        self.assertEqual(volume.places("b"), places)

    # Case 1.
    def test_different_content_is_refused(self):
        volume = self.volume()
        a, b = self.pair(volume)
        volume.overwrite("b", 500_000, b"!")
        self.assertEqual(self.status(a, b), FIDEDUPERANGE_DIFFERS)

    # Case 13: immutable refuses as destination only.
    def test_immutable(self):
        volume = self.volume()
        a, b = self.pair(volume)
        volume.immutable("a")
        self.addCleanup(volume.immutable, "a", False)
        self.assertEqual(self.status(b, a), -errno.EPERM)
        self.assertEqual(self.status(a, b), 0)

    # Case 14.
    def test_active_swapfile(self):
        volume = self.volume()
        swap = volume.path("swap")
        command("btrfs", "filesystem", "mkswapfile", "-s", "16M", swap)
        try:
            command("swapon", swap)
        except RuntimeError as refused:
            self.skipTest(f"swapon: {refused}")
        self.addCleanup(command, "swapoff", swap, check=False)
        other = volume.path("other")
        with open(swap, "rb") as file:
            volume.nodatacow("other", file.read())
        with self.assertRaises(OSError) as raised:
            status = self.status(other, swap)
            raise OSError(-status, os.strerror(-status))
        self.assertEqual(raised.exception.errno, errno.ETXTBSY)

    # Case 15: a running program can be deduplicated through a read-only descriptor.
    def test_running_executable(self):
        volume = self.volume()
        with open("/bin/sleep", "rb") as file:
            program = file.read()
        for name in "ab":
            os.chmod(volume.write(name, program, sync=True), 0o755)
        used = volume.used_data()
        running = subprocess.Popen([volume.path("b"), "60"])
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        self.assertEqual(self.status(volume.path("a"), volume.path("b"), len(program)), 0)
        self.assertEqual(volume.used_data(), used // 2)

    # Case 16: the mount decides, not the subvolume's flag.
    def test_read_only_subvolume_and_read_only_mount(self):
        volume = self.volume()
        volume.subvolume("s")
        a, b = volume.write("a", pattern(1, MIB)), volume.write("s/b", pattern(1, MIB))
        command("btrfs", "property", "set", volume.path("s"), "ro", "true")
        bound = self.bind(volume.root, os.path.join(self.folder, "ro"), readonly=True)
        self.assertEqual(self.status(a, os.path.join(bound, "s/b")), -errno.EROFS)
        self.assertEqual(self.status(a, b), 0)
        self.assertEqual(volume.used_data(), MIB)

    # Case 18: with and without checksums do not mix; two without do.
    def test_nodatacow(self):
        volume = self.volume()
        a, _ = self.pair(volume)
        for name in "cd":
            volume.nodatacow(name, pattern(1, MIB))
        with self.assertRaises(OSError) as raised:
            status = self.status(a, volume.path("c"))
            raise OSError(-status, os.strerror(-status))
        self.assertEqual(raised.exception.errno, errno.EINVAL)
        self.assertEqual(self.status(volume.path("c"), volume.path("d")), 0)

    # Case 21: two mounts of one filesystem are one filesystem.
    def test_two_mounts_of_one_filesystem(self):
        volume = self.volume()
        a, _ = self.pair(volume)
        second = self.mount(volume.loop, os.path.join(self.folder, "second"), "-t", "btrfs")
        self.assertEqual(self.status(a, os.path.join(second, "b")), 0)

    # Case 25: more destinations than fit a page are refused as a whole.
    def test_destinations_per_call(self):
        volume = self.volume()
        source = volume.write("0", pattern(1, 4 * KIB))
        targets = [(volume.write(str(i), pattern(1, 4 * KIB)), 0) for i in range(1, 129)]
        volume.sync()
        answers = dedupe_ranges(source, 0, 4096, targets[:127])
        self.assertEqual({status for status, _ in answers}, {0})
        with self.assertRaises(OSError) as raised:
            dedupe_ranges(source, 0, 4096, targets[:128])
        self.assertEqual(raised.exception.errno, errno.ENOMEM)

    # Cases 59, 60: compressed data may be folded in every combination.
    def test_compressed(self):
        volume = self.volume(mount="compress-force=zstd")
        content = text(1, MIB)
        a, b = volume.write("a", content), volume.write("b", content)
        volume.sync()
        command("mount", "-o", "remount,compress=no", volume.root)
        plain = volume.write("plain", content)
        one = (volume.used_data() - MIB) // 2
        self.assertLess(one, MIB // 2)
        self.assertEqual(self.status(a, b), 0)
        self.assertEqual(volume.used_data(), MIB + one)
        self.assertEqual(self.status(a, plain), 0)
        self.assertEqual(volume.used_data(), one)

    # Case 58: without inline data a file of 135 bytes occupies a block that can be freed.
    def test_tiny_file(self):
        volume = self.volume(mount="max_inline=0")
        a, b = self.pair(volume, 135)
        self.assertEqual(self.status(a, b, 135), 0)
        self.assertEqual(volume.used_data(), 4096)

    # Case 86: as long as a snapshot holds the extent, nothing is freed.
    def test_a_snapshot_holds_the_extent(self):
        volume = self.volume()
        volume.subvolume("s")
        a, b = volume.write("s/a", pattern(1, MIB)), volume.write("s/b", pattern(1, MIB))
        volume.snapshot("s", "snap")
        self.assertEqual(self.status(a, b), 0)
        self.assertEqual(volume.used_data(), 2 * MIB)
        volume.delete_subvolume("snap")
        self.assertEqual(volume.used_data(), MIB)


if __name__ == "__main__":
    case.main()
