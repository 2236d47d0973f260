#!/usr/bin/env python3
"""--exclude, --min-size, --max-size: what a person keeps out stays as it is."""

import os

import case
from manifest import layout
from volume import KIB, MIB, pattern


class ExcludeTest(case.OnefoldTest):

    def volume_with_pairs(self, *names):
        """For each name a copy in `keep/`, all of other content."""
        volume = self.volume()
        for number, name in enumerate(names):
            volume.write(name, pattern(number, MIB))
            volume.write(f"keep/{number}", pattern(number, MIB))
        volume.sync()
        return volume

    def check(self, patterns, excluded, included, **options):
        """Files that match stay where they are and are no source; the others are folded."""
        volume = self.volume_with_pairs(*excluded, *included)
        before = layout(volume.root)
        arguments = [f"--exclude={p.replace('@ROOT@', volume.root)}" for p in patterns]
        run = self.dedupe(volume, *arguments, frees=len(included) * MIB, **options)
        self.assert_untouched(volume, excluded, before)
        for number, _ in enumerate(excluded):
            self.assert_untouched(volume, [f"keep/{number}"], before)
        return run

    # Cases 3 of the wishes, 124: as in .gitignore.
    def test_bare_name_at_any_depth(self):
        self.check(["@eaDir"], ["@eaDir/x", "a/b/@eaDir/c/x"], ["eaDir/x", "a/@eaDir2/x"])

    def test_star(self):
        self.check(["*.iso"], ["a.iso", "deep/b.iso"], ["iso", "c.iso.txt"])

    def test_double_star(self):
        self.check(["a/**/tmp"], ["a/tmp/x", "a/b/c/tmp/x"], ["tmp/x", "b/a/tmp/x"])

    def test_trailing_slash_means_folders(self):
        self.check(["cache/"], ["cache/x", "a/cache/y"], ["b/cache"])

    def test_leading_slash_means_absolute(self):
        self.check(["@ROOT@/x"], ["x/1", "x/deep/2"], ["y/x/1"])

    def test_slash_in_the_middle_means_below_a_given_path(self):
        self.check(["x/y"], ["x/y/1"], ["z/x/y/1"])

    def test_several_patterns(self):
        self.check(["*.a", "*.b"], ["1.a", "2.b"], ["3.c"])

    def test_names_that_are_no_text(self):
        self.check([os.fsdecode(b"caf\xe9*")], [os.fsdecode(b"caf\xe9.iso")], ["cafe"])

    # An excluded name does not exclude another one.
    def test_hard_link_that_is_not_excluded(self):
        volume = self.volume()
        for name in ("x.iso", "keep/b"):
            volume.write(name, pattern(1, MIB))
        volume.link("x.iso", "other")
        self.dedupe(volume, "--exclude=*.iso", frees=MIB)

    # A reflink in an excluded folder holds the extent.
    def test_extent_held_by_an_excluded_file(self):
        volume = self.volume()
        volume.folder_at("out")
        for name in ("a", "b"):
            volume.write(f"in/{name}", pattern(1, MIB), sync=True)
            volume.reflink(f"in/{name}", f"out/{name}")
        run = self.dedupe(volume, "--exclude=out", frees=0, shares=0, pins=MIB)
        self.assertEqual(run.totals["pinned_by"], {"excluded": MIB}, run)

    # The report says how many candidate bytes each pattern held back.
    def test_report_of_what_was_held_back(self):
        volume = self.volume()
        for name in ("a.iso", "b.iso", "c", "d"):
            volume.write(name, pattern(len(name), MIB))
        run = self.dedupe(volume, "--exclude=*.iso", "--exclude=*.none", frees=MIB)
        held = {entry["pattern"]: entry["bytes"]
                for entry in run.report["volumes"][0]["excluded"]}
        self.assertEqual(held.get("*.none", 0), 0, run)
        self.assertGreaterEqual(held["*.iso"], MIB, run)

    # Excludes that change are reconsidered without a new scan.
    def test_exclude_taken_back(self):
        volume = self.volume_with_pairs("x/1", "y/1")
        self.dedupe(volume, "--exclude=x", frees=MIB)
        run = self.dedupe(volume, frees=MIB)
        self.assertEqual(run.totals["extents_scanned"], 0, run)

    # Nothing may happen before the mistake is mended.
    def test_malformed_pattern(self):
        volume = self.volume_with_pairs("x")
        for bad in ("[", "a[b", "", "!x", "x\\"):
            with self.subTest(bad):
                before = layout(volume.root)
                run = self.onefold(f"--exclude={bad}", volume.root)
                self.assertEqual(run.code, 1, run)
                self.assertIn("exclude", run.stderr, run)
                self.assertEqual(layout(volume.root), before)
                self.assertFalse(os.path.exists(os.path.join(self.state, "index")), "not begun")

    # Missing absolute path: a warning, the run goes on (case 124).
    def test_absolute_path_that_does_not_exist(self):
        volume = self.volume_with_pairs("x")
        run = self.dedupe(volume, f"--exclude={volume.root}/misspelt", frees=MIB)
        self.assertIn("misspelt", run.stderr, run)

    # A path that is given and excluded: nothing to do there, and no failure (case 127).
    def test_excluded_root(self):
        volume = self.volume_with_pairs("x/1", "x/2")
        self.dedupe(volume, f"--exclude={volume.path('x')}",
                    paths=[volume.path("x"), volume.path("keep")], frees=0)

    # The pattern is written by a name of a mount, the run goes through another one.
    def test_absolute_pattern_and_another_mount(self):
        volume = self.volume_with_pairs("x/1", "y/1")
        second = self.mount(volume.loop, os.path.join(self.folder, "second"), "-t", "btrfs", "-o",
                            "strictatime")
        self.dedupe(volume, f"--exclude={second}/x", frees=MIB)


