# SPDX-License-Identifier: Apache-2.0
"""An OCSP responder for tests, and certificates that name it."""
import http.server
import subprocess
import threading
import time

import brigade


class Responder(http.server.ThreadingHTTPServer):
    """openssl ocsp behind HTTP: the path says how it answers. It is a proxy, too: the host of a URL does not matter."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.lines, self.kept, self.silent, self.over = [], b"", threading.Event(), threading.Event()
        self.folders = {}


class Answer(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_POST(self):
        asked = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.lines.append(self.path)
        how = self.path.rsplit("/", 1)[1]
        if how == "silent":
            self.server.silent.set()
            self.server.over.wait(brigade.PATIENCE)
            return
        body = b"\x30\x03oh" if how == "garbage" else self.server.kept if how == "replay" else self.sign(asked, "ours" if how == "old" else how)
        if how == "old":
            made = int(time.time())
            brigade.wait_until(lambda: time.time() >= made + 2, "a second")
        self.send_response(200)
        self.send_header("Content-Type", "application/ocsp-response")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def sign(self, asked, how):
        ours, theirs, middle = (self.server.folders[name] for name in ("ours", "stranger", "middle"))
        ca, signer = (middle, middle) if how == "middle" else (f"{ours}/ca", f"{theirs}/ca" if how == "stranger" else f"{ours}/ca")
        name = f"{ours}/{threading.get_ident()}"
        with open(f"{name}.question", "wb") as f:
            f.write(asked)
        subprocess.run(["openssl", "ocsp", "-index", f"{middle}.index" if how == "middle" else f"{ours}/index", "-CA", f"{ca}.pem", "-rsigner", f"{signer}.pem", "-rkey", f"{signer}.key",
                        "-reqin", f"{name}.question", "-respout", f"{name}.answer", "-ndays", "1"], check=True, capture_output=True)
        with open(f"{name}.answer", "rb") as f:
            self.server.kept = f.read()
        return self.server.kept


def make_clients(authority, url):
    """Certificates of clients by unit; the last two are of an authority in between, which is revoked."""
    aia = f"authorityInfoAccess=OCSP;URI:{url}"
    for unit in ("good", "revoked", "mute", "far"):
        authority.make("client", unit, extensions={"mute": "", "far": "authorityInfoAccess=OCSP;URI:http://ocsp.invalid/ours\n"}.get(unit, f"{aia}/ours\n"))
    authority.make("middle", "middle", extensions=f"{aia}/ours\nbasicConstraints=CA:TRUE\n")
    for unit in ("revoked", "middle"):
        authority.revoke(unit)
    folder = authority.folder
    for unit, ca, path in (("unknown", "ca", "ours"), ("under", "middle", "middle")):
        with open(f"{folder}/extensions", "w") as f:
            f.write(f"{aia}/{path}\n")
        subprocess.run(f"openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN={unit} -keyout {unit}.key | openssl x509 -req -CA {ca}.pem -CAkey {ca}.key -set_serial 0x77 "
                       f"-extfile extensions -out {unit}.pem", shell=True, cwd=folder, check=True, capture_output=True)
    with open(f"{folder}/middle.index", "w") as f:
        f.write("V\t400101000000Z\t\t77\tunknown\t/CN=under\n")
    with open(f"{folder}/under.pem", "ab") as f, open(f"{folder}/middle.pem", "rb") as middle:
        f.write(middle.read())
