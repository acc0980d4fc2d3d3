# SPDX-License-Identifier: Apache-2.0
"""Servers beside each other: each with the same files, one thread or process for requests where it has a choice, no access log, and
HTTP/2 over TLS on a second port. Peers are found in PATH, so newer ones that stand first there take the place of the system's."""
import glob
import os
import shutil
import signal
import socket
import subprocess
import time

TICKS = os.sysconf("SC_CLK_TCK")
HTTPD = """ServerName localhost
ServerRoot {root}
PidFile {root}/pid
ErrorLog {root}/error_log
{modules}
Listen 127.0.0.1:{port}
Listen 127.0.0.1:{tls}
Protocols h2 http/1.1
MaxKeepAliveRequests 0
KeepAliveTimeout 60
TypesConfig {types}
DocumentRoot {files}
<Directory {files}>
    Require all granted
</Directory>
<VirtualHost *:{tls}>
    SSLEngine on
    SSLCertificateFile {root}/cert.pem
    SSLCertificateKeyFile {root}/key.pem
</VirtualHost>
"""
APACHE = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in ("mpm_event", "mime", "dir", "authz_core", "ssl", "http2")) + "\nStartServers 1\nSSLSessionCache none"
NGINX = """worker_processes 1;
pid {root}/pid;
error_log {root}/error_log;
{user}
events {{ worker_connections 4096; }}
http {{
    include {types_nginx};
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    open_file_cache max=10000 inactive=60s;
    server {{ listen 127.0.0.1:{port}; root {files}; }}
    server {{ listen 127.0.0.1:{tls} ssl http2; ssl_certificate {root}/cert.pem; ssl_certificate_key {root}/key.pem; root {files}; }}
}}
"""
LIGHTTPD = """server.document-root = "{files}"
server.port = {port}
server.bind = "127.0.0.1"
server.modules = ("mod_openssl")
server.errorlog = "{root}/error_log"
server.max-keep-alive-requests = 1000000000
index-file.names = ("index.html")
mimetype.assign = (".html" => "text/html", ".css" => "text/css", "" => "application/octet-stream")
$SERVER["socket"] == "127.0.0.1:{tls}" {{ ssl.engine = "enable" ssl.pemfile = "{root}/cert.pem" ssl.privkey = "{root}/key.pem" }}
"""
H2O = """num-threads: 1
max-connections: 4096
error-log: {root}/error_log
listen: {{host: 127.0.0.1, port: {port}}}
hosts:
  default:
    listen: {{host: 127.0.0.1, port: {tls}, ssl: {{certificate-file: {root}/cert.pem, key-file: {root}/key.pem, ocsp-update-interval: 0}}}}
    paths: {{"/": {{file.dir: {files}}}}}
"""
CADDY = """{{
    admin off
    auto_https off
    persist_config off
    storage file_system {root}/caddy
}}
http://127.0.0.1:{port} {{
    root * {files}
    file_server
}}
https://127.0.0.1:{tls}, https://localhost:{tls} {{
    tls {root}/cert.pem {root}/key.pem
    root * {files}
    file_server
}}
"""


class Peer:
    """A kind of server: its program, its configuration, the command that starts it in the foreground, and what tells its version."""

    def __init__(self, name, program, text, command, version):
        self.name, self.program, self.text, self.command, self.version_option = name, program, text, command, version

    def found(self):
        return shutil.which(self.program, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")

    def version(self):
        done = subprocess.run([self.found(), self.version_option], capture_output=True, text=True, check=False)
        lines = (done.stdout + done.stderr).strip().splitlines()
        return lines[0].replace("Server version: ", "").replace("nginx version: ", "") if lines else self.name


PEERS = [
    Peer("brigade", os.environ.get("BRIGADE", "brigade"), HTTPD, ["-D", "FOREGROUND", "-f", "{conf}"], "-v"),
    Peer("nginx", "nginx", NGINX, ["-c", "{conf}", "-g", "daemon off;"], "-v"),
    Peer("lighttpd", "lighttpd", LIGHTTPD, ["-D", "-f", "{conf}"], "-v"),
    Peer("apache", "apache2", HTTPD, ["-D", "FOREGROUND", "-f", "{conf}"], "-v"),
    Peer("h2o", "h2o", H2O, ["-c", "{conf}"], "--version"),
    Peer("caddy", "caddy", CADDY, ["run", "--adapter", "caddyfile", "--config", "{conf}"], "version"),
]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except OSError:
        return ""


class Running:
    """One of them, as long as the block lasts."""

    def __init__(self, peer, root, files):
        self.peer, self.root = peer, f"{root}/{peer.name}"
        self.port, self.tls = free_port(), free_port()
        os.mkdir(self.root)
        os.chmod(self.root, 0o755)
        for name in ("cert.pem", "key.pem"):
            shutil.copy(f"{root}/{name}", self.root)
        types = f"{root}/mime.types"
        nginx_types = "/etc/nginx/mime.types" if os.path.exists("/etc/nginx/mime.types") else "/dev/null"
        user = "user www-data;" if os.geteuid() == 0 else ""
        modules = APACHE if peer.name == "apache" else "EventLoops 1"
        if os.geteuid() == 0 and "<VirtualHost" in peer.text:
            modules += "\nUser www-data\nGroup www-data"
        with open(f"{self.root}/conf", "w", encoding="utf-8") as f:
            f.write(peer.text.format(root=self.root, files=files, port=self.port, tls=self.tls, types=types, types_nginx=nginx_types, user=user, modules=modules))

    def __enter__(self):
        command = [part.format(conf=f"{self.root}/conf") for part in self.peer.command]
        self.out = open(f"{self.root}/out", "wb")  # pylint: disable=consider-using-with
        self.process = subprocess.Popen([self.peer.found(), *command], stdout=self.out, stderr=self.out, cwd=self.root)
        until = time.monotonic() + 30
        for port in (self.port, self.tls):
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    if self.process.poll() is not None or time.monotonic() > until:
                        self.__exit__()
                        raise RuntimeError(f"{self.peer.name} does not start: {read(self.root + '/out')[-500:]}") from None
                    time.sleep(0.05)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.out.close()

    def processor_seconds(self):
        """Of the process and all that come of it."""
        pids, ticks = [self.process.pid], 0
        for pid in pids:
            for children in glob.glob(f"/proc/{pid}/task/*/children"):
                pids += [int(child) for child in read(children).split()]
        for pid in pids:
            fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12]) if fields else 0
        return ticks / TICKS
