# SPDX-License-Identifier: Apache-2.0
"""What is seen of backends: figures, the status page, access logs, the field Proxy-Status."""
import json
import os
import re
import signal
import socket
import threading

import pytest

from backend import Backend, answer
from brigade import wait_until

pytestmark = pytest.mark.only("brigade")

PAGES = """<Location /metrics>
SetHandler metrics
</Location>
<Location /status>
SetHandler server-status
</Location>
"""


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


@pytest.fixture
def dead():
    """A port of which connections are refused, also by whatever starts later."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def samples(server):
    """{name: {labels: value}} of backends."""
    found = {}
    for name, labels, value in re.findall(r"^(brigade_backend_\w+)\{(.*)\} (\S+)$", server.get("/metrics").body.decode(), re.M):
        found.setdefault(name, {})[labels] = float(value)
    return found


def backends(server, path="/metrics?json"):
    return {b["backend"].rstrip("/"): b for b in json.loads(server.get(path).body)["backends"]}


def test_figures(serve, backend, dead):
    backend.scripts["/bad"] = answer(b"", "503 Not Now")
    backend.scripts["/moved"] = answer(b"", "301 Moved", [("Location", "/x")])
    server = serve(f"""EventLoops 1
{PAGES}
<Proxy balancer://b>
BalancerMember http://127.0.0.1:{dead} retry=600
BalancerMember http://127.0.0.1:{backend.port}
</Proxy>
ProxyPass /b/ balancer://b/
""")
    for path in ("/b/1", "/b/2", "/b/3", "/b/bad", "/b/moved"):
        server.get(path)
    alive, other = (backends(server)[f"http://127.0.0.1:{port}"] for port in (backend.port, dead))
    assert alive["answers"] == [0, 3, 1, 0, 1] and alive["up"] and alive["state"] == "ok" and alive["balancer"] == "balancer://b"
    assert alive["waits"] == 5 and 0 < alive["waited"] < 30 and alive["received"] > 100 < alive["sent"]
    assert (alive["connections"], alive["idle"], alive["in_flight"], alive["queue"]) == (1, 1, 0, 0)
    assert not other["up"] and other["state"] == "error" and other["failures"]["connect"] == 1 == alive["retries"]
    assert backends(server, "/status?json") == backends(server) == backends(server, "/metrics/live?data=0")
    assert "Backends" in server.get("/metrics/live").body.decode()
    labels = f'backend="http://127.0.0.1:{backend.port}",balancer="balancer://b",host="localhost"'
    said = samples(server)
    assert said["brigade_backend_up"][labels] == 1 and said["brigade_backend_answers_total"][labels + ',code="2xx"'] == 3
    assert said["brigade_backend_response_seconds_count"][labels] == 5
    assert said["brigade_backend_connections"][labels + ',state="idle"'] == 1
    text = server.get("/metrics?openmetrics").body.decode()
    assert "# TYPE brigade_backend_answers counter" in text and text.endswith("# EOF\n")


def test_requests_in_flight_and_queued(serve, backend):
    go = threading.Event()
    backend.scripts["/slow"] = lambda connection, request: answer() if go.wait(20) else False
    server = serve(f"EventLoops 1\n{PAGES}\nProxyPass /p/ http://127.0.0.1:{backend.port}/ max=2 acquire=20s\n")
    clients = [server.connect() for _ in range(5)]
    for client in clients:
        client.send(b"GET /p/slow HTTP/1.1\r\nHost: x\r\n\r\n")

    def now():
        b = backends(server)[f"http://127.0.0.1:{backend.port}"]
        return b["in_flight"], b["connections"], b["idle"], b["queue"]
    assert wait_until(lambda: now() == (5, 2, 0, 3), "two requests at the backend, three in the queue")
    go.set()
    for client in clients:
        assert client.read_response().status == 200
        client.close()
    assert wait_until(lambda: now() == (0, 2, 2, 0), "idle connections")


def test_nothing_of_a_killed_process_stays(serve, backend):
    go = threading.Event()
    backend.scripts["/slow"] = lambda connection, request: answer() if go.wait(20) else False
    server = serve(f"EventLoops 1\n{PAGES}\nProxyPass /p/ http://127.0.0.1:{backend.port}/\n")
    (pid,) = server.children()
    with server.connect() as client:
        client.send(b"GET /p/slow HTTP/1.1\r\nHost: x\r\n\r\n")
        assert wait_until(lambda: backends(server)[f"http://127.0.0.1:{backend.port}"]["in_flight"] == 1, "the request at the backend")
        os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: server.children() not in ([], [pid]), "another process")
        assert wait_until(lambda: backends(server)[f"http://127.0.0.1:{backend.port}"]["in_flight"] == 0, "that it is forgotten")
    go.set()
    assert backends(server)[f"http://127.0.0.1:{backend.port}"]["connections"] == 0


def test_access_log_items(serve, backend, dead):
    server = serve(f"""EventLoops 1
