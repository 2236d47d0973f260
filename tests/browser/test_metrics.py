#!/usr/bin/env python3
"""What Prometheus and Grafana are given: metrics by the conventions, alerts that fire when they should, and
dashboards that ask for what there is."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "e2e"))

from coordinator import SLOW, free_port  # noqa: E402
from web import WebCoordinator  # noqa: E402

DEPLOY = TREE / "deploy"
PATIENCE = 60 * SLOW


def dashboards():
    for path in sorted((DEPLOY / "grafana/dashboards").glob("*.json")):
        yield path.name, json.loads(path.read_text())


def queries():
    """(where, PromQL) of all panels, with their variables as "all"."""
    for name, dashboard in dashboards():
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                yield f"{name}: {panel['title']}", re.sub(r"\$\w+", ".*", target["expr"])


def names_in(text):
    return set(re.findall(r"\bonefold_[a-z_]+", text))


class MetricsTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="onefold-metrics-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.textfile = f"{cls.folder}/onefold.prom"
        cls.coordinator = WebCoordinator.with_page(f"{cls.folder}/state", "--textfile", cls.textfile)
        cls.addClassCleanup(cls.coordinator.close)
        cls.coordinator.give_run(bytes(range(16)), worker="nas1")
        # The answer that was given before the host came is given for some seconds more.
        deadline = time.monotonic() + PATIENCE
        while "onefold_host_up" not in (text := cls.coordinator.browser().get("/metrics").text):
            if time.monotonic() > deadline:
                raise AssertionError(text)
            time.sleep(0.5)
        cls.text = text
        cls.source = (TREE / "cli/metrics/fleet_metrics.cc").read_text()

    def promtool(self, *arguments, text=None):
        done = subprocess.run(["promtool", *map(str, arguments)], input=text, capture_output=True, text=True,
                              cwd=self.folder, timeout=PATIENCE * 4)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_metrics_follow_the_conventions(self):
        self.assertEqual(self.promtool("check", "metrics", text=self.text).strip(), "")
        for name in ("onefold_build_info", "onefold_host_up", "onefold_volume_info", "onefold_volume_used_bytes"):
            self.assertIn(name, names_in(self.text))

    def test_the_textfile_says_the_same(self):
        deadline = time.monotonic() + PATIENCE
        while not os.path.exists(self.textfile) and time.monotonic() < deadline:
            time.sleep(0.2)
        text = pathlib.Path(self.textfile).read_text()
        self.assertEqual(self.promtool("check", "metrics", text=text).strip(), "")
        self.assertIn("onefold_build_info", names_in(text))

    def test_alerts_fire_when_they_should(self):
        self.promtool("check", "rules", DEPLOY / "prometheus/onefold.rules.yaml")
        self.promtool("test", "rules", DEPLOY / "prometheus/onefold.rules.test.yaml")

    def test_alerts_and_dashboards_name_what_there_is(self):
        made = names_in(self.source)
        self.assertLessEqual(names_in(self.text), made)
        rules = (DEPLOY / "prometheus/onefold.rules.yaml").read_text()
        expressions = "\n".join(expression for _, expression in queries()) + re.sub(r"(?m)^\s*#.*$", "", rules)
        self.assertLessEqual(names_in(expressions) - {"onefold_rules"}, made)

    def test_dashboards_are_whole(self):
        uids = set()
        for name, dashboard in dashboards():
            self.assertIsNone(dashboard["id"], name)
            uids.add(dashboard["uid"])
            for panel in dashboard["panels"]:
                self.assertTrue(panel["title"] and panel["targets"], name)
                self.assertEqual(panel["datasource"]["uid"], "${datasource}", name)
        self.assertEqual(len(uids), 3)

    def test_prometheus_answers_every_query(self):
        port = free_port()
        config = pathlib.Path(self.folder, "prometheus.yaml")
        config.write_text(f"global: {{scrape_interval: 1s}}\nrule_files: [{DEPLOY}/prometheus/onefold.rules.yaml]\n"
                          "scrape_configs:\n- job_name: onefold\n  static_configs: [{targets: ["
                          f"\"{self.coordinator.page.removeprefix('http://')}\"]}}]\n")
        server = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder}/tsdb",
             f"--web.listen-address=127.0.0.1:{port}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)

        def ask(expression):
            query = urllib.parse.urlencode({"query": expression})
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{query}", timeout=PATIENCE) as answer:
                return json.load(answer)["data"]["result"]

        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                # What grows is told by two samples at least.
                if ask("count_over_time(onefold_build_info[1m]) > 2"):
                    break
            except OSError:
                pass
            self.assertLess(time.monotonic(), deadline, "Prometheus does not scrape the coordinator")
            time.sleep(0.5)
        there = names_in(self.text)
        answered = 0
        for where, expression in queries():
            with self.subTest(where):
                result = ask(expression)  # a query that is malformed is an error here
                if "node_btrfs" not in expression and names_in(expression) <= there and "== 1" not in expression:
                    self.assertTrue(result, expression)
                    answered += 1
        self.assertGreater(answered, 5)


if __name__ == "__main__":
    missing = [name for name in ("promtool", "prometheus") if shutil.which(name) is None]
    if missing:
        print(f"SKIP: test_metrics.py: no {missing[0]} here")
        sys.exit(77)
    unittest.main()
