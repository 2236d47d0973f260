"""Hosts of a fleet on one machine: each a network and a mount namespace with a btrfs of its own.

    network = Network(folder)
    nas = network.host("nas1")
    volume = HostVolume(nas, size="512M", mkfs=["-L", "data"])
    process = nas.start(["onefold", "worker", …], log="worker.log")
    nas.drop("OUTPUT", to=other.address)      # until nas.heal()

All hosts hang on one bridge, in a namespace of its own: nothing of it shows on the machine itself.
Files and Unix sockets outside of the volumes are those of the machine.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import time

from volume import Volume, command

PORT = 7171
# The machine's own filesystems are not this host's, as far as they can be spared.
_FORGET_MACHINE = """
findmnt -rn -t btrfs -o TARGET | while read -r mount; do umount "$mount" 2>/dev/null; done
echo ready
exec sleep infinity
"""


def why_no_hosts():
    """Why hosts cannot be made here, or None."""
    for tool in ("ip", "nsenter", "unshare", "findmnt", "iptables"):
        if not shutil.which(tool):
            return f"needs {tool}"
    name = f"of-try-{os.getpid()}"
    try:
        command("ip", "netns", "add", name)
        command("ip", "-n", name, "link", "add", "try0", "type", "veth", "peer",
                "name", "try1")
        command("ip", "netns", "exec", name, "iptables", "-A", "INPUT", "-j", "DROP")
    except RuntimeError as refused:
        return f"network namespaces: {refused}"
    finally:
        command("ip", "netns", "del", name, check=False)
    return None


class Network:
    """The bridge, and the hosts on it."""

    def __init__(self, folder):
        self.folder = folder
        self.hosts = []
        self.name = f"of-{os.getpid()}-{id(self) % 10000}"
        command("ip", "netns", "add", self.name)
        command("ip", "-n", self.name, "link", "add", "br0", "type", "bridge")
        command("ip", "-n", self.name, "link", "set", "br0", "up")

    def host(self, name):
        host = Host(self, name, len(self.hosts) + 1)
        self.hosts.append(host)
        return host

    def close(self):
        for host in self.hosts:
            host.close()
        command("ip", "netns", "del", self.name, check=False)


class Host:
    """One machine. `address` is its IPv4 address."""

    def __init__(self, network, name, number):
        self.name = name
        self.folder = os.path.join(network.folder, name)
        os.mkdir(self.folder)
        self.address = f"10.79.0.{number}"
        self.processes = []
        self.netns = f"{network.name}-{number}"
        command("ip", "netns", "add", self.netns)
        command("ip", "-n", network.name, "link", "add", f"p{number}", "type", "veth",
                "peer", "name", "eth0", "netns", self.netns)
        command("ip", "-n", network.name, "link", "set", f"p{number}", "master", "br0", "up")
        command("ip", "-n", self.netns, "addr", "add", f"{self.address}/24", "dev", "eth0")
        for link in ("lo", "eth0"):
            command("ip", "-n", self.netns, "link", "set", link, "up")
        # Holds the mount namespace until it is killed. With --net it would get one of its own.
        self.holder = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{self.netns}", "unshare", "--mount",
             "--propagation", "private", "sh", "-c", _FORGET_MACHINE],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        if self.holder.stdout.readline() != b"ready\n":
            raise RuntimeError(f"no namespaces for {name}")

    def inside(self, arguments):
        pid = str(self.holder.pid)
        return ["nsenter", f"--net=/proc/{pid}/ns/net", f"--mount=/proc/{pid}/ns/mnt", "--",
                *map(str, arguments)]

    def run(self, *arguments, check=True):
        return command(*self.inside(arguments), check=check)

    def seen(self, path):
        """`path` of this host, as the machine reaches it."""
        return f"/proc/{self.holder.pid}/root{path}"

    def start(self, arguments, log):
        """A process in the background. Killed with the host."""
        with open(os.path.join(self.folder, log), "ab") as out:
            process = subprocess.Popen(self.inside(arguments), stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=subprocess.STDOUT)
        self.processes.append(process)
        return process

    # The network.

    def drop(self, chain, other):
        """Packets to (OUTPUT) or from (INPUT) the other host are lost without a word."""
        flag = "-d" if chain == "OUTPUT" else "-s"
        self.run("iptables", "-A", chain, flag, other.address, "-j", "DROP")

    def heal(self):
        self.run("iptables", "-F")

    def is_listening(self, port=PORT):
        return re.search(rf":{port}\b", self.run("ss", "-Hltn", check=False)) is not None

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        self.holder.kill()
        self.holder.communicate()
        command("ip", "netns", "del", self.netns, check=False)


class HostVolume(Volume):
    """A btrfs that only its host sees. `place` is where the host has it mounted."""

    def __init__(self, host, **options):
        self.host = host
        self.place = None
        super().__init__(host.folder, **options)

    def mount(self, options=None):
        if not self.loop:
            self.loop = command("losetup", "--find", "--show", "--direct-io=on",
                                self.image).strip()
        self.place = self.place or self.root
        self.host.run("mount", "-t", "btrfs", "-o", options or self.options, self.loop, self.place)
        self.root = self.host.seen(self.place)

    def unmount(self):
        self.host.run("umount", "-R", self.place)
        command("losetup", "-d", self.loop)
        command("btrfs", "device", "scan", "--forget", check=False)
        self.loop = None

    def uuid(self):
        # The machine's own table of mounts does not have it.
        return command("blkid", "-p", "-s", "UUID", "-o", "value", self.loop).strip()

    def close(self):
        # The mount goes with the host's namespace, if it is still there.
        if self.host.holder.poll() is None:
            self.host.run("umount", "-R", "-l", self.place, check=False)
        if self.loop:
            command("losetup", "-d", self.loop, check=False)
            self.loop = None


def wait_until(what, condition, seconds):
    """Waits for `condition` to be true; returns what it returned."""
    deadline = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.2)


def end(process, seconds=12):
    """SIGTERM, and the exit code."""
    process.send_signal(signal.SIGTERM)
    return process.wait(timeout=seconds)


def socket_accepts(path):
    """Whether somebody listens on a Unix socket."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(path)
        except OSError:
            return False
    return True
