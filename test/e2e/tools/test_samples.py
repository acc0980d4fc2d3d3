# SPDX-License-Identifier: Apache-2.0
"""The samples of test/samples: each is built outside of the tree by the installed brigade-apxs, loaded, and does what its
head says; those that keep to Apache's API compile with Apache's own apxs too."""
import os
import re
import shutil
import signal
import socket
import subprocess

import pytest

import brigade
from module_source import run

pytestmark = pytest.mark.only("brigade")
SAMPLES = ["handler", "output", "input", "hook", "echo", "expr", "wait", "storage"]
OF_BRIGADE = {"wait"}  # they use what Apache does not offer


@pytest.fixture(scope="module")
def built(prefix, tmp_path_factory):
    """{sample: .so}, built as the heads of the sources say, from the installed copies."""
    folder = tmp_path_factory.mktemp("samples")
    result = {}
    for name in SAMPLES:
        shutil.copy(f"{prefix}/share/doc/brigade/samples/mod_sample_{name}.c", folder)
        run(f"{prefix}/bin/brigade-apxs", "-Wc,-Wall,-Wextra,-Werror,-Wno-unused-parameter", "-c", f"mod_sample_{name}.c",
            cwd=folder)
        result[name] = f"{folder}/mod_sample_{name}.so"
    return result


def load(built, name):
    return f'LoadModule sample_{name}_module "{built[name]}"\n'


def test_handler(serve, built):
    server = serve(load(built, "handler") + '<Location "/ask">\nSetHandler sample-handler\n</Location>\n'
                   '<Location "/ask/more">\nSampleGreeting "Good morning"\n</Location>\n')
    answer = server.get("/ask?name=Ada%20%3Cb%3E")
    assert answer.body == b"<p>Hello, Ada &lt;b&gt;!</p>\n"
    assert answer["content-type"] == "text/html; charset=utf-8"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert server.request("POST", "/ask/more", form, b"x=1&name=Bob+B&name=C").body == b"<p>Good morning, Bob B!</p>\n"
    assert server.get("/ask").status == 400
    assert server.request("DELETE", "/ask?name=x").status == 405
    bad = serve.unstarted(load(built, "handler") + 'SampleGreeting ' + "x" * 61 + "\n").run("-t")
    assert bad.returncode == 1 and b"SampleGreeting takes at most 60 characters" in bad.stdout + bad.stderr


def test_output_filter(serve, built, prefix):
    text = "a  b\n\n\n\tc" * 4000
    squeezed = re.sub(r"([ \t\n])[ \t\n]*", r"\1", text).encode()
    server = serve(load(built, "output") + "AddOutputFilter SQUEEZE txt\n", files={"a.txt": text, "b.html": text})
    for _ in range(3):  # remembered ones too
        assert server.get("/a.txt").body == squeezed
    assert server.get("/b.html").body == text.encode()
    checked = subprocess.run([f"{prefix}/bin/brigade-filter-test", built["output"], "SQUEEZE"], input=text[:900].encode(),
                             capture_output=True)
    assert checked.returncode == 0, checked.stdout


def test_input_filter(serve, built, prefix):
    server = serve(load(built, "handler") + load(built, "input") + '<Location "/ask">\nSetHandler sample-handler\n'
                   "SetInputFilter UNIXTEXT\n</Location>\n")
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert server.request("POST", "/ask", form, b"na\rme=A\r\rda\r").body == b"<p>Hello, Ada!</p>\n"
    assert server.request("POST", "/ask", form, b"name=A\0").status >= 400
    checked = subprocess.run([f"{prefix}/bin/brigade-filter-test", "--input", built["input"], "UNIXTEXT"],
                             input=b"line\r\nline\r\n" * 90, capture_output=True)
    assert checked.returncode == 0, checked.stdout


