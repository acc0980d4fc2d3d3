# SPDX-License-Identifier: Apache-2.0
"""Memory systems that are no part of the program: a third party's, built outside the tree, and those of jemalloc and
mimalloc."""
import json
import os
import shutil
import signal
import subprocess

import pytest

import brigade
from memory_site import is_stock

pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(is_stock(), reason="built with stock APR pools")]
BUILD = os.path.dirname(brigade.BINARY)
SAMPLE = os.path.join(brigade.REPOSITORY, "test", "samples", "sms_sample.c")
PAGE = b"0123456789abcdef" * 4096


def flags():
    return subprocess.run(["pkg-config", "--cflags", "apr-1", "apr-util-1"], capture_output=True, text=True,
                          check=True).stdout.split()


@pytest.fixture(scope="module")
def scrub(tmp_path_factory):
    """The sample as a third party builds it: the installed headers' folder, and nothing else of ours."""
    folder = tmp_path_factory.mktemp("third")
    os.chmod(folder, 0o755)
    os.chmod(folder.parent, 0o755)
    shutil.copytree(os.path.join(brigade.REPOSITORY, "include"), folder / "include")
    shutil.copy(SAMPLE, folder / "sms_sample.c")
    p = subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror",
                        "-Wno-unused-parameter", "-D_GNU_SOURCE", "-Iinclude", *flags(), "-o", "sms_sample.so",
                        "sms_sample.c"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert p.returncode == 0, p.stdout
    return str(folder / "sms_sample.so")


def ask_often(server):
    for _ in range(3):
        with server.connect() as c:
            for _ in range(10):
                assert c.request("GET", "/a.txt").body == PAGE


def test_third_party(serve, scrub):
    server = serve(f'LoadModule sms_scrub_module "{scrub}"\nMemorySystem request scrub(0xdd) arena(chunk=64k)\n',
                   files={"a.txt": PAGE})
    ask_often(server)


def test_third_party_is_described(serve, scrub):
    server = serve.unstarted(f'LoadModule sms_scrub_module "{scrub}"\nMemorySystem request limit(1M) scrub arena\n')
    p = server.run("-t")
    assert p.returncode == 0, p.stderr
    assert b"limit(1M) scrub(0) arena(" in p.stdout


@pytest.mark.parametrize("spec, says", [
    ("scrub(256) arena", b'"256" is not the byte to fill with'),
    ("scrub(1, 2) arena", b"its only parameter is the byte to fill with"),
    ("scrubs arena", b"scrub(the byte to fill with"),
])
def test_third_party_refuses(serve, scrub, spec, says):
    server = serve.unstarted(f'LoadModule sms_scrub_module "{scrub}"\nMemorySystem request {spec}\n')
    p = server.run("-t")
    assert p.returncode == 1
    assert says in p.stderr
    assert b"httpd.conf" in p.stderr


def test_third_party_must_be_loaded(serve):
    p = serve.unstarted("MemorySystem request scrub arena\n").run("-t")
    assert p.returncode == 1
    assert b'unknown memory system "scrub"; there are arena(' in p.stderr


@pytest.mark.parametrize("kind", ["jemalloc", "mimalloc"])
@pytest.mark.parametrize("spec", ["{}", "trivial {}", "limit(16M) {}"])
def test_allocator_libraries(serve, kind, spec):
    module = os.path.join(BUILD, "modules", f"sms_{kind}.so")
    if not os.path.exists(module):
        pytest.skip(f"{module} was not built")
    server = serve(f'LoadModule sms_{kind}_module "{module}"\nMemorySystem request {spec.format(kind)}\n'
                   f"MemorySystem connection {spec.format(kind)}\n", files={"a.txt": PAGE})
    ask_often(server)
    former = set(server.children())
    server.signal(signal.SIGUSR1)  # a graceful restart: the module goes and comes back
    brigade.wait_until(lambda: server.children() and not former & set(server.children()), "new server processes")
    ask_often(server)


@pytest.mark.parametrize("kind", ["jemalloc", "mimalloc"])
def test_allocator_library_below_server_root(serve, kind):
    """As the manual has it: a path below ServerRoot. jemalloc needs a second start of the program, which is made for
    what the linker says about that file."""
    module = os.path.join(BUILD, "modules", f"sms_{kind}.so")
    if not os.path.exists(module):
        pytest.skip(f"{module} was not built")
    p = serve.unstarted(f'ServerRoot "{BUILD}"\nLoadModule sms_{kind}_module modules/sms_{kind}.so\n'
                        f"MemorySystem request {kind}\n").run("-t")
    assert p.returncode == 0, p.stderr
    assert f"request        {kind}".encode() in p.stdout