class SizeLimitTest(case.OnefoldTest):

    SIZES = (8 * KIB, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, MIB)
    ON_DISK = {8 * KIB: 8 * KIB, 64 * KIB - 1: 64 * KIB, 64 * KIB: 64 * KIB,
               64 * KIB + 1: 68 * KIB, MIB: MIB}

    def volume_with_sizes(self):
        volume = self.volume()
        for size in self.SIZES:
            for name in ("a", "b"):
                volume.write(f"{name}/{size}", pattern(size, size))
        volume.sync()
        return volume

    def frees(self, wanted):
        return sum(self.ON_DISK[size] for size in self.SIZES if wanted(size))

    # A file of exactly N is included: case 203.
    def test_min_size(self):
        self.dedupe(self.volume_with_sizes(), "--min-size=64K",
                    frees=self.frees(lambda size: size >= 64 * KIB))

    def test_max_size(self):
        self.dedupe(self.volume_with_sizes(), "--max-size=64K",
                    frees=self.frees(lambda size: size <= 64 * KIB))

    def test_both(self):
        self.dedupe(self.volume_with_sizes(), "--min-size=65536", "--max-size=65536",
                    frees=64 * KIB)

    # Limits also hold for what an earlier run scanned, and are forgotten with the next run.
    def test_limits_on_one_state(self):
        volume = self.volume_with_sizes()
        self.dedupe(volume, "--min-size=1M", frees=MIB)
        run = self.dedupe(volume, "--min-size=64K",
                          frees=self.frees(lambda size: 64 * KIB <= size < MIB))
        self.assertEqual(run.totals["extents_scanned"], 0, run)
        self.dedupe(volume, frees=self.frees(lambda size: size < 64 * KIB))

    # A file outside the limits that holds the extent of one within.
    def test_extent_held_by_a_file_outside_the_limits(self):
        volume = self.volume()
        for name in ("a", "b"):
            volume.write(name, pattern(1, MIB), sync=True)
            volume.reflink(name, f"long-{name}")
            volume.truncate(f"long-{name}", 4 * MIB)
        self.dedupe(volume, "--max-size=2M", frees=0, shares=0, pins=MIB)

    # Said explicitly what is done anyway.
    def test_options_with_their_only_value(self):
        volume = self.volume_with_sizes()
        self.dedupe(volume, "--relocate=never", "--match=all", "--threads=2", "--min-size=0",
                    frees=self.frees(lambda size: True))

    def test_nonsense(self):
        volume = self.volume()
        for bad in ("--min-size=x", "--max-size=-1", "--min-size=1Q", "--threads=0x",
                    "--match=most", "--no-such-option", "--max-time=soon"):
            with self.subTest(bad):
                run = self.onefold(bad, volume.root)
                self.assertEqual(run.code, 1, run)
                self.assertTrue(run.stderr.strip(), "says what is wrong")


if __name__ == "__main__":
    case.main()
