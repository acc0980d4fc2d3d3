#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three tasks, done with Brigade, Apache, nginx and Caddy: how many commands and lines somebody types, and how long they take.

    test/bench/three_tasks.py [PREFIX]      where Brigade is installed; without it out/release is installed to a new folder

  https    a static site: HTTPS with a certificate made on the spot, HTTP/2, and a redirect from plain HTTP
  memory   a page of server-side includes: the memory that three memory systems take for the same requests
  filter   a filter that makes text upper case, from its source to the answer

Each task's commands are run as they stand here, in a new folder, and what they lead to is asked for. Lines are those of configuration and
of source that somebody writes; commands those of the shell, where a server in the foreground counts once and its end not at all.
Programs that are not installed are left out: apache2 with apxs, nginx with nginx-dev, caddy with go, wrk. SERVERS names some of the four.
"""
import argparse
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from three_tasks_sources import APACHE_FILTER, APACHE_HTTPS, APACHE_SSI, BRIGADE_FILTER, BRIGADE_HTTPS, BRIGADE_SSI, CADDY_FILTER, CADDY_HTTPS, CADDY_TEXT, NGINX_FILTER, \
    NGINX_FILTER_CONFIG, NGINX_HTTPS, NGINX_SSI, NGINX_TEXT, UPPER

ROOT = pathlib.Path(__file__).resolve().parents[2]
CERTIFICATE = ("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -addext subjectAltName=DNS:localhost "
               "-keyout key.pem -out cert.pem")
LOAD = "wrk -t1 -c32 -d3 http://127.0.0.1:@PORT@/page.shtml"
PAGE = '<!--#include virtual="part.html" --> of <!--#echo var="DOCUMENT_NAME" -->\n' * 20


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Trial:
    """A folder with a site, in which commands are run and counted."""

    def __init__(self, folder):
        self.folder, self.commands, self.lines, self.server = pathlib.Path(folder), 0, 0, None
        self.port, self.tls = free_port(), free_port()
        site = self.folder / "site"
        site.mkdir()
        (self.folder / "logs").mkdir()
        (site / "index.html").write_text("<p>hello</p>\n")
        (site / "part.html").write_text("a part\n")
        (site / "page.shtml").write_text(PAGE)
        (site / "text.txt").write_text("hello\n")
        self.folder.chmod(0o755)
        self.began = time.monotonic()

    def fill(self, text):
        for name, value in (("DIR", self.folder), ("PORT", self.port), ("TLS", self.tls), ("PREFIX", PREFIX)):
            text = text.replace(f"@{name}@", str(value))
        return text

    def write(self, name, text):
        text = self.fill(text).lstrip("\n")
        self.lines += sum(1 for line in text.splitlines() if line.strip())
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def run(self, command, environment=None):
        self.commands += 1
        done = subprocess.run(["bash", "-c", self.fill(command)], cwd=self.folder, capture_output=True, text=True, timeout=1800,
                              env={**os.environ, **(environment or {})})
        if done.returncode:
            raise RuntimeError(f"{command}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
        return done.stdout

    def start(self, command, environment=None):
        """A server in the foreground of a session of its own; it answers when this returns."""
        self.commands += 1
        self.server = subprocess.Popen(["bash", "-c", "exec " + self.fill(command)], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=open(self.folder / "said", "wb"), env={**os.environ, "HOME": str(self.folder), **(environment or {})},
                                       start_new_session=True)
        self.until(lambda: socket.create_connection(("127.0.0.1", self.port), 1).close() is None)

    def until(self, true):
        end = time.monotonic() + 60
        while True:
            try:
                if true():
                    return
            except OSError:
                pass
            if time.monotonic() > end or (self.server and self.server.poll() is not None):
                raise RuntimeError((self.folder / "said").read_text()[-1500:])
            time.sleep(0.02)

    def stop(self):
        if self.server:
            if self.server.poll() is None:
                os.killpg(self.server.pid, signal.SIGTERM)
                self.server.wait(60)
            self.server = None

    def memory(self):
        """What the server's processes have in memory; the command that somebody types for it counts."""
        self.commands += 1
        pids = subprocess.run(["pgrep", "-s", str(self.server.pid)], capture_output=True, text=True, check=True).stdout.split()
        return sum(int(line.split()[1]) for pid in pids for line in open(f"/proc/{pid}/smaps_rollup") if line.startswith("Pss:"))

    def get(self, path="/", *options, scheme="http"):
        port = self.tls if scheme == "https" else self.port
        return subprocess.run(["curl", "-sk", "-o", "-", "-w", "\n%{http_version} %{http_code} %{redirect_url}", *options, f"{scheme}://localhost:{port}{path}"],
                              capture_output=True, text=True, timeout=60).stdout


# ---- static site with HTTPS ----

def https_is_there(t):
    t.until(lambda: "hello" in t.get(scheme="https"))
    assert t.get(scheme="https").endswith("\n2 200 ") and "\n1.1 30" in t.get() and "https://localhost" in t.get(), t.get(scheme="https") + t.get()


def https(t, config, name, command):
    t.write(name, config)
    if "cert.pem" in config:
        t.run(CERTIFICATE)
    t.start(command, {"XDG_DATA_HOME": str(t.folder), "XDG_CONFIG_HOME": str(t.folder)})
    https_is_there(t)


# ---- memory of a page of server-side includes ----

def page_is_there(t):
    assert t.get("/page.shtml").count("a part") == 20, t.get("/page.shtml")


