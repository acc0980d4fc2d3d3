# SPDX-License-Identifier: Apache-2.0
"""An OCSP responder for tests: openssl makes its responses, for an authority of tls_site.py."""
import http.server
import os
import subprocess
import tempfile
import threading


class Responder:
    """lies: words, each of which counts until it is removed. asked: how many requests there were."""

    def __init__(self, folder):
        self.folder, self.lies, self.asked, self.life = folder, set(), 0, ("-ndays", "1")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.responder = self
        self.url = f"http://127.0.0.1:{self.server.server_port}/ocsp"
        self.aia = f"authorityInfoAccess=OCSP;URI:{self.url}\n"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def add(self, pem):
        """A certificate that the authority's index does not have."""
        text = subprocess.run(["openssl", "x509", "-noout", "-serial"], input=pem, check=True, capture_output=True).stdout.decode()
        with open(os.path.join(self.folder, "index"), "a") as f:
            f.write(f"V\t491231235959Z\t\t{text.strip().split('=')[1]}\tunknown\t/CN=x\n")

    def answer(self, request):
        own = os.path.join(self.folder, "ca")
        if "unsigned" in self.lies:
            own = os.path.join(self.folder, "stranger")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                            "-subj", "/CN=Stranger", "-keyout", f"{own}.key", "-out", f"{own}.pem"], check=True, capture_output=True)
        index = os.path.join(self.folder, "index")
        if "unknown" in self.lies:
            index = os.path.join(self.folder, "empty")
            open(index, "w").close()
        with tempfile.TemporaryDirectory() as made:
            with open(f"{made}/in", "wb") as f:
                f.write(request)
            subprocess.run(["openssl", "ocsp", "-index", index, "-rsigner", f"{own}.pem", "-rkey", f"{own}.key", "-CA", f"{self.folder}/ca.pem",
                            *self.life, "-reqin", f"{made}/in", "-respout", f"{made}/out"], check=True, capture_output=True)
            with open(f"{made}/out", "rb") as f:
                return f.read()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *unused):
        pass

    def do_POST(self):
        r = self.server.responder
        body = self.rfile.read(int(self.headers["Content-Length"]))
        r.asked += 1
        status, data = 200, b"x" * 20000 if "long" in r.lies else b"nonsense" if "nonsense" in r.lies else b""
        if "busy" in r.lies:
            status = 503
        elif "later" in r.lies:
            data = bytes([0x30, 3, 0x0A, 1, 3])  # tryLater
        elif not data and "empty" not in r.lies:
            data = r.answer(body)
        self.send_response(status)
        self.send_header("Content-Type", "application/ocsp-response")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
