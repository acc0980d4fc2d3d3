# SPDX-License-Identifier: Apache-2.0
"""ASTable: which network the client is in, from files, for logs, Require, expressions and variables."""
import json
import os
import signal

import pytest

from brigade import BINARY, wait_until
from mmdb_file import Database

pytestmark = pytest.mark.only("brigade")

FILES = {"a.txt": "A", "in/x.txt": "X", "env/p.shtml": '<!--#echo var="CLIENT_ASN" --> <!--#echo var="CLIENT_PREFIX" -->'}
NETWORKS = "# our own\n127.0.0.0/8 64496\n192.0.2.0/24\t64511\n198.51.100.0/24 AS64520\n"
CONFIG = """ASTable file nets.txt
    RemoteIPHeader X-Forwarded-For
    RemoteIPInternalProxy 127.0.0.1
    CustomLog @ROOT@/logs/access.log "%{asn}C %{asn-prefix}C %{as-path}C %{communities}C %a"
    <Directory @ROOT@/htdocs/in>
        Require asn 64496 64505-64515
    </Directory>
    <Directory @ROOT@/htdocs/env>
        Options +Includes
        AddOutputFilter INCLUDES .shtml
        ASTableEnv On
    </Directory>
    <If "%{CLIENT_ASN} -eq 64520">
        Header set X-Net special
    </If>
    """


def of(address):
    return [("X-Forwarded-For", address)]


def aged(server):
    for folder, _, names in os.walk(server.path("htdocs")):
        for name in names:
            os.utime(os.path.join(folder, name), (1, 1))


def start(serve, networks=NETWORKS, config=CONFIG):
    server = serve.unstarted(config, FILES)
    server.write("nets.txt", networks, base="")
    server.start()
    aged(server)
    return server


def logged(server, n):
    def complete():
        data = server.read("logs/access.log").decode()
        return data.count("\n") >= n and data
    return wait_until(complete, "the lines").splitlines()


def test_answers_from_memory_are_logged_alike(serve):
    server = start(serve, config='ASTable file nets.txt\nCustomLog @ROOT@/logs/access.log "%{asn}C %{asn-prefix}C"\n')
    for _ in range(40):  # of each loop
        assert server.get("/a.txt").status == 200
    assert logged(server, 40) == ["64496 127.0.0.0/8"] * 40


def renew(server, networks):
    server.write("nets.new", networks, base="")
    os.rename(server.path("nets.new"), server.path("nets.txt"))


def test_log_items_of_both_ways(serve):
    server = start(serve)
    for _ in range(3):  # the full way, and from memory
        for address in ("192.0.2.77", "203.0.113.5", "198.51.100.1"):
            assert server.get("/a.txt", of(address)).status == 200
    server.get("/a.txt")
    lines = logged(server, 10)
    assert sorted(set(lines)) == ["- - - - 203.0.113.5", "64496 127.0.0.0/8 64496 - 127.0.0.1",
                                  "64511 192.0.2.0/24 64511 - 192.0.2.77", "64520 198.51.100.0/24 64520 - 198.51.100.1"]


def test_require_and_expressions(serve):
    server = start(serve)
    for _ in range(3):
        assert [server.get("/in/x.txt", of(a)).status for a in ("192.0.2.1", "198.51.100.1", "203.0.113.5")] == [200, 403, 403]
        assert server.get("/in/x.txt").status == 200
        assert server.get("/a.txt", of("198.51.100.9"))["X-Net"] == "special"
        assert server.get("/a.txt", of("192.0.2.1"))["X-Net"] is None
        assert server.get("/env/p.shtml", of("192.0.2.1")).body == b"64511 192.0.2.0/24"
        assert server.get("/env/p.shtml", of("203.0.113.5")).body == b"- -"


def test_a_file_is_taken_anew_and_a_bad_one_is_not(serve):
    server = start(serve)
    assert server.get("/in/x.txt", of("203.0.113.5")).status == 403
    renew(server, "203.0.113.0,203.0.113.127,64512\n203.0.113.128,203.0.113.255,0\n")
    wait_until(lambda: server.get("/in/x.txt", of("203.0.113.5")).status == 200, "the new file")
    assert server.get("/in/x.txt", of("203.0.113.200")).status == 403
    renew(server, "203.0.113.0/24 64600\n203.0.113.0/33 64600\n")
    server.wait_for_log(r"nets.txt, line 2: no length of a prefix")
    assert server.get("/in/x.txt", of("203.0.113.5")).status == 200


