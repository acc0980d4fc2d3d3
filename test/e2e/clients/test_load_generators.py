# SPDX-License-Identifier: Apache-2.0
"""The load generators that everybody uses run clean: no failed request, no answer but 200."""
import os
import re
import shutil
import subprocess

import pytest

from trouble import sanitizer

OLD = (1_500_000_000, 1_500_000_000)
FILES = {"a.txt": "A" * 100, "k.bin": bytes(range(256)) * 40, "big.bin": bytes(range(256)) * 800}


def needs(program):
    return pytest.mark.skipif(not shutil.which(program), reason=f"{program} is not installed")


@pytest.fixture(scope="module")
def server(serve_module):
    server = serve_module("MaxKeepAliveRequests 0\nKeepAliveTimeout 15\n", FILES)
    for name in FILES:
        os.utime(server.path("htdocs", name), OLD)
    return server


def ab(server, target, *options):
    done = subprocess.run(["ab", "-q", *options, f"http://127.0.0.1:{server.port}{target}"], capture_output=True, text=True,
                          timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = dict(re.findall(r"^([A-Z][\w -]+?):\s+([\d.]+)", done.stdout, re.M))
    assert figures["Failed requests"] == "0", done.stdout
    assert "Non-2xx responses" not in done.stdout and "Write errors" not in figures, done.stdout
    return figures


def wrk(server, target, *options, script=None):
    command = ["wrk", "-t1", *options, *(["-s", script] if script else []), f"http://127.0.0.1:{server.port}{target}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Socket errors" not in done.stdout and "Non-2xx" not in done.stdout, done.stdout
    return int(re.search(r"(\d+) requests in", done.stdout)[1])


@needs("ab")
@pytest.mark.threads
def test_ab_keepalive(server):
    """The run that the README promises: 100,000 requests on 50 connections."""
    n = 10_000 if sanitizer() or server.apache else 100_000
    figures = ab(server, "/a.txt", "-k", "-n", str(n), "-c", "50")
    assert figures["Complete requests"] == str(n) == figures["Keep-Alive requests"]
    assert int(figures["HTML transferred"]) == n * 100


@needs("ab")
@pytest.mark.threads
@pytest.mark.parametrize("target", ["/a.txt", "/k.bin", "/big.bin"])
def test_ab_new_connections(server, target):
    n = 1_000 if sanitizer() else 4_000
    figures = ab(server, target, "-n", str(n), "-c", "50")
    assert int(figures["HTML transferred"]) == n * len(FILES[target[1:]])


@needs("ab")
@pytest.mark.threads
def test_ab_post(server, tmp_path):
    (tmp_path / "body").write_bytes(b"x" * 5000)
    ab(server, "/a.txt", "-k", "-n", "2000", "-c", "20", "-p", str(tmp_path / "body"), "-T", "text/plain")


@pytest.mark.slow
@needs("wrk")
@pytest.mark.threads
@pytest.mark.parametrize("target", ["/a.txt", "/k.bin", "/big.bin"])
def test_wrk(server, target):
    assert wrk(server, target, "-c64", "-d1s") > 100


@needs("wrk")
@pytest.mark.threads
def test_wrk_pipelined(server, tmp_path):
    """Sixteen requests at a time, of three kinds."""
    script = tmp_path / "pipeline.lua"
    script.write_text("""init = function(args)
    local r = {}
    for i = 1, 16 do
        r[i] = wrk.format("GET", i % 3 == 0 and "/k.bin" or "/a.txt", i % 5 == 0 and {["Range"] = "bytes=0-"} or {})
    end
    all = table.concat(r)
end
request = function() return all end
""")
    assert wrk(server, "/a.txt", "-c32", "-d1s", script=str(script)) > 100
