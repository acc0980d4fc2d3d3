# SPDX-License-Identifier: Apache-2.0
"""`brigade --profile` tells where the processor's time of a site goes: by function, room, module file and system call."""
import os
import re
import shutil
import subprocess
import threading
import time
import xml.etree.ElementTree

import pytest

import brigade
import module_source

TOOL = os.path.join(os.path.dirname(brigade.BINARY), "brigade-profile")
pytestmark = [
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="an option of Brigade's"),
    pytest.mark.skipif(not os.access(TOOL, os.X_OK), reason="the tool is not beside the program"),
    pytest.mark.skipif(bool(re.search("lib[at]san", module_source.run("ldd", brigade.BINARY))), reason="valgrind runs no program of a sanitizer"),
]
needs = {name: pytest.mark.skipif(not shutil.which(name), reason=f"{name} is not installed") for name in ("valgrind", "strace", "perf")}
FILES = {"a.txt": "a\n" * 500, "slow.txt": "b\n" * 2000}
SLOW = """
static unsigned slow_sum; /* is read, so that the loop stays */
static __attribute__((noinline)) void slow_bytes(const char *data, apr_size_t len)
{
    for (int round = 0; round < 200; round++)
        for (apr_size_t i = 0; i < len; i++)
            slow_sum = slow_sum * 31 + (unsigned char)data[i];
}
static apr_status_t slow_out(ap_filter_t *f, apr_bucket_brigade *bb)
{
    for (apr_bucket *b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb); b = APR_BUCKET_NEXT(b)) {
        const char *data;
        apr_size_t len;
        if (!APR_BUCKET_IS_METADATA(b) && apr_bucket_read(b, &data, &len, APR_BLOCK_READ) == APR_SUCCESS)
            slow_bytes(data, len);
    }
    return ap_pass_brigade(f->next, bb);
}
static void slow_hooks(apr_pool_t *p) { ap_register_output_filter("SLOW", slow_out, NULL, AP_FTYPE_RESOURCE); }
"""
CONFIG = """LoadModule slow_module @SO@
LogFormat "%h %t \\"%r\\" %>s" short
CustomLog @ROOT@/logs/access short
<Files slow.txt>
    SetOutputFilter SLOW
</Files>
"""


@pytest.fixture(scope="module")
def so(tmp_path_factory):
    path = tmp_path_factory.mktemp("slow")
    os.chmod(path, 0o755)
    os.chmod(path.parent, 0o755)
    return module_source.compile_text(str(path), "slow", SLOW)


def rows(text, title):
    """[(share, function, room)] of the table below the line that begins with title"""
    part = text[text.index(title):]
    part = part[:part.index("\n  By room:")]
    return [(float(share), name, room) for share, name, room in re.findall(r"^ +([\d.]+)% +[\d.]+% +[\d,]+  (\S.*?) +(\S+)$", part, re.M)]


def instructions(text):
    return int(re.search(r"^Instructions a request: ([\d,]+)", text, re.M)[1].replace(",", ""))


def profile(server, *arguments, status=0):
    done = server.run("--profile", *arguments)
    assert done.returncode == status, done.stderr.decode()
    return done.stdout.decode(), done.stderr.decode()


@needs["valgrind"]
@needs["strace"]
def test_urls_of_a_site_that_runs(serve, so):
    server = serve(CONFIG.replace("@SO@", so), FILES)
    changed = os.stat(os.path.join(server.root, "htdocs/a.txt")).st_ctime
    brigade.wait_until(lambda: time.time() > changed + 3, "a file that may be kept in memory")
    text, _ = profile(server, "--requests", "100", "--seconds", "0.2", "/a.txt", "/slow.txt")
    first, second = text.split("/slow.txt: 200", 1)
    assert first.startswith("/a.txt: 200, 1,000 bytes")
    assert 2000 < instructions(first) < 20000  # from memory, with its line in the log
    rooms = {name: room for _, name, room in rows(first, "Instructions a request")}
    assert rooms["h1_field_lines"] == "server/message"
    calls = dict(re.findall(r"(\w+) ([\d.]+)", re.search(r"^System calls a request: [\d.]+ \((.*)\)", first, re.M)[1]))
    assert float(calls["recvfrom"]) == 1 and "openat2" not in calls
    share, name, room = rows(second, "Instructions a request")[0]
    assert (name, room) == ("slow_bytes", "mod_slow.so") and share > 80
    with open(os.path.join(server.root, "logs/access")) as f:
        assert f.read() == ""  # nothing of it is in the site's log
    assert server.get("/a.txt").status == 200


@needs["valgrind"]
def test_connections_that_end_while_it_counts(serve):
    server = serve("KeepAliveTimeout 50ms\n", FILES)
    text, _ = profile(server, "--requests", "20", "--seconds", "0.1", "/a.txt")
    assert text.startswith("/a.txt: 200, 1,000 bytes") and instructions(text) > 2000


@needs["valgrind"]
def test_before_and_after_a_line(serve, so):
    server = serve(CONFIG.replace("@SO@", so), FILES)
    text, _ = profile(server, "--requests", "50", "--seconds", "0.1", "--with", "<Location /slow.txt>\nSetOutputFilter none\n</Location>", "/slow.txt")
    found = re.search(r"^Instructions a request: ([\d,]+) before, ([\d,]+) after \(-[\d.]+%\)\n.*\n +-[\d,]+ +[\d,]+ +0  slow_bytes +mod_slow.so$", text, re.M)
    assert found, text
    assert text.count("Instructions a request") == 3


@needs["perf"]
def test_a_process_that_serves(serve, so, tmp_path):
    server = serve(CONFIG.replace("@SO@", so), FILES)
    over = threading.Event()

    def load():
        while not over.is_set():
            server.get("/slow.txt")

    thread = threading.Thread(target=load)
    thread.start()
    picture = tmp_path / "flame.svg"
    try:
        done = subprocess.run([brigade.BINARY, "--profile", "--seconds", "2", "--flame", str(picture), str(server.process.pid)], capture_output=True, text=True,
                              timeout=brigade.PATIENCE * 3)
    finally:
        over.set()
        thread.join()
    if "perf cannot sample" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert rows(done.stdout, "Processor time")[0][1:] == ("slow_bytes", "mod_slow.so")
    titles = [e.text for e in xml.etree.ElementTree.parse(picture).iter() if e.tag.endswith("title")]
    assert any(title.startswith("slow_bytes (mod_slow.so)") for title in titles)
    assert any("(kernel)" in title for title in titles)


def test_what_cannot_be_profiled(serve):
    server = serve("", {"a.txt": "a\n"})
    for arguments, words in ((["--requests", "0", "/a.txt"], "more than 0"), ([], "no URL and no process"), (["--speed", "/a.txt"], "--help"), (["999999999"], "no such process")):
        _, said = profile(server, *arguments, status=2)
        assert words in said, said
    wrong = server.run("-c", "Nonsense On", "--profile", "/a.txt")
    assert wrong.returncode == 2 and b"Nonsense" in wrong.stderr and not wrong.stdout
