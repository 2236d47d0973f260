#!/usr/bin/env python3
"""A slow and lossy link between two network namespaces, beside what connects them already.

    slow_link.py NAMESPACE_A NAMESPACE_B DELAY_SECONDS LOSS_RATIO SEED

A gets 10.78.0.1, B 10.78.0.2, both with a TUN device; every packet is held for the delay, or lost.
Prints "ready" and runs until it is killed.
"""

import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import time

_TUNSETIFF = 0x400454CA
_IFF_TUN = 0x0001
_IFF_NO_PI = 0x1000
_CLONE_NEWNET = 0x40000000
_QUEUED_PACKETS_MAX = 10_000
_LIBC = ctypes.CDLL(None, use_errno=True)


def enter(fd):
    if _LIBC.setns(fd, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def tun(namespace, address):
    """A TUN device in the namespace; returns its descriptor, which reads and writes packets."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    enter(there)
    try:
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH", b"slow0", _IFF_TUN | _IFF_NO_PI))
    finally:
        enter(home)
    for command in (["addr", "add", f"{address}/24", "dev", "slow0"],
                    ["link", "set", "slow0", "up", "mtu", "1400"]):
        subprocess.run(["ip", "-n", namespace, *command], check=True)
    return device


def main():
    namespace_a, namespace_b = sys.argv[1:3]
    delay, loss = map(float, sys.argv[3:5])
    chance = random.Random(int(sys.argv[5]))
    a = tun(namespace_a, "10.78.0.1")
    b = tun(namespace_b, "10.78.0.2")
    queue = []  # (when, number, to, packet)
    number = 0
    print("ready", flush=True)
    while True:
        wait = max(0, queue[0][0] - time.monotonic()) if queue else None
        for source in select.select([a, b], [], [], wait)[0]:
            packet = os.read(source, 65536)
            if chance.random() >= loss and len(queue) < _QUEUED_PACKETS_MAX:
                number += 1
                heapq.heappush(queue, (time.monotonic() + delay, number,
                                       b if source == a else a, packet))
        while queue and queue[0][0] <= time.monotonic():
            _, _, target, packet = heapq.heappop(queue)
            os.write(target, packet)


if __name__ == "__main__":
    main()
