# SPDX-License-Identifier: Apache-2.0
"""ASTable bgp: routes from BIRD, from a router that does things wrong, and what stays when sessions end."""
import json
import os
import signal
import socket
import threading
import time

import pytest

import effort
from bgp_router import BIRD, END_OF_RIB, KEEPALIVE, NOTIFICATION, OPEN, Bird, Router, message, opening, update
from bgp_site import becomes, net, says, start
from brigade import wait_until
from ports import free_port

pytestmark = pytest.mark.only("brigade")

ASN, PEER = 65000, 64512


@pytest.fixture
def router():
    r = Router(PEER)
    yield r
    r.close()


ONE = update("198.51.100.0/24", "203.0.113.0/24", path=[PEER, 64999])


def of_one(server):
    becomes(server, "198.51.100.7", "64999 198.51.100.0/24 64512 64999 -")


# ---- a router that is told what to say ----

def test_routes_come_and_go(serve, router):
    server = start(serve, f"port={router.port}")
    s = router.take()
    assert (s.kind, s.body[1:3]) == (OPEN, b"\xfd\xe8")
    s.send(ONE)
    says(server, "is up")
    assert server.get("/in/x.txt", [("X-Forwarded-For", "198.51.100.7")]).status == 403, "before all routes are there"
    s.send(END_OF_RIB)
    says(server, "2 routes of IPv4, 0 of IPv6")
    of_one(server)
    assert server.get("/in/x.txt", [("X-Forwarded-For", "198.51.100.7")]).status == 200
    s.send(update("198.51.100.128/25", path=[PEER, 64998]), update(gone=["203.0.113.0/24"]))
    becomes(server, "198.51.100.200", "64998 198.51.100.128/25 64512 64998 -")
    assert net(server, "203.0.113.1") == "- - - -"
    of_one(server)


def test_figures(serve, router):
    server = start(serve, f"port={router.port}", "<Location /m>\nSetHandler metrics\n</Location>\n<Location /s>\nSetHandler server-status\n</Location>\n")
    s = router.take()
    s.send(ONE, update("192.0.2.0/24", attributes=b""), END_OF_RIB)
    of_one(server)
    text = server.get("/m").body.decode()
    for line in ('up{source="bgp 127.0.0.1"} 1', 'begins_total{source="bgp 127.0.0.1"} 1'):
        assert "brigade_asn_source_" + line in text
    for line in ('routes{source="bgp 127.0.0.1",family="ipv4"} 2', 'updates_total{source="bgp 127.0.0.1"} 4',
                 'updates_faulty_total{source="bgp 127.0.0.1"} 1'):
        assert "brigade_asn_" + line in text
    source = json.loads(server.get("/m", [("Accept", "application/json")]).body)["networks"]["sources"][0]
    assert (source["state"], source["ipv4"], source["trouble"]) == ("Established", 2, "")
    s.send(message(NOTIFICATION, b"\x06\x04"))
    says(server, "session ended")
    page = wait_until(lambda: b"administrative reset (6/4)" in (body := server.get("/s").body) and body, "the page")
    assert b"Networks of clients" in page and b"<td>bgp 127.0.0.1</td>" in page
    assert b"Networks bgp 127.0.0.1: " in server.get("/s?auto").body


def test_reload_keeps_the_session(serve, router):
    server = start(serve, f"port={router.port}")
    s = router.take()
    s.send(ONE, END_OF_RIB)
    of_one(server)
    server.signal(signal.SIGUSR1)
    says(server, "resuming normal operations", 2)
    s.send(update("192.0.2.0/24", path=[PEER]))
    becomes(server, "192.0.2.1", "64512 192.0.2.0/24 64512 -")
    os.rename(server.path("logs/error_log"), server.path("logs/error_log.1"))
    server.signal(signal.SIGUSR1)
    says(server, "resuming normal operations")
    s.close()
    says(server, "the peer closed the connection")


def test_other_options_begin_anew(serve, router):
    server = start(serve, f"port={router.port}")
    s = router.take()
    s.send(ONE, END_OF_RIB)
    of_one(server)
    server.write_config(server.config.replace("retry=1", "retry=2"))
    server.signal(signal.SIGUSR1)
    assert s.notification() == (6, 3)
    again = router.take()
    again.send(ONE, END_OF_RIB)
    of_one(server)


def test_routes_stay_until_the_next_session_has_sent_all(serve, router):
    server = start(serve, f"port={router.port}")
    s = router.take()
    s.send(ONE, END_OF_RIB)
    of_one(server)
    s.close()
    s = router.take()
    s.send(update("198.51.100.0/24", path=[PEER, 64997]))
    of_one(server)
    s.send(END_OF_RIB)
    becomes(server, "198.51.100.7", "64997 198.51.100.0/24 64512 64997 -")
    assert net(server, "203.0.113.1") == "- - - -"


def test_keep_is_over(serve, router):
    server = start(serve, f"port={router.port} keep=0")
    s = router.take()
    s.send(ONE, END_OF_RIB)
    of_one(server)
    router.close()
    s.close()
    becomes(server, "198.51.100.7", "- - - -")
    says(server, "the routes of the session that ended are given up")
    assert server.get("/in/x.txt", [("X-Forwarded-For", "198.51.100.7")]).status == 403


