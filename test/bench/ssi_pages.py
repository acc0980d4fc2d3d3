#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What pages with includes cost: processor time of the server per page, by Apache and by Brigade in turn.

    cmake --build --preset release && BRIGADE=out/release/brigade test/bench/ssi_pages.py [ROUNDS]

    cold      20,000 pages of 10 KB with two includes, each asked for once: what a page costs that nobody keeps.
              Promised: half of Apache's.
    cookie    one such page that depends on a cookie, asked for with If-None-Match: 304 without rendering
    plain     a page of 40 KB without a directive, and a file of that size. Promised: 1.3 times the file's.

Figures are user and system time of all processes of the server, from the kernel's accounting; the median of the rounds
counts. Servers take turns, so that a drift of the machine hits both.
"""
import os
import random
import shutil
import statistics
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import brigade  # noqa: E402

APACHE = "/usr/sbin/apache2"
COLD, WARM, BATCH = 20000, 40000, 20
TICK = os.sysconf("SC_CLK_TCK")

CONF = """<IfModule !mod_include.c>
    LoadModule include_module @MODULES@/mod_include.so
</IfModule>
KeepAlive On
MaxKeepAliveRequests 0
DocumentRoot @DOCS@
AddType text/html .shtml .html
AddOutputFilter INCLUDES .shtml
<Directory @DOCS@>
    Options Includes FollowSymLinks
    AllowOverride None
    Require all granted
</Directory>
<Directory @DOCS@/parts>
    @PARTS@
</Directory>
"""
PARTS = "SSIETag parts\n    SSILastModified parts"


def prose(size):
    rng, words = random.Random(1), "server page reads and sends what it finds in order links lists others nobody".split()
    text = ""
    while len(text) < size:
        text += " ".join(rng.choice(words) for _ in range(12)) + (" <!-- a comment -->\n" if rng.random() < .3 else "\n")
    return text[:size]


def make_site():
    docs = tempfile.mkdtemp(prefix="brigade-pages-")
    os.chmod(docs, 0o755)
    head, half, foot = '<!--#include virtual="/head.html" -->', prose(5000), '<!--#include virtual="/foot.html" -->'
    files = {"head.html": "<header>head</header>\n", "foot.html": "<footer>foot</footer>\n", "plain.shtml": prose(40960),
             "plain.html": prose(40960), "parts/cookie.shtml": head + half + '<!--#echo var="HTTP_COOKIE" -->' + half + foot}
    for n in range(COLD):
        files[f"{n}.shtml"] = f'{head}{half}<!--#set var="n" value="{n}" --><!--#echo var="n" -->{half}{foot}'
    for name, text in files.items():
        path = os.path.join(docs, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        os.utime(path, (1600000000, 1600000000))
    return docs


def processor_us(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total * 1e6 / TICK


def ask(server, targets, fields=""):
    """Microseconds per request."""
    pids = [server.process.pid, *server.children()]
    before = processor_us(pids)
    with server.connect() as c:
        for at in range(0, len(targets), BATCH):
            some = targets[at:at + BATCH]
            c.send("".join(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n" for target in some).encode())
            for _ in some:
                assert c.read_response().status in (200, 304)
    return (processor_us(pids) - before) / len(targets)


def measure(binary, docs, results):
    name = "Apache" if brigade.is_apache(binary) else "Brigade"
    conf = CONF.replace("@DOCS@", docs).replace("@PARTS@", PARTS if name == "Brigade" else "")
    server = brigade.Server(conf, binary=binary)
    server.start()
    try:
        ask(server, ["/head.html", "/foot.html"] * 20)
        results.setdefault((name, "cold"), []).append(ask(server, [f"/{n}.shtml" for n in range(COLD)]))
        tag = server.get("/parts/cookie.shtml", {"Cookie": "a=1"})["ETag"]
        fields = f"Cookie: a=1\r\nIf-None-Match: {tag}\r\n"
        for kind, target, more in (("cookie", "/parts/cookie.shtml", fields), ("page", "/plain.shtml", ""), ("file", "/plain.html", "")):
            ask(server, [target] * 200, more)
            results.setdefault((name, kind), []).append(ask(server, [target] * WARM, more))
    finally:
        server.close()


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    docs, results = make_site(), {}
    try:
        for _ in range(rounds):
            for binary in (APACHE, brigade.BINARY):
                measure(binary, docs, results)
    finally:
        shutil.rmtree(docs)
    figure = {key: statistics.median(values) for key, values in results.items()}
    for (name, kind), values in sorted(results.items(), key=lambda item: item[0][1]):
        print(f"{kind:8}{name:9}{figure[name, kind]:8.2f} us  {[round(v, 2) for v in values]}")
    cold, plain = figure["Brigade", "cold"] / figure["Apache", "cold"], figure["Brigade", "page"] / figure["Brigade", "file"]
    print(f"cold pages: {cold:.2f} of Apache's (0.5 at most); a page without a directive: {plain:.2f} of a file (1.3 at most)")
    sys.exit(cold > .5 or plain > 1.3)


if __name__ == "__main__":
    main()
