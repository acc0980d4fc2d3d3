# SPDX-License-Identifier: Apache-2.0
"""H3QLog: what connections do, by a file for each, read back."""
import json
import os

import pytest

import brigade
from http3_client import ask, http3_python
from tls_site import certificate

PYTHON = http3_python(brigade.REPOSITORY)
pytestmark = pytest.mark.skipif(not PYTHON, reason="no interpreter with aioquic and pycurl (http3_client.py)")

CONFIG = """
Protocols h3 http/1.1
EventLoops 2
H3QLog @ROOT@/qlog @CLIENTS@
Listen @HOST@:@TLS@ https
SSLEngine on
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
"""
BIG = bytes(range(256)) * 4000


def made(serve, clients="", host="127.0.0.1"):
    tls = brigade.free_port()
    server = serve.unstarted(CONFIG.replace("@TLS@", str(tls)).replace("@CLIENTS@", clients).replace("@HOST@", host), {"big.bin": BIG})
    os.mkdir(server.path("qlog"))
    os.chmod(server.path("qlog"), 0o777)
    certificate(server)
    server.url = f"https://{host}:{tls}/big.bin"
    return server.start()


def records(path):
    with open(path, "rb") as f:
        parts = f.read().split(b"\x1e")
    assert parts[0] == b"" and all(p.endswith(b"\n") for p in parts[1:])
    return [json.loads(p) for p in parts[1:]]


@pytest.mark.parametrize("clients", ["", "192.0.2.1 127.0.0.0/8"])
def test_files_tell_what_happened(serve, clients):
    server = made(serve, clients)
    for client in ["curl", "aioquic"]:
        assert ask(PYTHON, client, [{"url": server.url}] * 2)[1].body == BIG
    server.stop()
    names = sorted(os.listdir(server.path("qlog")))
    assert len(names) == 2 and all(n.endswith("_server.sqlog") for n in names)
    for name in names:
        head, *events = records(server.path("qlog", name))
        assert head["file_schema"] == "urn:ietf:params:qlog:file:sequential"
        assert head["trace"]["common_fields"]["group_id"] == name.split("_")[0]
        assert [e["time"] for e in events] == sorted(e["time"] for e in events)
        assert events[0]["name"] == "quic:connection_started" and events[0]["data"]["remote"]["ip_v4"] == "127.0.0.1"
        assert events[-1]["name"] == "quic:connection_closed"
        sent = [e["data"] for e in events if e["name"] == "quic:packet_sent"]
        numbers = [p["header"]["packet_number"] for p in sent if p["header"]["packet_type"] == "1RTT"]
        assert numbers == sorted(set(numbers))
        pieces = [f for p in sent for f in p["frames"] if f["frame_type"] == "stream" and f["stream_id"] == 0]
        last = [f for f in pieces if f.get("fin")]
        assert last and last[0]["offset"] + last[0]["raw"]["length"] > len(BIG)
        assert any(e["name"] == "quic:recovery_metrics_updated" and e["data"]["congestion_window"] > 12000 for e in events)
        assert any(e["name"] == "quic:parameters_set" and e["data"]["initial_max_data"] for e in events)


@pytest.mark.parametrize("clients,files", [("192.0.2.0/24 ::1", 1), ("192.0.2.0/24 2001:db8::/32", 0)])
def test_clients_of_ipv6(serve, clients, files):
    server = made(serve, clients, "[::1]")
    assert ask(PYTHON, "curl", [{"url": server.url}])[0].status == 200
    server.stop()
    told = [records(server.path("qlog", name))[1] for name in os.listdir(server.path("qlog"))]
    assert [t["data"]["remote"]["ip_v6"] for t in told] == ["::1"] * files


def test_other_clients_tell_nothing(serve):
    server = made(serve, "192.0.2.0/24")
    assert ask(PYTHON, "curl", [{"url": server.url}])[0].status == 200
    server.stop()
    assert os.listdir(server.path("qlog")) == []


@pytest.mark.parametrize("line,why", [("H3QLog /nonexistent/folder", "is no folder"), ("H3QLog /tmp 300.1.1.1", "is no address or network"), ("H3QLog", "takes a folder")])
def test_refused(serve, line, why):
    server = serve.unstarted(line)
    assert why in server.run("-t").stderr.decode()


def test_a_folder_that_cannot_be_written(serve):
    """Requests go on, and it is told once."""
    server = made(serve)
    if os.geteuid():
        pytest.skip("the server runs as the owner of the folder")
    os.chmod(server.path("qlog"), 0o500)
    for _ in range(3):
        assert ask(PYTHON, "curl", [{"url": server.url}])[0].status == 200
    server.wait_for_log("H3QLog: cannot write")
    server.stop()
    assert server.error_log().count(b"H3QLog: cannot write") == 1
