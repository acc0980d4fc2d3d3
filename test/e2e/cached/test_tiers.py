# SPDX-License-Identifier: Apache-2.0
"""CacheEnable socache: what one machine fetched is a hit on others, purges hold on all of them, and a tier that is dead, slow or talks
nonsense costs nobody an answer."""
import contextlib
import json
import os
import re
import signal
import threading

import pytest

import brigade
from backend import Backend, answer
from brigade import wait_until
from cached_site import fields, kind
from tier_site import TIERS, Mute, config, has_hit, tier

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]
both = pytest.mark.parametrize("name", sorted(TIERS))


@pytest.fixture
def backend():
    with Backend() as backend:
        backend.scripts["*"] = lambda c, r: answer(r.target.encode() + b" %d" % len(backend.requests), fields=fields(age=1000))
        yield backend


def asked(backend, target):
    return len([r for r in backend.requests if r.target == target])


def stored(t, n):
    """So many answers lie there, beside the list of purges and its number."""
    wait_until(lambda: t.objects() >= n + 2, f"{n} answers are in the tier")


@both
def test_shared(serve, backend, name):
    body = os.urandom(70000)
    backend.scripts["/long"] = answer(body, fields=fields(("X-A", "1"), ("ETag", '"1"'), age=1000))
    backend.scripts["/lang"] = lambda c, r: answer(b"in " + r["Accept-Language"].encode(), fields=fields(("Vary", "Accept-Language"), age=1000))
    with tier(name) as t:
        a, b = serve(config(backend, t.place)), serve(config(backend, t.place))
        assert kind(a.get("/p/long")) == "MISS" and kind(a.get("/p/long")) == "HIT"
        for language in ("de", "fr"):
            a.get("/p/lang", headers={"Accept-Language": language})
        stored(t, 4)
        for _ in range(2):
            got = b.get("/p/long")
            assert got.body == body and kind(got) == "HIT" and got["X-A"] == "1" and got["ETag"] == '"1"' and int(got["Age"]) < 1000
            for language in ("de", "fr"):
                got = b.get("/p/lang", headers={"Accept-Language": language})
                assert got.body == b"in " + language.encode() and kind(got) == "HIT"
        assert asked(backend, "/long") == 1 and asked(backend, "/lang") == 2
        assert kind(b.get("/p/lang", headers={"Accept-Language": "it"})) == "MISS"
        # Memory that is empty finds them again.
        b.stop()
        c = serve(config(backend, t.place))
        got = c.get("/p/long")
        assert got.body == body and kind(got) == "HIT" and asked(backend, "/long") == 1


PURGES = {"url": ("/p/a", {}, {"/p/a"}), "prefix": ("/p/x/*", {}, {"/p/x/c"}), "tag": ("/p/none", {"Cache-Tag": "red"}, {"/p/a", "/p/x/c"})}


@both
@pytest.mark.parametrize("how", sorted(PURGES))
def test_purge_is_seen_by_others(serve, backend, name, how):
    tags = {"/a": "red, green", "/b": "green", "/x/c": "red"}
    backend.scripts["*"] = lambda c, r: answer(b"%d" % len(backend.requests), fields=fields(("Cache-Tag", tags[r.target]), age=1000))
    target, more, gone = PURGES[how]
    with tier(name) as t:
        a, b = serve(config(backend, t.place)), serve(config(backend, t.place))
        old = {path: a.get(path).body for path in ("/p/a", "/p/b", "/p/x/c")}
        stored(t, 3)
        assert {path: b.get(path).body for path in old} == old
        assert a.request("PURGE", target, headers=more).status == 200
        for path in gone:
            assert a.get(path).body != old[path]
            wait_until(lambda: b.get(path).body != old[path], "the purge is seen")
        # Neither memory nor the tier has anything older on a machine that begins now.
        c = serve(config(backend, t.place))
        for server in (a, b, c):
            for path in old:
                assert (server.get(path).body != old[path]) == (path in gone), (path, how)


