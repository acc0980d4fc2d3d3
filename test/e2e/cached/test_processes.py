# SPDX-License-Identifier: Apache-2.0
"""Stored answers and processes: several of them wait for one fetch, in a sandbox, with prefork, over an upgrade of the program."""
import ctypes
import os
import pwd
import signal
import threading
import time

import pytest

from backend import Backend, answer
from brigade import APACHE_MODULES, SANDBOX, unprivileged_user, wait_until
from cached_site import config, fields, kind

pytestmark = pytest.mark.only("brigade")


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


@pytest.fixture
def root(tmp_path):
    path = f"/tmp/cached-{os.getpid()}-{id(tmp_path)}"
    os.mkdir(path)
    if os.geteuid() == 0:
        user = pwd.getpwnam(unprivileged_user())
        os.chown(path, user.pw_uid, user.pw_gid)
    yield path
    for name in os.listdir(path):
        os.unlink(f"{path}/{name}")
    os.rmdir(path)


def asked(server, path, n):
    got = [None] * n

    def one(i):
        got[i] = server.get(path)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    return got, threads


def fetched_once(server, backend, n=20):
    opened = threading.Event()

    def script(connection, request):
        assert opened.wait(20)
        return answer(b"once\n" * 1000, fields=fields())

    backend.scripts["/once"] = script
    got, threads = asked(server, "/p/once", n)
    wait_until(lambda: backend.requests, "the first one")
    time.sleep(0.3)
    opened.set()
    for t in threads:
        t.join(30)
    assert all(g.body == b"once\n" * 1000 for g in got)
    return len([r for r in backend.requests if r.target == "/once"])


@pytest.mark.parametrize("processes", [1, 3])
def test_several_processes(serve, backend, processes):
    server = serve(config(backend, f"StartServers {processes}\nServerLimit {processes}\n", loops=1))
    assert fetched_once(server, backend) == 1


def test_prefork(serve, backend):
    server = serve("LoadModule mpm_prefork_module modules/mod_mpm_prefork.so\nStartServers 5\n" + config(backend).replace("EventLoops 1", ""))
    backend.scripts["/a"] = answer(b"stored\n", fields=fields())
    assert [kind(server.get("/p/a")) for _ in range(10)] == ["MISS"] + ["HIT"] * 9
    assert fetched_once(server, backend, 5) <= 5


@pytest.mark.skipif(bool(SANDBOX), reason="it has a sandbox of its own")
@pytest.mark.skipif(ctypes.CDLL(None).syscall(444, None, 0, 1) < 1, reason="the kernel has no Landlock, or it is switched off")
def test_sandbox(serve, backend, root):
    body = os.urandom(200000)
    backend.scripts["*"] = lambda c, r: answer(r.target.encode() + body, fields=fields(age=1000))
    more = f"Sandbox Required\nCacheMemory 8M\nCacheRoot {root}\nCacheMaxSize 64M\nCacheEnable disk /p/\n"
    server = serve(more + config(backend).replace("CacheEnable memory /p/", ""))
    for _ in range(2):
        for n in range(60):  # more than memory holds
            assert server.get(f"/p/{n}").body == f"/{n}".encode() + body
    assert server.request("POST", "/p/1", body=b"x").status == 200
    assert kind(server.get("/p/1")) == "MISS"
    server.stop()
    asked_before = len(backend.requests)
    server = serve(more + config(backend).replace("CacheEnable memory /p/", ""))
    wait_until(lambda: kind(server.get("/p/59")) == "HIT", "it is found again")
    assert len(backend.requests) <= asked_before + 1


def test_upgrade(serve, backend):
    backend.scripts["/a"] = answer(b"stored\n", fields=fields(age=1000))
    server = serve(config(backend))
    server.get("/p/a")
    child = server.children()[0]
    server.signal(signal.SIGUSR2)
    wait_until(lambda: child not in server.children(), "the other program serves")
    assert kind(server.get("/p/a")) == "HIT" and len(backend.requests) == 1


@pytest.mark.skipif(not os.path.exists(f"{APACHE_MODULES}/mod_cache.so"), reason="Apache's modules are not installed")
@pytest.mark.parametrize("switch", ["", "BuiltinModule cache_module Off\n"], ids=["builtin", "file"])
def test_modules_that_a_site_of_apaches_loads(serve, backend, root, switch):
    loads = "".join(f"LoadModule {m}_module {APACHE_MODULES}/mod_{m}.so\n" for m in ("authz_core", "proxy", "proxy_http", "cache", "cache_disk"))
    server = serve(switch + loads + f"CacheRoot {root}\nCacheDirLevels 1\nCacheEnable disk /p/\nCacheHeader On\nProxyPass /p/ http://127.0.0.1:{backend.port}/\n", )
    backend.scripts["/a"] = answer(b"stored\n", fields=fields())
    assert [kind(server.get("/p/a")) for _ in range(2)] == ["MISS", "HIT"]
    ours = b"CacheDirLevels has no effect here" in server.error_log()
    assert ours == (not switch)
    if switch:  # folders, which the fixture does not expect
        import shutil
        shutil.rmtree(root)
        os.mkdir(root)