def test_hooks(serve, built):
    server = serve(load(built, "hook") + 'LogFormat "%U %{sample-phases}n" phases\nCustomLog "@ROOT@/logs/phases" phases\n'
                   "SampleClosed On\n<VirtualHost *:@PORT@>\nServerName open\nSampleClosed Off\n"
                   "DocumentRoot @ROOT@/htdocs\n</VirtualHost>\n<VirtualHost *:@PORT@>\nServerName closed\n"
                   "DocumentRoot @ROOT@/htdocs\n</VirtualHost>\n", files={"a.txt": "a", "robots.txt": "r"})
    answer = server.get("/a.txt", host="open")
    assert answer.status == 200 and answer["sample-phases"] == "read access fixups"
    answer = server.get("/a.txt", host="closed")
    assert answer.status == 503 and answer["retry-after"] == "3600"
    assert answer["sample-phases"] == "read access"
    assert server.get("/robots.txt", host="closed").status == 200
    server.wait_for_log("(?m)^/a.txt read access fixups$", "logs/phases")
    server.wait_for_log("(?m)^/a.txt read access$", "logs/phases")


def test_connection_protocol(serve, built):
    port = brigade.free_port()
    server = serve(load(built, "echo") + f"Listen 127.0.0.1:{port}\n<VirtualHost 127.0.0.1:{port}>\nSampleEcho On\n"
                   "</VirtualHost>\n", files={"a.txt": "a"})
    with socket.create_connection(("127.0.0.1", port), timeout=brigade.PATIENCE) as s:
        lines = s.makefile("rwb", buffering=0)
        lines.write(b"one\n")
        assert lines.readline() == b"1: one\n"
        lines.write(b"two\nthree\n")
        assert lines.readline() == b"2: two\n" and lines.readline() == b"3: three\n"
        s.shutdown(socket.SHUT_WR)
        assert lines.readline() == b""
    assert server.get("/a.txt").body == b"a"  # HTTP is served as before


def test_expressions(serve, built):
    server = serve(load(built, "expr") + 'Header set Sample-Name "expr=%{rot13:%{REQUEST_URI}}"\n'
                   "<If \"%{SAMPLE_WORKDAY} =~ /yes|no/\">\nHeader set Sample-Open today\n</If>\n"
                   "<If \"%{SAMPLE_WORKDAY} !~ /yes|no/\">\nRequire all denied\n</If>\n", files={"Hello.txt": "a"})
    answer = server.get("/Hello.txt")
    assert answer.status == 200 and answer["sample-name"] == "/Uryyb.gkg"
    assert answer["sample-open"] is not None


def test_waiting(serve, built):
    server = serve(load(built, "wait") + '<Location "/later">\nSetHandler sample-wait\n</Location>\n<Location "/page">\n'
                   "Options +Includes\nSetOutputFilter INCLUDES\n</Location>\n",
                   files={"page/p.shtml": '<!--#include virtual="/later?7" -->'})
    assert server.get("/later?20").body == b"waited for 20 ms\n"
    assert b"error" in server.get("/page/p.shtml").body  # an include cannot wait
    assert server.get("/later?0").status == 400


def traced(server, what):
    """Calls with names of files, and fstat, that the server's processes make meanwhile: (name of the call, the rest of the line)"""
    path = server.path("logs", "trace")
    tracer = subprocess.Popen(["strace", "-f", "-s", "200", "-e", "trace=%file,fstat", "-o", path, *[a for pid in server.children() for a in ("-p", str(pid))]],
                              stderr=subprocess.PIPE)
    try:
        for _ in server.children():
            tracer.stderr.readline()  # "Process ... attached"
        what()
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.communicate()
    with open(path, encoding="utf-8") as f:
        return re.findall(r"^\d+ +(\w+)\((.*)$", f.read(), re.M)


