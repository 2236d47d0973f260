"""The web page without a browser: who gets in, what is answered, and what other pages cannot do."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

from coordinator import admin
from web import Browser, WebCoordinator

UUID = bytes(range(16))
HOSTILE = "<img src=x onerror=alert(1)>\u202e"


class WebTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="onefold-web-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.coordinator = WebCoordinator.with_page(f"{cls.folder}/state")
        cls.addClassCleanup(cls.coordinator.close)
        cls.coordinator.give_run(UUID, worker="nas1")

    def test_everybody_gets_the_page_and_nothing_else(self):
        browser = self.coordinator.browser()
        page = browser.get("/")
        self.assertEqual(page.status, 200)
        self.assertIn("<!doctype html>", page.text)
        self.assertEqual(browser.get("/app.js").status, 200)
        self.assertEqual(browser.get("/healthz").text, "ok\n")
        for path in ("/../etc/passwd", "/nothing", "/api", "/cli/web/page/app.js"):
            self.assertEqual(browser.get(path).status, 404, path)
        for path in ("session", "AdminService/ListHosts", "AdminService/WatchRun?runId=1", "nothing"):
            answer = browser.get(f"/api/v1/{path}")
            self.assertEqual(answer.status, 401, path)
            self.assertEqual(answer.json()["code"], "UNAUTHENTICATED")

    def test_every_answer_is_fenced(self):
        browser = self.coordinator.browser("fenced")
        for path in ("/", "/app.js", "/nothing", "/api/v1/session", "/api/v1/AdminService/ListHosts"):
            headers = browser.get(path).headers
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"], path)
            self.assertNotIn("unsafe", headers["Content-Security-Policy"])
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff", path)
            self.assertEqual(headers["X-Frame-Options"], "DENY", path)
            self.assertIsNone(headers.get("Access-Control-Allow-Origin"))
        self.assertEqual(browser.get("/api/v1/session").headers["Cache-Control"], "no-store")

    def test_files_are_sent_once(self):
        browser = self.coordinator.browser()
        tag = browser.get("/app.js").headers["ETag"]
        again = browser.get("/app.js", If_None_Match=tag)
        self.assertEqual((again.status, again.text), (304, ""))

    def test_a_link_is_good_once(self):
        link = self.coordinator.link("ann", "viewer")
        self.assertTrue(link.startswith(f"{self.coordinator.page}/#/sign-in/"))
        browser = self.coordinator.browser()
        answer = browser.sign_in(link)
        self.assertEqual(answer.status, 200)
        for part in ("HttpOnly", "SameSite=Strict", "Path=/"):
            self.assertIn(part, answer.headers["Set-Cookie"])
        session = browser.get("/api/v1/session").json()
        self.assertEqual((session["name"], session["role"]), ("ann", "viewer"))
        self.assertEqual(self.coordinator.browser().sign_in(link).status, 401)

    def test_signing_out_ends_it(self):
        browser = self.coordinator.browser("gone")
        self.assertEqual(browser.get("/api/v1/session").status, 200)
        self.assertEqual(browser.post("/api/v1/sign-out", {}).status, 200)
        self.assertEqual(browser.get("/api/v1/session").status, 401)

    def test_who_is_removed_is_out(self):
        browser = self.coordinator.browser("removed", "admin")
        unused = self.coordinator.cli("fleet", "user", "link", "removed")["link"]
        self.assertEqual(browser.get("/api/v1/session").json()["role"], "admin")
        self.coordinator.cli("fleet", "user", "remove", "removed", "--yes")
        self.assertEqual(browser.get("/api/v1/session").status, 401)
        self.assertEqual(browser.sign_in(unused).status, 401)

    def test_a_restart_signs_nobody_out(self):
        with tempfile.TemporaryDirectory(prefix="onefold-web-") as folder:
            first = WebCoordinator.with_page(f"{folder}/state")
            browser = first.browser("kept")
            port = first.page.rsplit(":", 1)[1]
            self.assertEqual(first.stop(), 0)
            first.close()
            second = WebCoordinator.with_page(f"{folder}/state", web=f"127.0.0.1:{port}")
            self.addCleanup(second.close)
            self.assertEqual(browser.get("/api/v1/session").status, 200)

    def test_viewers_look_and_operators_act(self):
        viewer = self.coordinator.browser("looker", "viewer")
        worker = self.coordinator.browser("actor", "operator")
        run = next(run for run in viewer.get("/api/v1/AdminService/ListRuns").json()["runs"]
                   if run["volumeUuid"] == "AAECAwQFBgcICQoLDA0ODw==")
        for method, request in (("PauseRun", {"runId": run["runId"]}), ("CancelRun", {"runId": run["runId"]}),
                                ("ResumeRun", {"runId": run["runId"]}), ("StartRuns", {"selector": "all"}),
                                ("ApplyPolicies", {"yaml": "name: x\nselect: all\n", "dryRun": True})):
            refused = viewer.post(f"/api/v1/AdminService/{method}", request)
            self.assertEqual(refused.status, 403, method)
            self.assertIn("operator", refused.json()["message"])
        paused = worker.post("/api/v1/AdminService/PauseRun", {"runId": run["runId"]})
        self.assertEqual(paused.status, 200, paused.text)
        self.assertEqual(worker.post("/api/v1/AdminService/ResumeRun", {"runId": run["runId"]}).status, 200)
        changes = worker.post("/api/v1/AdminService/ApplyPolicies",
                              {"yaml": "name: x\nselect: all\n", "dryRun": True}).json()["changes"]
        self.assertEqual(changes[0]["kind"], "KIND_CREATED")
        self.assertEqual(viewer.get("/api/v1/AdminService/ListPolicies").json()["policies"], [])

    def test_people_and_tokens_are_for_the_command_line(self):
        admin_browser = self.coordinator.browser("boss", "admin")
        for method in ("CreateUser", "CreateSignIn", "RemoveUser", "CreateJoinToken", "ForgetHost"):
            self.assertEqual(admin_browser.post(f"/api/v1/AdminService/{method}", {}).status, 404, method)
        self.assertEqual(admin_browser.post("/api/v1/CoordinatorService/Sync", {}).status, 404)

    def test_other_pages_cannot_make_a_browser_act(self):
        browser = self.coordinator.browser("clicked", "operator")
        stop = "/api/v1/AdminService/StartRuns"
        request = '{"selector": "all"}'
        # As a form of another page would.
        self.assertEqual(browser.ask("POST", stop, request, {"Content-Type": "text/plain"}).status, 403)
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"},
                        {"Sec_Fetch_Site": "same-site"}):
            self.assertEqual(browser.post(stop, {"selector": "all"}, **headers).status, 403, headers)
        self.assertEqual(browser.get("/api/v1/session", Sec_Fetch_Site="cross-site").status, 403)
        self.assertEqual(browser.post(stop, {"selector": "all"}, Origin=self.coordinator.page,
                                      Sec_Fetch_Site="same-origin").status, 200)
        # What looks never changes anything.
        self.assertEqual(browser.get(f"{stop}?selector=all").status, 405)

    def test_names_of_others_are_not_served(self):
        browser = self.coordinator.browser("rebound")
        for host in ("evil.example", "127.0.0.1.evil.example", ""):
            for path in ("/", "/api/v1/session", "/metrics"):
                self.assertIn(browser.get(path, Host=host).status, (403, 421), (host, path))
        for host in ("localhost:1", "127.0.0.1", "[::1]:7180"):
            self.assertEqual(browser.get("/api/v1/session", Host=host).status, 200, host)

    def test_wrong_links_make_wait(self):
        with tempfile.TemporaryDirectory(prefix="onefold-web-") as folder:
            coordinator = WebCoordinator.with_page(f"{folder}/state")
            self.addCleanup(coordinator.close)
            link = coordinator.link("ann", "viewer")
            browser = coordinator.browser()
            for _ in range(10):
                self.assertEqual(browser.post("/api/v1/sign-in", {"token": "0" * 64}).status, 401)
            self.assertEqual(browser.sign_in(link).status, 429)

    def test_odd_requests_are_told(self):
        browser = self.coordinator.browser("odd", "operator")
        for body in ("", "{", "[]", '{"runId": 1e999}', '{"nothing": 1}', '{"runId": "\ud800"}'.encode("utf-16", "ignore"),
                     "[" * 100000):
            answer = browser.ask("POST", "/api/v1/AdminService/CancelRun", body, {"X-Onefold-Request": "1"})
            self.assertIn(answer.status, (400, 404), body[:40])
        self.assertEqual(browser.get("/api/v1/AdminService/ListRuns?pageSize=-1").status, 400)
        self.assertEqual(browser.get("/api/v1/AdminService/ListRuns?nothing=1").status, 400)
        for body in ("", "[]", '{"token": 5}', '{"token": "' + "a" * 100000 + '"}'):
            self.assertIn(self.coordinator.browser().ask("POST", "/api/v1/sign-in", body,
                                                         {"X-Onefold-Request": "1"}).status, (401, 429))
        big = "x" * (3 << 20)
        try:
            self.assertEqual(browser.ask("POST", "/api/v1/AdminService/ApplyPolicies", big,
                                         {"X-Onefold-Request": "1"}).status, 413)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before it was sent
        self.assertEqual(browser.get("/api/v1/session").status, 200)

    def test_a_run_is_followed_as_it_changes(self):
        browser = self.coordinator.browser("watcher", "operator")
        run = browser.get("/api/v1/AdminService/ListRuns?pageSize=1").json()["runs"][0]["runId"]
        events = browser.events(f"/api/v1/AdminService/WatchRun?runId={run}", 1)
        self.assertEqual(events[0]["run"]["runId"], run)
        self.assertEqual(browser.get("/api/v1/AdminService/WatchRun?runId=nothing").status, 200)

    def test_it_ends_with_pages_open(self):
        with tempfile.TemporaryDirectory(prefix="onefold-web-") as folder:
            coordinator = WebCoordinator.with_page(f"{folder}/state")
            self.addCleanup(coordinator.close)
            coordinator.give_run(UUID)
            browser = coordinator.browser("ann")
            run = browser.get("/api/v1/AdminService/ListRuns?pageSize=1").json()["runs"][0]["runId"]
            connection = browser.connect()
            connection.request("GET", f"/api/v1/AdminService/WatchRun?runId={run}", headers={"Cookie": browser.cookie})
            connection.getresponse().readline()
            self.assertEqual(coordinator.stop(seconds=9), 0)
            connection.close()

    def test_beyond_loopback_there_is_tls(self):
        with tempfile.TemporaryDirectory(prefix="onefold-web-") as folder:
            from coordinator import free_port
            port = free_port()
            coordinator = WebCoordinator.with_page(f"{folder}/state", web=f"0.0.0.0:{port}")
            self.addCleanup(coordinator.close)
            self.assertTrue(coordinator.page.startswith("https://"), coordinator.page)
            link = coordinator.link("ann", "viewer")
            browser = Browser(f"https://127.0.0.1:{port}")
            answer = browser.sign_in(link)
            self.assertIn("__Host-onefold=", answer.headers["Set-Cookie"])
            self.assertIn("Secure", answer.headers["Set-Cookie"])
            self.assertIn("max-age", browser.get("/").headers["Strict-Transport-Security"])
            self.assertEqual(browser.get("/api/v1/session").json()["name"], "ann")
            # Shown is what the fleet's authority has signed.
            authority = pathlib.Path(f"{folder}/state/identity/trusted.pem")
            done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-CAfile", authority,
                                   "-verify_return_error", "-brief"], input=b"", capture_output=True, timeout=30)
            self.assertIn(b"Verification: OK", done.stdout + done.stderr)

    def test_loopback_may_look_where_it_is_told_to(self):
        with tempfile.TemporaryDirectory(prefix="onefold-web-") as folder:
            coordinator = WebCoordinator.with_page(f"{folder}/state", "--web-loopback-role", "viewer")
            self.addCleanup(coordinator.close)
            browser = coordinator.browser()
            self.assertEqual(browser.get("/api/v1/session").json()["role"], "viewer")
            self.assertEqual(browser.get("/api/v1/AdminService/ListHosts").status, 200)
            self.assertEqual(browser.post("/api/v1/AdminService/StartRuns", {"selector": "all"}).status, 403)

    def test_a_port_in_use_stops_nothing(self):
        port = self.coordinator.page.rsplit(":", 1)[1]
        with tempfile.TemporaryDirectory(prefix="onefold-web-") as folder:
            other = WebCoordinator(f"{folder}/state", "--web-listen", f"127.0.0.1:{port}").wait_ready()
            self.addCleanup(other.close)
            self.assertEqual(other.health(), 0)
            self.assertEqual(other.cli("fleet", "list")["hosts"], [])

    def test_turned_off_there_is_none(self):
        with tempfile.TemporaryDirectory(prefix="onefold-web-") as folder:
            other = WebCoordinator(f"{folder}/state", "--web-listen", "off").wait_ready()
            self.addCleanup(other.close)
            done = subprocess.run([other.cli.__globals__["BIN"], "fleet", "user", "add", "ann", "--role", "viewer",
                                   "--web", "--coordinator", other.address], capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=60)
            self.assertEqual(done.returncode, 1)

    def test_hostile_names_are_data(self):
        browser = self.coordinator.browser("reader")
        self.coordinator.give_run(bytes(range(1, 17)), worker=HOSTILE)
        hosts = browser.get("/api/v1/AdminService/ListHosts").json()["hosts"]
        self.assertIn(HOSTILE, [host["displayName"] for host in hosts])
        self.assertEqual(browser.get("/api/v1/AdminService/ListHosts").headers["Content-Type"], "application/json")


if __name__ == "__main__":
    assert admin  # the messages are made when the module is read
    unittest.main()
