#!/usr/bin/env python3
"""--dry-run shows what a run would do, and does nothing."""

import case
from volume import KIB, MIB, pattern


class DryRunTest(case.OnefoldTest):

    def mixed(self):
        volume = self.volume()
        for number in range(50):
            for name in ("a", "b"):
                volume.write(f"{name}/{number}", pattern(number, 40 * KIB + number))
        inside = pattern(99, 256 * KIB)
        volume.write("image", pattern(98, 64 * KIB) + inside + pattern(97, 64 * KIB), sync=True)
        volume.write("inside", inside, sync=True)
        volume.write("one", pattern(96, 128 * KIB), sync=True)
        volume.write("two", pattern(96, 128 * KIB), cuts=[64 * KIB])
        return volume

    # What it says is an upper bound of what the run then frees: cases 134, 135.
    def test_dry_run_then_run(self):
        volume = self.mixed()
        dry = self.preview(volume)
        self.assertEqual(dry.totals["bytes_shared"] or 0, 0, dry)
        run = self.dedupe(volume, frees=40 * KIB + 49 * 44 * KIB + 256 * KIB + 128 * KIB)
        self.assertGreaterEqual(dry.totals["bytes_freeable"], run.totals["bytes_freed"], dry)
        self.assertLess(dry.totals["bytes_freeable"], 2 * run.totals["bytes_freed"], dry)
        self.assertEqual(run.totals["extents_scanned"], 0, "the dry run scanned it all")

    # Examples name source, destination and bytes.
    def test_examples(self):
        volume = self.volume()
        for name in ("a", "b"):
            volume.write(name, pattern(1, MIB), sync=True)
        run = self.preview(volume)
        examples = run.report["volumes"][0]["examples"]
        self.assertEqual(len(examples), 1, run)
        names = {examples[0]["source"], examples[0]["destination"]}
        self.assertEqual(names, {volume.path("a"), volume.path("b")}, run)
        self.assertEqual(examples[0]["bytes"], MIB, run)
        text = self.finish(self.start("--dry-run", volume.root))
        for name in names:
            self.assertIn(name, text.stdout + text.stderr, text)

    # Twice the same, and nothing is used up by it.
    def test_twice(self):
        volume = self.mixed()
        first, second = self.preview(volume), self.preview(volume)
        self.assertEqual(first.totals["bytes_freeable"], second.totals["bytes_freeable"])

    # Nothing to do is said as such.
    def test_nothing_to_do(self):
        volume = self.volume()
        volume.write("a", pattern(1, MIB), sync=True)
        run = self.preview(volume)
        self.assertEqual(run.totals["bytes_freeable"], 0, run)

    # Data that is shared already is not promised again: case 131.
    def test_after_a_run(self):
        volume = self.mixed()
        self.dedupe(volume)
        run = self.preview(volume)
        self.assertEqual(run.totals["bytes_freeable"], 0, run)

    # It does not promise what a snapshot outside the scope holds.
    def test_pinned_by_a_snapshot(self):
        volume = self.volume()
        volume.subvolume("s")
        for name in ("a", "b"):
            volume.write(f"s/{name}", pattern(1, MIB), sync=True)
        volume.snapshot("s", "snap")
        run = self.preview(volume, paths=[volume.path("s")])
        self.assertEqual(run.totals["bytes_freeable"], 0, run)
        self.dedupe(volume, paths=[volume.path("s")], frees=0, pins=MIB)


if __name__ == "__main__":
    case.main()
