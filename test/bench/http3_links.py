#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HTTP/3 beside HTTP/2 over links with a rate, a delay and loss (link_simulator.c), from the same server to the same client (curl):

    BRIGADE=out/release/brigade test/bench/http3_links.py [--seconds 15] [--visits 9] [--congestion cubic] [LINK ...]

Goodput: bytes of bodies, of all connections together, from the first packet of their handshakes on; 'of TCP' is HTTP/3's part of
HTTP/2's, whose bytes go by TCP with the kernel's CUBIC (--congestion bbr: another). Page: a document and 60 objects of 1 to 40 KB, over a new connection: median and mean
of the visits (of as many clients at once as there are connections). Where packets are lost they spread from 1 to 6: the ratio of two medians of 200 visits errs by 9 %, of 1,000 by 4. 'late' is how late the simulator was on average with a packet: above some hundred microseconds the machine was
too busy. Needs root, /dev/net/tun, a C compiler, and an interpreter with pycurl (test/README.md).
"""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
sys.path.insert(0, HERE)
import cores  # noqa: E402
from http3_client import http3_python  # noqa: E402
from link import SERVER, Link, why_not  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
# delay is one way, in milliseconds; rate in Mbit/s; queue in packets: twice what is under way, at least 100
LINKS = {
    "20ms/0%": {"delay": 10, "rate": 100, "queue": 330, "connections": 1},
    "100ms/0%": {"delay": 50, "rate": 100, "queue": 1650, "connections": 1},
    "50ms/1%": {"delay": 25, "rate": 100, "queue": 830, "loss": 1, "connections": 6},
    "200ms/2%": {"delay": 100, "rate": 100, "queue": 3300, "loss": 2, "connections": 16},
    "10Mbit": {"delay": 10, "rate": 10, "queue": 100, "connections": 1},
    "1Gbit": {"delay": 2.5, "rate": 1000, "queue": 830, "connections": 1},
    "10Mbit/shallow": {"delay": 20, "rate": 10, "queue": 17, "connections": 1},
    "50Mbit/reorder": {"delay": 20, "rate": 50, "queue": 330, "jitter": 1, "reorder": 0.1, "connections": 1},
}
CONFIG = """ServerName localhost
ServerRoot {root}
PidFile {root}/pid
ErrorLog {root}/error_log
TypesConfig {root}/mime.types
Protocols h3 h2 http/1.1
EventLoops 1
Listen {address}:443 https
DocumentRoot {root}/htdocs
<Directory {root}/htdocs>
Require all granted
</Directory>
<VirtualHost *:443>
SSLEngine on
SSLCertificateFile {root}/cert.pem
SSLCertificateKeyFile {root}/key.pem
</VirtualHost>
"""


def site(root):
    rng = random.Random(1)
    os.makedirs(f"{root}/htdocs")
    os.chmod(root, 0o755)
    names = ["page.html", *(f"object{i}.png" for i in range(60))]
    for name in names:
        with open(f"{root}/htdocs/{name}", "wb") as f:
            f.write(rng.randbytes(20000 if name == "page.html" else int(1000 * 40 ** rng.random())))
    with open(f"{root}/htdocs/large", "wb") as f:
        f.truncate(4 << 30)
    open(f"{root}/mime.types", "w", encoding="ascii").close()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "9", "-subj", "/CN=localhost",
                    "-keyout", f"{root}/key.pem", "-out", f"{root}/cert.pem"], check=True, capture_output=True)
    with open(f"{root}/httpd.conf", "w", encoding="ascii") as f:
        f.write(CONFIG.format(root=root, address=SERVER))
    return names


def started(link, program, root):
    server = subprocess.Popen(link.command(0, [program, "-f", f"{root}/httpd.conf", "-DFOREGROUND"]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 30
    while time.monotonic() < until and server.poll() is None:
        if ":443" in subprocess.run(link.command(0, ["ss", "-Hlnu"]), capture_output=True, text=True).stdout:
            return server
        time.sleep(0.05)
    sys.exit(f"it does not start: {cores.read(root + '/error_log')}")


def ordered(link, python, times=1, **order):
    """What came of it, of so many clients at once."""
    command = link.command(1, [python, os.path.join(HERE, "http3_load.py"), json.dumps(order)])
    clients = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(times)]
    return [json.loads(c.communicate(timeout=400)[0]) for c in clients]


def measured(link, python, arguments, names, connections):
    figures = {}
    for version in ("2", "3"):
        told = ordered(link, python, do="bulk", version=version, url=f"https://{SERVER}/large", connections=connections, seconds=arguments.seconds)[0]
        if told["faults"]:
            sys.exit(f"HTTP/{version}: {told['faults']}")
        figures["goodput" + version] = sum(told["bytes"]) * 8 / told["seconds"] / 1e6
    for version in ("2", "3"):
        told = ordered(link, python, connections, do="page", version=version, visits=arguments.visits, urls=[f"https://{SERVER}/{n}" for n in names])
        figures["page" + version] = [ms for client in told for ms in client["ms"]]
    return figures


def one(name, arguments, python, root, names):
    settings = dict(LINKS[name])
    connections = settings.pop("connections")
    program = os.path.abspath(os.environ.get("BRIGADE", "out/release/brigade"))
    with Link(root, congestion=arguments.congestion, **settings) as link:
        server = started(link, program, root)
        try:
            f = measured(link, python, arguments, names, connections)
        finally:
            server.terminate()
            server.wait()
        late = max(direction[5] for direction in link.end())
    ratio, two, three = f["goodput3"] / f["goodput2"], statistics.median(f["page2"]), statistics.median(f["page3"])
    print(f"{name:15} {f['goodput2']:9.2f} {f['goodput3']:9.2f} {ratio:7.2f}   {two:7.0f} {statistics.mean(f['page2']):7.0f} {three:7.0f} {statistics.mean(f['page3']):7.0f} {three / two:7.2f} {late:6}", flush=True)
    return ratio, three / two


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--visits", type=int, default=9)
    parser.add_argument("--congestion", default="cubic")
    parser.add_argument("--least", type=float, default=0, help="of TCP's goodput, else it fails")
    parser.add_argument("--most", type=float, default=99, help="of HTTP/2's page, else it fails")
    parser.add_argument("links", nargs="*", metavar="LINK", help=", ".join(LINKS).replace("%", "%%"))
    arguments = parser.parse_args()
    python = http3_python(ROOT)
    if why_not() or not python:
        sys.exit(why_not() or "no interpreter with pycurl (test/README.md)")
    print(f"{'':15} {'goodput, Mbit/s':>27}   {'a page, ms':>39}\n{'link':15} {'HTTP/2':>9} {'HTTP/3':>9} {'of TCP':>7}   {'HTTP/2':>7} {'mean':>7} {'HTTP/3':>7} {'mean':>7} {'of it':>7} {'late':>6}")
    os.nice(-10)  # server and client, too, do not wait for what else runs here
    root = tempfile.mkdtemp(prefix="brigade-links-")
    try:
        names = site(root)
        told = [one(name, arguments, python, root, names) for name in arguments.links or LINKS]
        return any(goodput < arguments.least or page > arguments.most for goodput, page in told)
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    sys.exit(main())