def memory_of_three(t, config, command):
    """By what is put below the server: the C library's allocator, that with one arena, jemalloc."""
    t.write("server.conf", config)
    found = {}
    for name, environment in (("malloc", {}), ("malloc, one arena", {"MALLOC_ARENA_MAX": "1"}), ("jemalloc", {"LD_PRELOAD": "libjemalloc.so.2"})):
        t.start(command, environment)
        page_is_there(t)
        t.run(LOAD)
        found[name] = f"{t.memory()} KiB"
        t.stop()
    return found


def memory_of_brigade(t):
    t.write("httpd.conf", BRIGADE_SSI)
    t.start("@PREFIX@/bin/brigade -f @DIR@/httpd.conf -DFOREGROUND")
    page_is_there(t)
    t.run(LOAD)
    t.run("@PREFIX@/bin/brigade-membench --json told.json requests.trace")
    return {"told": "time and memory of all systems"}


# ---- a filter ----

def filter_is_there(t):
    assert "HELLO" in t.get("/text.txt"), t.get("/text.txt")


def filter_of_apache(t, build, config, command):
    t.write("mod_upper.c", UPPER)
    t.write("httpd.conf", config)
    t.run(build)
    t.start(command)
    filter_is_there(t)


def filter_of_nginx(t):
    t.write("upper/ngx_upper.c", NGINX_FILTER)
    t.write("upper/config", NGINX_FILTER_CONFIG)
    t.write("nginx.conf", NGINX_TEXT)
    t.run("cp -r /usr/share/nginx/src source")
    t.run('cd source && . ./conf_flags && ./configure "${NGX_CONF_FLAGS[@]}" --add-dynamic-module=../upper')
    t.run("make -C source -f objs/Makefile modules")
    t.start("nginx -p @DIR@ -c @DIR@/nginx.conf -g 'daemon off;'")
    filter_is_there(t)


def filter_of_caddy(t):
    t.write("upper.go", CADDY_FILTER)
    t.write("Caddyfile", CADDY_TEXT)
    t.run("go mod init upper && go mod tidy")
    t.run("go build -o caddy")
    t.start("./caddy run --adapter caddyfile --config @DIR@/Caddyfile", {"XDG_DATA_HOME": str(t.folder), "XDG_CONFIG_HOME": str(t.folder)})
    filter_is_there(t)


BRIGADE = "@PREFIX@/bin/brigade -f @DIR@/httpd.conf -DFOREGROUND"
APACHE = "/usr/sbin/apache2 -f @DIR@/httpd.conf -DFOREGROUND"
NGINX = "nginx -p @DIR@ -c @DIR@/server.conf -g 'daemon off;'"
TASKS = {
    "https": {
        "Brigade": lambda t: https(t, BRIGADE_HTTPS, "httpd.conf", BRIGADE),
        "Apache": lambda t: https(t, APACHE_HTTPS, "httpd.conf", APACHE),
        "nginx": lambda t: https(t, NGINX_HTTPS, "server.conf", NGINX),
        "Caddy": lambda t: https(t, CADDY_HTTPS, "Caddyfile", "caddy run --adapter caddyfile --config @DIR@/Caddyfile"),
    },
    "memory": {
        "Brigade": memory_of_brigade,
        "Apache": lambda t: memory_of_three(t, APACHE_SSI, APACHE.replace("httpd", "server")),
        "nginx": lambda t: memory_of_three(t, NGINX_SSI, NGINX),
    },
    "filter": {
        "Brigade": lambda t: filter_of_apache(t, "@PREFIX@/bin/brigade-apxs -c mod_upper.c", BRIGADE_FILTER, BRIGADE),
        "Apache": lambda t: filter_of_apache(t, "apxs -c mod_upper.c", APACHE_FILTER, APACHE),
        "nginx": filter_of_nginx,
        "Caddy": filter_of_caddy,
    },
}
WANTED = os.environ.get("SERVERS", "Brigade Apache nginx Caddy").split()
NEEDED = {"Brigade": ["curl"], "Apache": ["apache2", "apxs"], "nginx": ["nginx"], "Caddy": ["caddy", "go"]}


def processor():
    """Seconds of the processor that commands and servers took that have ended."""
    now = os.times()
    return now.children_user + now.children_system


def attempt(task, server, do):
    """A line of the table."""
    with tempfile.TemporaryDirectory(prefix="brigade-tasks-", ignore_cleanup_errors=True) as folder:
        t, before = Trial(folder), processor()
        try:
            told = do(t) or {}
            took = time.monotonic() - t.began
        except (RuntimeError, AssertionError, subprocess.SubprocessError) as e:
            return f"{task:8} {server:8} failed: {e}"
        finally:
            t.stop()
        return f"{task:8} {server:8} {t.commands:8} {t.lines:6} {took:8.1f} {processor() - before:10.1f}  " + ", ".join(f"{k}: {v}" for k, v in told.items())


def main():
    print(f"{'task':8} {'server':8} {'commands':>8} {'lines':>6} {'seconds':>8} {'of a core':>10}  what it told")
    for task, servers in TASKS.items():
        for server, do in servers.items():
            if server not in WANTED:
                continue
            there = all(map(shutil.which, NEEDED[server])) and (task != "memory" or shutil.which("wrk"))
            print(attempt(task, server, do) if there else f"{task:8} {server:8} not installed", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", nargs="?", metavar="PREFIX")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="brigade-tasks-") as prefix:
        os.chmod(prefix, 0o755)
        PREFIX = arguments.prefix or prefix
        if PREFIX == prefix:
            subprocess.run(["cmake", "--install", ROOT / "out/release", "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
        main()
