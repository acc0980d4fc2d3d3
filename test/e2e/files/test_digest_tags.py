# SPDX-License-Identifier: Apache-2.0
"""FileETag Digest: entity tags by content, equal on all hosts, computed once per version and never on an event loop."""
import base64
import gzip
import hashlib
import os
import random
import select
import threading

import pytest

from brigade import wait_until
from trouble import STATUS, compiled, status

LARGE = random.Random(1).randbytes(5 * 1024 * 1024)  # more than is kept in memory
CONFIG = "FileETag Digest\n"


def tag(content):
    return '"' + base64.b64encode(hashlib.sha1(content).digest()).decode() + '"'


@pytest.mark.parametrize("content", [b"", b"small", LARGE], ids=["empty", "small", "large"])
def test_tag_is_that_of_the_content(serve, content):
    """On each host, whatever the times of the files are."""
    hosts = [serve(CONFIG, {"f.bin": content}) for _ in range(2)]
    os.utime(hosts[0].path("htdocs/f.bin"), (10 ** 9, 10 ** 9))
    for host in hosts:
        for _ in range(2):
            assert host.get("/f.bin")["ETag"] == host.request("HEAD", "/f.bin")["ETag"] == tag(content)
        assert host.get("/f.bin", {"If-None-Match": tag(content)}).status == 304
        assert host.get("/f.bin", {"If-Match": tag(b"other")}).status == 412
        if content:
            part = {"Range": "bytes=1-3", "If-Range": tag(content)}
            assert (host.get("/f.bin", part).status, host.get("/f.bin", part).body) == (206, content[1:4])
            assert host.get("/f.bin", {**part, "If-Range": tag(b"other")}).status == 200


@pytest.mark.only("brigade")
def test_coded_siblings_have_tags_of_their_own(serve):
    packed = gzip.compress(b"x" * 1000)
    server = serve(CONFIG + "PrecompressedFiles gzip\n", {"f.txt": b"x" * 1000})
    server.write("f.txt.gz", packed)
    for _ in range(2):
        assert server.get("/f.txt")["ETag"] == tag(b"x" * 1000)
        coded = server.get("/f.txt", {"Accept-Encoding": "gzip"})
        assert coded.body == packed and coded["ETag"] == tag(packed)[:-1] + ';gzip"'
        assert server.get("/f.txt", {"Accept-Encoding": "gzip", "If-None-Match": coded["ETag"]}).status == 304


def read_by(server):
    """Bytes that the server's processes have read so far."""
    pids = os.popen(f"pgrep -P {server.process.pid}").read().split() + [str(server.process.pid)]
    return sum(int(open(f"/proc/{pid}/io").readline().split()[1]) for pid in pids)


@pytest.mark.only("brigade")
def test_once_per_version(serve):
    server = serve(CONFIG + "ServerProcesses 1\n", {"f.bin": LARGE})

    def costs():
        before = read_by(server)
        assert server.request("HEAD", "/f.bin")["ETag"] == tag(LARGE)
        return read_by(server) - before
    assert costs() >= len(LARGE)
    assert wait_until(lambda: costs() < 100000, "the file to be at rest")  # for a second another change might not show
    server.write("f.bin", LARGE[::-1])
    assert server.request("HEAD", "/f.bin")["ETag"] == tag(LARGE[::-1])


@pytest.mark.only("brigade")
def test_no_loop_reads_for_it(serve):
    """The only worker sleeps: what is known is answered meanwhile, what has to be read is not."""
    server = serve(f'LoadModule busy_module "{compiled("mod_busy")}"\n<Location /sleep>\nSetHandler sleep\n</Location>\n'
                   "EventLoops 1\nServerLimit 1\nThreadsPerChild 1\nServerProcesses 1\nFileCacheEntries 0\n" + CONFIG + STATUS, {"known.bin": LARGE, "new.bin": LARGE})

    def costs():
        before = read_by(server)
        server.request("HEAD", "/known.bin")
        return read_by(server) - before
    wait_until(lambda: costs() < 100000, "the digest to be known")
    for target, waits in (("/known.bin", False), ("/new.bin", True)):
        with server.connect() as busy, server.connect() as c:
            busy.send("GET /sleep?600 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            wait_until(lambda: status(server)["totals"]["connections"]["busy"] == 1, "the worker to sleep")
            c.send(f"HEAD {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert c.read_response(method="HEAD")["ETag"] == tag(LARGE)
            asleep = not select.select([busy.socket], [], [], 0)[0]
            assert busy.read_response().body == b"slept\n"
        assert asleep != waits, target


@pytest.mark.parametrize("size", [1000, 3 * 1024 * 1024])
def test_a_file_that_is_replaced_meanwhile(serve, size):
    """The tag belongs to the bytes that are sent."""
    versions = [bytes([letter]) * size for letter in b"abcdef"]
    tags = {tag(version): version[:1] for version in versions}
    server = serve(CONFIG, {"f.bin": versions[0]})
    ended = threading.Event()

    def replace():
        while not ended.is_set():
            for version in versions:
                server.write("next", version)
                os.rename(server.path("htdocs/next"), server.path("htdocs/f.bin"))
    writer = threading.Thread(target=replace)
    writer.start()
    try:
        for _ in range(60 if size < 10000 else 15):
            response = server.get("/f.bin")
            assert response.status == 200 and response.body == tags[response["ETag"]] * size
    finally:
        ended.set()
        writer.join()
