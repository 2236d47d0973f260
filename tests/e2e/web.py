"""A browser without pictures: what tests ask of the web page of a coordinator."""

import http.client
import json
import re
import ssl
import subprocess
import time
import urllib.parse

from coordinator import BIN, SLOW, Coordinator, free_port


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode()

    def json(self):
        return json.loads(self.text)


class Browser:
    """Keeps its cookie. `address` as people type it."""

    def __init__(self, address):
        self.address = urllib.parse.urlsplit(address)
        self.cookie = None

    def connect(self, timeout=30):
        timeout *= SLOW
        if self.address.scheme == "https":
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return http.client.HTTPSConnection(self.address.hostname, self.address.port, context=context,
                                               timeout=timeout)
        return http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=timeout)

    def ask(self, method, path, body=None, headers=None):
        connection = self.connect()
        sent = dict(headers or {})
        if self.cookie:
            sent.setdefault("Cookie", self.cookie)
        connection.request(method, path, body=body, headers=sent)
        answer = Answer(connection.getresponse())
        connection.close()
        cookie = answer.headers.get("Set-Cookie")
        if cookie and "Max-Age=0" not in cookie:
            self.cookie = cookie.split(";")[0]
        return answer

    def get(self, path, **headers):
        return self.ask("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def post(self, path, message, **headers):
        own = {"X-Onefold-Request": "1", "Content-Type": "application/json"}
        own.update({name.replace("_", "-"): value for name, value in headers.items()})
        return self.ask("POST", path, json.dumps(message), own)

    def sign_in(self, link):
        return self.post("/api/v1/sign-in", {"token": link.rsplit("/", 1)[1]})

    def events(self, path, count):
        """The first `count` messages of a stream."""
        connection = self.connect()
        connection.request("GET", path, headers={"Cookie": self.cookie, "Accept": "text/event-stream"})
        response = connection.getresponse()
        found = []
        while len(found) < count:
            line = response.readline().decode()
            if not line:
                break
            if line.startswith("data: "):
                found.append(json.loads(line[6:]))
        connection.close()
        return found


class WebCoordinator(Coordinator):
    """A coordinator with a web page of its own."""

    def __init__(self, state, *arguments, **options):
        options.setdefault("listen", f"127.0.0.1:{free_port()}")
        super().__init__(state, *arguments, **options)

    @classmethod
    def with_page(cls, state, *arguments, web=None, **options):
        self = cls(state, "--web-listen", web or f"127.0.0.1:{free_port()}", *arguments, **options)
        self.wait_ready()
        deadline = time.monotonic() + 20 * SLOW
        while not (found := re.search(r"the web page is served address=\"?(\S+?)\"?\s", self.output())):
            if time.monotonic() > deadline:
                raise AssertionError(f"no web page: {self.output()}")
            time.sleep(0.05)
        self.page = found[1]
        return self

    def cli(self, *arguments, check=True):
        done = subprocess.run([BIN, *arguments, "--json", "--coordinator", self.address], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=60 * SLOW)
        if check and done.returncode != 0:
            raise AssertionError(f"{arguments}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout.splitlines()[-1])

    def link(self, name, role):
        return self.cli("fleet", "user", "add", name, "--role", role, "--web")["sign_in"]

    def browser(self, name=None, role="viewer"):
        """Signed in, if a name is given."""
        browser = Browser(self.page)
        if name:
            answer = browser.sign_in(self.link(name, role))
            assert answer.status == 200, answer.text
        return browser