@pytest.mark.skipif(os.geteuid() != 0, reason="needs files of another user")
def test_a_file_that_becomes_readable_is_taken(serve):
    """Its content and its date stay what they were."""
    server = serve.unstarted(CONFIG, FILES)
    os.chmod(server.write("nets.txt", NETWORKS, base=""), 0o600)
    server.start()
    server.wait_for_log("ASTable file .* cannot be opened by the user")
    os.chmod(server.path("nets.txt"), 0o644)
    wait_until(lambda: server.get("/in/x.txt").status == 200, "the table")


def test_a_pipe_is_no_file(serve):
    """Nobody writes to it: the collector does not wait for that, and reads the other source."""
    server = serve.unstarted("ASTable file pipe.txt\n" + CONFIG, FILES)
    os.mkfifo(server.path("pipe.txt"))
    server.write("nets.txt", NETWORKS, base="")
    server.start()
    wait_until(lambda: server.get("/in/x.txt").status == 200, "the table")
    server.wait_for_log("ASTable file .*pipe.txt cannot be opened")


def mrt(subtype, prefix, length, path, communities=(), large=()):
    """A record of TABLE_DUMP_V2."""
    path = bytes([2, len(path)]) + b"".join(n.to_bytes(4, "big") for n in path)
    attributes = b"\x40\x02" + bytes([len(path)]) + path
    for kind, numbers in ((8, communities), (32, large)):
        value = b"".join(n.to_bytes(4, "big") for n in numbers)
        attributes += bytes([0xd0, kind]) + len(value).to_bytes(2, "big") + value
    body = bytes(4) + bytes([length]) + prefix[:(length + 7) // 8] + b"\0\1" + bytes(6) + len(attributes).to_bytes(2, "big") + attributes
    return bytes(4) + b"\0\x0d" + subtype.to_bytes(2, "big") + len(body).to_bytes(4, "big") + body


@pytest.mark.slow
def test_dumps_of_routers(serve):
    dump = mrt(1, b"", 0, []) + mrt(2, bytes([192, 0, 2, 0]), 24, [64500, 64511], [64500 << 16 | 7], [64500, 1, 2])
    server = start(serve, dump + mrt(4, bytes([0x20, 1, 0xd, 0xb8]), 32, [64501]))
    server.get("/a.txt", of("192.0.2.9"))
    server.get("/a.txt", of("2001:db8::1"))
    assert logged(server, 2) == ["64511 192.0.2.0/24 64500 64511 64500:7 64500:1:2 192.0.2.9", "64501 2001:db8::/32 64501 - 2001:db8::1"]
    renew(server, dump[:-3])
    server.wait_for_log(r"nets.txt, record 2: the file ends before it")
    renew(server, b"\x1f\x8b" + dump)
    server.wait_for_log(r"nets.txt, record 0: the file is compressed")
    assert server.get("/in/x.txt", of("192.0.2.9")).status == 200


def test_without_a_table_nobody_is_let_in(serve):
    server = start(serve, networks="nonsense\n")
    for _ in range(2):
        assert server.get("/in/x.txt").status == 403
        assert server.get("/a.txt").status == 200
    assert server.error_log().count(b"no ASTable has been read") == 1
    renew(server, NETWORKS)
    wait_until(lambda: server.get("/in/x.txt").status == 200, "the table")


def test_a_collector_that_dies_is_started_again(serve):
    server = start(serve)
    assert server.get("/in/x.txt").status == 200  # the server is there
    collector = collectors(server)
    assert len(collector) == 1
    with open(f"/proc/{collector[0]}/status", encoding="utf-8") as f:
        assert "Uid:\t0" not in f.read()
    os.kill(collector[0], signal.SIGKILL)
    server.wait_for_log("collector of ASTable died")
    wait_until(lambda: server.get("/in/x.txt", of("192.0.2.1")).status == 200 and collectors(server) != collector, "another one")
    server.signal(signal.SIGUSR1)
    wait_until(lambda: len(collectors(server)) == 1 and server.get("/in/x.txt", of("192.0.2.1")).status == 200, "the new one")


def test_what_was_known_holds_until_the_next_collector_knows_more(serve):
    server = start(serve)
    for _ in range(2):  # the second time with the first table again
        refused = server.error_log().count(b"no address")
        renew(server, "no networks\n")
        wait_until(lambda n=refused: server.error_log().count(b"no address") > n, "the file refused")
        collector = collectors(server)
        os.kill(collector[0], signal.SIGKILL)
        wait_until(lambda n=refused: server.error_log().count(b"no address") > n + 1, "the file refused by another collector")
        assert collectors(server) != collector
        assert server.get("/in/x.txt", of("192.0.2.1")).status == 200
        renew(server, NETWORKS + "203.0.113.0/24 64510\n")
        wait_until(lambda: server.get("/in/x.txt", of("203.0.113.5")).status == 200, "the new table")
        renew(server, NETWORKS)
        wait_until(lambda: server.get("/in/x.txt", of("203.0.113.5")).status == 403, "the first table")


def collectors(server):
    found = []
    for pid in server.children():
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
                if f.read() == "brigade-asn\n":
                    found.append(pid)
        except FileNotFoundError:
            pass
    return found


def test_a_cookie_of_that_name_is_one_where_there_is_no_table(serve):
    server = serve('CustomLog @ROOT@/logs/access.log "%{asn}C"', FILES)
    server.get("/a.txt", [("Cookie", "asn=crumbs")])
    assert logged(server, 1) == ["crumbs"]


@pytest.mark.parametrize("line, said", [
    ("ASTable ftp x", "file or bgp"), ("ASTableSize 1", "MiB"), ("ASTable file", "file takes one path"),
    ("<Location />\nRequire asn 5-4\n</Location>", "no AS number"), ("<Location />\nRequire asn\n</Location>", "takes AS numbers")])
def test_mistakes_are_told(serve, line, said):
    server = serve.unstarted(line, FILES)
    assert said in server.run("-t").stderr.decode()


# ---- MaxMind's format ----

def built_with_maxmind():
    with open(BINARY, "rb") as f:
        return b"built without (libmaxminddb)" not in f.read()


NETS = {"127.0.0.0/8": {"autonomous_system_number": 64496, "autonomous_system_organization": "Own"},
        "198.51.100.0/24": {"autonomous_system_number": 64520}, "203.0.113.0/24": {"autonomous_system_organization": "nobody"},
        "2001:db8::/32": {"autonomous_system_number": 64511}, "0.0.0.0/8": {"autonomous_system_number": 5}}


@pytest.mark.skipif(not built_with_maxmind(), reason="built without libmaxminddb")
@pytest.mark.parametrize("version", [4, 6])
def test_maxmind(serve, version):
    nets = {n: v for n, v in NETS.items() if version == 6 or ":" not in n}
    server = start(serve, Database(nets, version).content())
    said = {"127.0.0.1": "64496 127.0.0.0/8", "198.51.100.9": "64520 198.51.100.0/24", "203.0.113.1": "- -"}
    if version == 6:
        said["2001:db8::1"] = "64511 2001:db8::/32"
    for address in said:
        server.get("/a.txt", of(address))
    assert sorted(" ".join(line.split()[:2]) for line in logged(server, len(said))) == sorted(said.values())
    assert f"{3} routes of IPv4, {version == 6:d} of IPv6" in server.error_log().decode()


@pytest.mark.skipif(not built_with_maxmind(), reason="built without libmaxminddb")
def test_maxmind_that_is_wrong(serve):
    good = Database(NETS)
    server = start(serve, good.content())
    server.wait_for_log("routes of IPv4")  # connections are accepted before that
    loop = Database(NETS)
    loop.nodes[3][1] = 1
    for wrong in (good.content(count=7), loop.content(),
                  Database({"127.0.0.0/8": {"autonomous_system_number": "text"}}).content()):
        told = server.error_log().count(b"the networks read before stay in use")
        renew(server, wrong)
        wait_until(lambda: server.error_log().count(b"the networks read before stay in use") > told, "the mistake to be told")
    server.get("/a.txt", of("198.51.100.9"))
    assert logged(server, 1)[0].startswith("64520 ")


def test_look_ups_are_counted(serve):
    server = start(serve, config=CONFIG + '<Location "/m">\nSetHandler metrics\n</Location>\n<Location "/s">\nSetHandler server-status\n</Location>\n')
    with server.connect() as c:
        for i in range(64):
            c.get("/a.txt", of(f"192.0.2.{i}"))
        c.get("/a.txt", of("203.0.113.1"))
    text = wait_until(lambda: 'brigade_asn_busiest{asn="64511"}' in (said := server.get("/m").body.decode()) and said, "the figures")
    figures = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("brigade_asn_"))
    assert int(figures["brigade_asn_lookups_total"]) >= 65
    assert 8 <= int(figures['brigade_asn_busiest{asn="64511"}']) <= int(figures["brigade_asn_lookups_total"])
    networks = json.loads(server.get("/m", [("Accept", "application/json")]).body)["networks"]
    assert networks["lookups"] >= 65 and 64511 in [b["asn"] for b in networks["busiest"]]
    assert b"Busiest lately: AS64511 (" in server.get("/s").body and b"NetworkLookups: " in server.get("/s?auto").body
