# SPDX-License-Identifier: Apache-2.0
"""Modules that go wrong: filters that mistreat their buckets, and crashes, which the log puts down to module and hook."""
import email.utils
import json
import os
import re
import signal
import subprocess

import pytest

from brigade import wait_until
from trouble import answers, asked, compiled, filters_are_checked, reset, sanitizer

pytestmark = pytest.mark.only("brigade")

FILES = {"a.txt": "A\n", "m/x.txt": "text\n"}


def with_mishap(config):
    return f"LoadModule mishap_module {compiled('mod_mishap')}\n<Location /handled>\nSetHandler mishap\n</Location>\n{config}"


# ---- Filters and their buckets --------------------------------------------------------------------------------

@pytest.fixture
def checked():
    if not filters_are_checked():
        pytest.skip("checks between filters are for debug and sanitizer builds")


@pytest.mark.parametrize("name,finding", [
    ("M_TWICE", r"filter m_twice of mod_mishap\.c passes a IMMORTAL bucket \(made by filter m_twice\) to filter \S+ a second"),
    ("M_TORN", r"filter m_torn of mod_mishap\.c has a broken brigade: bucket \d+, a \w+ bucket .*, stands in two brigades"),
    ("M_STALE", r"filter m_stale of mod_mishap\.c has bucket 0 of its brigade from filter m_stale destroyed already \(in filter"),
])
def test_a_fatal_mistake_ends_the_process(serve, checked, name, finding):
    server = serve(with_mishap(f"<Location /m>\nSetOutputFilter {name}\n</Location>"), FILES)
    server.expect_trouble = True
    asked(server, "/m/x.txt")
    server.wait_for_log(finding)
    server.wait_for_log("exit signal Abort")
    wait_until(lambda: answers(server), "an answer from the next process")


@pytest.mark.parametrize("name,finding", [
    ("M_LEAK", r"filter m_leak leaked: \d+ blocks of buckets that it made outlive its request"),
    ("M_KEEP", r"filter m_keep leaked: 1 blocks of buckets"),
    ("M_LEFT", r"filter m_left of mod_mishap\.c returned success and left 2 buckets"),
    ("M_STRANGE", r"filter m_strange of mod_mishap\.c passes a IMMORTAL bucket \(.*\) of another connection's allocator"),
])
def test_a_mistake_that_can_be_lived_with_is_told(serve, checked, name, finding):
    server = serve(with_mishap(f"<Location /m>\nSetOutputFilter {name}\n</Location>"), FILES)
    server.expect_trouble = True
    child = server.children()
    assert server.get("/m/x.txt").body.endswith(b"text\n")
    server.wait_for_log(finding)
    assert answers(server) and server.children() == child


def test_a_bucket_that_is_read_after_its_end(serve, checked):
    server = serve(with_mishap("<Location /m>\nSetOutputFilter M_USED\n</Location>"), FILES)
    server.expect_trouble = True
    asked(server, "/m/x.txt")
    server.wait_for_log(r"crashed in module mod_mishap\.c, output filter m_used")
    wait_until(lambda: answers(server), "an answer from the next process")


@pytest.mark.skipif(sanitizer() != "address", reason="AddressSanitizer's finding")
def test_a_finding_of_the_sanitizer_has_a_filter(serve, checked):
    server = serve(with_mishap("<Location /m>\nSetOutputFilter M_SENT\n</Location>"), FILES)
    server.expect_trouble = True
    asked(server, "/m/x.txt")
    server.wait_for_log("use-after-poison", "logs/error_log")
    server.wait_for_log("BRG_FILTER_CHECK: this happens in a call of filter m_sent")


def test_a_filter_without_mistakes_is_not_told_of(serve):
    server = serve(with_mishap("<Location /m>\nSetOutputFilter M_FINE\nSetInputFilter M_INPUT\n</Location>"), FILES)
    for _ in range(3):
        assert server.get("/m/x.txt").body == b"text\n"
    assert b"BRG_" not in server.error_log()


# ---- Crashes --------------------------------------------------------------------------------------------------

FILTERED = "<Location /m>\nSetOutputFilter M_FINE\nSetInputFilter M_INPUT\n</Location>\n"
SEGV = "exit signal Segmentation fault"


