# SPDX-License-Identifier: Apache-2.0
"""What modules ask the server gets the answers that Apache gives."""
import os
import signal

import pytest

import brigade
import peer_module
from http_client import Truncated

APACHE = os.environ.get("APACHE", "/usr/sbin/apache2")
pytestmark = [
    pytest.mark.skipif(not os.access(APACHE, os.X_OK), reason=f"the peer is absent: {APACHE} is not installed"),
    pytest.mark.skipif(not os.path.isdir(peer_module.INCLUDES[True]), reason="Apache's headers are not installed"),
    pytest.mark.skipif(not os.access(brigade.BINARY, os.X_OK), reason=f"{brigade.BINARY} is not built"),
]

CONFIG = "LoadModule testask_module {}\n<Location /ask>\nSetHandler testask\n</Location>\n"
PREFORK = "<IfModule mpm_prefork_module>\nStartServers 2\nMinSpareServers 2\nMaxSpareServers 5\nMaxRequestWorkers 30\n</IfModule>\n"


def both(serve, tmp_path, mpm="mpm_event"):
    servers = []
    for binary in (APACHE, brigade.BINARY):
        apache = brigade.is_apache(binary)
        folder = tmp_path / ("apache" if apache else "brigade")
        folder.mkdir()
        load = "" if apache or mpm == "mpm_event" else f"LoadModule {mpm}_module @MODULES@/mod_{mpm}.so\n"
        server = brigade.Server(load + CONFIG.format(peer_module.build("mod_testask", apache, str(folder))) + PREFORK, {"a.txt": "A\n"}, binary=binary)
        server.mpm = mpm
        servers.append(server)
    return servers


@pytest.fixture
def pair(tmp_path):
    os.chmod(tmp_path, 0o755)
    os.chmod(tmp_path.parent, 0o755)
    started = []

    def start(mpm="mpm_event"):
        started.extend(both(None, tmp_path, mpm))
        return [server.start() for server in started]
    yield start
    for server in started:
        server.close()


def test_the_process_model_of_prefork(pair):
    said = [s.get("/ask?mpm").body.decode().splitlines() for s in pair("mpm_prefork")]
    for lines in said:
        assert lines.pop(3).startswith("4: 0 ")  # the scoreboard has room for ending generations here
    assert said[0] == said[1]


def test_ids_for_logs(pair):
    apache, ours = [s.get("/ask?ids") for s in pair()]
    assert (apache.status, apache.body) == (ours.status, ours.body)
    assert apache.status == 200


def test_core_filters_on_a_connection_of_a_module(pair):
    """mod_wsgi's daemons do so; what else Apache wants of such a connection is its own affair."""
    assert pair()[1].get("/ask?filters").body == b"0 outwards\n0 0 inwards\n"


def test_a_closed_socket_is_nobody_elses(pair):
    """While modules close their clients' sockets, other clients get their own answers and nothing else."""
    for server in pair():
        for i in range(40):
            with server.connect() as c:
                with pytest.raises((Truncated, ConnectionError)):
                    c.request("GET", "/ask?close" + ("-403" if i % 2 else ""))
            with server.connect() as c:
                for _ in range(2):
                    r = c.request("GET", "/a.txt")
                    assert (r.status, r.body) == (200, b"A\n")
        server.wait_for_log("the socket is -1")
        assert b"not closed" not in server.error_log()


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGHUP])
def test_a_configuration_is_read_by_its_own_generation(pair, number):
    for server in pair():
        for i in range(4):
            if i > 0:
                server.signal(number)
            server.wait_for_log(rf"configured for generation {i}\.")
            # Apache may miss a signal that comes before it is done with the one before it.
            brigade.wait_until(lambda i=i: server.error_log().count(b"resuming normal operations") > i, "the reload")
            assert server.get("/a.txt").status == 200