@pytest.mark.parametrize("first, notice, words", [
    (opening(64513), (2, 2), "of another AS"),
    (opening(PEER, hold=2), (2, 6), "hold time"),
    (opening(PEER, router=bytes(4)), (2, 3), "identifier"),
    (message(KEEPALIVE), (5, 0), "did not begin with OPEN"),
    (b"SSH-2.0-OpenSSH_9.2\r\n", (1, 1), "as those of BGP"),
    (message(OPEN, bytes(200)), (2, 1), "another version"),
], ids=["as", "hold", "identifier", "keepalive", "garbage", "version"])
def test_wrong_peers(serve, router, first, notice, words):
    server = start(serve, f"port={router.port}")
    s = router.take(first)
    assert s.notification() == notice
    says(server, words)
    assert router.take().kind == OPEN, "it is tried again"


def test_wrong_updates(serve, router):
    server = start(serve, f"port={router.port}")
    s = router.take()
    s.send(ONE, END_OF_RIB)
    of_one(server)
    s.send(update("198.51.100.0/24", attributes=b"\x40\x01\x01\x09\x40\x02\x00\x40\x03\x04\xc0\x00\x02\x01"))  # ORIGIN 9: withdrawn
    becomes(server, "198.51.100.7", "- - - -")
    says(server, "taken for withdrawals (RFC 7606): ORIGIN")
    s.send(message(2, b"\x00\x09"))
    assert s.notification()[0] in (1, 3)
    becomes(server, "203.0.113.9", "64999 203.0.113.0/24 64512 64999 -")


def test_too_many_routes(serve, router):
    server = start(serve, f"port={router.port} max-routes=2")
    s = router.take()
    s.send(ONE, update("192.0.2.0/24", path=[PEER]))
    assert s.notification() == (6, 1)
    says(server, "more routes than max-routes")


def test_peer_says_why(serve, router):
    server = start(serve, f"port={router.port}")
    s = router.take()
    s.send(message(NOTIFICATION, b"\x06\x02\x0bgoing\x1b[1m \n"))
    says(server, "administrative shutdown (6/2): going?[1m ?")


def connected(port):
    try:
        return socket.create_connection(("127.0.0.1", port))
    except ConnectionRefusedError:
        return None


def test_server_that_waits(serve):
    port = free_port()
    server = start(serve, f"listen=127.0.0.1:{port}")
    with wait_until(lambda: connected(port), "the collector listens") as c:
        c.settimeout(20)
        head = c.recv(19)
        assert head[18] == OPEN
        other = socket.create_connection(("127.0.0.1", port))
        other.settimeout(20)
        assert other.recv(100)[18:21] == b"\x03\x06\x05", "one session at a time"
        other.close()
        c.recv(1000)
        c.sendall(opening(PEER) + message(KEEPALIVE) + ONE + END_OF_RIB)
        of_one(server)
    says(server, "session ended")


def test_collector_is_killed(serve, router):
    server = start(serve, f"port={router.port}")
    s = router.take()
    s.send(ONE, END_OF_RIB)
    of_one(server)
    collector = [int(p) for p in os.listdir("/proc") if p.isdigit() and named(p) == "brigade-asn" and parent(p) == server.process.pid]
    os.kill(collector[0], signal.SIGKILL)
    of_one(server)
    s = router.take()
    s.send(ONE, END_OF_RIB)
    of_one(server)