@pytest.mark.parametrize("where,how,target,place", [
    ("translate", "segv", "/a.txt", "hook translate_name"),
    ("fixups", "null", "/a.txt", "hook fixups"),
    ("handler", "segv", "/handled", "hook handler"),
    ("handler", "null", "/handled", "hook handler"),
    ("handler", "recurse", "/handled", "hook handler"),
    ("handler", "libc", "/handled", "hook handler"),
    ("output", "segv", "/m/x.txt", "output filter m_fine"),
    ("output", "recurse", "/m/x.txt", "output filter m_fine"),
    ("log", "segv", "/a.txt", "hook log_transaction"),
])
def test_a_crash_is_put_down_to_module_and_hook(serve, where, how, target, place):
    server = serve(with_mishap(f"{FILTERED}Mishap {where} {how}"), FILES)
    server.expect_trouble = True
    child = server.children()[0]
    assert answers(server)
    asked(server, f"{target}?now")
    server.wait_for_log(rf"crashed in module mod_mishap\.c, {place}, at ")
    server.wait_for_log(rf"child pid {child} {SEGV}")
    wait_until(lambda: answers(server), "an answer from the next process")


def test_where_the_fault_is(serve):
    server = serve(with_mishap(f"{FILTERED}Mishap handler segv"), FILES)
    server.expect_trouble = True
    asked(server, "/handled?now")
    server.wait_for_log(r'fatal signal SIGSEGV on connection \d+ from 127.0.0.1 while serving "GET /handled\?now HTTP/1.1" for localhost, handler mishap')
    server.wait_for_log(r"crashed in module mod_mishap\.c, hook handler, at \S+/mod_mishap\.so\+0x[0-9a-f]{3,}\n")


def test_a_call_of_nothing(serve):
    server = serve(with_mishap(f"{FILTERED}Mishap output null"), FILES)
    server.expect_trouble = True
    asked(server, "/m/x.txt?now")
    server.wait_for_log(r"crashed in module mod_mishap\.c, output filter m_fine, at no code: 0x0\n")


def test_a_crash_in_an_input_filter(serve):
    server = serve(with_mishap(f"{FILTERED}Mishap input segv\n<Location /m>\nSetHandler mishap\n</Location>"), FILES)
    server.expect_trouble = True
    with server.connect() as c:
        c.send(b"POST /m/x.txt?now HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc")
        assert c.at_end()
    server.wait_for_log(r"crashed in module mod_mishap\.c, input filter m_input, at ")


def test_an_abort_keeps_its_signal(serve):
    server = serve(with_mishap("Mishap translate abort"), FILES)
    server.expect_trouble = True
    asked(server, "/a.txt?now")
    server.wait_for_log(r"crashed in module mod_mishap\.c, hook translate_name, at \S+libc")
    server.wait_for_log("exit signal Abort")
    wait_until(lambda: answers(server), "an answer from the next process")


def test_a_crash_in_child_init(serve):
    """A process that dies before it serves is started again, later and later; when the cause is gone, all is well."""
    server = serve(with_mishap("Mishap child_init segv"), FILES)
    server.expect_trouble = True
    wait_until(lambda: answers(server), "the first process to serve")
    flag = server.write("mishap", "", base=".")
    os.kill(server.children()[0], signal.SIGKILL)
    server.wait_for_log(r"crashed in module mod_mishap\.c, hook child_init, at ")
    server.wait_for_log(rf"(?s){SEGV}.*{SEGV}.*{SEGV}")
    os.unlink(flag)
    wait_until(lambda: answers(server), "an answer", 60)  # the next start may be 30 s away
    assert server.error_log().count(SEGV.encode()) < 20


def test_a_server_whose_processes_never_start_gives_up(serve):
    server = serve.unstarted(with_mishap("Mishap child_init segv"), FILES, wait=False)
    server.expect_trouble = True
    server.write("mishap", "", base=".")
    server.start()
    assert server.process.wait(60) != 0
    server.wait_for_log(r"crashed in module mod_mishap\.c, hook child_init, at ")


@pytest.mark.parametrize("where,place", [("directive", ""), ("post_config", ", hook post_config")])
def test_a_crash_while_the_configuration_is_read(serve, where, place):
    server = serve.unstarted(with_mishap(f"Mishap {where} segv"), FILES)
    server.write("mishap", "", base=".")
    done = server.run()
    assert done.returncode == -signal.SIGSEGV
    assert re.search(rf"crashed in module mod_mishap\.c{place}, at ".encode(), done.stderr + server.error_log())


@pytest.mark.parametrize("how,told", [("segv", "fatal signal SIGSEGV"), ("abort", "fatal signal SIGABRT"), ("exit", "exit\\(\\)")])
def test_the_directive_of_a_crash(serve, how, told):
    """-t, a start and --takeover-check name it."""
    server = serve.unstarted(with_mishap(f"Mishap directive {how}"), FILES)
    for option in ("-t", "-DFOREGROUND"):
        done = server.run(option)
        place = rf"{told} in the directive Mishap on line \d+ of {server.path('conf/httpd.conf')}".encode()
        assert done.returncode and re.search(place, done.stderr + server.error_log()), option
    done = subprocess.run([server.binary, "--takeover-check", server.path("conf/httpd.conf")], capture_output=True, timeout=60)
    assert done.returncode and re.search(place, done.stderr)
    assert how == "exit" or b"Can Brigade take over? No: a module crashed" in done.stdout


