# SPDX-License-Identifier: Apache-2.0
"""mod_logio: what access logs say of bytes is what went over the wire, remembered answers and pipelines included."""
import pytest

FILES = {"a.txt": "x" * 100, "big.txt": "y" * 300000, "d/index.html": "index"}
LOGIO = 'LogFormat "%I %O %S %s %U" io\nCustomLog logs/io io\n'


def request(target, more=b"", body=b""):
    return b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\n" + more + b"\r\n" + body


def lines(server):
    return [[int(n) for n in line.split()[:3]] for line in server.read("logs/io").decode().splitlines()]


@pytest.mark.parametrize("target", [b"/a.txt", b"/big.txt", b"/none", b"/d", b"/d/"])
def test_bytes_of_one_request(serve, target):
    server = serve(LOGIO, FILES)
    for n in range(1, 6):
        data = request(target, b"Connection: close\r\n")
        answer = server.raw(data)
        server.wait_for_log("(?:.*\n){%d}" % n, "logs/io")
        assert lines(server)[-1] == [len(data), len(answer), len(data) + len(answer)]


@pytest.mark.parametrize("body", [b"Content-Length: 3\r\n\r\nabc", b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"])
def test_bytes_of_a_body(serve, body):
    server = serve(LOGIO, FILES)
    data = b"POST /a.txt HTTP/1.1\r\nHost: localhost\r\n" + body
    server.raw(data + request(b"/a.txt", b"Connection: close\r\n"))
    server.wait_for_log("(?:.*\n){2}", "logs/io")
    assert lines(server)[0][0] == len(data)


@pytest.mark.only("brigade")
def test_bytes_of_a_pipeline(serve):
    server = serve(LOGIO, FILES)
    for n in range(1, 5):
        heads = [request(b"/a.txt"), request(b"/big.txt"), request(b"/a.txt"), request(b"/none"),
                 request(b"/a.txt", b"Connection: close\r\n")]
        answer = server.raw(b"".join(heads))
        server.wait_for_log("(?:.*\n){%d}" % (5 * n), "logs/io")
        found = lines(server)[-5:]
        assert sorted(line[0] for line in found) == sorted(len(h) for h in heads)
        assert sum(line[1] for line in found) == len(answer)


def test_time_to_the_first_byte(serve):
    server = serve('CustomLog logs/io "%^FB %D"\n<Location /a.txt>\nLogIOTrackTTFB On\n</Location>\n', FILES)
    for n in range(1, 4):
        server.get("/a.txt")
        server.wait_for_log("(?:.*\n){%d}" % n, "logs/io")
    for line in server.read("logs/io").decode().splitlines():
        first, whole = line.split()
        assert 0 < int(first) <= int(whole)
    server.get("/big.txt")
    server.wait_for_log("(?m)^- ", "logs/io")