def named(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as f:
            return f.read().strip()
    except OSError:
        return ""


def parent(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return int(f.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


# ---- BIRD ----

needs_bird = pytest.mark.skipif(not BIRD, reason="bird is not installed")
ROUTES = [f"20.{n >> 8}.{n & 255}.0/24" for n in range(1000)] + [f"2001:db8:{n:x}::/48" for n in range(100)]


@needs_bird
@pytest.mark.slow
def test_bird(serve, tmp_path):
    bird = Bird(tmp_path, ROUTES, more="ttl security on;")
    try:
        server = start(serve, f"port={bird.port} router-id=10.0.0.9 hold=30 ttl-security=1")
        says(server, "1000 routes of IPv4, 100 of IPv6")
        assert net(server, "20.3.231.1") == "64999 20.3.231.0/24 64512 64999 64512:77"
        assert net(server, "2001:db8:63::5") == "64512 2001:db8:63::/48 64512 -"
        bird.stop()
        says(server, "session ended")
        assert net(server, "20.3.231.1").startswith("64999 20.3.231.0/24"), "kept"
        bird.start()
        says(server, "1000 routes of IPv4, 100 of IPv6", 2)
    finally:
        bird.stop()


@needs_bird
@pytest.mark.slow
def test_bird_connects(serve, tmp_path):
    port = free_port()
    server = start(serve, f"listen=127.0.0.1:{port} password=sesame")
    bird = Bird(tmp_path, ROUTES[:3], passive=False, neighbor_port=port, more='password "sesame";')
    try:
        says(server, "3 routes of IPv4, 0 of IPv6")
    finally:
        bird.stop()


@needs_bird
@pytest.mark.parametrize("more, ours", [("", "password=sesame"), ('password "wrong";', "password=sesame")], ids=["none", "wrong"])
def test_bird_without_the_password(serve, tmp_path, more, ours):
    bird = Bird(tmp_path, ROUTES[:3], more=more)
    try:
        server = start(serve, f"port={bird.port} {ours}")
        began = time.monotonic()
        while time.monotonic() < began + 1.5:
            assert net(server, "20.0.0.1") == "- - - -"
        assert b"is up" not in server.error_log()
    finally:
        bird.stop()


# ---- words of the configuration ----

@pytest.mark.parametrize("line, words", [
    ("ASTable", "file or bgp"),
    ("ASTable bgp", "address of the peer"),
    ("ASTable bgp 192.0.2.1", "asn= (ours) and peer-asn="),
    ("ASTable bgp router.example asn=1 peer-asn=2", "no IPv4 or IPv6 address"),
    ("ASTable bgp 192.0.2.1 asn=0 peer-asn=2", "asn= takes a number from 1 to 4294967294"),
    ("ASTable bgp 192.0.2.1 asn=23456 peer-asn=2", "AS_TRANS"),
    ("ASTable bgp 192.0.2.1 asn=1 peer-asn=2 hold=2", "hold= takes 0"),
    ("ASTable bgp 192.0.2.1 asn=1 peer-asn=2 ports=3", "ports=3 is no option"),
    ("ASTable bgp 192.0.2.1 asn=1 peer-asn=2 listen", "listen is no option"),
    ("ASTable bgp 192.0.2.1 asn=1 peer-asn=2 listen=[::1]:179", "different families"),
    ("ASTable bgp 192.0.2.1 asn=1 peer-asn=2 listen=here", "no address of this machine"),
    ("ASTable bgp 192.0.2.1 asn=1 peer-asn=2 listen=127.0.0.1 port=3", "for connecting"),
    ("ASTable bgp 192.0.2.1 asn=1 peer-asn=2 families=ipv5", "families= takes"),
    ("ASTable bgp 192.0.2.1 asn=1 peer-asn=2 router-id=::1", "router-id= takes"),
    ("ASTable bgp 192.0.2.1 asn=1 peer-asn=2 ttl-security=255", "from 1 to 254"),
    ("ASTable bgp 192.0.2.1 asn=1 peer-asn=2 password=", "password= takes"),
])
def test_mistakes(serve, line, words):
    server = serve.unstarted(line + "\n", {})
    result = server.run("-t")
    assert result.returncode != 0
    assert words in (result.stderr + result.stdout).decode()


# ---- by hand: TEST_LONG=networks ----

needs_time = pytest.mark.skipif(not effort.everything("networks"), reason="TEST_LONG=networks runs it")


def asked_for(server, seconds, stop):
    """Requests on one connection until stop() says so. How many, and how many were not 200."""
    n = failed = 0
    end = time.monotonic() + seconds
    with server.connect() as c:
        while time.monotonic() < end and not stop():
            n += 1
            failed += c.get("/a.txt", [("X-Forwarded-For", "198.51.100.7")]).status != 200
    return n, failed


@needs_time
def test_a_hundred_flaps_under_load(serve, router):
    server = start(serve, f"port={router.port}")
    ended = []

    def flap():
        for _ in range(100):
            s = router.take()
            s.send(ONE, END_OF_RIB)
            s.close()
        ended.append(1)
    thread = threading.Thread(target=flap)
    thread.start()
    n, failed = asked_for(server, 300, lambda: ended)
    thread.join()
    print(f"{n} requests, {failed} failed, while a session went down 100 times")
    assert ended and not failed and n > 1000


@needs_time
@needs_bird
def test_a_million_routes(serve, tmp_path):
    routes = [f"{20 + (n >> 16)}.{n >> 8 & 255}.{n & 255}.0/24" for n in range(900_000)]
    routes += [f"2001:{n >> 12:x}:{n & 4095:x}::/48" for n in range(0x100000, 0x100000 + 100_000)]
    bird = Bird(tmp_path, routes)
    try:
        wait_until(lambda: "1000000" in bird.tell("show route count"), "BIRD's routes", 120)
        began = time.monotonic()
        server = start(serve, f"port={bird.port}")
        done = lambda: b"900000 routes of IPv4, 100000 of IPv6" in server.error_log()
        n, failed = asked_for(server, 200, done)
        took = time.monotonic() - began
        assert done() and not failed
        collector = [p for p in os.listdir("/proc") if p.isdigit() and named(p) == "brigade-asn" and parent(p) == server.process.pid]
        with open(f"/proc/{collector[0]}/status", encoding="ascii") as f:
            memory = [line.split()[1] for line in f if line.startswith(("VmRSS", "RssShmem"))]
        print(f"{took:.1f} s until all are there, {n} requests meanwhile; collector {memory[0]} KiB, of these shared {memory[1]}")
        assert net(server, "30.1.2.3").startswith("64999 30.1.2.0/24")
    finally:
        bird.stop()
