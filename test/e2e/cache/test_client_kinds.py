# SPDX-License-Identifier: Apache-2.0
"""Remembered answers that depend on where the client is: each kind of client keeps getting its own."""
import os

import pytest

from brigade import wait_until
from cache_site import hits, one_loop, settle

pytestmark = pytest.mark.only("brigade")

METRICS = '<Location "/metrics">\nSetHandler metrics\n</Location>\n'
LOGGED = 'CustomLog @ROOT@/logs/access.log combined\n'
INSIDE = ("127.0.1.1", "127.0.1.2")
OUTSIDE = ("127.0.2.1", "127.0.0.1")
BY_NETWORK = "ASTable file nets.txt\n"
NETWORKS = "127.0.1.0/24 64496\n127.0.2.0/24 64497\n"


def client(server, source):
    return server.connect(source=source)


def in_turns(server, target, cases, rounds=6, headers=()):
    """Ask from several places in turns, each on a connection of its own that goes on: (place, check of the response)."""
    clients = {place: client(server, place) for place, _ in cases}
    for _ in range(rounds):
        for place, right in cases:
            answer = clients[place].get(target, headers)
            assert right(answer), (place, answer.status, answer.headers)
    for c in clients.values():
        c.close()


def status(wanted):
    return lambda answer: answer.status == wanted


def has(name, value):
    return lambda answer: answer.status == 200 and answer[name] == value


def start(serve, config, files=None, networks=NETWORKS):
    server = serve.unstarted("EventLoops 1\n" + METRICS + config, files or {"in/x.txt": "X", "a.txt": "A"})
    server.write("nets.txt", networks, base="")
    server.start()
    settle(server.path("htdocs"))
    return server


RULES = {
    "ip": "Require ip 127.0.1.0/24",
    "not": "<RequireAll>\nRequire all granted\nRequire not ip 127.0.0.0/24 127.0.2.0/24\n</RequireAll>",
    "any": "<RequireAny>\nRequire ip 127.0.1.1\nRequire ip 127.0.1.2\n</RequireAny>",
    "order": "Order deny,allow\nDeny from all\nAllow from 127.0.1.1 127.0.1.2",
    "asn": "Require asn 64496 64500-64510",
    "not-asn": "<RequireAll>\nRequire ip 127.0.0.0/16\nRequire not asn 64497 64500\nRequire not ip 127.0.0.1\n</RequireAll>",
}


@pytest.mark.parametrize("log", ["", LOGGED])
@pytest.mark.parametrize("rules", RULES)
def test_rules_hold_for_what_is_remembered(serve, rules, log):
    server = start(serve, BY_NETWORK + log + f"<Directory @ROOT@/htdocs/in>\n{RULES[rules]}\n</Directory>\n")
    before = hits(server)
    in_turns(server, "/in/x.txt", [*[(p, status(200)) for p in INSIDE], *[(p, status(403)) for p in OUTSIDE]])
    wait_until(lambda: hits(server) >= before + 2 * 3, "answers from memory for those inside")


@pytest.mark.parametrize("rules", ["ip", "asn", "order"])
def test_rules_of_access_files(serve, rules):
    server = start(serve, BY_NETWORK + "<Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>\n", {"in/x.txt": "X", "in/.htaccess": RULES[rules] + "\n"})
    in_turns(server, "/in/x.txt", [(INSIDE[0], status(200)), (OUTSIDE[0], status(403))])


def test_the_index_of_a_folder_and_a_page_with_parts(serve):
    config = '<Directory @ROOT@/htdocs>\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\nSSIETag parts\n</Directory>\n' + f"<Directory @ROOT@/htdocs/in>\n{RULES['ip']}\n</Directory>\n"
    server = start(serve, config, {"in/index.html": "I", "p.shtml": '<!--#include virtual="/in/index.html" -->'})
    in_turns(server, "/in/", [(INSIDE[0], status(200)), (OUTSIDE[0], status(403))])
    in_turns(server, "/p.shtml", [(INSIDE[0], lambda a: a.body == b"I"), (OUTSIDE[0], lambda a: a.body != b"I")])


