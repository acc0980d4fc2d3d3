#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much earlier does a browser have the style sheet of a page that a backend takes its time for, where 103 is learnt?

    BRIGADE=out/release/brigade test/bench/early_hints.py [--wait 200] [--far 100] [--rounds 9]

Chromium goes to a page over HTTP/2 and TLS, each time with an empty profile: milliseconds from its request until that of the style sheet, and from the
beginning of the navigation until the page with its style sheet is loaded; the median of the rounds, with EarlyHints off and learn. The page
comes from a backend that waits, and the style sheet takes as long as from a server that is so far away.
Needs Chromium, certutil (libnss3-tools) and openssl. The load of the machine stands beside the figures."""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import brigade
import browser_pipe
from backend import Backend, answer
from tls_site import TLSAuthority

PAGE = b"""<!doctype html><html><head><title>x</title><link rel="stylesheet" href="/site.css"></head>
<body><p>The page</p></body></html>"""
CONFIG = """ServerProcesses 1
Listen 127.0.0.1:{tls}
Protocols h2 http/1.1
ProxyPass / http://127.0.0.1:{backend}/
EarlyHints {hints}
<VirtualHost *:{tls}>
ServerName site.test
SSLEngine On
SSLCertificateFile {cert}
SSLCertificateKeyFile {key}
</VirtualHost>
"""
LOADED = "performance.getEntriesByType('navigation')[0].loadEventStart"


def home_of(authority, folder):
    """Chromium believes that authority: with a certificate that it has to be talked into, it heeds no 103."""
    database = pathlib.Path(folder, ".pki/nssdb")
    database.mkdir(parents=True)
    for arguments in (["-N", "--empty-password"], ["-A", "-t", "C,,", "-n", "test", "-i", f"{authority.folder}/ca.pem"]):
        subprocess.run(["certutil", "-d", f"sql:{database}", *arguments], check=True)
    os.environ["HOME"] = str(folder)


def learn(tls):
    """Two clients get the page."""
    for client in (1, 2, 1):
        subprocess.run(["curl", "-sk", "-o", "/dev/null", "--interface", f"127.0.0.{client}", "-H", "Accept: text/html", "--resolve", f"site.test:{tls}:127.0.0.1",
                        f"https://site.test:{tls}/app/"], check=True)


def measure(options, hints, made):
    asked = {}

    def waits(connection, request):
        asked[request.target] = time.monotonic()
        threading.Event().wait((options.wait if request.target == "/app/" else options.far) / 1000)
        style = request.target == "/site.css"
        return answer(b"p { color: green }" if style else PAGE, fields=[("Content-Type", "text/css" if style else "text/html"), ("Cache-Control", "max-age=60" if style else "no-cache")])
    tls = brigade.free_port()
    found = []
    with Backend({"*": waits}) as backend:
        server = brigade.Server("", {})
        server.config = CONFIG.format(tls=tls, backend=backend.port, hints=hints, **made)
        with server:
            learn(tls)
            for _ in range(options.rounds):
                with browser_pipe.browser("--host-resolver-rules=MAP site.test 127.0.0.1", certificates=True) as browser:
                    page = browser.page()
                    page.show(f"https://site.test:{tls}/app/", 1280)
                    found.append(((asked["/site.css"] - asked["/app/"]) * 1000, page.run(LOADED)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--wait", type=int, default=200, help="milliseconds that the backend takes")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--far", type=int, default=100, help="milliseconds that the style sheet takes")
    options = parser.parse_args()
    print(f"a backend of {options.wait} ms, a style sheet of {options.far} ms, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        authority = TLSAuthority(f"{folder}/ca")
        home_of(authority, f"{folder}/home")
        for hints in ("off", "learn"):
            found = measure(options, hints, authority.make("site.test", hints))
            asked, loaded = (statistics.median(one[i] for one in found) for i in (0, 1))
            print(f"EarlyHints {hints:5}: the style sheet is asked for after {asked:.0f} ms, the page is loaded after {loaded:.0f} ms")


if __name__ == "__main__":
    main()
