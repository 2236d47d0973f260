#!/usr/bin/env python3
"""tests/tidy/tree_test.py [ROOT]: fails on what should not be in the tree, one line for each.

Layers and fences are what a newcomer reads the architecture from; they hold only while something
checks them. The rest is cheap to look at and tiresome to find in a review.
"""

import fnmatch
import os
import pathlib
import re
import sys

# Folder -> our folders it may include; itself, and generated onefold/…, always.
MAY_INCLUDE = {
    "common": set(),
    "coordinator": {"common"},
    "worker": {"common"},
    "cli": {"common", "coordinator", "worker"},
    "tests": {"common", "coordinator", "worker", "cli"},
    "bench": {"common", "coordinator", "worker", "cli"},
}
# Included file -> the files that may include it, and why the others may not.
FENCES = [
    (r"rocksdb/.*", r"coordinator/rocks_\w+\.(cc|h)|tests/.*|bench/.*", "one engine behind an interface"),
    (r"linux/btrfs.*", r"worker/btrfs_\w+\.(cc|h)|tests/.*|bench/.*", "ioctls at the edge"),
    (r"grpc(pp)?/.*|onefold/.*\.grpc\.pb\.h",
     r"common/grpc_\w+\.(cc|h)|cli/.*|tests/.*|bench/.*"
     r"|(\w+/)+(\w+_service|\w+_client|grpc_\w+)(_test)?\.(cc|h)|\w+/testing/.*",
     "the core must run, and be race-checked, without gRPC"),
    (r"openssl/.*", r"common/identity/.*|worker/block_checksums\.cc|tests/.*|bench/.*",
     "keys and certificates in one place; SHA-256 of blocks in another"),
    (r"CLI/.*", r"cli/\w+\.cc", "13 s to compile"),
    (r"httplib\.h", r"cli/web/http_server\.cc", "one HTTP server behind our own header"),
    (r"prometheus/.*", r"cli/metrics/metrics_text\.cc", "one writer of metrics, and none in a worker that has no library"),
    (r"nlohmann/(?!json_fwd).*", r".*\.cc", "4 s to compile, so in no header"),
    (r"yaml-cpp/.*", r"common/yaml_\w+\.cc|common/config/\w+\.cc", "it throws, and knows no line of what it gives"),
    (r"absl/synchronization/mutex\.h", r"tests/main/test_main\.cc|cli/.*\.cc|bench/.*",
     "Debian's aborts on lock orders; use common/mutex.h"),
    (r"mutex|shared_mutex", r"common/mutex\.h", "use common/mutex.h, which clang can check"),
]
# Pattern -> the files it may stand in, and what is wrong with it. Comments are not looked at.
FORBIDDEN_CODE = [
    (r"\bthrow\b|\btry\s*\{", r"cli/.*|tests/.*|common/yaml_tree\.cc|common/config/.*", "exceptions are not used"),
    (r"\bForTesting\b|ForTesting\(|\bFRIEND_TEST\b", r"", "inject what a test must reach"),
    (r"\busing namespace\b(?! std::(string_view_)?literals| std::chrono_literals)", r"", "spell the name out"),
    (r"\babsl::Mutex\b", r"tests/main/test_main\.cc|cli/.*\.cc", "use common/mutex.h"),
]
# The same for every text file, comments included. Written so that this file does not find itself.
FORBIDDEN_TEXT = [
    (r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b", "unfinished: do it, or open an issue"),
    (r"(^|[^\w.-])/(wo" r"rk|fa" r"rm)/[a-z.]", "a path of one machine"),
    (r"\b(deb|security|ftp|snapshot)\.debian\." r"org\b|\bregistry\.npmjs\." r"org\b", "a package host"),
    (r"\"resolved\": *\"http", "a download address"),
]
COLUMNS_MAX = 100  # of protos; clang-format watches over the C++
LINES_MAX = 700  # a longer file has a seam somewhere
SOURCES = (".cc", ".h")
TEXTS = SOURCES + (".proto", ".js", ".mjs", ".css", ".html", ".py", ".sh", ".md", ".txt", ".cmake", ".json", ".yaml", ".yml", ".supp")
DOORS = ("dev", "run", ".clang-format", ".gitignore")  # texts without a suffix
NOT_OURS = {".git", "build", ".cache", "__pycache__", "node_modules"}


class Tree:
    """All text files below a folder: name -> lines."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.lines = {}
        for folder, folders, files in os.walk(self.root):
            folders[:] = sorted(set(folders) - NOT_OURS)
            for file in sorted(files):
                path = pathlib.Path(folder, file)
                if file.endswith(TEXTS) or file in DOORS:
                    text = path.read_text(errors="replace")
                    self.lines[path.relative_to(self.root).as_posix()] = text.split("\n")

    def sources(self):
        return {name: lines for name, lines in self.lines.items() if name.endswith(SOURCES)}

    def cmake_lists_above(self, name):
        """The CMakeLists.txt of the file's folder and of those above it."""
        for folder in pathlib.PurePosixPath(name).parents:
            lists = (folder / "CMakeLists.txt").as_posix()
            if lists in self.lines:
                yield lists, "\n".join(self.lines[lists])


def without_comments(line):
    return re.sub(r"//.*", "", line)


def check_layers_and_fences(tree):
    for name, lines in tree.sources().items():
        folder = name.split("/")[0]
        for number, line in enumerate(lines, 1):
            include = re.match(r'\s*#\s*include\s+[<"]([^">]+)[">]', line)
            if not include:
                continue
            top = include[1].split("/")[0]
            if folder in MAY_INCLUDE and top in MAY_INCLUDE and top not in MAY_INCLUDE[folder] | {folder}:
                yield f"{name}:{number}: {folder}/ may not include {top}/"
            for what, where, why in FENCES:
                if re.fullmatch(what, include[1]) and not re.fullmatch(where, name):
                    yield f"{name}:{number}: {include[1]} belongs only in {where} ({why})"


def check_code(tree):
    for name, lines in tree.sources().items():
        for number, line in enumerate(lines, 1):
            for what, where, why in FORBIDDEN_CODE:
                if re.search(what, without_comments(line)) and not re.fullmatch(where, name):
                    yield f"{name}:{number}: {line.strip()[:60]} ({why})"


def check_text(tree):
    for name, lines in tree.lines.items():
        for number, line in enumerate(lines, 1):
            for what, why in FORBIDDEN_TEXT:
                if found := re.search(what, line):
                    yield f"{name}:{number}: {found[0].strip()} ({why})"
            if line != line.rstrip() and not name.endswith(".md"):
                yield f"{name}:{number}: blanks or a carriage return at the end of the line"
            if name.endswith(".proto") and len(line) > COLUMNS_MAX:
                yield f"{name}:{number}: {len(line)} columns, at most {COLUMNS_MAX}"
        if lines[-1] != "":
            yield f"{name}: no newline at the end"


def check_length(tree):
    for name, lines in tree.lines.items():
        if name.endswith(SOURCES + (".py", ".sh", ".proto")) and len(lines) - 1 > LINES_MAX:
            yield f"{name}: {len(lines) - 1} lines; look for a seam at 500, none may have over {LINES_MAX}"


def check_include_guards(tree):
    for name, lines in tree.sources().items():
        if name.endswith(".h") and "#pragma once" not in lines:
            guard = "ONEFOLD_" + re.sub(r"\W", "_", name).upper() + "_"
            if f"#ifndef {guard}" not in lines or f"#define {guard}" not in lines:
                yield f"{name}: no include guard {guard}"


def is_test(name):
    base = name.split("/")[-1]
    return base.endswith(("_test.cc", "_test.py", "_test.sh")) or (
        base.startswith("test_") and base.endswith((".py", ".sh")))


def names_file(cmake_text, base):
    """Whether the list names the file, be it in a loop: foreach(name a b) … ${name}_test.cc …"""
    if re.search(rf"(?<![\w-]){re.escape(base)}(?![\w-])", cmake_text):
        return True
    for suffix in re.findall(r"\$\{\w+\}([\w.-]+)", cmake_text):
        stem = base.removesuffix(suffix)
        if stem != base and re.search(rf"(?<![\w.-]){re.escape(stem)}(?![\w.-])", cmake_text):
            return True
    return False


def check_everything_is_built(tree):
    """A source or a test that no CMakeLists.txt names is never built, or never run."""
    for name in tree.lines:
        if not (name.endswith(".cc") or is_test(name)):
            continue
        base = name.split("/")[-1]
        texts = [text for _, text in tree.cmake_lists_above(name)]
        patterns = [word for text in texts for word in re.findall(r"[\w.*?\[\]-]*\*[\w.*?\[\]-]*", text)]
        named = any(names_file(text, base) for text in texts)
        if not named and not any(fnmatch.fnmatch(base, pattern) for pattern in patterns):
            yield f"{name}: in no CMakeLists.txt, so it never runs"


def check_protos(tree):
    for name, lines in tree.lines.items():
        if not name.endswith(".proto"):
            continue
        enum = None
        documented = False
        for number, line in enumerate(lines, 1):
            text = line.strip()
            code = without_comments(text).strip()
            if code.startswith("service ") and not name.endswith("_service.proto"):
                yield f"{name}:{number}: services live in *_service.proto"
            if opened := re.match(r"enum (\w+)", code):
                enum = re.sub(r"(?<!^)(?=[A-Z][a-z])|(?<=[a-z0-9])(?=[A-Z])", "_", opened[1]).upper()
            value = re.match(r"(\w+)\s*=\s*(\d+)\s*[;\[]", code)
            if enum and value:
                if not value[1].startswith(enum + "_"):
                    yield f"{name}:{number}: {value[1]} should begin with {enum}_"
                if value[2] == "0" and value[1] != enum + "_UNSPECIFIED":
                    yield f"{name}:{number}: zero should be {enum}_UNSPECIFIED"
            declares = re.match(r"(message|enum|service|rpc|oneof) \w|[\w.<>, ]+\s+\w+\s*=\s*\d+\s*[;\[]", code)
            if (declares or value) and not documented and "//" not in text:
                yield f"{name}:{number}: {code[:50]}: a comment says what it is, its unit and default"
            if code.startswith("}"):
                enum = None
            documented = text.startswith("//")


CHECKS = [check_layers_and_fences, check_code, check_text, check_length, check_include_guards,
          check_everything_is_built, check_protos]


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    tree = Tree(root)
    errors = [error for check in CHECKS for error in check(tree)]
    print("\n".join(errors) if errors else f"{len(tree.lines)} files are as they should be")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
