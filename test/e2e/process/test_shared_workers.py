# SPDX-License-Identifier: Apache-2.0
"""Server processes lend each other worker threads that they do not need, and get them back."""
import os
import signal

import pytest

from brigade import wait_until
from http_client import request_bytes
from module_source import compile_text

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

# Answers with the process's number; with a query, only once a file of that name is there, or one named "all".
HOLDS = """
#include <fcntl.h>
#include <unistd.h>
#include "apr_strings.h"
static int there(request_rec *r, const char *kind, const char *name)
{
    return !access(ap_server_root_relative(r->pool, apr_pstrcat(r->pool, "htdocs/", kind, name, NULL)), F_OK);
}
static int holds(request_rec *r)
{
    if (!r->handler || strcmp(r->handler, "holds"))
        return DECLINED;
    if (r->args)
        close(open(ap_server_root_relative(r->pool, apr_pstrcat(r->pool, "htdocs/begun-", r->args, NULL)), O_CREAT | O_WRONLY, 0644));
    while (r->args && !there(r, "go-", r->args) && !there(r, "go-", "all"))
        usleep(2000);
    ap_rprintf(r, "%d", (int)getpid());
    return OK;
}
static void holds_hooks(apr_pool_t *p)
{
    ap_hook_handler(holds, NULL, NULL, APR_HOOK_MIDDLE);
}
"""
CONFIG = ("LoadModule holds_module @ROOT@/mod_holds.so\nEventLoops 1\nServerProcesses 2\nMaxRequestWorkers 8\nKeepAliveTimeout 300\n"
          "AsyncRequestWorkerFactor 20\n<Location /hold>\nSetHandler holds\n</Location>\n")


class Site:
    def __init__(self, serve):
        self.server = serve.unstarted(CONFIG, {"a.txt": "a"})
        self.server.expect_trouble = True
        compile_text(self.server.root, "holds", HOLDS)
        os.chmod(self.server.path("htdocs"), 0o777)
        self.server.start()
        wait_until(lambda: len(self.server.children()) == 2, "two processes")
        self.clients, self.held = {}, {}
        self.gather()

    def gather(self):
        """Nine connections of each process, without a request. The kernel chooses whose a connection is."""
        self.clients = {}
        while len(self.clients) < 2 or min(len(of) for of in self.clients.values()) < 9:
            c = self.server.connect()
            self.clients.setdefault(int(c.get("/hold").body), []).append(c)

    def hold(self, name, pid, n):
        for i in range(n):
            c = self.clients[pid].pop()
            c.send(request_bytes("GET", f"/hold?{name}{i}"))
            self.held[f"{name}{i}"] = c

    def begun(self, name):
        return sorted(f[6:] for f in os.listdir(self.server.path("htdocs")) if f.startswith(f"begun-{name}"))

    def release(self, which):
        self.server.write(f"go-{which}", "")
        self.held.pop(which).read_response()

    def end(self):
        self.server.write("go-all", "")
        for c in self.held.values():
            assert c.read_response().status == 200
            c.close()


def test_an_idle_process_lends_and_gets_back(serve):
    site = Site(serve)
    busy, idle = site.server.children()
    site.hold("a", busy, 9)
    wait_until(lambda: len(site.begun("a")) == 7, "its own four, and three of the other's")
    site.hold("b", idle, 4)
    wait_until(lambda: len(site.begun("b")) == 1, "the one that is not lent")
    for n in range(2, 5):
        running = [name for name in site.begun("a") if name in site.held]
        site.release(running[0])
        wait_until(lambda: len(site.begun("b")) == n, "what is given back")  # pylint: disable=cell-var-from-loop
    assert len(site.begun("a")) == 7
    site.release([name for name in site.begun("a") if name in site.held][0])
    wait_until(lambda: len(site.begun("a")) == 8, "what waits, by a thread of its own")
    site.end()


@pytest.mark.slow
def test_threads_without_work_are_lent(serve):
    """Within a second or so, not when they have been idle for long."""
    site = Site(serve)
    busy, idle = site.server.children()
    site.hold("b", idle, 4)
    wait_until(lambda: len(site.begun("b")) == 4, "its part")
    for i in range(4):
        site.release(f"b{i}")
    site.hold("a", busy, 9)
    wait_until(lambda: len(site.begun("a")) == 7, "the loan", seconds=8)
    site.end()


def test_a_loan_of_a_process_that_dies_comes_back(serve):
    site = Site(serve)
    first, second = site.server.children()
    site.hold("a", first, 7)
    wait_until(lambda: len(site.begun("a")) == 7, "a loan")
    site.hold("b", second, 8)
    wait_until(lambda: len(site.begun("b")) == 1, "what is not lent")
    os.kill(first, signal.SIGKILL)
    site.held = {name: c for name, c in site.held.items() if name[0] == "b"}
    wait_until(lambda: len(site.begun("b")) == 7, "all but what its successor keeps")
    site.end()


def test_a_reload_lends_anew(serve):
    """Processes of before have their own number."""
    site = Site(serve)
    old = site.server.children()
    site.hold("a", old[0], 7)
    wait_until(lambda: len(site.begun("a")) == 7, "a loan")
    site.server.signal(signal.SIGUSR1)
    wait_until(lambda: set(site.server.children()) & set(old) == {old[0]} and len(site.server.children()) == 3, "the next two")
    site.gather()
    new = next(p for p in site.server.children() if p not in old)
    site.hold("c", new, 7)
    wait_until(lambda: len(site.begun("c")) == 7, "a loan among them")
    site.end()