@both
def test_soft_purge(serve, backend, name):
    backend.scripts["/a"] = lambda c, r: answer(b"", "304 Not Modified", fields(("ETag", '"1"'), age=1000)).replace(b"Content-Length: 0\r\n", b"") \
        if r["If-None-Match"] else answer(b"body", fields=fields(("ETag", '"1"'), age=1000))
    with tier(name) as t:
        a, b = serve(config(backend, t.place)), serve(config(backend, t.place))
        a.get("/p/a")
        stored(t, 1)
        assert kind(b.get("/p/a")) == "HIT"
        assert a.request("PURGE", "/p/a", headers={"Fastly-Soft-Purge": "1"}).status == 200
        wait_until(lambda: kind(b.get("/p/a")) == "REVALIDATE", "it is stale for the other one")
        assert has_hit(b, "/p/a", body=b"body") and len([r for r in backend.requests if not r["If-None-Match"]]) == 1


@both
def test_from_the_command_line(serve, backend, name):
    with tier(name) as t:
        a, b = serve(config(backend, t.place)), serve(config(backend, t.place))
        old = a.get("/p/a").body
        stored(t, 1)
        assert b.get("/p/a").body == old
        done = a.run("-k", "purge", "http://localhost/p/a")
        assert done.returncode == 0, done.stderr
        wait_until(lambda: b.get("/p/a").body != old, "the purge is seen")
        t.stop()
        done = a.run("-k", "purge", "http://localhost/p/a")
        assert done.returncode == 2 and b"CacheSocache does not answer" in done.stderr + done.stdout


@both
@pytest.mark.parametrize("processes", [2, 3])
def test_several_processes(serve, backend, name, processes):
    """Each process looks at purges; the memory is one."""
    more = f"StartServers {processes}\nServerLimit {processes}\n"
    with tier(name) as t:
        a, b = (serve(config(backend, t.place, more, loops=1)) for _ in range(2))
        old = [a.get(f"/p/{n}").body for n in range(8)]
        stored(t, 8)
        assert [b.get(f"/p/{n}").body for n in range(8)] == old
        assert a.request("PURGE", "/p/*").status == 200
        for n in range(8):
            wait_until(lambda: b.get(f"/p/{n}").body != old[n], "the purge is seen")
        b.write_config(b.config)
        assert b.run("-k", "graceful").returncode == 0
        wait_until(lambda: has_hit(b, "/p/0"), "it serves")


@pytest.mark.parametrize("name", [
    pytest.param(n, marks=pytest.mark.skipif(not os.path.exists(f"{brigade.APACHE_MODULES}/mod_socache_{n}.so"), reason="Apache's module is not installed")) for n in sorted(TIERS)])
def test_providers_of_apache(serve, backend, name):
    """Apache's binary in place of the built-in provider; a machine with the built-in one finds what it stored."""
    more = f"BuiltinModule socache_{name}_module Off\nLoadModule socache_{name}_module {brigade.APACHE_MODULES}/mod_socache_{name}.so\n"
    with tier(name) as t:
        a, b = serve(more + config(backend, t.place)), serve(config(backend, t.place))
        old = a.get("/p/a").body
        stored(t, 1)
        assert has_hit(b, "/p/a", body=old)
        assert b.request("PURGE", "/p/a").status == 200
        wait_until(lambda: a.get("/p/a").body != old, "the purge is seen")
        b.get("/p/b")
        stored(t, 2)
        assert has_hit(a, "/p/b") and asked(backend, "/b") == 1


def test_unsafe_request(serve, backend):
    with tier("redis") as t:
        a, b = serve(config(backend, t.place)), serve(config(backend, t.place))
        old = a.get("/p/a").body
        stored(t, 1)
        assert b.get("/p/a").body == old
        a.request("DELETE", "/p/a")
        wait_until(lambda: b.get("/p/a").body != old, "it ended on the other one")


