# SPDX-License-Identifier: Apache-2.0
"""A client of HTTP/3 whose packets do not depend on a clock: aioquic's protocol, which knows no socket, in a time that passes by a step for each
datagram. What is acknowledged goes with the next request, unless the server waits for it; a request is one datagram. Run by the interpreter of http3_client.py as

    python profile_http3.py PORT PATH     reads lines: a number of requests, or a minus sign and a number of connections; writes the last status of each
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
STEP = 0.01  # seconds: more than aioquic delays what is acknowledged
WAITS = 0.5  # seconds without a datagram, of the clock on the wall: the server's window is used up


class Http3:
    """The other program, as Client wants it."""

    def __init__(self, python, port, target, anew):
        self.sign = "-" if anew else ""
        self.process = subprocess.Popen([python, __file__, str(port), target], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, n):
        self.process.stdin.write(f"{self.sign}{n}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the client of HTTP/3 ended")
        return int(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


# ---- the other side ----

def connection(port):
    """An open connection, up to the end of its handshake. @return function that asks for a path, function that ends it"""
    import select
    import socket
    import ssl

    from aioquic.h3.connection import H3Connection
    from aioquic.h3.events import HeadersReceived
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.connection import QuicConnection
    from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted

    address = "127.0.0.1", port
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(address)
    sock.settimeout(60)
    quic = QuicConnection(configuration=QuicConfiguration(is_client=True, alpn_protocols=["h3"], verify_mode=ssl.CERT_NONE, server_name="localhost", idle_timeout=3600))
    http, now = None, 0.0

    def send():
        for data, _ in quic.datagrams_to_send(now):
            sock.send(data)

    def events():
        nonlocal now
        now += STEP
        if not select.select([sock], [], [], WAITS)[0]:
            send()
        quic.receive_datagram(sock.recv(65536), address, now)
        while (event := quic.next_event()) is not None:
            if isinstance(event, ConnectionTerminated):
                sys.exit(f"the connection ended: {event}")
            yield event

    def ask(path):
        nonlocal now
        now += STEP
        stream, status, ended = quic.get_next_available_stream_id(), 0, False
        http.send_headers(stream, [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"localhost"), (b":path", path), (b"user-agent", b"Mozilla/5.0 (X11; Linux x86_64)"),
                                   (b"accept", b"*/*"), (b"accept-encoding", b"identity")], end_stream=True)
        send()
        while not ended:
            for event in events():
                for one in http.handle_event(event):
                    if isinstance(one, HeadersReceived):
                        status = int(dict(one.headers)[b":status"])
                    ended = ended or one.stream_ended
        return status

    def end():
        quic.close()
        send()
        sock.close()

    quic.connect(address, now)
    send()
    done = False
    while not done:
        done = any([isinstance(event, HandshakeCompleted) for event in events()])
        send()
    http = H3Connection(quic)
    return ask, end


def main():
    port, path = int(sys.argv[1]), sys.argv[2].encode()
    ask = None
    for line in sys.stdin:
        status = 0
        for _ in range(abs(int(line))):
            if line.startswith("-"):
                ask, end = connection(port)
                status = ask(path)
                end()
                continue
            if not ask:
                ask, end = connection(port)
            status = ask(path)
        print(status, flush=True)


if __name__ == "__main__":
    main()
