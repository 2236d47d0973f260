"""A fleet of containers on one network: a coordinator, and workers with a btrfs each.

    fleet = ContainerFleet(folder)
    nas1 = fleet.add_worker("nas1")
    nas1.make_duplicates(1)
    fleet.run_everything()
    fleet.close()

Everything is set up with what docs/install/containers.md says to type; state lies in named volumes, so a
container can be thrown away and made again, from another image, too.
"""

import json

from containers import PREFIX, Container, Failed, build, podman, unique_name, wait_until
from image import IMAGE
from volume import MIB, Volume, pattern

LOCKED = ("--read-only", "--cap-drop=all", "--security-opt=no-new-privileges")
WORKER_RIGHTS = ("--user=0:0", "--cap-add=SYS_ADMIN", "--cap-add=DAC_READ_SEARCH", "--cap-add=FOWNER")
PLACE = "/srv/data"


def newer_image():
    """The same program in an image that is not the same."""
    build("onefold-newer", f"FROM {IMAGE}\nLABEL newer=yes\n")
    return f"{PREFIX}/onefold-newer"


class ContainerWorker:

    def __init__(self, fleet, name, options=(), image=IMAGE, **volume):
        self.fleet = fleet
        self.name = name
        self.options = options
        self.image = image
        self.volume = Volume(fleet.folder, **volume)
        self.state = fleet.named_volume(f"{name}-state")
        self.configuration = fleet.named_volume(f"{name}-etc")
        self.container = None

    def _volumes(self):
        return ["--volume", f"{self.state}:/var/lib/onefold-worker", "--volume", f"{self.configuration}:/etc/onefold"]

    def join(self):
        token = self.fleet.token()
        podman("run", "--rm", "--user=0:0", "--network", self.fleet.network, *self._volumes(), self.image,
               "fleet", "join", token, "--allow", PLACE, "--name", self.name)

    def start(self, image=None):
        self.container = Container(image or self.image, [
            *LOCKED, *WORKER_RIGHTS, *self.options, "--network", self.fleet.network, *self._volumes(),
            "--volume", f"{self.volume.root}:{PLACE}"], ["worker"], name=f"{self.fleet.network}-{self.name}")

    def make_duplicates(self, seed):
        for name in ("a", "b", "c"):
            self.volume.write(f"{seed}/{name}", pattern(seed, 4 * MIB))
        self.volume.sync()

    def is_folded(self, seed):
        self.volume.sync()
        return self.volume.same_place(f"{seed}/a", f"{seed}/b", f"{seed}/c")

    def close(self):
        if self.container:
            self.container.remove()
        self.volume.close()


class ContainerFleet:

    def __init__(self, folder):
        self.folder = folder
        self.network = unique_name("fleet")
        self.workers = []
        self.volumes = []
        podman("network", "create", self.network)
        self.state = self.named_volume("coordinator")
        self.coordinator = None
        self.start_coordinator()

    def named_volume(self, word):
        name = f"{self.network}-{word}"
        podman("volume", "create", name)
        self.volumes.append(name)
        return name

    def start_coordinator(self, image=IMAGE):
        self.coordinator = Container(image, [
            *LOCKED, "--network", self.network, "--network-alias", "coordinator", "--env",
            "ONEFOLD_PUBLIC_ADDRESS=coordinator:7171", "--volume", f"{self.state}:/var/lib/onefold-coordinator"],
            name=f"{self.network}-coordinator")
        wait_until("the coordinator serves", self.is_serving, 30)

    def is_serving(self):
        return self.coordinator.succeeds("onefold", "fleet", "list")

    def ask(self, *arguments, check=True):
        return self.coordinator.run("onefold", *arguments, check=check)

    def ask_json(self, *arguments):
        return json.loads(self.ask(*arguments, "--json"))

    def token(self):
        """TOKEN@HOST:PORT"""
        return self.ask("fleet", "token", "create").split("fleet join ")[1].split()[0]

    def add_worker(self, name, **options):
        worker = ContainerWorker(self, name, **options)
        self.workers.append(worker)
        worker.join()
        worker.start()
        return worker

    def hosts(self):
        return {host["display_name"]: host for host in self.ask_json("fleet", "list")["hosts"]}

    def all_connected(self):
        try:
            hosts = self.hosts()
        except (Failed, ValueError):
            return False
        return all(hosts.get(worker.name, {}).get("state") == "connected" and hosts[worker.name]["volumes"]
                   for worker in self.workers)

    def wait_connected(self, seconds=120):
        wait_until("all workers are connected", self.all_connected, seconds)

    def wait_idle(self, seconds=60):
        """A run that is asked for while another one of the volume is under way is that one."""
        wait_until("no run is under way", lambda: not self.ask_json("run", "list", "--active")["runs"], seconds)

    def run_everything(self):
        self.wait_idle()
        return self.ask("run", "now", "--selector", "all", "--watch", check=False)

    def close(self):
        for worker in self.workers:
            worker.close()
        if self.coordinator:
            self.coordinator.remove()
        for volume in self.volumes:
            podman("volume", "rm", "--force", volume, check=False)
        podman("network", "rm", "--force", self.network, check=False)
