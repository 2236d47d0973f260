#!/usr/bin/env python3
"""The image of this tree, and the worker for 64-bit ARM, built in containers on a base made from nothing.

    tests/packages/image.py image ARCHIVE VERSION    # what ./dev package does
    tests/packages/image.py arm64 PROGRAM VERSION

Prints a line "SKIP: …" and exits with 77 where containers do not run.
"""

import os
import pathlib
import sys

from containers import (PREFIX, apt_settings, base_image, command, has_image, podman, unique_name,
                        why_no_containers)

SOURCE = pathlib.Path(os.environ.get("ONEFOLD_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
IMAGE = f"{PREFIX}/onefold"
PACKAGES = pathlib.Path(os.environ.get("ONEFOLD_PACKAGES", SOURCE / "build/packages"))


def compiler_cache():
    """Reads the cache of whoever builds here, and leaves nothing in it."""
    folder = os.environ.get("CCACHE_DIR") or os.path.expanduser("~/.cache/ccache")
    options = []
    if os.path.isdir(folder):
        options = ["--volume", f"{folder}:/ccache:O", "--build-arg", "CCACHE_DIR=/ccache"]
    for name in ("LANG", "LC_ALL"):
        if os.environ.get(name):
            options += ["--build-arg", f"{name}={os.environ[name]}"]
    return options


def revision():
    return command("git", "-C", SOURCE, "-c", f"safe.directory={SOURCE}", "rev-parse", "HEAD",
                   check=False).strip()[:40] or "unknown"


def build_image(version, target=IMAGE, options=()):
    podman("build", "--pull=never", "--network=host", *apt_settings(), *compiler_cache(),
           "--build-arg", f"BASE={base_image()}", "--build-arg", f"VERSION={version}",
           "--build-arg", f"REVISION={revision()}", *options, "--tag", target,
           "--file", SOURCE / "deploy/Containerfile", SOURCE, timeout=5400)
    return target


def save_image(archive):
    """As an archive that podman, docker and skopeo load."""
    pathlib.Path(archive).unlink(missing_ok=True)
    podman("save", "--format", "oci-archive", "--output", archive, IMAGE)


def why_no_image():
    """A sentence if there is no image to test, else None."""
    why = why_no_containers()
    if why:
        return why
    if not has_image(IMAGE):
        return "no image (sudo ./dev package makes it)"
    return None


def build_arm64(program):
    """The static worker, cross-built; taken out of its image."""
    podman("build", "--pull=never", "--network=host", *apt_settings(), "--build-arg", f"BASE={base_image()}",
           "--tag", f"{PREFIX}/onefold-arm64", "--file", SOURCE / "deploy/arm64.Containerfile", SOURCE, timeout=7200)
    name = unique_name("arm64")
    podman("create", "--name", name, f"{PREFIX}/onefold-arm64")
    podman("cp", f"{name}:/usr/bin/onefold", program)
    podman("rm", name)


def main():
    what, target, version = sys.argv[1:]
    why = why_no_containers()
    if why:
        print(f"SKIP: {why}")
        sys.exit(77)
    if what == "arm64":
        build_arm64(target)
    else:
        build_image(version)
        save_image(target)
    podman("image", "prune", "--force", check=False)


if __name__ == "__main__":
    main()
