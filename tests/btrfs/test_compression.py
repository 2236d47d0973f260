#!/usr/bin/env python3
"""Compressed extents with equal compressed bytes are folded; others are left alone."""

import case
from volume import KIB, MIB, command, pattern, text


class CompressionTest(case.OnefoldTest):

    def compressed(self, kind):
        return self.volume(mount=f"compress-force={kind}")

    # Disk figures are smaller than file figures: cases 59, 61.
    def test_pairs(self):
        for kind in ("zstd", "lzo", "zlib"):
            with self.subTest(kind):
                volume = self.compressed(kind)
                for name in ("a", "b"):
                    volume.write(name, text(1, MIB), sync=True)
                self.assertTrue(all(item.compression for item in volume.extents("a")))
                one = volume.used_data() // 2
                self.assertLess(one, 700 * KIB)
                self.dedupe(volume, frees=one, shares=MIB, pins=0,
                            state=volume.folder + "/state")
                self.assertTrue(volume.same_place("a", "b"))

    # The last piece ends inside a block.
    def test_unaligned_pair(self):
        volume = self.compressed("zstd")
        for name in ("a", "b", "c"):
            volume.write(name, text(1, 1_000_000), sync=True)
        used = volume.used_data()
        self.dedupe(volume, frees=used // 3 * 2)

    # Many small ones, one extent each.
    def test_small_files(self):
        volume = self.compressed("zstd")
        for number in range(100):
            for name in ("a", "b"):
                volume.write(f"{name}/{number}", text(number, 20 * KIB + number))
        used = volume.used_data()
        self.assertLess(used, 200 * 16 * KIB)
        self.dedupe(volume, frees=used // 2)

    # Equal text in unlike clothes: no match, no request, no error (a deep pass will read it).
    def test_unlike_compression_is_left_alone(self):
        volume = self.compressed("zstd")
        volume.write("zstd", text(1, MIB), sync=True)
        command("mount", "-o", "remount,compress-force=zlib", volume.root)
        volume.write("zlib", text(1, MIB), sync=True)
        command("mount", "-o", "remount,compress=no", volume.root)
        volume.write("plain", text(1, MIB), sync=True)
        kinds = {name: {item.compression for item in volume.extents(name)}
                 for name in ("zstd", "zlib", "plain")}
        self.assertEqual(kinds, {"zstd": {3}, "zlib": {1}, "plain": {0}})
        self.dedupe(volume, frees=0, shares=0, requests=0)

    # A different split makes different compressed bytes: case 60.
    def test_offset_split(self):
        volume = self.compressed("zstd")
        volume.write("a", text(1, MIB), sync=True)
        volume.write("b", text(1, MIB), cuts=[100 * KIB])
        self.dedupe(volume)

    # Split in equal pieces on both sides, but flushed at other times: every piece matches.
    def test_split_at_the_size_of_a_piece(self):
        volume = self.compressed("zstd")
        volume.write("a", text(1, MIB), sync=True)
        volume.write("b", text(1, MIB), cuts=[256 * KIB, 512 * KIB])
        self.dedupe(volume, frees=volume.used_data() // 2)

    # Extents of compressed files that differ in one piece.
    def test_one_piece_differs(self):
        volume = self.compressed("zstd")
        content = text(1, MIB)
        volume.write("a", content, sync=True)
        volume.write("b", content, sync=True)
        volume.overwrite("b", 512 * KIB, text(2, 128 * KIB))
        same = [item for item in volume.extents("b") if item.logical // (128 * KIB) != 4]
        run = self.dedupe(volume, frees=sum(item.disk_bytes for item in same))
        self.assertEqual(run.totals["bytes_shared"], 7 * 128 * KIB, run)

    # A compressed extent that was overwritten in part: its compressed bytes are still equal, the
    # references are the parts around the new data.
    def test_partly_overwritten(self):
        volume = self.compressed("zstd")
        for name in ("a", "b"):
            volume.write(name, text(1, 128 * KIB), sync=True)
        old = volume.extents("b")[0].disk_bytes
        volume.overwrite("b", 32 * KIB, text(2, 16 * KIB))
        self.assertGreater(len(volume.extents("b")), 1)
        self.dedupe(volume, frees=old, shares=112 * KIB)

    # What does not compress is stored as it is.
    def test_incompressible_data(self):
        volume = self.compressed("zstd")
        for name in ("a", "b"):
            volume.write(name, pattern(1, MIB), sync=True)
        self.dedupe(volume, frees=MIB)

    # Snapshots of compressed files.
    def test_compressed_pair_under_a_snapshot(self):
        volume = self.compressed("zstd")
        volume.subvolume("s")
        for name in ("a", "b"):
            volume.write(f"s/{name}", text(1, MIB), sync=True)
        volume.snapshot("s", "snap")
        self.dedupe(volume, frees=volume.used_data() // 2, shares=2 * MIB)


class FilesystemKindTest(case.OnefoldTest):

    def check(self, *mkfs, size="512M"):
        """Whole extents, other cuts and inside all work on such a filesystem."""
        volume = self.volume(size=size, mkfs=mkfs)
        for name in ("a", "b"):
            volume.write(name, pattern(1, 1_000_000), sync=True)
        volume.write("one", pattern(2, 128 * KIB), sync=True)
        volume.write("two", pattern(2, 128 * KIB), cuts=[64 * KIB])
        volume.write("image", pattern(3, 20 * KIB) + pattern(4, 64 * KIB) + pattern(5, MIB),
                     sync=True)
        volume.write("inside", pattern(4, 64 * KIB), sync=True)
        self.dedupe(volume, frees=1_003_520 + 128 * KIB + 64 * KIB)

    # All four kinds: 4, 8, 32 and 32 bytes a block.
    def test_crc32c(self):
        self.check("--csum", "crc32c")

    def test_xxhash(self):
        self.check("--csum", "xxhash")

    def test_sha256(self):
        self.check("--csum", "sha256")

    def test_blake2(self):
        self.check("--csum", "blake2")

    # Checksum items are cut by the size of a leaf.
    def test_small_nodes(self):
        self.check("--nodesize", "4096")

    def test_large_nodes(self):
        self.check("--nodesize", "65536")

    # The figures count data once, however many copies the profile keeps.
    def test_two_copies_of_data(self):
        self.check("--data", "dup", size="1G")

    def test_one_copy_of_metadata(self):
        self.check("--metadata", "single")

    # Every block on two disks: one Used figure, two places.
    def test_two_disks(self):
        volume = self.volume(size="1G")
        image = volume.image + ".second"
        command("truncate", "-s", "1G", image)
        second = command("losetup", "--find", "--show", image).strip()
        self._undo.append(lambda: command("losetup", "-d", second, check=False))
        command("btrfs", "device", "add", second, volume.root)
        command("btrfs", "balance", "start", "-dconvert=raid1", "-mconvert=raid1", volume.root)
        for name in ("a", "b"):
            volume.write(name, pattern(1, 4 * MIB), sync=True)
        self.dedupe(volume, frees=4 * MIB)

    def test_old_features(self):
        self.check("--features", "^no-holes", "--runtime-features", "^free-space-tree")

    # Filesystem without inline-sized files, and sizes where checksum items span many leaves.
    def test_extent_over_many_checksum_items(self):
        volume = self.volume(mkfs=["--csum", "sha256", "--nodesize", "4096"])
        for name in ("a", "b"):
            volume.write(name, pattern(1, 20 * MIB), sync=True)
        self.dedupe(volume, frees=20 * MIB)


if __name__ == "__main__":
    case.main()
