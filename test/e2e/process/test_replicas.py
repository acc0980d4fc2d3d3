# SPDX-License-Identifier: Apache-2.0
"""Two replicas behind nginx and HAProxy, as the manual's how-to has it (docs/guides/05-load-balancer.md): both are reloaded, and
then replaced one after the other, under load. Every request is answered."""
import http.client
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading

import pytest

import brigade

pytestmark = pytest.mark.only("brigade")
HOWTO = pathlib.Path(__file__).resolve().parents[3] / "docs/guides/05-load-balancer.md"
BODY = b"<!doctype html><title>replica</title>" + b"x" * 20000
COMMANDS = {"nginx": ["-p", "@DIR@", "-e", "@DIR@/error.log", "-c", "@DIR@/conf", "-g", "daemon off; pid @DIR@/pid;"],
            "haproxy": ["-db", "-f", "@DIR@/conf"]}


def block(kind):
    return re.search(rf"^```{kind}\n(.*?)^```$", HOWTO.read_text(), re.M | re.S)[1]


class Replica(brigade.Server):
    def __init__(self, when, drain=0):
        super().__init__(config=block("apache").replace("GracefulDrainDelay 5", f"GracefulDrainDelay {drain}"), files={"index.html": BODY})
        os.utime(self.path("htdocs/index.html"), (when, when))

    def again(self):
        """End it as `-k graceful-stop` does, and start it anew on its port."""
        self.signal(signal.SIGWINCH)
        assert self.process.wait(brigade.PATIENCE) == 0
        self._spawn()
        assert self._ready(), self.error_log()


class Balancer:
    def __init__(self, name, replicas):
        self.port, self.folder = brigade.free_port(), tempfile.mkdtemp(prefix="brigade-balancer-")
        os.chmod(self.folder, 0o755)
        text = block(name).replace(":8080", f":{self.port}")
        for port, replica in zip((8081, 8082), replicas):
            text = text.replace(f":{port}", f":{replica.port}")
        with open(f"{self.folder}/conf", "w") as f:
            f.write(text)
        program = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")
        self.log = open(f"{self.folder}/output", "wb")
        self.process = subprocess.Popen([program, *(word.replace("@DIR@", self.folder) for word in COMMANDS[name])], stdout=self.log, stderr=self.log)

    def __enter__(self):
        def answers():
            assert self.process.poll() is None, open(f"{self.folder}/output").read()
            try:
                return request(http.client.HTTPConnection("127.0.0.1", self.port, timeout=10))[0] == 200
            except OSError:
                return False
        brigade.wait_until(answers, "the balancer")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def request(connection, path="/", headers=None):
    connection.request("GET", path, headers=headers or {})
    response = connection.getresponse()
    return response.status, response.read(), response.headers["ETag"]


class Load:
    """Clients that ask without a pause, over kept connections; what is no right answer is kept."""

    def __init__(self, port, clients=4):
        self.port, self.over, self.bad, self.good = port, False, [], [0] * clients
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(clients)]

    def run(self, number):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        while not self.over:
            try:
                status, body, _ = request(connection)
            except (OSError, http.client.HTTPException) as e:
                self.bad.append(repr(e))
                connection.close()
                continue
            if status == 200 and body == BODY:
                self.good[number] += 1
            else:
                self.bad.append((status, len(body)))

    def more(self, n=60):
        """Wait for further answers of every client."""
        before = list(self.good)
        brigade.wait_until(lambda: self.bad or all(now - was >= n for now, was in zip(self.good, before)), "answers under load")

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        for thread in self.threads:
            thread.join(30)


@pytest.mark.parametrize("name", sorted(COMMANDS))
@pytest.mark.slow
def test_rolling_upgrade(name):
    if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin"):
        pytest.skip(f"{name} is not installed")
    drain = int(name == "haproxy")  # which asks for /ready; nginx does not
    with Replica(1_700_000_000, drain) as a, Replica(1_710_000_000, drain) as b, Balancer(name, (a, b)) as balancer:
        with Load(balancer.port) as load:
            load.more()
            for replica in (a, b):
                replica.signal(signal.SIGUSR1)
                load.more()
            for replica in (a, b):
                replica.again()
                load.more()
        assert load.bad == [] and sum(load.good) > 1000


def test_equal_validators():
    """The entity tag is the same on both, though their copies have other dates, and each takes the other's."""
    with Replica(1_700_000_000) as a, Replica(1_710_000_000) as b:
        tags = [request(http.client.HTTPConnection("127.0.0.1", s.port, timeout=20))[2] for s in (a, b)]
        assert tags[0] == tags[1] and tags[0]
        for server in (a, b):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
            assert request(connection, headers={"If-None-Match": tags[0]})[0] == 304