<Proxy balancer://b>
BalancerMember http://127.0.0.1:{dead} retry=600
BalancerMember http://127.0.0.1:{backend.port}
</Proxy>
ProxyPass /b/ balancer://b/
ProxyPass /d/ http://127.0.0.1:{dead}/x/ retry=0
LogFormat "%U %>s %{{backend-address}}n %{{backend-tries}}n %{{backend-time}}n" backends
CustomLog @ROOT@/logs/backends backends
""", {"a.txt": "A"})
    for path in ("/b/1", "/b/2", "/d/3", "/a.txt"):
        server.get(path)

    def lines():
        with open(server.path("logs", "backends"), encoding="ascii") as f:
            return f.read().splitlines()
    assert wait_until(lambda: len(lines()) == 4, "lines of the log")
    good = rf"127\.0\.0\.1:{backend.port}"
    for line, pattern in zip(lines(), (rf"/b/1 200 {good} 2 \d+", rf"/b/2 200 {good} 1 \d+", rf"/d/3 503 127\.0\.0\.1:{dead} 1 -", r"/a\.txt 200 - - -")):
        assert re.fullmatch(pattern, line), line


def test_proxy_status(serve, backend, dead):
    backend.scripts["/theirs"] = answer(fields=[("Proxy-Status", "inner; received-status=200")])
    backend.scripts["/bad"] = b"garbage\r\n\r\n"
    backend.scripts["/500"] = answer(b"", "500 Oh")
    backend.scripts["/none"] = lambda connection, request: False
    server = serve(f"""EventLoops 1
ServerName www.example
ProxyStatusField On
ProxyPass /p/ http://127.0.0.1:{backend.port}/
ProxyPass /d/ http://127.0.0.1:{dead}/
ProxyPass /e/ balancer://e/
<Proxy balancer://e>
BalancerMember http://127.0.0.1:{backend.port} status=+D
</Proxy>
ProxyPass /n/ http://no.such.host.invalid/ retry=0
<Location /off>
ProxyStatusField Off
ProxyPass http://127.0.0.1:{backend.port}/
</Location>
<Location /own>
ProxyErrorOverride On
ProxyPass http://127.0.0.1:{backend.port}
</Location>
""")
    hop = f'next-hop="127.0.0.1:{backend.port}"; next-protocol=http/1.1'
    assert server.get("/p/x")["Proxy-Status"] == f'"www.example"; received-status=200; {hop}'
    assert server.get("/p/theirs")["Proxy-Status"] == f'inner; received-status=200, "www.example"; received-status=200; {hop}'
    assert server.get("/own/500")["Proxy-Status"] == f'"www.example"; received-status=500; {hop}'
    assert server.get("/off")["Proxy-Status"] is None
    bad = server.get("/p/bad")
    assert bad.status == 502 and bad["Proxy-Status"] == f'"www.example"; error=http_protocol_error; {hop}'
    assert server.get("/p/none")["Proxy-Status"] == f'"www.example"; error=connection_terminated; {hop}'
    dead_hop = f'next-hop="127.0.0.1:{dead}"; next-protocol=http/1.1'
    assert server.get("/d/")["Proxy-Status"] == f'"www.example"; error=connection_refused; {dead_hop}'
    nobody = server.get("/e/")
    assert nobody.status == 503 and nobody["Proxy-Status"] == '"www.example"; error=destination_unavailable'
    assert server.get("/n/")["Proxy-Status"] == '"www.example"; error=dns_error; next-protocol=http/1.1'


def test_a_backend_alone_that_refuses_is_failing(serve, backend, dead):
    """It goes on to be asked, and is as its last answer was: until then up is 0, and the live page does not say ok."""
    server = serve(f"{PAGES}ProxyPass /a/ http://127.0.0.1:{dead}/\nProxyPass /b/ http://127.0.0.1:{backend.port}/\n")
    assert {b["state"] for b in backends(server).values()} == {"ok"}
    for path in ("/a/x", "/b/x"):
        server.get(path)
    found = backends(server, "/metrics/live?data=0")
    assert (found[f"http://127.0.0.1:{dead}"]["state"], found[f"http://127.0.0.1:{dead}"]["up"]) == ("failing", False)
    assert (found[f"http://127.0.0.1:{backend.port}"]["state"], found[f"http://127.0.0.1:{backend.port}"]["up"]) == ("ok", True)
    up = {re.search(r":(\d+)", labels)[1]: value for labels, value in samples(server)["brigade_backend_up"].items()}
    assert up == {str(dead): 0, str(backend.port): 1}


def test_a_backend_alone_that_comes_back_is_ok(serve, backend):
    server = serve(f"{PAGES}ProxyPass /a/ http://127.0.0.1:{backend.port}/\n")
    backend.scripts["/broken"] = lambda peer, request: peer.socket.shutdown(socket.SHUT_RDWR)
    assert server.get("/a/broken").status == 502
    assert backends(server)[f"http://127.0.0.1:{backend.port}"]["state"] == "failing"
    assert server.get("/a/x").status == 200
    assert backends(server)[f"http://127.0.0.1:{backend.port}"]["state"] == "ok"


def test_an_empty_balancer_says_so(serve):
    server = serve("<Proxy balancer://empty>\n</Proxy>\nProxyPass /a/ balancer://empty/\n")
    assert server.get("/a/x").status == 503
    server.wait_for_log(r"AH01167: balancer://empty: All workers are in error state: it has no members\n")
