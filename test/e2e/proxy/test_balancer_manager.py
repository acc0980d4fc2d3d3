# SPDX-License-Identifier: Apache-2.0
"""Balancers while the server runs: balancer-manager changes them, nobody else does, and what it changed lasts over a reload if asked."""
import re
import select
import signal

import pytest

from backend import Backend, answer
from brigade import wait_until

pytestmark = pytest.mark.only("brigade")


@pytest.fixture
def pair():
    with Backend() as one, Backend() as two:
        yield one, two


def config(pair, more=""):
    one, two = pair
    return f"""
EventLoops 1
<Proxy "balancer://app">
BalancerMember "http://127.0.0.1:{one.port}" route=a
BalancerMember "http://127.0.0.1:{two.port}" route=b
ProxySet nonce=secret
</Proxy>
ProxyPass "/app/" "balancer://app/"
<Location "/manager">
SetHandler balancer-manager
</Location>
{more}
"""


def change(server, pair, form, nonce="secret", referer="http://localhost/manager"):
    body = f"b=app&nonce={nonce}&w=http://127.0.0.1:{pair[0].port}&{form}".encode()
    fields = {"Content-Type": "application/x-www-form-urlencoded", "Content-Length": str(len(body))}
    if referer:
        fields["Referer"] = referer
    return server.request("POST", "/manager", headers=fields, body=body)


def statuses(server):
    text = server.get("/manager?xml=1", headers={"Referer": "http://localhost/manager"}).body.decode()
    return [part.split("<")[0] for part in text.split("<httpd:status>")[1:]]


def asked(server, n=6):
    for i in range(n):
        assert server.get(f"/app/{i}").status == 200


def test_a_member_is_taken_out(serve, pair):
    server = serve(config(pair))
    asked(server)
    assert [len(backend.requests) for backend in pair] == [3, 3]
    assert change(server, pair, "w_status_D=1").status == 200
    assert statuses(server) == ["Init Dis ", "Init Ok "]
    asked(server)
    assert [len(backend.requests) for backend in pair] == [3, 9]


@pytest.mark.parametrize("how", [{"nonce": "guessed"}, {"referer": None}, {"referer": "http://evil.example/"}])
def test_others_change_nothing(serve, pair, how):
    server = serve(config(pair))
    assert change(server, pair, "w_status_D=1", **how).status == 200
    assert server.get(f"/manager?b=app&nonce=secret&w=http://127.0.0.1:{pair[0].port}&w_status_D=1",
                      headers={"Referer": "http://localhost/manager"}).status == 200
    assert statuses(server) == ["Init Ok ", "Init Ok "]


