# SPDX-License-Identifier: Apache-2.0
"""Carries out guides as a stranger does: their own blocks, in their order, on a machine of their own.

    carry_out.py PREFIX GUIDE.md ...

PREFIX is an installation. It needs root: each guide gets namespaces of mounts, processes and network, in which PREFIX is /opt/brigade,
/srv, /run, /etc and /var are layers that are thrown away, and the names of the guides are those of loopback. Ports are the guides' own.

The first configuration is README's. Then, of each guide:

    ```apache            lines that are added to conf/httpd.conf
    ```apache (complete) a whole configuration, which replaces it
    ```apache (not tried), and blocks of other languages: nothing
    ```apache (WORD)     the first configuration with these lines: another way, which begins anew
    ```sh                commands, each of which has to succeed
    ```sh (not tried)    nothing

Before commands the configuration is checked, and the server started or reloaded. What a command is followed by, "# 200, X-A: b", are
texts that its output has to have, where it begins with curl. Output: a line for each guide with seconds, blocks, commands and faults.
What a guide takes for granted (an application, PHP-FPM, pages) is in WORLDS."""
import http.server
import os
import pathlib
import re
import socketserver
import subprocess
import sys
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
PREFIX = "/opt/brigade"
CONF = pathlib.Path(PREFIX, "conf/httpd.conf")
NAMES = "127.0.0.1 www.example.org example.org app.example.org\n"
LAYERS = """set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 none /mnt
for d in etc var opt srv; do
    mkdir -p /mnt/$d/upper /mnt/$d/work
    mount -t overlay -o lowerdir=/$d,upperdir=/mnt/$d/upper,workdir=/mnt/$d/work overlay /$d
done
mount -t tmpfs -o mode=755 none /run
mkdir -p /run/php /opt/brigade /mnt/p/upper /mnt/p/work /etc/brigade
mount -t overlay -o "lowerdir=$1,upperdir=/mnt/p/upper,workdir=/mnt/p/work" overlay /opt/brigade
ip link set lo up
shift
exec "$@"
"""
SECONDS = 120
CERTIFICATE = "/etc/letsencrypt/live/www.example.org/fullchain.pem"


class Fault(Exception):
    """What a stranger would have stumbled over."""


# ---- what guides take for granted ----

