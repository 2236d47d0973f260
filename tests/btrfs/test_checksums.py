#!/usr/bin/env python3
"""Checksums that are computed from data are those that the filesystem keeps."""

import os

import case
from volume import BLOCK, KIB, command, pattern, text

KINDS = {"crc32c": 1, "xxhash": 2, "sha256": 3, "blake2": 4}


class ChecksumTest(case.OnefoldTest):

    def test_all_kinds(self):
        for name, number in KINDS.items():
            with self.subTest(kind=name):
                volume = self.volume(mkfs=["--csum", name])
                volume.write("random", pattern(1, 300 * KIB))
                volume.write("text", text(2, 64 * KIB))
                volume.write("zeros", bytes(16 * BLOCK))
                volume.write("tail", pattern(3, 5 * BLOCK + 123))
                volume.write("one", pattern(4, BLOCK))
                probe = command(os.environ["ONEFOLD_CHECKSUM_PROBE"], volume.root)
                blocks = 75 + 16 + 16 + 6 + 1
                self.assertEqual(probe.split(), [str(number), str(blocks), "0"])
                volume.close()


if __name__ == "__main__":
    case.main()