@pytest.mark.parametrize("worker", [False, True])
def test_a_request_waits_for_a_member(serve, pair, worker):
    """timeout= of the balancer: as long as no member may be asked. A sub-request waits on its worker."""
    page = '<!--#include virtual="/app/x" -->' if worker else ""
    server = serve(config(pair, "ProxySet balancer://app timeout=60\n<Directory @ROOT@/htdocs>\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\n</Directory>"), {"a.shtml": page})
    for backend in pair:
        assert server.request("POST", "/manager", headers=(fields := {"Content-Type": "application/x-www-form-urlencoded", "Referer": "http://localhost/manager"}),
                              body=f"b=app&nonce=secret&w=http://127.0.0.1:{backend.port}&w_status_D=1".encode()).status == 200, fields
    with server.connect() as waiting:
        waiting.send(f"GET {'/a.shtml' if worker else '/app/x'} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        assert select.select([waiting.socket], [], [], 0.3)[0] == []
        change(server, pair, "w_status_D=0")
        assert waiting.read_response().status == 200
    assert [len(backend.requests) for backend in pair] == [1, 0]
    assert b"AH01167" not in server.read("logs/error_log")


def test_a_request_waits_no_longer(serve, pair):
    server = serve(config(pair, "ProxySet balancer://app timeout=1"))
    for backend in pair:
        backend.close()
    change(server, pair, "w_status_D=1")
    change(server, pair[::-1], "w_status_D=1")
    assert server.get("/app/x").status == 503
    assert server.read("logs/error_log").count(b"AH01167") == 1


@pytest.mark.parametrize("persist", [True, False])
def test_changes_over_a_reload(serve, pair, persist):
    server = serve(config(pair, "BalancerPersist On" if persist else ""))
    asked(server)
    change(server, pair, "w_status_D=1&w_lf=7")
    before = server.get("/manager").body
    assert b"7.00" in before
    server.signal(signal.SIGUSR1)
    server.wait_for_log("(?s)resuming.*resuming")
    wait_until(lambda: (statuses(server)[0] == "Init Dis ") == persist, "the new generation answers")
    text = server.get("/manager?xml=1", headers={"Referer": "http://localhost/manager"}).body
    assert text.count(b"<httpd:elected>3</httpd:elected>") == 2, "what was counted stays"
    assert (b"<httpd:loadfactor>7.00" in text) == persist


def added(server, url, sure="1"):
    body = f"b=app&nonce=secret&b_nwrkr={url}&b_wyes={sure}".encode()
    return server.request("POST", "/manager", headers={"Content-Type": "application/x-www-form-urlencoded", "Referer": "http://localhost/manager"}, body=body)


def enabled(server, url):
    return server.request("POST", "/manager", headers={"Content-Type": "application/x-www-form-urlencoded", "Referer": "http://localhost/manager"},
                          body=f"b=app&nonce=secret&w={url}&w_status_D=0".encode())


def used(server):
    return server.get("/manager").body.decode().split(" Used]")[0].rsplit("<td>", 1)[1]


@pytest.mark.threads
def test_members_are_added(serve, pair):
    """growth= says how many; all loops and processes have them, disabled at first."""
    server = serve(config(pair, "ProxySet balancer://app growth=2\nEventLoops 2\nServerProcesses 2"))
    assert used(server) == "4 [2"
    with Backend() as three:
        url = f"http://127.0.0.1:{three.port}"
        assert added(server, url, sure="0").status == 200 and used(server) == "4 [2"
        for wrong in ("nonsense", "", "http://", url[:-2] + "x" * 300, f"http://127.0.0.1:{pair[0].port}/more"):
            assert added(server, wrong).status == 400
        assert added(server, url).status == 200 and used(server) == "4 [3"
        assert statuses(server) == ["Init Ok ", "Init Ok ", "Init Dis "]
        asked(server, 12)
        assert len(three.requests) == 0
        assert enabled(server, url).status == 200
        wait_until(lambda: asked(server, 1) or len(three.requests) >= 8, "it is asked")
        assert f">{url}<" in server.get("/manager").body.decode()
        assert added(server, url).status == 400 and used(server) == "4 [3"
        assert added(server, "HTTP://127.0.0.1:1/Path").status == 200 and used(server) == "4 [4"
        assert b"w=http://127.0.0.1:1/Path&" in server.get("/manager").body
        assert b"Add New Worker" not in server.get("/manager?b=app&nonce=secret", headers={"Referer": "http://localhost/manager"}).body
        assert added(server, "http://127.0.0.1:2").status == 400
        log = server.error_log()
        assert b"AH10163: balancer://app: failed to add worker nonsense" in log and f"AH10164: balancer://app: failed to add worker {url}".encode() in log


def test_without_growth_none_is_added(serve, pair):
    server = serve(config(pair))
    assert used(server) == "2 [2" and added(server, "http://127.0.0.1:1").status == 400 and used(server) == "2 [2"


@pytest.mark.parametrize("persist", [True, False])
def test_added_members_over_a_reload(serve, pair, persist):
    server = serve(config(pair, "ProxySet balancer://app growth=1\n" + ("BalancerPersist On" if persist else "")))
    with Backend() as three:
        url = f"http://127.0.0.1:{three.port}"
        added(server, url)
        enabled(server, url)
        wait_until(lambda: asked(server, 1) or three.requests, "it is asked")
        old = set(server.children())
        server.signal(signal.SIGUSR1)
        server.wait_for_log("(?s)resuming.*resuming")
        wait_until(lambda: not old & set(server.children()), "the processes of before have ended")
        wait_until(lambda: used(server) == ("3 [3" if persist else "3 [2"), "the new generation answers")
        if not persist:
            assert added(server, url).status == 200
            assert statuses(server)[-1] == "Init Dis "
            enabled(server, url)
        before = len(three.requests)
        wait_until(lambda: asked(server, 1) or len(three.requests) > before, "it is asked again")


# ---- the page of this server's own ----

MODERN = "BuiltinPages modern\n<Proxy balancer://empty>\nProxySet lbmethod=random2\n</Proxy>\nProxyPass /empty/ balancer://empty/\n"


def manager_page(server):
    return server.get("/manager").body.decode()


def test_modern_page(serve, pair):
    """States in words with a class for sign and colour, a balancer without members, no script, nobody's frame."""
    server = serve(config(pair, MODERN))
    asked(server)
    answer = server.get("/manager")
    body = answer.body.decode()
    assert body.count('<p class="state ok">takes requests</p>') == 2 and "<script" not in body
    assert "It has no member: each request gets 503." in body and server.get("/empty/").status == 503
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"] and answer["Cache-Control"] == "no-store"
    style = server.get("/manager" + re.search(r'href="(\?style=\w+)"', body)[1])
    assert style.status == 200 and style["Content-Type"].startswith("text/css") and b".state" in style.body


def test_modern_page_drains_and_tells(serve, pair):
    """A click and its confirmation: the form sends what the page holds; the page that follows can be loaded again."""
    server = serve(config(pair, MODERN))
    body = manager_page(server)
    form = next(f for f in re.findall(r"(?s)<form.*?</form>", body) if "<button>Drain: " in f and f":{pair[0].port}" in f)
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
    assert fields == {"b": "app", "nonce": "secret", "w": f"http://127.0.0.1:{pair[0].port}", "w_status_N": "1"}
    answer = change(server, pair, "w_status_N=1")
    assert answer.status == 303 and answer["Location"].endswith("/manager")
    body = manager_page(server)
    assert "draining: only its own sessions" in body and "Changed here" in body and "End draining" in body
    assert re.search(r'<time datetime="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ">', body)
    assert change(server, pair, "w_status_D=1").status == 303
    assert manager_page(server).count("disabled: no requests") == 2  # the state, and in what was changed
    asked(server, 4)
    assert not pair[0].requests and len(pair[1].requests) == 4


def hang_up(connection, request):
    return False


CHECKED = {  # what the backend does, the method of the check: what the page says
    "well": (answer(), "GET", r"well, status 200"),
    "connects": (answer(), "TCP", r"well"),
    "status": (answer(status="503 Gone"), "GET", r"status 503"),
    "condition": (answer(b"no"), "GET hcexpr=fine", r"status 200, and hcexpr= is not met"),
    "hangs up": (hang_up, "GET", r"closed before it answered"),
    "no head": (b"220 mail\r\n\r\n", "GET", r"the answer is not HTTP"),
    "silent": (lambda connection, request: connection.until(b"never"), "GET timeout=1", r"no answer in time"),
    "nobody": (None, "GET", r"no connection: Connection refused"),
}


@pytest.mark.parametrize("case", CHECKED)
def test_history_of_health_checks(serve, case):
    """The last eight, each with its time, its result and how long it took; they last over a reload."""
    script, method, words = CHECKED[case]
    with Backend({"*": script}) as backend:
        port = backend.port if script else 1
        server = serve(f"""BuiltinPages modern
ProxyHCExpr fine "hc('body') =~ /yes/"
<Proxy balancer://app>
BalancerMember http://127.0.0.1:{port} hcinterval=100ms hcmethod={method}
</Proxy>
<Location /manager>
SetHandler balancer-manager
</Location>
""")
        item = rf'<li class="{"ok" if words.startswith("well") else "bad"}"><time datetime="[^"]*">[^<]*</time> {words}, \d+\.\d ms</li>'
        wait_until(lambda: re.search(item, manager_page(server)), "a check")
        if case == "well":
            wait_until(lambda: len(re.findall(item, manager_page(server))) == 8, "eight checks")
            server.signal(signal.SIGUSR1)
            server.wait_for_log("(?s)resuming.*resuming")
            assert len(re.findall(item, manager_page(server))) == 8


def test_no_checks_no_history(serve, pair):
    assert "Health checks" not in manager_page(serve(config(pair, MODERN)))


@pytest.mark.parametrize("how", [{"nonce": "guess"}, {"referer": "http://elsewhere.example/"}, {"referer": None}])
def test_modern_page_hears_nobody_else(serve, pair, how):
    server = serve(config(pair, MODERN))
    assert change(server, pair, "w_status_D=1", **how).status == 200
    assert statuses(server) == ["Init Ok ", "Init Ok "] and "Changed here" not in manager_page(server)


def test_apache_has_its_page(serve, pair):
    assert b"Load Balancer Manager for" in serve(config(pair, "BuiltinPages apache\n")).get("/manager").body
