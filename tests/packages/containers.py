"""Containers for tests, made from nothing: no registry is asked.

    why = why_no_containers()                 # a sentence, or None
    image = base_image()                      # a bare minimal Debian, made once and kept
    image = build("name", "FROM …")           # a Containerfile's text
    container = Container(image, ["--privileged"], ["/lib/systemd/systemd"])
    container.run("apt-get", "install", "-y", "/packages/onefold.deb")
    container.remove()

podman runs as root, with a configuration and a store of its own, so that nothing here meets the
containers and networks of whoever uses this machine. Installing packages uses the machine's own apt
settings (proxies, credentials) and nothing else of it.
"""

import itertools
import os
import pathlib
import shutil
import subprocess
import time

CACHE = pathlib.Path(os.environ.get("ONEFOLD_TEST_CACHE", "/var/cache/onefold-tests"))
PREFIX = "localhost/onefold-test"
# Settings without which podman 4 starts nothing inside another container, or without systemd.
CONTAINERS_CONF = """[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
{runtime}
[containers]
log_driver = "k8s-file"
default_ulimits = ["nofile=20000:20000", "nproc=32768:32768"]
[network]
network_config_dir = "{networks}"
network_backend = "netavark"
"""
STORAGE_CONF = """[storage]
driver = "overlay"
runroot = "{run}"
graphroot = "{graph}"
"""
BASE_ENVIRONMENT = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Debian's own names of the tools, by the program that is looked for.
TOOLS = {"podman": "podman", "runc": "runc", "mmdebstrap": "mmdebstrap", "mkfs.btrfs": "btrfs-progs",
         "losetup": "mount", "/usr/lib/podman/netavark": "netavark",
         "/usr/lib/podman/aardvark-dns": "aardvark-dns"}
_numbers = itertools.count(1)
_environment = None


class Failed(RuntimeError):
    """A command ended with another code than 0; says which, and what it printed."""


def _environment_of_podman():
    global _environment
    if _environment is None:
        config = CACHE / "config"
        for folder in (config, CACHE / "networks", CACHE / "storage"):
            folder.mkdir(parents=True, exist_ok=True)
        runtime = 'runtime = "runc"' if shutil.which("runc") else ""
        (config / "containers.conf").write_text(
            CONTAINERS_CONF.format(runtime=runtime, networks=CACHE / "networks"))
        (config / "storage.conf").write_text(
            STORAGE_CONF.format(run="/run/onefold-tests", graph=CACHE / "storage"))
        _environment = dict(os.environ, CONTAINERS_CONF=str(config / "containers.conf"),
                            CONTAINERS_STORAGE_CONF=str(config / "storage.conf"))
    return _environment


def command(*arguments, check=True, timeout=600, env=None, input=None):
    """Runs a program and returns what it printed, on both streams."""
    done = subprocess.run([str(a) for a in arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL if input is None else None, input=input, text=True,
                          errors="replace", timeout=timeout, env=env)
    if check and done.returncode:
        raise Failed(f"{' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def podman(*arguments, **options):
    return command("podman", *arguments, env=_environment_of_podman(), **options)


def podman_command(*arguments):
    """For subprocess: (arguments, environment)."""
    return ["podman", *map(str, arguments)], _environment_of_podman()


def why_no_containers():
    if os.geteuid() != 0:
        return "needs root"
    missing = sorted({package for tool, package in TOOLS.items()
                      if not (os.path.exists(tool) if tool[0] == "/" else shutil.which(tool))})
    if missing:
        return f"needs {', '.join(missing)}"
    if "btrfs" not in pathlib.Path("/proc/filesystems").read_text().split():
        return "needs btrfs in the kernel"
    try:
        podman("run", "--rm", base_image(), "true")
    except Failed as failed:
        return f"containers do not run here: {failed}"
    return None


def has_image(image):
    try:
        podman("image", "exists", image)
    except Failed:
        return False
    return True


def base_image():
    """A bare Debian 12: what is essential, and certificates."""
    image = f"{PREFIX}/bookworm"
    if not has_image(image):
        archive = CACHE / "bookworm.tar"
        command("mmdebstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", archive)
        podman("import", "--change", 'CMD ["/bin/bash"]', "--change", f"ENV {BASE_ENVIRONMENT}", archive, image)
        archive.unlink()
    return image


def apt_settings():
    """Options that give a container the machine's way to packages."""
    options = []
    for place in ("/etc/apt/apt.conf.d", "/etc/apt/auth.conf.d"):
        if os.path.isdir(place):
            options += ["--volume", f"{place}:{place}:ro"]
    return options


def build(name, containerfile, context=None, options=()):
    """An image from a Containerfile's text, with layers kept between calls."""
    image = f"{PREFIX}/{name}"
    folder = context or CACHE / "empty"
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    podman("build", "--pull=never", "--network=host", *apt_settings(), *options, "--tag", image,
           "--file", "-", folder, input=containerfile, timeout=1800)
    return image


def systemd_image():
    """The base with systemd, to be started with it as process 1."""
    return build("systemd", f"FROM {base_image()}\n"
                 "RUN apt-get update -q && DEBIAN_FRONTEND=noninteractive"
                 " apt-get install -q -y --no-install-recommends systemd && apt-get clean\n")


def unique_name(word):
    return f"of-{word}-{os.getpid()}-{next(_numbers)}"


class Container:
    """A container in the background. `options` are podman's, `arguments` the command."""

    def __init__(self, image, options=(), arguments=(), name=None):
        self.name = name or unique_name("test")
        podman("run", "--detach", "--name", self.name, *options, image, *arguments)

    def run(self, *arguments, check=True, timeout=600):
        return podman("exec", self.name, *arguments, check=check, timeout=timeout)

    def sh(self, script, check=True, timeout=600):
        return self.run("sh", "-ec", script, check=check, timeout=timeout)

    def succeeds(self, *arguments):
        try:
            self.run(*arguments)
        except Failed:
            return False
        return True

    def write(self, path, text):
        podman("exec", "--interactive", self.name, "sh", "-c", f"cat >'{path}'", input=text)

    def logs(self):
        return podman("logs", self.name, check=False)

    def exit_code(self):
        """Of a container that has ended, or None."""
        state, code = podman("inspect", "--format", "{{.State.Running}} {{.State.ExitCode}}",
                             self.name).split()
        return None if state == "true" else int(code)

    def address(self):
        return podman("inspect", "--format",
                      "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}", self.name).split()[0]

    def remove(self):
        podman("rm", "--force", "--time", "2", self.name, check=False)


def wait_until(what, condition, seconds):
    """Waits for `condition` to be true; returns what it returned."""
    deadline = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.3)