def test_a_client_changes_networks(serve):
    """What the table says now counts, not what it said when the answer was stored."""
    server = start(serve, BY_NETWORK + f"<Directory @ROOT@/htdocs/in>\n{RULES['asn']}\n</Directory>\n")
    in_turns(server, "/in/x.txt", [(INSIDE[0], status(200)), (OUTSIDE[0], status(403))])
    server.write("nets.new", "127.0.1.0/24 64497\n127.0.2.0/24 64496\n", base="")
    os.rename(server.path("nets.new"), server.path("nets.txt"))
    wait_until(lambda: client(server, INSIDE[0]).get("/in/x.txt").status == 403, "the new table")
    in_turns(server, "/in/x.txt", [(INSIDE[0], status(403)), (OUTSIDE[0], status(200))])


VARIABLES = {
    "address": ("SetEnvIf Remote_Addr ^127\\.0\\.1\\. inside\nSetEnvIf Remote_Addr 127.0.1.2 second\n", "env=inside"),
    "network": (BY_NETWORK + "SetEnvIf Client_ASN ^64496$ inside\nSetEnvIf Client_ASN ^- nowhere\n", "env=inside"),
    "copied": (BY_NETWORK + "SetEnvIf Client_Prefix ^(127\\.0\\.1)\\. inside=$1\n", "env=inside"),
    "condition": (BY_NETWORK + '<If "%{CLIENT_ASN} == \'64496\'">\nHeader set X-In yes\n</If>\n', None),
    "of a folder": ("<Directory @ROOT@/htdocs>\nSetEnvIf Remote_Addr ^127\\.0\\.1\\. inside\n</Directory>\n", "env=inside"),
}


@pytest.mark.parametrize("kind", VARIABLES)
def test_variables(serve, kind):
    config, condition = VARIABLES[kind]
    server = start(serve, config + (f"Header set X-In yes {condition}\n" if condition else ""))
    before = hits(server)
    in_turns(server, "/a.txt", [*[(p, has("X-In", "yes")) for p in INSIDE], *[(p, has("X-In", None)) for p in OUTSIDE]])
    if kind in ("address", "network", "condition"):
        wait_until(lambda: hits(server) >= before + 4 * 4, "answers from memory for all of them")


def test_where_a_proxy_tells_of_the_client(serve):
    server = start(serve, f"RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.0/8\n<Directory @ROOT@/htdocs/in>\n{RULES['ip']}\n</Directory>\n")
    with client(server, INSIDE[0]) as near, client(server, OUTSIDE[0]) as far:
        for _ in range(6):
            assert near.get("/in/x.txt").status == 200
            assert near.get("/in/x.txt", {"X-Forwarded-For": "192.0.2.1"}).status == 403
            assert far.get("/in/x.txt", {"X-Forwarded-For": "127.0.1.9"}).status == 200
            assert far.get("/in/x.txt").status == 403


def test_where_the_proxy_protocol_tells_of_the_client(serve):
    server = start(serve, "RemoteIPProxyProtocol On\nRemoteIPProxyProtocolExceptions 127.0.0.1\n"
                   "<Directory @ROOT@/htdocs/in>\nRequire ip 192.0.2.0/24 2001:db8::/32\n</Directory>\n")
    told = {"TCP4 192.0.2.1 192.0.2.2": 200, "TCP4 198.51.100.1 192.0.2.2": 403, "TCP6 2001:db8::1 ::1": 200, "TCP6 2001:db9::1 ::1": 403}
    clients = {line: client(server, INSIDE[0]) for line in told}
    for line, c in clients.items():
        c.send(f"PROXY {line} 1111 80\r\n".encode())
    before = hits(server)
    for _ in range(6):
        for line, wanted in told.items():
            assert clients[line].get("/in/x.txt").status == wanted, line
    wait_until(lambda: hits(server) >= before + 2 * 4, "answers from memory")
    for c in clients.values():
        c.close()