def test_storage(serve, built):
    server = serve(load(built, "storage") + "SampleObjects /objects objects\n<Location /objects>\n    Require all granted\n</Location>\n"
                   "<Location /objects/4>\n    Require all denied\n</Location>\n", files={"objects.txt": "a file"})
    folder = server.path("objects")
    server.write(f"{folder}/11/4711", b"object")
    server.write(f"{folder}/07/7", b"seven")
    answer = server.get("/objects/4711")
    assert answer.body == b"object" and answer["etag"] and answer["last-modified"]
    assert server.get("/objects/4711", {"If-None-Match": answer["etag"]}).status == 304
    assert server.get("/objects/4711", {"Range": "bytes=1-2"}).body == b"bj"
    assert server.get("/objects/7").body == b"seven" and server.get("/objects.txt").body == b"a file"
    assert server.get("/objects/8").status == 404 and server.get("/objects/4").status == 403
    assert server.get("/objects/../objects.txt").status == 200 and server.get("/objects/1234567890123456789").status == 404
    assert server.request("DELETE", "/objects/7").status == 405
    os.mkfifo(f"{folder}/07/107")
    assert server.get("/objects/107").status == 404
    bad = serve.unstarted(load(built, "storage") + "SampleObjects /objects/ /srv\n").run("-t")
    assert bad.returncode == 1 and b"does not end with one" in bad.stdout + bad.stderr
    if shutil.which("strace"):
        calls = traced(server, lambda: server.get("/objects/4711"))
        named = [(call, rest) for call, rest in calls if folder in rest]
        assert [call for call, _ in named] in (["openat"], ["open"]), named
        assert sum(call in ("fstat", "newfstatat") for call, _ in calls) == 1, calls


def test_memory_kind(serve, prefix, tmp_path):
    shutil.copy(f"{prefix}/share/doc/brigade/samples/sms_sample.c", tmp_path)
    run(f"{prefix}/bin/brigade-apxs", "-c", "-i", "-a", "-n", "sms_scrub", "sms_sample.c", cwd=tmp_path)
    assert "LoadModule sms_scrub_module modules/sms_sample.so" in open(f"{prefix}/conf/httpd.conf").read()
    shown = run(f"{prefix}/bin/brigade", "--check-module", f"{prefix}/modules/sms_sample.so")
    assert "    memory system scrub(the byte to fill with, 0 to 255)\n" in shown
    server = serve.unstarted(f'LoadModule sms_scrub_module "{prefix}/modules/sms_sample.so"\n'
                             "MemorySystem request scrub(0xdd) arena\n")
    dump = server.run("-t", "-D", "DUMP_MEMORY")
    assert dump.returncode == 0 and b"scrub(221) arena" in dump.stdout, dump


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in OF_BRIGADE])
def test_apache_compiles_them(name, tmp_path):
    if not shutil.which("apxs"):
        pytest.skip("Apache's apxs is not installed")
    shutil.copy(f"{brigade.REPOSITORY}/test/samples/mod_sample_{name}.c", tmp_path)
    run("apxs", "-Wc,-Wall", "-Wc,-Werror", "-c", f"mod_sample_{name}.c", cwd=tmp_path)
    assert os.path.exists(tmp_path / ".libs" / f"mod_sample_{name}.so")


def test_apache_runs_one(built, tmp_path):
    """The sample filter does the same under Apache."""
    if not shutil.which("apxs") or not os.path.exists("/usr/sbin/apache2"):
        pytest.skip("Apache is not installed")
    shutil.copy(f"{brigade.REPOSITORY}/test/samples/mod_sample_output.c", tmp_path)
    run("apxs", "-c", "mod_sample_output.c", cwd=tmp_path)
    server = brigade.Server(f'LoadModule sample_output_module "{tmp_path}/.libs/mod_sample_output.so"\n'
                            "AddOutputFilter SQUEEZE txt\n", files={"a.txt": "a   b\n\nc"}, binary="/usr/sbin/apache2")
    with server:
        assert server.get("/a.txt").body == b"a b\nc"