@pytest.mark.parametrize("arguments, says", [
    (["--threads", "0"], "--threads is a number from 1 to 64"),
    (["--threads", "2x"], "--threads is a number from 1 to 64"),
    (["--seconds", "-1"], "--seconds is more than 0"),
    (["--json", "/nowhere/m.json"], "/nowhere/m.json: No such file or directory"),
    (["--svg", "/nowhere/m.svg"], "/nowhere/m.svg: No such file or directory"),
    (["--spec", "arnea"], 'unknown memory system "arnea"; there are arena('),
    (["--spec", "jemaloc"], "trivial("),
])
def test_laboratory_refuses(arguments, says):
    """Before anything is measured."""
    program = os.path.join(BUILD, "brigade-membench")
    if not os.path.exists(program):
        pytest.skip(f"{program} was not built")
    p = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=30)
    assert p.returncode in (1, 2)
    assert says in p.stderr
    assert p.stdout == ""


def test_laboratory(tmp_path):
    """brigade-membench measures every usual system, and what it writes can be read."""
    program = os.path.join(BUILD, "brigade-membench")
    if not os.path.exists(program):
        pytest.skip(f"{program} was not built")
    trace = os.path.join(brigade.REPOSITORY, "test", "bench", "traces", "static.trace")
    p = subprocess.run([program, "--seconds", "1", "--json", tmp_path / "m.json", "--svg", tmp_path / "m.svg", trace],
                       capture_output=True, text=True, timeout=120)
    assert p.returncode == 0, p.stderr
    results = {r["system"]: r for r in json.loads((tmp_path / "m.json").read_text())["traces"][0]["results"]}
    for name in ("stock APR pools", "arena", "arena, inline", "trivial", "system", "limit(16M) arena"):
        assert results[name]["ns_per_request"] > 0, name
        assert name in p.stdout
    assert results["arena"]["refills_per_1000"] < 1
    assert results["arena"]["after_kb"] < results["arena"]["burst_kb"] / 5
    assert (tmp_path / "m.svg").read_text().startswith("<svg ")


def test_laboratory_with_threads(tmp_path):
    """What threads take from each other: with memory of their own they are about as many times as fast."""
    program = os.path.join(BUILD, "brigade-membench")
    if not os.path.exists(program):
        pytest.skip(f"{program} was not built")
    trace = os.path.join(brigade.REPOSITORY, "test", "bench", "traces", "static.trace")
    p = subprocess.run([program, "--threads", "2", "--seconds", "1", "--spec", "arena", "--json", tmp_path / "m.json", trace],
                       capture_output=True, text=True, timeout=120)
    assert p.returncode == 0, p.stderr
    found = json.loads((tmp_path / "m.json").read_text())
    arena = next(r for r in found["traces"][0]["results"] if r["system"] == "arena")
    assert found["threads"] == 2 and arena["threads_ns_per_request"] > 0 and 1.2 < arena["speed_up"] < 2.5, arena


@pytest.mark.parametrize("text, says", [
    ("", "there is no request in it"),
    ("hello\n", "no memory trace of version 1"),
    ("# brigade-memory-trace 1\nc\nr\na 1 10\n", "there is no such pool"),
    ("# brigade-memory-trace 1\nc\nr\np 1 0\na 1\n", "expected a number"),
    ("# brigade-memory-trace 1\nc\nr\np 64 0\n", "expected the number of a pool"),
    ("# brigade-memory-trace 1\nc\nr\np 1 0\np 1 0\n", "this pool exists already"),
    ("# brigade-memory-trace 1\nc\nr\np 1 0\na 1 -5\n", "expected a number"),
    ("# brigade-memory-trace 1\nc\nr\np 1 0\na 1 5 x0\n", "too large"),
    ("# brigade-memory-trace 1\nc\nr\np 1 0\nd 1\nd 1\n", "there is no such pool"),
    ("# brigade-memory-trace 1\nc\nr\np 1 0\np 2 1\nx 1\na 2 5\n", "there is no such pool"),
    ("# brigade-memory-trace 1\nc\nd 0\n", "ends with the file"),
])
def test_traces_are_checked(tmp_path, text, says):
    program = os.path.join(BUILD, "brigade-membench")
    if not os.path.exists(program):
        pytest.skip(f"{program} was not built")
    (tmp_path / "x.trace").write_text(text)
    p = subprocess.run([program, tmp_path / "x.trace"], capture_output=True, text=True, timeout=60)
    assert p.returncode == 1
    assert says in p.stderr
