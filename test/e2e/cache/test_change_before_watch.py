# SPDX-License-Identifier: Apache-2.0
"""An answer that is remembered by the very request that puts its file under watch: what changes between its look at the file
and the watch is seen."""
import os
import time

import pytest

import brigade
import module_source
from cache_site import await_hits, hits, one_loop, settle

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

# Who is about to watch what has that name says so by a file, and waits for another one.
WATCH = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
    int (*real)(int, const char *, uint32_t) = (int (*)(int, const char *, uint32_t))dlsym(RTLD_NEXT, "inotify_add_watch");
    const char *folder = getenv("WATCH_FOLDER"), *name = strrchr(path, '/'), *late = getenv("WATCH_NAME");
    char asked[4096], go[4096];
    FILE *f;

    if (folder && late && name && !strcmp(name + 1, late)) {
        snprintf(asked, sizeof asked, "%s/asked", folder);
        snprintf(go, sizeof go, "%s/go", folder);
        if (access(go, F_OK) && (f = fopen(asked, "w")))
            fclose(f);
        while (access(go, F_OK))
            usleep(1000);
    }
    return real(fd, path, mask);
}
"""
ALLOWED, DENIED = "Require all granted\n", "Require all denied\n"


@pytest.fixture
def site(serve, tmp_path):
    """A server, not started, that stands still before it watches what has the name WATCH_NAME."""
    (tmp_path / "watch.c").write_text(WATCH)
    so = module_source.compile_file(tmp_path / "watch.c", tmp_path / "watch.so", "-ldl")
    server = serve.unstarted("EventLoops 1\nServerProcesses 1\n<Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>\n"
                             "<Location /metrics>\nSetHandler metrics\n</Location>\n",
                             {"in/late.html": "one\n", "in/early.html": "early\n", "in/with/late.html": "one\n", "in/with/early.html": "early\n",
                              "in/with/.htaccess": ALLOWED, "other/late.html": "two\n"}, env={"LD_PRELOAD": module_source.preloaded(so)})
    folder = server.path("watch")
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    settle(server.path("htdocs"))
    server.env["WATCH_FOLDER"] = folder
    yield server
    server.write("go", "", base="watch")


def after_change(server, target, name, change, age=1):
    """Statuses and bodies of later requests, after the change met the second one before its watch. If that is the one of the file,
    all around it is under watch."""
    early = os.path.dirname(target) + "/early.html"
    server.env["WATCH_NAME"] = name
    server.start()
    path = server.path("htdocs" + target)
    brigade.wait_until(lambda: os.stat(path).st_ctime + age < time.time(), "a file that is not new")
    with server.connect() as c:
        for _ in range(4 if name == "late.html" else 0):
            assert c.get(early).status == 200
        assert c.get(target).body == b"one\n"
        c.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")
        brigade.wait_until(lambda: os.path.exists(server.path("watch/asked")), "the watch")
        change(server, path)
        server.write("go", "", base="watch")
        assert c.read_response().body == b"one\n"
        return [(answer.status, answer.body if answer.status == 200 else b"") for answer in (c.get(target) for _ in range(4))]


def in_place(server, path):
    with open(path, "r+") as f:
        f.write("two")
    os.utime(path, (1.7e9, 1.7e9))


def replaced(server, path):
    with open(path + ".new", "w") as f:
        f.write("two\n")
    os.utime(path + ".new", (1.7e9, 1.7e9))
    os.replace(path + ".new", path)


def other_folder(server, path):
    os.rename(os.path.dirname(path), server.path("htdocs/gone"))
    os.rename(server.path("htdocs/other"), os.path.dirname(path))


def denied(server, path):
    with open(os.path.join(os.path.dirname(path), ".htaccess"), "w") as f:
        f.write(DENIED)


def unreadable(server, path):
    os.chmod(path, 0)


@pytest.mark.parametrize("target, change, wanted", [
    ("/in/late.html", in_place, (200, b"two\n")), ("/in/late.html", replaced, (200, b"two\n")), ("/in/late.html", other_folder, (200, b"two\n")),
    ("/in/late.html", denied, (403, b"")), ("/in/with/late.html", denied, (403, b"")), ("/in/late.html", unreadable, (403, b"")),
], ids=lambda value: getattr(value, "__name__", None))
def test_a_change_before_the_watch_is_seen(site, target, change, wanted):
    assert after_change(site, target, "late.html", change) == [wanted] * 4


@pytest.mark.parametrize("change, wanted", [(in_place, (200, b"two\n")), (other_folder, (200, b"two\n")), (denied, (403, b""))],
                         ids=lambda value: getattr(value, "__name__", None))
def test_a_change_before_the_folder_is_watched_is_seen(site, change, wanted):
    assert after_change(site, "/in/late.html", "in", change) == [wanted] * 4


def by_another_name(server, path):
    """The folder that is under watch learns nothing of it."""
    in_place(server, server.path("linked.html"))


def test_a_change_by_another_name(site):
    """The file has its length and its time as before; its tag was made of what it contained, and kept since it was not new."""
    server = site
    server.config += "FileETag Digest\n"
    os.link(server.path("htdocs/in/late.html"), server.path("linked.html"))
    assert after_change(server, "/in/late.html", "late.html", by_another_name, age=3) == [(200, b"two\n")] * 4
    with server.connect() as c:
        assert c.get("/in/late.html")["ETag"] == c.get("/other/late.html")["ETag"]


def test_the_third_request_is_answered_from_memory(serve):
    """Where the folder is known; in one that is not, the fourth is."""
    server = one_loop(serve, "<Location /metrics>\nSetHandler metrics\n</Location>\n", files={"early.html": "early\n", "late.html": "late\n"})
    settle(server.path("htdocs"))
    path = server.path("htdocs/late.html")
    brigade.wait_until(lambda: os.stat(path).st_ctime + 1 < time.time(), "a file that is a second old")
    with server.connect() as c:
        for _ in range(4):
            c.get("/early.html")
        await_hits(server, 1)
        before = hits(server)
        for _ in range(3):
            c.get("/late.html")
    await_hits(server, before + 1)
