#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""User memory of an idle HTTP/3 connection that has had an answer:

    BRIGADE=out/release/brigade test/bench/http3_many.py [-n 2000] [--most BYTES]

The clients are aioquic's (test/README.md), all in one process, some milliseconds each. What is shown is what the private memory of all
processes of the server grew by, by connection: between a tenth of the connections and all of them, so that what the first ones make once
does not count, and after the connections have gone to sleep. With --most it fails above so many.
"""
import argparse
import asyncio
import os
import resource
import ssl
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SLEEP = 8  # seconds, more than until a connection gives its keys' memory back

CONFIG = """ServerName localhost
ServerRoot {root}
PidFile {root}/pid
ErrorLog {root}/error_log
TypesConfig {root}/mime.types
Protocols h3 http/1.1
EventLoops 1
ServerProcesses 1
MaxRequestWorkers 20000
H3IdleTimeout 600
Listen 127.0.0.1:{port} https
DocumentRoot {root}/htdocs
<Directory {root}/htdocs>
Require all granted
</Directory>
SSLEngine on
SSLCertificateFile {root}/cert.pem
SSLCertificateKeyFile {root}/key.pem
"""


def clients(port, steps):
    """Runs in the interpreter that has aioquic: opens connections up to each number of steps, tells so, and waits for a line."""
    from aioquic.asyncio.client import connect
    from aioquic.asyncio.protocol import QuicConnectionProtocol
    from aioquic.h3.connection import H3_ALPN, H3Connection
    from aioquic.h3.events import HeadersReceived
    from aioquic.quic.configuration import QuicConfiguration

    class Client(QuicConnectionProtocol):
        def __init__(self, *args, **kw):
            super().__init__(*args, **kw)
            self.http, self.answer = H3Connection(self._quic), asyncio.get_running_loop().create_future()

        def quic_event_received(self, event):
            for one in self.http.handle_event(event):
                if isinstance(one, HeadersReceived) and not self.answer.done():
                    self.answer.set_result(dict(one.headers)[b":status"])

    async def run():
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(40000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
        held, conf = [], QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE, idle_timeout=600)
        for most in steps:
            while len(held) < most:
                held.append(connect("127.0.0.1", port, configuration=conf, create_protocol=Client))
                client = await held[-1].__aenter__()
                stream = client._quic.get_next_available_stream_id()
                client.http.send_headers(stream, [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"localhost"), (b":path", b"/a.txt")], end_stream=True)
                client.transmit()
                assert await asyncio.wait_for(client.answer, 20) == b"200"
            print(len(held), flush=True)
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        os._exit(0)

    asyncio.run(run())


def measured(server, port, python, count):
    steps = [count // 10, count]
    load = subprocess.Popen([python, __file__, "--clients", str(port), *map(str, steps)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    memory = []
    for _ in steps:
        if not load.stdout.readline():
            sys.exit("the clients failed")
        time.sleep(SLEEP)
        memory.append(private_bytes(server.pid))
        load.stdin.write("\n")
        load.stdin.flush()
    load.wait()
    return (memory[1] - memory[0]) / (steps[1] - steps[0])


def site(root, port):
    os.chmod(root, 0o755)
    os.makedirs(f"{root}/htdocs")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "9", "-subj", "/CN=localhost",
                    "-keyout", f"{root}/key.pem", "-out", f"{root}/cert.pem"], check=True, capture_output=True)
    for name, text in (("htdocs/a.txt", "x" * 100), ("mime.types", ""), ("httpd.conf", CONFIG.format(root=root, port=port))):
        with open(f"{root}/{name}", "w", encoding="ascii") as f:
            f.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=2000)
    parser.add_argument("--most", type=float, default=0)
    arguments = parser.parse_args()
    python, port = http3_python(ROOT), free_port()
    if not python:
        sys.exit("no interpreter with aioquic (test/README.md)")
    with tempfile.TemporaryDirectory(prefix="brigade-many-") as root:
        site(root, port)
        server = subprocess.Popen([os.path.abspath(os.environ.get("BRIGADE", f"{ROOT}/out/release/brigade")), "-f", f"{root}/httpd.conf", "-DFOREGROUND"])
        try:
            while not os.path.exists(f"{root}/pid") and server.poll() is None:
                time.sleep(0.05)
            figure = measured(server, port, python, arguments.n)
        finally:
            server.terminate()
            server.wait()
    print(f"{arguments.n} idle connections over HTTP/3: {figure:.0f} bytes each")
    return bool(arguments.most and figure > arguments.most)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--clients"]:
        clients(int(sys.argv[2]), [int(n) for n in sys.argv[3:]])
    else:
        sys.path[:0] = [os.path.join(HERE, "..", "e2e"), HERE]
        from http3_client import http3_python
        from idle_tls import private_bytes
        from ports import free_port
        sys.exit(main())
