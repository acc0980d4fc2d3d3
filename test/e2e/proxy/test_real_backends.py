# SPDX-License-Identifier: Apache-2.0
"""Programs that people have behind a proxy: gunicorn, uwsgi, git over HTTP; and transfers of more than four gigabytes."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

import pytest

from brigade import wait_until

pytestmark = pytest.mark.only("brigade")
HERE = os.path.dirname(os.path.abspath(__file__))
HUGE = (4 << 30) + 12345
BLOCK = bytes(range(256)) * 4096

APPLICATIONS = {
    "gunicorn": (["gunicorn", "--bind", "unix:{socket}", "--workers", "2", "--pythonpath", HERE, "wsgi_app"], "unix:{socket}|http://app/"),
    "uwsgi": (["uwsgi", "--plugin", "python3", "--socket", "{socket}", "--chmod-socket=666", "--pythonpath", HERE, "--module", "wsgi_app", "--master",
               "--die-on-term", "--processes", "2"], "unix:{socket}|uwsgi://app/"),
    "uwsgi-http": (["uwsgi", "--plugin", "python3", "--http-socket", "{socket}", "--chmod-socket=666", "--pythonpath", HERE, "--module", "wsgi_app",
                    "--master", "--die-on-term", "--processes", "2"], "unix:{socket}|http://app/"),
}


@contextlib.contextmanager
def running(command):
    """With its children, which are ended with it."""
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                               env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    try:
        yield
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()


@pytest.fixture
def folder():
    """One that the server's user may enter."""
    with tempfile.TemporaryDirectory(prefix="brigade-test-") as made:
        os.chmod(made, 0o755)
        yield pathlib.Path(made)


@pytest.fixture(params=APPLICATIONS)
def application(request, folder):
    """What ProxyPass has as its target."""
    command, target = APPLICATIONS[request.param]
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    path = str(folder / "app.socket")
    with running([word.format(socket=path) for word in command]):
        def answers():
            with socket.socket(socket.AF_UNIX) as probe:
                return os.path.exists(path) and probe.connect_ex(path) == 0
        wait_until(answers, f"{command[0]} to listen")
        os.chmod(path, 0o777)
        yield target.format(socket=path)


def test_applications_in_python(serve, application):
    server = serve(f"EventLoops 2\nProxyPass /app/ {application}\n")
    asked = json.loads(server.get("/app/what/ever%20x?q=1&r=%2f", headers={"X-A": "b"}).body)
    assert asked["PATH_INFO"].endswith("/what/ever x") and asked["QUERY_STRING"] == "q=1&r=%2f" and asked["HTTP_X_A"] == "b"
    for size in (0, 1, 16384, 16385, 3 << 20):
        body = (BLOCK * 3)[:size]
        got = server.request("POST", "/app/echo", headers={"Content-Type": "application/octet-stream"}, body=body)
        assert got.status == 200 and got.body == body, size
    assert server.get("/app/pieces").body == b"".join(b"%d\n" % n for n in range(1000))
    gone = server.get("/app/gone")
    assert (gone.status, gone.body, gone.all("Set-Cookie")) == (410, b"gone\n", ["a=1", "b=2"])
    with server.connect() as client:
        for _ in range(50):
            assert client.get("/app/gone").status == 410


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_git_push_and_clone(serve, folder):
    """Two servers: one has git's program, the other one hands on."""
    def git(*args, cwd=None, **variables):
        done = subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "http.postBuffer=131072", *args], cwd=cwd,
                              capture_output=True, text=True, env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "HOME": str(folder), **variables})
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    place = folder / "repositories"
    git("init", "--bare", "-q", str(place / "a.git"))
    git("config", "http.receivepack", "true", cwd=place / "a.git")
    subprocess.run(["chmod", "-R", "a+rwX", str(place)], check=True)
    program = os.path.join(git("--exec-path"), "git-http-backend")
    inner = serve(f"SetEnv GIT_PROJECT_ROOT {place}\nSetEnv GIT_HTTP_EXPORT_ALL 1\nSetEnv GIT_CONFIG_COUNT 1\nSetEnv GIT_CONFIG_KEY_0 safe.directory\n"
                  f"SetEnv GIT_CONFIG_VALUE_0 *\nScriptAlias /git/ {program}/\n"
                  f"<Directory {os.path.dirname(program)}>\nRequire all granted\n</Directory>\n")
    outer = serve(f"ProxyPass /code/ http://127.0.0.1:{inner.port}/git/\n")
    work = folder / "work"
    git("init", "-q", "-b", "main", str(work))
    (work / "small.txt").write_text("a\n")
    (work / "large.bin").write_bytes(os.urandom(3 << 20))
    git("add", ".", cwd=work)
    git("commit", "-q", "-m", "one", cwd=work)
    url = f"http://127.0.0.1:{outer.port}/code/a.git"
    git("push", "-q", url, "main", cwd=work)
    git("clone", "-q", "-b", "main", url, str(folder / "copy"))
    assert git("rev-parse", "HEAD", cwd=folder / "copy") == git("rev-parse", "HEAD", cwd=work)
    assert (folder / "copy" / "large.bin").read_bytes() == (work / "large.bin").read_bytes()


def read_head(sock):
    data = b""
    while b"\r\n\r\n" not in data:
        piece = sock.recv(4096)
        assert piece, "the connection ended"
        data += piece
    return data.split(b"\r\n\r\n", 1)


def count(sock, n):
    """Read n bytes; those in memory are looked at in one place of each block."""
    into = bytearray(1 << 20)
    while n:
        got = sock.recv_into(into, min(n, len(into)))
        assert got, "the connection ended"
        n -= got


def send(sock, n):
    while n:
        piece = BLOCK[:min(n, len(BLOCK))]
        sock.sendall(piece)
        n -= len(piece)


@contextlib.contextmanager
def huge_backend(serve_one):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def accept():
            with contextlib.suppress(OSError):
                sock, _ = listener.accept()
                with sock:
                    serve_one(sock, *read_head(sock))
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


@pytest.mark.slow
def test_a_download_beyond_four_gigabytes(serve):
    def give(sock, _head, _rest):
        sock.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {HUGE}\r\n\r\n".encode())
        send(sock, HUGE)

    with huge_backend(give) as port:
        server = serve(f"ProxyPass /p/ http://127.0.0.1:{port}/\n")
        with server.connect() as client:
            client.send(b"GET /p/x HTTP/1.1\r\nHost: x\r\n\r\n")
            head, rest = read_head(client.socket)
            assert f"Content-Length: {HUGE}".encode() in head
            count(client.socket, HUGE - len(rest))


@pytest.mark.slow
def test_an_upload_beyond_four_gigabytes(serve):
    def take(sock, head, rest):
        assert f"Content-Length: {HUGE}".encode() in head
        count(sock, HUGE - len(rest))
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhave\n")

    with huge_backend(take) as port:
        server = serve(f"ProxyPass /p/ http://127.0.0.1:{port}/\n")
        with server.connect() as client:
            client.send(f"PUT /p/x HTTP/1.1\r\nHost: x\r\nContent-Length: {HUGE}\r\n\r\n".encode())
            send(client.socket, HUGE)
            head, rest = read_head(client.socket)
            assert b" 200 " in head and rest == b"have\n"