class Application(http.server.BaseHTTPRequestHandler):
    """Says its port, the path and the fields that it got."""
    protocol_version = "HTTP/1.1"

    def events(self):
        """One event, and then nothing for as long as a client waits."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"data: first\n\n")
        time.sleep(8)

    def answer(self):
        if self.path == "/events":
            self.close_connection = True
            return self.events()
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = f"port {self.server.server_address[1]}\n{self.command} {self.path}\n{self.headers}".encode()
        self.send_response(200)
        for name, value in (("Content-Type", "text/plain"), ("Content-Length", len(body)), ("Cache-Control", "max-age=60"), ("Cache-Tag", "news")):
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body if self.command != "HEAD" else b"")
        return None

    do_GET = do_HEAD = do_POST = do_QUERY = answer

    def log_message(self, *_):
        pass


class Listener(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True


def applications(*ports):
    for port in ports:
        threading.Thread(target=Listener(("127.0.0.1", port), Application).serve_forever, daemon=True).start()


def files(folder, **texts):
    for name, text in {"index.html": "<p>Home</p>\n", **texts}.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def php():
    """PHP-FPM as Debian sets it up: its pool listens at /run/php, for www-data."""
    program = next(iter(sorted(pathlib.Path("/usr/sbin").glob("php-fpm8*"))), None)
    if not program:
        raise Fault("PHP-FPM is not installed")
    conf = pathlib.Path("/run/php/fpm.conf")
    conf.write_text("[global]\nerror_log=/run/php/log\n[www]\nuser=www-data\ngroup=www-data\nlisten=/run/php/php-fpm.sock\nlisten.owner=www-data\n"
                    "listen.group=www-data\npm=static\npm.max_children=2\n")
    subprocess.Popen([program, "-n", "-F", "-y", conf], stderr=subprocess.DEVNULL)
    until(pathlib.Path("/run/php/php-fpm.sock").exists, "PHP-FPM")


def debian_php():
    """PHP-FPM with the pools in /etc, as its service starts it."""
    conf = next(iter(sorted(pathlib.Path("/etc/php").glob("8*/fpm/php-fpm.conf"))), None)
    if not conf:
        raise Fault("PHP-FPM is not installed")
    version = conf.parts[3]
    pathlib.Path("/var/log").mkdir(exist_ok=True)
    subprocess.Popen([f"/usr/sbin/php-fpm{version}", "-F", "-y", conf], stderr=subprocess.DEVNULL)
    until(pathlib.Path(f"/run/php/php{version}-fpm.sock").exists, "PHP-FPM")


def certificate():
    folder = os.path.dirname(CERTIFICATE)
    pathlib.Path(folder).mkdir(parents=True)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj", "/CN=www.example.org",
                    "-addext", "subjectAltName=DNS:www.example.org,DNS:example.org", "-keyout", f"{folder}/privkey.pem", "-out", f"{folder}/fullchain.pem"],
                   check=True, capture_output=True, timeout=60)


WORLDS = {
    "from-nginx-or-caddy": (lambda: files("/srv/www", **{"assets/a.css": "a{}", "404.html": "Our page", ".git/config": "secret", "long.html": "long " * 999}),
                            lambda: applications(3000)),
    "cdn-in-front": (lambda: files("/srv/www", **{"assets/a.css": "a{}", "news/index.html": "News"}),),
    "canary": (lambda: applications(3001, 3002),),
    "mass-hosting": (),
    "block-bots": (lambda: files("/srv/www", **{"photo.jpg": "picture"}),),
    "static-site": (certificate, lambda: pathlib.Path("/run/brigade").mkdir(), lambda: pathlib.Path("/var/log/brigade").mkdir(),
                    lambda: files("/srv/www", **{"assets/a.css": "a{}", ".git/config": "secret"})),
    "maintenance": (),
    "php-fpm": (php,),
    "site-in-one-command": (debian_php,),
    "nextcloud": (php, lambda: pathlib.Path("/srv/nextcloud").mkdir(parents=True)),
    "drupal": (php, lambda: pathlib.Path("/srv/drupal/web").mkdir(parents=True)),
    "mediawiki": (php, lambda: pathlib.Path("/srv/wiki").mkdir(parents=True)),
    "laravel-symfony": (php, lambda: pathlib.Path("/srv/laravel/public").mkdir(parents=True)),
    "application": (lambda: applications(3000, 3001, 3002, 3003), lambda: files("/srv/app/assets", **{"app.css": "a{}"})),
    "passwords": (lambda: files("/srv/www", **{"private/index.html": "Private", "staff/index.html": "Staff"}),),
    "remember-answers": (lambda: applications(3000),),
    "request-limits": (),
    "behind-a-proxy": (),
    "compression": (lambda: files("/srv/www", **{"index.html": "<p>Home</p>" * 300}),),
    "ssi": (),
    "conditions": (),
    "tls": (),
    "log-formats": (),
    "single-page-application": (lambda: files("/srv/app", **{"index.html": "<p>The application</p>\n", "assets/app.1a2b.js": "1;\n"}), lambda: applications(3000)),
}


# ---- the machine ----

def until(found, what):
    end = time.monotonic() + SECONDS / 4
    while time.monotonic() < end:
        got = found()
        if got:
            return got
        time.sleep(0.02)
    raise Fault(f"waited in vain for {what}")


def run(command, **options):
    """As the stranger types it. A certificate that certbot would have got is made here: curl trusts it."""
    more = {"PATH": f"{PREFIX}/bin:{os.environ['PATH']}", "LC_ALL": "C"} | ({"CURL_CA_BUNDLE": CERTIFICATE} if os.path.exists(CERTIFICATE) else {})
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env={**os.environ, **more}, cwd="/srv", **options)


def blocks(text):
    """(language, note, content) of each fenced block."""
    return [(kind, (note or "").strip("()"), body) for kind, note, body in re.findall(r"^```(\w+)(?: (\(.*?\)))?\n(.*?)^```$", text, re.M | re.S)]


def commands(body):
    """Lines of a shell, each with what belongs to it: lines after a backslash, a document up to its END."""
    return re.findall(r"^.*<<'END'\n(?:.*\n)*?END$|^(?:.*\\\n)*.*$", body, re.M)


class Stranger:
    def __init__(self):
        self.first = next(body for kind, _, body in blocks((TOP / "README.md").read_text()) if kind == "apache" and "DocumentRoot" in body)
        self.text, self.current = self.first, None
        self.configurations = self.commands = 0

    def pid(self):
        known = re.search(r'^PidFile\s+"?([^"\n]+)', self.text, re.M)
        path = pathlib.Path(PREFIX, known[1] if known else "logs/httpd.pid")
        return int(path.read_text()) if path.exists() else None

    def configure(self, note, body):
        self.configurations += 1
        self.text = body if note == "complete" else (self.first if note else self.text) + "\n" + body
        CONF.write_text(self.text)

    def serve(self):
        """The server has the configuration as it stands now."""
        if self.text == self.current:
            return
        checked = run(["brigade", "-t"])
        if checked.returncode or "warn" in checked.stderr.lower():
            raise Fault(f"brigade -t: {checked.stderr.strip()}\n{self.text}")
        old = self.processes()
        done = run(["brigade", "-k", "graceful" if self.current else "start"])
        if done.returncode:
            raise Fault(f"the start: {done.stdout}{done.stderr}")
        until(lambda: self.pid() and (new := self.processes()) and not old & new and self.answers(), "the server")
        self.current = self.text

    def processes(self):
        pid = self.pid()
        return set(run(["pgrep", "-P", str(pid)]).stdout.split()) if pid else set()

    def answers(self):
        port = re.search(r"^Listen\s+(?:\S+:)?(\d+)", self.text, re.M)[1]
        return run(["curl", "-so", "/dev/null", f"http://127.0.0.1:{port}/"]).returncode in (0, 52)

    def shell(self, body):
        for line in commands(body):
            command, _, wanted = line.partition("  #")
            if not command.strip() or command.startswith("#"):
                continue
            self.commands += 1
            done = run(["bash", "-ec", command], stdin=subprocess.DEVNULL)
            output = done.stdout + done.stderr
            if done.returncode:
                raise Fault(f"{line}\nends with {done.returncode}: {output}")
            missing = [part for part in wanted.strip().split(", ") if command.startswith("curl") and part and part.lower() not in output.lower()]
            if missing:
                raise Fault(f"{line}\nhas no {missing}: {output}{self.log()}")

    def log(self):
        path = pathlib.Path(PREFIX, "logs/error_log")
        return "\nerror log: " + path.read_text()[-1500:] if path.exists() else ""

    def end(self):
        if self.current and self.pid():
            run(["brigade", "-k", "stop"])


def carry_out(guide):
    """Faults of a guide, and what was done."""
    stranger = Stranger()
    with open("/etc/hosts", "a", encoding="ascii") as hosts:
        hosts.write(NAMES)
    try:
        files("/srv/www")
        for make in WORLDS.get(guide.stem.split("-", 1)[1], ()):
            make()
        CONF.write_text(stranger.first)
        for kind, note, body in blocks(guide.read_text()):
            if note == "not tried":
                continue
            if kind == "apache":
                stranger.configure(note, body)
            elif kind == "sh":
                stranger.serve()
                stranger.shell(body)
        stranger.serve()
    except (Fault, subprocess.TimeoutExpired) as fault:
        return stranger, str(fault)
    finally:
        stranger.end()
    return stranger, None


def main():
    if sys.argv[1] == "--inside":
        began = time.monotonic()
        guide = pathlib.Path(sys.argv[2])
        stranger, fault = carry_out(guide)
        print(f"{guide.stem}: {time.monotonic() - began:.1f} s, {stranger.configurations} configurations, {stranger.commands} commands, "
              f"{'a fault' if fault else 'no fault'}" + (f"\n{fault}" if fault else ""))
        return 1 if fault else 0
    prefix, guides = pathlib.Path(sys.argv[1]).resolve(), [pathlib.Path(name).resolve() for name in sys.argv[2:]]
    return max(subprocess.run(["unshare", "-mnpf", "--mount-proc", "--kill-child", "bash", "-c", LAYERS, "bash", prefix, sys.executable, "-B", __file__, "--inside", guide],
                              check=False).returncode for guide in guides)


if __name__ == "__main__":
    sys.exit(main())
