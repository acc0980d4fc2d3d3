# SPDX-License-Identifier: Apache-2.0
"""Servers that read streams, alone or as reverse proxies, and a back end that records what proxies send.

A Reading is what one server made of one stream: the requests that it took, and how it ended.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import support
from support import brigade

REFUSALS = {400, 408, 411, 413, 414, 417, 426, 431, 501, 502, 505}
PLACE = re.compile(rb"/s\d+-(\d+|end)")
TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
QUIET, PATIENCE = 0.08, 3.0


class Seen:
    """A request that was taken: its method, its target as read, its body (None: not known), its host (None: not known)."""

    def __init__(self, method, target, body=None, host=None, version=None):
        self.method, self.target, self.body, self.host, self.version = method, target, body, host, version

    def place(self):
        found = PLACE.search(self.target)
        return found[0] if found else b"hidden" if b"hidden" in self.target else b"other"

    def same(self, other):
        return self.place() == other.place() and self.method.upper() == other.method.upper() and (
            self.body is None or other.body is None or self.body == other.body)

    def __repr__(self):
        body = "" if self.body is None else f" {self.body[:60]!r}"
        return f"<{self.method.decode('latin-1')[:20]} {self.target[:60]!r}{body}>"


class Reading:
    """end: refused (with a status), closed, dropped (closed without a word), cut (in the middle of an answer) or open (nothing more for a long time)."""

    def __init__(self, requests, end, statuses=(), raw=(), odd=()):
        self.requests, self.end, self.statuses, self.raw, self.odd = requests, end, list(statuses), list(raw), list(odd)

    def __repr__(self):
        return f"{self.requests} {self.end} {self.statuses}{' odd: ' + str(self.odd) if self.odd else ''}"


# ---- the client ----

def exchange(port, data, cut=None, quiet=QUIET, patience=PATIENCE):
    """Send a stream; returns all that came back, and whether the connection ended. A client that hears nothing for a
    while closes its side."""
    got, closed = [], False
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if cut:
                s.sendall(data[:cut])
            s.sendall(data[cut or 0:])
        except OSError:
            pass
        halves = 0
        s.settimeout(quiet)
        while True:
            try:
                piece = s.recv(65536)
            except TimeoutError:
                if halves:
                    break
                halves = 1
                try:
                    s.shutdown(socket.SHUT_WR)
                except OSError:
                    pass
                s.settimeout(patience)
                continue
            except OSError:
                piece = b""
            if not piece:
                closed = True
                break
            got.append(piece)
    return b"".join(got), closed


def _take_chunks(data):
    body = b""
    while True:
        line, mark, data = data.partition(b"\r\n")
        if not mark:
            return None, b""
        size = int(line.split(b";")[0], 16)
        if len(data) < size + 2:
            return None, b""
        body, data = body + data[:size], data[size + 2:]
        if not size:
            return body, data


def answers(data):
    """(status, fields, body or None if it was cut off) of each final response."""
    found = []
    while data:
        head, mark, rest = data.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        parts = lines[0].split(b" ", 2)
        if not mark or not parts[0].startswith(b"HTTP/") or len(parts) < 2:
            found.append((0, {}, data))
            break
        status = int(parts[1])
        fields = {}
        for line in lines[1:]:
            name, _, value = line.partition(b":")
            fields[name.strip().lower()] = value.strip()
        if 100 <= status < 200 and status != 101:
            data = rest
            continue
        method = fields.get(b"x-seen", b"").split(b" ")[0].upper()
        if method == b"HEAD" or status in (204, 304, 101):
            body, data = b"", rest
        elif b"chunked" in fields.get(b"transfer-encoding", b""):
            body, data = _take_chunks(rest)
        elif b"content-length" in fields:
            size = int(fields[b"content-length"])
            body, data = (rest[:size] if len(rest) >= size else None), rest[size:]
        else:
            body, data = rest, b""
        found.append((status, fields, body))
    return found


# ---- servers that read alone ----

class Alone:
    """Brigade, Apache or nginx: the field X-Seen of an answer tells the request line, the answer to a POST is its body."""
    echoes = True

    def __init__(self, name, port, server):
        self.name, self.port, self.server = name, port, server

    def read(self, stream, **more):
        return self.read_bytes(stream.data, stream.cut, **more)

    def read_bytes(self, data, cut=None, **more):
        got, closed = exchange(self.port, data, cut, **more)
        requests, end, statuses, last = [], "closed" if closed else "open", [], {}
        for status, fields, body in answers(got):
            statuses.append(status)
            line = fields.get(b"x-seen", b"").split(b" ", 1)
            if status == 0 or status in REFUSALS and b"close" in fields.get(b"connection", b"") or status >= 400 and not line[0]:
                end = "refused"
                break
            if body is None:
                end = "cut"
                break
            known = body if self.echoes and line[0] == b"POST" and status == 200 else None
            requests.append(Seen(line[0], line[-1], known))
            last = fields
        if end == "closed" and b"close" not in last.get(b"connection", b"").lower():
            end = "dropped"  # without a word, in the middle of something
        return Reading(requests, end, statuses)

    def close(self, failed=False):
        self.server.close(failed)


def _loads(*modules):
    return "".join(f"LoadModule {m}_module @MODULES@/mod_{m}.so\n" for m in modules)


def _tree(path):
    os.makedirs(path, exist_ok=True)


ALONE = ('<Location "/">\nSetHandler reflector\nSetInputFilter BUFFER\nRequire all granted\n</Location>\nHeader always set X-Seen "expr=%{THE_REQUEST}"\n'
         "ReflectorHeader none\nTimeout 2\nMaxKeepAliveRequests 0\nKeepAliveTimeout 2\nDirectorySlash Off\n")
PROXY = ('<Proxy "*">\nRequire all granted\n</Proxy>\nProxyPass "/" "http://127.0.0.1:{back}/" retry=0 nocanon\nProxyPreserveHost On\nAllowEncodedSlashes NoDecode\n'
         "Timeout 2\nMaxKeepAliveRequests 0\nKeepAliveTimeout 2\n")


def httpd(kind, config, modules):
    """A running Brigade or Apache."""
    apache = kind == "apache"
    if not apache:
        config = _loads(*modules) + "EventLoops 1\n" + config
    server = brigade.Server(config, {"index.html": "index"}, binary="/usr/sbin/apache2" if apache else brigade.BINARY, modules=modules)
    try:
        return server.start()
    except BaseException:
        server.close(failed=True)
        raise


class Other:
    """A server that is not configured as Apache is: a process and its folder."""

    def __init__(self, write, command):
        self.root = tempfile.mkdtemp(prefix="brigade-campaign-")
        os.chmod(self.root, 0o755)
        self.port = brigade.free_port()
        path = os.path.join(self.root, "conf")
        with open(path, "w") as f:
            f.write(write(self.root, self.port))
        with open(os.path.join(self.root, "err"), "wb") as out:
            self.process = subprocess.Popen(command(path, self.root), stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        try:
            brigade.wait_until(self._answers, f"{command(path, self.root)[0]} to start")
        except BaseException:
            self.close(True)
            raise

    def _answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        except OSError:
            return False

    def close(self, failed=False):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(brigade.PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.root, ignore_errors=True)


def _nginx(inner):
    def write(root, port):
        return (f"daemon off; master_process off; user root; pid {root}/pid; error_log {root}/log; events {{ }}\nhttp {{ access_log off; lingering_close off; keepalive_timeout 2s; keepalive_requests 1000000; client_header_timeout 2s; client_body_timeout 2s;\n"
                + "".join(f"{k}_temp_path {root}/{k};" for k in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
                + f"\nserver {{ listen 127.0.0.1:{port}; {inner} }} }}\n")
    return Other(write, lambda path, root: ["/usr/sbin/nginx", "-p", root, "-c", path])


def _lighttpd(back):
    def write(root, port):
        _tree(f"{root}/up")
        return (f'server.port = {port}\nserver.bind = "127.0.0.1"\nserver.document-root = "{root}"\nserver.errorlog = "{root}/log"\nserver.modules = ("mod_proxy")\nserver.upload-dirs = ("{root}/up")\n'
                f'server.max-keep-alive-idle = 2\nserver.max-read-idle = 2\nserver.max-keep-alive-requests = 100000\nproxy.server = ("" => (("host" => "127.0.0.1", "port" => {back})))\nproxy.header = ("force-http10" => "disable")\n')
    return Other(write, lambda path, root: ["/usr/sbin/lighttpd", "-D", "-f", path])


def _h2o(back):
    def write(root, port):
        return (f"listen:\n  host: 127.0.0.1\n  port: {port}\npid-file: {root}/pid\nnum-threads: 1\nuser: root\nhttp1-request-timeout: 2\n"
                f"hosts:\n  default:\n    paths:\n      /:\n        proxy.reverse.url: http://127.0.0.1:{back}/\n        proxy.preserve-host: ON\n        proxy.timeout.keepalive: 2000\n")
    return Other(write, lambda path, root: ["/usr/bin/h2o", "-c", path])


# ---- the back end ----

class Recorder:
    """A back end that reads strictly, answers each request at once, and remembers all that came."""

    def __init__(self):
        self.lock = threading.Lock()
        self.seen, self.raw, self.odd = [], [], []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(s,), daemon=True).start()

    def take(self):
        with self.lock:
            found = self.seen, self.raw, self.odd
            self.seen, self.raw, self.odd = [], [], []
        return found

    def _serve(self, s):
        buffer, closed, asked = b"", False, False
        with s:
            while True:
                found = parse_strictly(buffer)
                if found is None:
                    try:
                        if not asked and re.search(rb"(?i)\r\nExpect: *100-continue\r\n(.*\r\n)*\r\n\Z", buffer):
                            s.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                            asked = True
                        more = b"" if closed else s.recv(65536)
                    except OSError:
                        more = b""
                    if not more:
                        return
                    buffer += more
                    continue
                request, size, odd = found
                asked = False
                with self.lock:
                    self.raw.append(buffer[:size])
                    self.odd += [f"{o}: {buffer[:200]!r}" for o in odd]
                    if request:
                        self.seen.append(request)
                if not request:
                    return
                buffer = buffer[size:]
                if buffer:
                    with self.lock:
                        self.odd.append(f"more than was asked for: {buffer[:100]!r}")
                try:
                    s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-Seen: %s -\r\n\r\n" % (2, request.method) + (b"" if request.method == b"HEAD" else b"ok"))
                except OSError:
                    return

    def close(self):
        self.listener.close()


def parse_strictly(data):
    """(request, size, what is odd) of the first request, None if it is not there as a whole."""
    head, mark, rest = data.partition(b"\r\n\r\n")
    if not mark:
        return None
    odd, lines = [], head.split(b"\r\n")
    parts = lines[0].split(b" ")
    if len(parts) != 3 or not TOKEN.fullmatch(parts[0]) or parts[2] not in (b"HTTP/1.1", b"HTTP/1.0") or re.search(rb"[\0-\x20\x7f]", parts[1]):
        return None, len(data), ["request line"]
    fields = []
    for line in lines[1:]:
        name, colon, value = line.partition(b":")
        value = value.strip(b" \t")
        if not colon or not TOKEN.fullmatch(name):
            odd.append(f"field name {name!r}")
        if re.search(rb"[\0\r\n\x0b\x0c]", value):
            odd.append(f"field value {value!r}")
        fields.append((name.lower(), value))
    lengths = [v for n, v in fields if n == b"content-length"]
    codings = [v for n, v in fields if n == b"transfer-encoding"]
    hosts = [v for n, v in fields if n == b"host"]
    if len(lengths) > 1 or lengths and codings or len(codings) > 1 or len(hosts) > 1:
        odd.append("two readings of framing or host")
    if codings and codings[0].lower() != b"chunked" or lengths and not re.fullmatch(rb"\d{1,18}", lengths[0]):
        odd.append("framing nobody knows")
        return None, len(data), odd
    at = len(head) + 4
    if codings:
        body, size = _chunks_strictly(rest, odd)
        if body is None:
            return None if size == 0 else (None, len(data), odd)
    else:
        size = int(lengths[0]) if lengths else 0
        if len(rest) < size:
            return None
        body = rest[:size]
    return Seen(parts[0], parts[1], body, hosts[0] if hosts else b"", parts[2]), at + size, odd


def _chunks_strictly(data, odd):
    """(body, size), (None, 0) if more is to come, (None, 1) if it is none."""
    body, at = b"", 0
    while True:
        end = data.find(b"\r\n", at)
        if end < 0:
            return None, 0
        line = data[at:end]
        if not re.fullmatch(rb"[0-9a-fA-F]{1,16}", line):
            odd.append(f"chunk size {line!r}")
            return None, 1
        size, at = int(line, 16), end + 2
        if not size:
            break
        if len(data) < at + size + 2:
            return None, 0
        if data[at + size:at + size + 2] != b"\r\n":
            odd.append("end of a chunk")
            return None, 1
        body, at = body + data[at:at + size], at + size + 2
    end = data.find(b"\r\n", at) if data[at:at + 2] == b"\r\n" else data.find(b"\r\n\r\n", at) + 2
    if end < at:
        return None, 0
    if end > at:
        odd_lines = [t for t in data[at:end].split(b"\r\n") if t and not TOKEN.match(t)]
        odd += [f"trailer {t!r}" for t in odd_lines]
    return body, end + 2


class Front:
    """A reverse proxy in front of a recorder."""

    def __init__(self, name, make):
        self.name, self.recorder = name, Recorder()
        self.server = make(self.recorder.port)
        self.port = self.server.port

    def read(self, stream, **more):
        got, closed = exchange(self.port, stream.data, stream.cut, **more)
        seen, raw, odd = self.recorder.take()
        said = answers(got)
        statuses = [a[0] for a in said]
        end = "refused" if statuses and statuses[-1] in REFUSALS | {0} else "closed" if closed else "open"
        if end == "closed" and not (said and b"close" in said[-1][1].get(b"connection", b"").lower()):
            end = "dropped"
        return Reading(seen, end, statuses, raw, odd)

    def close(self, failed=False):
        self.server.close(failed)
        self.recorder.close()


def alone(kind):
    if kind == "nginx":
        found = Alone("nginx", 0, _nginx('location / { add_header X-Seen "$request" always; return 200 "-"; }'))
        found.echoes = False
    else:
        found = Alone(kind, 0, httpd(kind, ALONE, ("reflector", "buffer")))
    found.port = found.server.port
    return found


MAKERS = {
    "brigade": lambda back: httpd("brigade", PROXY.format(back=back), ("proxy", "proxy_http")),
    "apache": lambda back: httpd("apache", PROXY.format(back=back), ("proxy", "proxy_http")),
    "nginx": lambda back: _nginx(f'location / {{ proxy_pass http://127.0.0.1:{back}; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host; proxy_ignore_client_abort on; }}'),
    "lighttpd": _lighttpd,
    "h2o": _h2o,
}
PROGRAMS = {"apache": "/usr/sbin/apache2", "nginx": "/usr/sbin/nginx", "lighttpd": "/usr/sbin/lighttpd", "h2o": "/usr/bin/h2o"}


def front(kind):
    return Front(f"{kind} >", MAKERS[kind])


def there(kind):
    modules = kind not in ("brigade", "apache") or os.path.exists(f"{brigade.APACHE_MODULES}/mod_reflector.so")
    return modules and os.access(PROGRAMS.get(kind, brigade.BINARY), os.X_OK)