def test_purges_at_the_same_time(serve, backend):
    """No purge is lost where two machines write the list at once."""
    with tier("redis") as t:
        nodes = [serve(config(backend, t.place)) for _ in range(3)]
        targets = [f"/p/{n}" for n in range(30)]
        old = [{path: node.get(path).body for path in targets} for node in nodes]

        def purge(node, part):
            for path in part:
                assert node.request("PURGE", path).status == 200
        threads = [threading.Thread(target=purge, args=(node, targets[i::3])) for i, node in enumerate(nodes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for node, was in zip(nodes, old):
            for path in targets:
                wait_until(lambda: node.get(path).body != was[path], f"{path} ended")


@both
def test_dead_tier(serve, backend, name):
    with tier(name) as t:
        a = serve(config(backend, t.place))
        a.get("/p/a")
        stored(t, 1)
        t.stop()
        for n in range(20):
            assert a.get(f"/p/new-{n}").status == 200 and has_hit(a, f"/p/new-{n}")
        assert has_hit(a, "/p/a")
        a.wait_for_log("does not answer: it is left alone until it does")
        assert a.request("PURGE", "/p/a").status == 200 and kind(a.get("/p/a")) == "MISS"
        t.start()
        a.wait_for_log("answers again")
        a.get("/p/later")
        stored(t, 1)
        b = serve(config(backend, t.place))
        assert has_hit(b, "/p/later") and asked(backend, "/later") == 1


METRICS = """<Location /metrics>
SetHandler metrics
</Location>
"""


def figures(server):
    """Of the tier: by the text, which the object of JSON has to agree with but for the time that goes on."""
    text = server.get("/metrics").body.decode()
    told = {n: int(v) for n, v in re.findall(r"^brigade_shared_cache_tier_(\w+?)(?:_total)? (\d+)$", text, re.M)}
    json_of = json.loads(server.get("/metrics?json").body)["shared_cache"]
    assert json_of["tier_lookups"] >= told["lookups"] and json_of["tier_waited_us"] >= told["wait_microseconds"]
    return told


@both
def test_figures(serve, backend, name):
    with tier(name) as t:
        a, b = serve(config(backend, t.place, METRICS)), serve(config(backend, t.place, METRICS))
        assert set(figures(a).values()) == {0}
        a.get("/p/a")
        wait_until(lambda: figures(a)["stored"] == 1, "it is written")
        assert (figures(a)["lookups"], figures(a)["hits"]) == (1, 0) and figures(a)["wait_microseconds"] > 0
        assert kind(b.get("/p/a")) == "HIT" and kind(b.get("/p/a")) == "HIT"
        assert (figures(b)["lookups"], figures(b)["hits"], figures(b)["stored"]) == (1, 1, 0)
        t.stop()
        a.get("/p/b")
        wait_until(lambda: figures(a)["failures"] >= 1, "the failure is counted")
    with contextlib.closing(Mute()) as mute:
        c = serve(config(backend, f"{name}:127.0.0.1:{mute.port}", METRICS + "RedisTimeout 1h"))
        assert c.get("/p/c").status == 200
        wait_until(lambda: figures(c)["failures"] >= 1, "what took too long is counted")


@both
def test_purged_while_it_was_dead(serve, backend, name):
    """A purge that could not be told is told when the tier is back."""
    with tier(name) as t:
        a, b = serve(config(backend, t.place)), serve(config(backend, t.place))
        old = a.get("/p/a").body
        stored(t, 1)
        assert b.get("/p/a").body == old
        t.stop()
        assert a.request("PURGE", "/p/a").status == 200
        assert b.get("/p/a").body == old
        t.start()
        wait_until(lambda: b.get("/p/a").body != old, "the purge is seen")


@both
def test_hanging_tier(serve, backend, name):
    """It accepts and says nothing: it is asked once, waited for a second, and then left alone."""
    with contextlib.closing(Mute()) as mute:
        a = serve(config(backend, f"{name}:127.0.0.1:{mute.port}", "RedisTimeout 1h"))  # longer than any request waits
        for n in range(20):
            assert a.get(f"/p/{n}").status == 200 and has_hit(a, f"/p/{n}")
        a.wait_for_log("does not answer: it is left alone until it does")
        assert asked(backend, "/0") == 1


@both
def test_stopped_tier(serve, backend, name):
    """The process is stopped under load, and goes on later."""
    with tier(name) as t:
        a = serve(config(backend, t.place))
        a.get("/p/a")
        stored(t, 1)
        os.kill(t.process.pid, signal.SIGSTOP)
        try:
            for n in range(10):
                assert a.get(f"/p/new-{n}").status == 200
            assert has_hit(a, "/p/a")
            a.wait_for_log("does not answer: it is left alone until it does")
        finally:
            os.kill(t.process.pid, signal.SIGCONT)
        a.wait_for_log("answers again")


@both
@pytest.mark.parametrize("said", [b"VALUE x\r\n", b"\r\n", b"\0" * 4000, b"$99999999999\r\n", b"$5\r\nab", b"VALUE cache-socache:00 0 5\r\nhello\r\nEND\r\n",
                                  b"-ERR no\r\n", b"ERROR\r\n", b"x" * 9000])
def test_nonsense_of_the_server(serve, backend, name, said):
    with contextlib.closing(Mute(said)) as mute:
        a = serve(config(backend, f"{name}:127.0.0.1:{mute.port}"))
        assert [kind(a.get("/p/a")) for _ in range(2)] == ["MISS", "HIT"]
        a.wait_for_log("does not answer: it is left alone until it does")


CHANGES = {"cut": lambda v: v[:-1], "empty": lambda v: b"", "shorter": lambda v: v[:50], "longer": lambda v: v + b"x", "changed": lambda v: v[:-3] + b"x" + v[-2:],
           "other layout": lambda v: b"BRGTIER9" + v[8:], "foreign": lambda v: b"\x02\x00\x00\x00" + b"x" * 500, "other key": lambda v: v.replace(b"/p/", b"/q/")}


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_garbage_in_the_tier(serve, backend, change):
    with tier("redis") as t:
        a = serve(config(backend, t.place))
        for n in range(3):
            a.get(f"/p/{n}")
        stored(t, 3)
        t.each(CHANGES[change])
        b = serve(config(backend, t.place))
        for n in range(3):
            got = b.get(f"/p/{n}")
            assert kind(got) == "MISS" and got.body.startswith(b"/%d " % n) and has_hit(b, f"/p/{n}")


def test_list_of_purges_is_lost(serve, backend):
    """Without it nothing that lies there is believed; the machines write it anew."""
    with tier("redis") as t:
        a = serve(config(backend, t.place))
        a.get("/p/a")
        stored(t, 1)
        a.stop()
        for key in t.keys():
            if key.startswith(b"cache-socache:71"):  # "q"
                t.ask(b"DEL " + key)
        b = serve(config(backend, t.place))
        assert kind(b.get("/p/a")) == "MISS"
        stored(t, 1)
        c = serve(config(backend, t.place))
        wait_until(lambda: has_hit(c, "/p/a"), "it is found")
        assert asked(backend, "/a") == 2


def test_sizes_and_times(serve, backend):
    backend.scripts["/big"] = answer(b"x" * 3000, fields=fields(age=1000))
    backend.scripts["/short"] = answer(b"x" * 300, fields=fields(age=20))
    backend.scripts["/never"] = answer(b"x", fields=fields(age=1000))
    with tier("redis") as t:
        more = "CacheSocacheMaxSize 2000\nCacheSocacheMaxTime 500\nCacheSocacheMinTime 100\n<Location /p/never>\nCacheSocacheMaxTime 0\n</Location>"
        a = serve(config(backend, t.place, more))
        for path in ("/p/big", "/p/never", "/p/long", "/p/short"):
            a.get(path)
        stored(t, 2)
        spans = sorted(int(t.ask(b"TTL " + key)[1:]) for key in t.keys() if key.startswith(b"cache-socache:73"))
        assert len(spans) == 2 and 60 < spans[0] <= 120 and 200 < spans[1] <= 500
        b = serve(config(backend, t.place))
        assert [kind(b.get(p)) for p in ("/p/big", "/p/never", "/p/long", "/p/short")] == ["MISS", "MISS", "HIT", "HIT"]


def test_a_fresher_one_of_another_machine(serve, backend):
    """What is stale here, and was fetched anew elsewhere, is taken from there."""
    ages, targets = [1], [f"/{n}" for n in range(10)]
    backend.scripts["*"] = lambda c, r: answer(b"%d" % asked(backend, r.target), fields=fields(("ETag", '"%d"' % asked(backend, r.target)), age=ages[0]))
    with tier("redis") as t:
        a, b = serve(config(backend, t.place)), serve(config(backend, t.place))
        assert [a.get("/p" + target).body for target in targets] == [b"1"] * len(targets)
        ages[0] = 1000
        for target in targets:
            wait_until(lambda: b.get("/p" + target).body != b"1", "it is stale")
        before = [asked(backend, target) for target in targets]
        newest = [b.get("/p" + target).body for target in targets]
        got = [a.get("/p" + target).body for target in targets]
        assert b"1" not in got
        assert any(asked(backend, target) == n and body == new for target, n, body, new in zip(targets, before, got, newest))


def test_one_look_up_for_many(serve, backend):
    """A hundred clients that ask for what is absent: one look-up, one fetch."""
    go = threading.Event()

    def slow(c, r):
        assert go.wait(30)
        return answer(b"slow", fields=fields(age=1000))
    backend.scripts["/slow"] = slow
    with tier("redis") as t:
        a = serve(config(backend, t.place))
        clients = [a.connect() for _ in range(100)]
        for c in clients:
            c.send(b"GET /p/slow HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        wait_until(lambda: asked(backend, "/slow") == 1, "it is asked")
        go.set()
        for c in clients:
            assert c.read_to_end().endswith(b"slow")
            c.close()
        assert asked(backend, "/slow") == 1


def test_programs_and_workers(serve, backend, tmp_path):
    """What workers run asks the tier, too."""
    tmp_path.chmod(0o755)
    for folder in tmp_path.parents:
        if folder != folder.parent and os.stat(folder).st_uid == os.geteuid() and str(folder).startswith("/tmp/pytest"):
            folder.chmod(0o755)
    (tmp_path / "a.cgi").write_text("#!/bin/sh\nprintf 'Content-Type: text/plain\\nCache-Control: max-age=1000\\n\\n'\necho made-$$\n")
    (tmp_path / "a.cgi").chmod(0o755)
    more = f"AddHandler cgi-script .cgi\nAlias /x/ {tmp_path}/\n<Directory {tmp_path}>\nOptions ExecCGI\nRequire all granted\n</Directory>\nCacheEnable socache /x/"
    with tier("redis") as t:
        a, b = serve(config(backend, t.place, more)), serve(config(backend, t.place, more))
        first = a.get("/x/a.cgi")
        assert first.status == 200
        stored(t, 1)
        assert has_hit(b, "/x/a.cgi", body=first.body)


@pytest.mark.parametrize("arguments,message", [("memcache", "List of server names required to create memcache socache."),
                                               ("redis:", "List of server names required to create redis socache."),
                                               ("memcache::1", "Failed to Parse memcache Server: ':1'")])
def test_no_server_is_named(serve, backend, arguments, message):
    server = serve.unstarted(f"CacheSocache {arguments}\nCacheEnable socache /\n")
    server.port = brigade.free_port()
    server.write_config()
    done = server.run("-X", port=server.port)
    assert done.returncode and message.encode() in server.error_log() + done.stderr + done.stdout


def test_memory_of_this_machine(serve, backend):
    """What Debian's configurations name: the memory is that, also without Apache's module."""
    server = serve(config(backend, "shmcb:@ROOT@/logs/cache(512000)"))
    assert [kind(server.get("/p/a")) for _ in range(2)] == ["MISS", "HIT"]
    assert asked(backend, "/a") == 1


def test_nothing_is_named(serve, backend):
    server = serve(f"ProxyPass /p/ http://127.0.0.1:{backend.port}/\nCacheEnable socache /\nCacheHeader On\n")
    server.wait_for_log("nothing is stored without CacheSocache")
    assert [kind(server.get("/p/a")) for _ in range(2)] == ["-", "-"]


def test_reload_and_two_servers_names(serve, backend):
    with tier("memcache") as t:
        server = serve(config(backend, f"memcache:127.0.0.1:{brigade.free_port()},127.0.0.1:{t.port}"))
        wait_until(lambda: t.objects() >= 1, "the one that answers has all keys")
        server.get("/p/a")
        server.write_config(config(backend, t.place))
        done = server.run("-k", "graceful")
        assert done.returncode == 0
        wait_until(lambda: has_hit(server, "/p/a"), "it serves")