def test_a_crash_while_the_configuration_is_reloaded(serve):
    """It is tried in a process of its own; the server goes on with what it has."""
    server = serve(with_mishap(""), FILES)
    server.expect_trouble = True
    child = server.children()
    server.write_config(with_mishap("Mishap directive segv"))
    server.signal(signal.SIGUSR1)
    server.wait_for_log(r"crashed in module mod_mishap\.c, at ")
    server.wait_for_log("(?i)reload|restart")
    assert answers(server) and server.children() == child


# ---- What modules should leave alone --------------------------------------------------------------------------

def prepared(serve, config, files=FILES):
    """A server whose module goes wrong in child_init."""
    server = serve.unstarted(with_mishap(config), files)
    server.write("mishap", "", base=".")
    return server.start()


@pytest.mark.parametrize("where,target,place", [("handler", "/handled", "hook handler"), ("translate", "/a.txt", "hook translate_name"),
                                                ("output", "/m/x.txt", "filter m_fine")])
def test_exit(serve, where, target, place):
    server = serve(with_mishap(f"{FILTERED}Mishap {where} exit"), FILES)
    server.expect_trouble = True
    child = server.children()[0]
    assert asked(server, f"{target}?now") is None
    server.wait_for_log(rf"module mod_mishap\.c called exit\(\) in {place}: the process ends")
    server.wait_for_log(rf"child pid {child} ended unexpectedly")
    wait_until(lambda: answers(server), "an answer from the next process")


def test_exit_while_the_configuration_is_read(serve):
    server = serve.unstarted(with_mishap("Mishap post_config exit"), FILES)
    server.write("mishap", "", base=".")
    done = server.run()
    assert done.returncode == 3
    assert b"module mod_mishap.c called exit() in hook post_config: the process ends" in done.stderr + server.error_log()


def test_an_end_of_our_own_is_not_a_modules(serve):
    server = serve(with_mishap(""), FILES)
    assert answers(server)
    server.stop()
    assert b"called exit()" not in server.error_log()


@pytest.mark.parametrize("graceful", [False, True])
def test_threads_of_a_module(serve, graceful):
    server = prepared(serve, "Mishap child_init thread")
    for _ in range(3):
        assert answers(server)
    if graceful:
        child = server.children()[0]
        server.signal(signal.SIGUSR1)
        wait_until(lambda: server.children() and child not in server.children(), "the end of the old process")
        assert answers(server)
    assert server.stop() == 0


@pytest.mark.parametrize("where", ["child_init", "handler"])
def test_signals_that_a_module_blocks(serve, where):
    """Orders reach the process all the same."""
    server = prepared(serve, f"Mishap {where} signals")
    server.get("/handled?now")
    child = server.children()[0]
    with server.connect() as c:
        c.send(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
        reset(c)
    server.signal(signal.SIGUSR1)
    wait_until(lambda: server.children() and child not in server.children(), "the end of the old process")
    assert answers(server)
    assert server.stop() == 0


@pytest.mark.parametrize("where", ["child_init", "handler", "post_config"])
def test_surroundings_that_a_module_changes(serve, where):
    """Umask, current folder, locale and time zone: answers stay the same."""
    files = {**FILES, "i.shtml": '<!--#config timefmt="%a" --><!--#echo var="DATE_GMT" --><!--#include file="a.txt" -->'}
    config = ('MemoryReport On\nAddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\n<Directory "@ROOT@/htdocs">\n'
              "Options +Includes +Indexes\n</Directory>\n<Location /st>\nSetHandler server-status\n</Location>\n"
              f"Mishap {where} surroundings")
    server = prepared(serve, config, files)
    server.get("/handled?now")
    for _ in range(3):
        answer = server.get("/a.txt")
        assert answer.body == b"A\n"
        for name in "Date", "Last-Modified":
            assert email.utils.parsedate_to_datetime(answer[name]).strftime("%a, %d %b %Y %H:%M:%S GMT") == answer[name]
    assert server.get("/a.txt", {"If-Modified-Since": answer["Last-Modified"]}).status == 304
    assert server.get("/a.txt", {"IF-NONE-MATCH": answer["ETag"]}).status == 304
    assert server.get("/a.txt", {"Range": "bytes=0-0"}).body == b"A"
    assert server.get("/i.shtml").body.endswith(b"A\n")
    assert server.get("/m/").status == 200
    for query in "json", "memory=json":
        json.loads(server.get(f"/st?{query}").body)
    server.write("new.txt", "new\n")
    assert server.get("/new.txt").body == b"new\n"
    server.signal(signal.SIGUSR1)
    server.wait_for_log("(?s)resuming.*resuming")
    assert answers(server)
