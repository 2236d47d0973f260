#!/usr/bin/env python3
"""A checker that finds nothing looks like a tree without faults. So each check of tree_test.py is
shown a tree with one fault, which it must find, and the same tree without it, which it must pass."""

import pathlib
import tempfile
import unittest

import tree_test

CLEAN = {
    "common/CMakeLists.txt": "onefold_library(onefold_common SRCS clock.cc)\n"
                             "foreach(name clock path)\n  onefold_test(${name}_test unit SRCS ${name}_test.cc)\n",
    "common/clock.cc": '#include "common/clock.h"\n',
    "common/clock.h": "#ifndef ONEFOLD_COMMON_CLOCK_H_\n#define ONEFOLD_COMMON_CLOCK_H_\n#endif\n",
    "common/path_test.cc": "// We throw nothing.\n",
    "coordinator/CMakeLists.txt": "onefold_library(c SRCS rocks_index.cc x_service.cc)\n",
    "coordinator/rocks_index.cc": '#include "rocksdb/db.h"\n#include "common/clock.h"\n',
    "coordinator/x_service.cc": '#include "onefold/v1/x_service.grpc.pb.h"\n',
    "proto/onefold/v1/x.proto": "// What is said.\nmessage X {\n  // In bytes.\n  int64 size_bytes = 1;\n}\n"
                                "// How it ended.\nenum HowEnded {\n  // Not yet.\n  HOW_ENDED_UNSPECIFIED = 0;\n}\n",
    "tests/btrfs/CMakeLists.txt": "file(GLOB tests test_*.py)\n",
    "tests/btrfs/test_kill.py": "pass\n",
    "dev": "mktemp -p /var/tmp\n",
}
# Fault -> the files that hold it, and a word of the complaint. Split where the text itself would be one.
PLANTED = {
    "worker includes coordinator": ({"worker/a.h": '#include "coordinator/rocks_index.h"\n'}, "may not include"),
    "common includes cli": ({"common/clock.cc": '#include "cli/a.h"\n'}, "may not include"),
    "RocksDB outside": ({"coordinator/x_service.cc": "#include <rocksdb/db.h>\n"}, "one engine"),
    "ioctls outside": ({"common/clock.cc": "#include <linux/btrfs_tree.h>\n"}, "ioctls at the edge"),
    "gRPC in the core": ({"common/clock.cc": "#include <grpcpp/grpcpp.h>\n"}, "without gRPC"),
    "stubs in the core": ({"coordinator/rocks_index.cc": '#include "onefold/v1/x_service.grpc.pb.h"\n'}, "without gRPC"),
    "json in a header": ({"common/clock.h": CLEAN["common/clock.h"] + "#include <nlohmann/json.hpp>\n"}, "no header"),
    "a bare mutex": ({"common/clock.cc": "#include <mutex>\n"}, "common/mutex.h"),
    "an exception": ({"common/clock.cc": "throw 1;\n"}, "exceptions"),
    "a door for tests": ({"common/clock.cc": "void SetForTesting();\n"}, "inject"),
    "unfinished": ({"common/clock.cc": "// TO" "DO: later\n"}, "unfinished"),
    "a path of a machine": ({"dev": "cd /wo" "rk/main\n"}, "path of one machine"),
    "a package host": ({"dev": "wget http://deb.debian." "org/x\n"}, "package host"),
    "a blank at the end": ({"dev": "cd \n"}, "blanks"),
    "no newline": ({"dev": "cd"}, "newline"),
    "a long file": ({"common/clock.cc": "\n" * 701}, "701 lines"),
    "a wrong guard": ({"common/clock.h": "#ifndef CLOCK_H\n#define CLOCK_H\n#endif\n"}, "include guard"),
    "a source never built": ({"common/clockwork.cc": "\n"}, "in no CMakeLists"),
    "a test never run": ({"common/mutex_test.cc": "\n"}, "in no CMakeLists"),
    "a script never run": ({"tests/btrfs/kill_test.py": "\n"}, "in no CMakeLists"),
    "a service elsewhere": ({"proto/onefold/v1/x.proto": "// It.\nservice X {\n}\n"}, "_service.proto"),
    "an enum's zero": ({"proto/onefold/v1/x.proto": "// It.\nenum Kind {\n  // A.\n  KIND_A = 0;\n}\n"}, "UNSPECIFIED"),
    "an enum's prefix": ({"proto/onefold/v1/x.proto": "// It.\nenum Kind {\n  // A.\n  A = 1;\n}\n"}, "KIND_"),
    "a field unexplained": ({"proto/onefold/v1/x.proto": "// It.\nmessage X {\n  repeated int64 a = 1;\n}\n"}, "comment"),
}


def complaints(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        tree = tree_test.Tree(folder)
        return [error for check in tree_test.CHECKS for error in check(tree)]


class PlantedTest(unittest.TestCase):
    def test_clean_tree_passes(self):
        self.assertEqual([], complaints(CLEAN))

    def test_each_fault_is_found(self):
        for fault, (files, word) in PLANTED.items():
            with self.subTest(fault):
                found = complaints(CLEAN | files)
                name = next(iter(files))
                self.assertTrue([c for c in found if c.startswith(name) and word in c],
                                f"nothing with '{word}' about {name} in {found}")


if __name__ == "__main__":
    unittest.main()
