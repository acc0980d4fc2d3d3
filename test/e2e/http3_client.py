# SPDX-License-Identifier: Apache-2.0
"""HTTP/3 with other people's clients, which are no part of the interpreter that runs the tests: aioquic, and curl by its wheel (pycurl with
HTTP3). http3_python() finds one that has them; this file is also the program that it runs: orders come and answers go as JSON.

    python3 -m venv out/test/http3 && out/test/http3/bin/pip install aioquic pycurl
"""
import base64
import json
import os
import ssl
import subprocess
import sys
import urllib.parse


def http3_python(root):
    """An interpreter with aioquic and pycurl: of TEST_HTTP3_PYTHON, or in out/test/http3; None: there is none."""
    for python in [os.environ.get("TEST_HTTP3_PYTHON"), os.path.join(root, "out/test/http3/bin/python")]:
        if python and os.path.exists(python):
            return python
    return None


class Answer:
    def __init__(self, told):
        self.status, self.version, self.error = told.get("status"), told.get("version"), told.get("error")
        self.headers = told.get("headers", {})
        self.body = base64.b64decode(told.get("body", ""))
        self.early, self.confirmed, self.resumed = told.get("taken"), told.get("confirmed"), told.get("resumed")
        self.interim, self.trailers, self.order = told.get("interim", []), told.get("trailers", {}), told.get("order", [])

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:80]!r} {self.error}>"


def ask(python, client, requests, timeout=60, **settings):
    """Requests, each a dictionary with url, and method, headers, body where they are not those of GET, on one connection, one after the other; with
    `together` all but the first `alone` at once (aioquic). @return an Answer each"""
    for r in requests:
        if isinstance(r.get("body"), bytes):
            r["body"] = base64.b64encode(r["body"]).decode()
    done = subprocess.run([python, __file__, client], input=json.dumps({"requests": requests, **settings}), capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr[-3000:]
    return [Answer(a) for a in json.loads(done.stdout)]


def send(python, url, streams, timeout=60, **more):
    """Bytes on streams: (is unidirectional, bytes, with FIN) each. @return a dictionary: error of the connection, and streams, by number"""
    order = {"url": url, "streams": [(uni, data.hex(), fin) for uni, data, fin in streams], **more}
    done = subprocess.run([python, __file__, "bytes"], input=json.dumps(order), capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def tunnel(python, url, heads, turns, timeout=60):
    """Streams that begin with these fields, then turns: (number of the stream, text that is said, whether it ends, characters that are waited for or
    None: its end)."""
    done = subprocess.run([python, __file__, "tunnel"], input=json.dumps({"url": url, "heads": heads, "turns": turns}), capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


class Load:
    """Requests, each with url, sha1 of its body, kept: one connection for all, and pause: seconds between two. They are sent until end(), which
    tells {"done": NUMBER, "faults": [...]}."""

    def __init__(self, python, requests):
        self.process = subprocess.Popen([python, __file__, "load"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(json.dumps({"requests": requests}) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "running\n"

    def end(self):
        out = self.process.communicate(timeout=120)[0]
        return json.loads(out)


# ---- the other side ----

def by_curl(order):
    import io

    import pycurl
    curl, answers = pycurl.Curl(), []
    for r in order["requests"]:
        out, lines = io.BytesIO(), []
        curl.reset()
        curl.setopt(pycurl.URL, r["url"])
        curl.setopt(pycurl.HTTP_VERSION, 31)  # CURL_HTTP_VERSION_3ONLY
        curl.setopt(pycurl.SSL_VERIFYPEER, 0)
        curl.setopt(pycurl.SSL_VERIFYHOST, 0)
        curl.setopt(pycurl.TIMEOUT, 40)
        curl.setopt(pycurl.WRITEDATA, out)
        curl.setopt(pycurl.HEADERFUNCTION, lines.append)
        curl.setopt(pycurl.HTTPHEADER, [f"{k}: {v}" for k, v in r.get("headers", {}).items()])
        if r.get("resolve"):
            curl.setopt(pycurl.RESOLVE, [r["resolve"]])
        if r.get("staple"):  # the authority's file: the answer is an error without an OCSP response
            for option, value in [(pycurl.SSL_VERIFYPEER, 1), (pycurl.SSL_VERIFYSTATUS, 1), (pycurl.CAINFO, r["staple"])]:
                curl.setopt(option, value)
        if r.get("cert"):
            curl.setopt(pycurl.SSLCERT, r["cert"])
            curl.setopt(pycurl.SSLKEY, r["key"])
        if r.get("method") == "HEAD":
            curl.setopt(pycurl.NOBODY, 1)
        elif "body" in r:
            curl.setopt(pycurl.POST, 1)
            curl.setopt(pycurl.POSTFIELDS, base64.b64decode(r["body"]))
        try:
            curl.perform()
        except pycurl.error as error:
            answers.append({"error": str(error)})
            continue
        pairs = (line.decode("latin-1").strip().split(": ", 1) for line in lines if b": " in line)
        fields = {name.lower(): value for name, value in pairs}
        answers.append({"status": curl.getinfo(pycurl.RESPONSE_CODE), "version": "3" if curl.getinfo(pycurl.INFO_HTTP_VERSION) == 30 else "other",
                        "headers": fields, "body": base64.b64encode(out.getvalue()).decode()})
    return answers


def by_load(order):
    """Threads that ask, each for one URL, with a connection each time or with one, until standard input ends: what was not as expected."""
    import hashlib
    import io
    import threading

    import pycurl
    faults, done, stop = [], [], threading.Event()

    def prepared():
        curl = pycurl.Curl()
        for option, value in [(pycurl.HTTP_VERSION, 31), (pycurl.SSL_VERIFYPEER, 0), (pycurl.SSL_VERIFYHOST, 0), (pycurl.TIMEOUT, 30)]:
            curl.setopt(option, value)
        return curl

    def run(r):
        curl = prepared()
        while not stop.is_set():
            out = io.BytesIO()
            curl.setopt(pycurl.URL, r["url"])
            curl.setopt(pycurl.WRITEDATA, out)
            try:
                curl.perform()
                if curl.getinfo(pycurl.RESPONSE_CODE) != 200 or hashlib.sha1(out.getvalue()).hexdigest() != r["sha1"]:
                    faults.append(f"{r['url']}: {curl.getinfo(pycurl.RESPONSE_CODE)}, {len(out.getvalue())} bytes")
            except pycurl.error as error:
                faults.append(f"{r['url']}{' kept' if r.get('kept') else ''}: {error}, {curl.getinfo(pycurl.NUM_CONNECTS)} connections, {curl.getinfo(pycurl.TOTAL_TIME):.2f} s")
            done.append(1)
            stop.wait(r.get("pause", 0))
            if not r.get("kept"):
                curl.close()
                curl = prepared()

    threads = [threading.Thread(target=run, args=(r,)) for r in order["requests"]]
    for t in threads:
        t.start()
    print("running", flush=True)
    sys.stdin.read()
    stop.set()
    for t in threads:
        t.join()
    return {"done": len(done), "faults": faults}


def by_aioquic(order):
    import asyncio

    from aioquic.asyncio.client import connect
    from aioquic.asyncio.protocol import QuicConnectionProtocol
    from aioquic.h3.connection import H3_ALPN, H3Connection
    from aioquic.h3.events import DataReceived, HeadersReceived
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.events import ConnectionTerminated, StreamReset

    class Client(QuicConnectionProtocol):
        def __init__(self, *args, **kw):
            super().__init__(*args, **kw)
            self.http, self.answers, self.over, self.order, self.ended = H3Connection(self._quic), {}, {}, [], None

        def send(self, r):
            url = urllib.parse.urlsplit(r["url"])
            stream = self._quic.get_next_available_stream_id()
            target = url.path + ("?" + url.query if url.query else "")
            fields = [(b":method", r.get("method", "POST" if "body" in r else "GET").encode()), (b":scheme", b"https"), (b":authority", r.get("host", url.netloc).encode()), (b":path", target.encode())]
            fields += [(k.lower().encode(), v.encode()) for k, v in r.get("headers", {}).items()]
            body = base64.b64decode(r["body"]) if "body" in r else None
            trailers = [(k.encode(), v.encode()) for k, v in r.get("trailers", {}).items()]
            self.answers[stream] = {"body": b"", "headers": {}, "interim": [], "trailers": {}}
            self.over[stream] = asyncio.get_event_loop().create_future()
            self.http.send_headers(stream, fields, end_stream=body is None)
            if body is not None:
                self.http.send_data(stream, body, end_stream=not trailers)
                if trailers:
                    self.http.send_headers(stream, trailers, end_stream=True)
            return stream

        def end(self, stream, **more):
            if stream in self.over and not self.over[stream].done():
                self.answers[stream].update(more)
                self.order.append(stream)
                self.over[stream].set_result(None)

        def quic_event_received(self, event):
            if isinstance(event, StreamReset):
                self.end(event.stream_id, error=f"reset {event.error_code:#x}")
            if isinstance(event, ConnectionTerminated):
                self.ended = event
                for stream in list(self.over):
                    self.end(stream, error=f"connection {event.error_code:#x} {event.reason_phrase}")
            for one in self.http.handle_event(event):
                a = self.answers.get(getattr(one, "stream_id", None))
                if a is None:
                    continue
                if isinstance(one, HeadersReceived):
                    fields = {k.decode(): v.decode("latin-1") for k, v in one.headers}
                    status = fields.pop(":status", None)
                    if status is None:
                        a["trailers"] = fields
                    elif status.startswith("1"):
                        a["interim"].append([int(status), fields])
                    else:
                        a.update(status=int(status), headers=fields, version="3")
                elif isinstance(one, DataReceived):
                    a["body"] += one.data
                if one.stream_ended:
                    self.end(one.stream_id)

    async def run():
        url = urllib.parse.urlsplit(order["requests"][0]["url"])
        conf = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE, server_name=order.get("server_name", url.hostname))
        async with connect(url.hostname, url.port, configuration=conf, create_protocol=Client) as client:
            streams, alone = [], order.get("alone", 0) if order.get("together") else len(order["requests"])
            for i, r in enumerate(order["requests"]):
                streams.append(client.send(r))
                if i < alone:
                    client.transmit()
                    await asyncio.wait_for(asyncio.shield(client.over[streams[-1]]), 40)
            client.transmit()
            for s in streams:
                await asyncio.wait_for(asyncio.shield(client.over[s]), 40)
            return [dict(client.answers[s], body=base64.b64encode(client.answers[s]["body"]).decode(), order=[streams.index(o) for o in client.order]) for s in streams]

    return asyncio.run(run())


def by_bytes(order):
    """Bytes of the test's own on streams of QUIC: [[uni, hex, fin], ...]. What came of it: the error that ended the connection, and of each stream its
    reset, or the bytes that came."""
    import asyncio

    from aioquic.asyncio.client import connect
    from aioquic.asyncio.protocol import QuicConnectionProtocol
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.events import ConnectionTerminated, StopSendingReceived, StreamDataReceived, StreamReset

    class Client(QuicConnectionProtocol):
        def __init__(self, *args, **kw):
            super().__init__(*args, **kw)
            self.told, self.over, self.wanted = {"error": None, "streams": {}}, asyncio.get_event_loop().create_future(), set()

        def stream(self, i):
            return self.told["streams"].setdefault(str(i), {"data": "", "reset": None, "stop": None, "fin": False})

        def quic_event_received(self, event):
            if isinstance(event, ConnectionTerminated):
                self.told["error"] = event.error_code
            elif isinstance(event, StreamReset):
                self.stream(event.stream_id)["reset"] = event.error_code
            elif isinstance(event, StopSendingReceived):
                self.stream(event.stream_id)["stop"] = event.error_code
            elif isinstance(event, StreamDataReceived):
                s = self.stream(event.stream_id)
                s["data"] += event.data.hex()
                s["fin"] = s["fin"] or event.end_stream
            ended = {int(i) for i, s in self.told["streams"].items() if s["fin"] or s["reset"] is not None}
            if (self.told["error"] is not None or (self.wanted and self.wanted <= ended)) and not self.over.done():
                self.over.set_result(None)

    async def run():
        url = urllib.parse.urlsplit(order["url"])
        conf = QuicConfiguration(is_client=True, alpn_protocols=["h3"], verify_mode=ssl.CERT_NONE)
        async with connect(url.hostname, url.port, configuration=conf, create_protocol=Client) as client:
            quic = client._quic
            wanted = set()
            for uni, text, fin in order["streams"]:
                stream = quic.get_next_available_stream_id(is_unidirectional=uni)
                quic.send_stream_data(stream, bytes.fromhex(text), end_stream=fin)
                if not uni:
                    wanted.add(stream)
            for stream in order.get("cancelled", []):
                quic.reset_stream(stream, 0x10c)
            for stream in order.get("stopped", []):  # aioquic does so where bytes of it came
                while str(stream) not in client.told["streams"]:
                    await client.ping()
                quic.stop_stream(stream, 0x10c)
            client.wanted = wanted
            client.transmit()

            async def pings():
                while not client.over.done():
                    await client.ping()
                    await asyncio.sleep(0.1)
            pinging = asyncio.ensure_future(pings()) if order.get("pings") else None
            try:
                await asyncio.wait_for(asyncio.shield(client.over), order.get("wait", 20))
            except asyncio.TimeoutError:
                client.told["late"] = True
            if pinging:
                pinging.cancel()
            return json.loads(json.dumps(client.told))  # as it is before our own end

    return asyncio.run(run())


def by_early(order):
    """Each request on a connection of its own, by the ticket of the first one, before the handshake is done where it may: of each its status, body,
    whether early data was taken, and whether the handshake was confirmed when the answer came. With "between": it says so behind the first one, and
    waits for a line; "cert", "key": the client's."""
    import asyncio

    from aioquic.asyncio.client import connect
    from aioquic.asyncio.protocol import QuicConnectionProtocol
    from aioquic.h3.connection import H3_ALPN, H3Connection
    from aioquic.h3.events import DataReceived, HeadersReceived
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted
    tickets = []

    class Client(QuicConnectionProtocol):
        def __init__(self, *args, **kw):
            super().__init__(*args, **kw)
            self.http, self.told, self.body, self.over = H3Connection(self._quic), {}, b"", asyncio.get_event_loop().create_future()

        def quic_event_received(self, event):
            if isinstance(event, HandshakeCompleted):
                self.told.update(taken=event.early_data_accepted, resumed=event.session_resumed)
            if isinstance(event, ConnectionTerminated) and not self.over.done():
                self.told["error"] = f"connection {event.error_code:#x} {event.reason_phrase}"
                self.over.set_result(None)
            for one in self.http.handle_event(event):
                if isinstance(one, HeadersReceived):
                    self.told.update(status=int(dict(one.headers)[b":status"]), confirmed=self._quic._handshake_confirmed)
                elif isinstance(one, DataReceived):
                    self.body += one.data
                if one.stream_ended and not self.over.done():
                    self.over.set_result(None)

    async def one(r):
        url = urllib.parse.urlsplit(r["url"])
        conf = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE, server_name="localhost", session_ticket=tickets[0] if tickets else None)
        if order.get("cert"):
            conf.load_cert_chain(order["cert"], order["key"])
        async with connect(url.hostname, url.port, configuration=conf, create_protocol=Client, session_ticket_handler=tickets.append, wait_connected=not tickets) as client:
            body = base64.b64decode(r["body"]) if "body" in r else None
            fields = [(b":method", r.get("method", "GET" if body is None else "POST").encode()), (b":scheme", b"https"), (b":authority", b"localhost"), (b":path", url.path.encode())]
            stream = client._quic.get_next_available_stream_id()
            client.http.send_headers(stream, fields, end_stream=body is None)
            if body is not None:
                client.http.send_data(stream, body, end_stream=True)
            client.transmit()
            await asyncio.wait_for(asyncio.shield(client.over), 40)
            while not tickets:
                await asyncio.sleep(0.01)
            return dict(client.told, body=base64.b64encode(client.body).decode())

    async def run():
        told = []
        for r in order["requests"]:
            told.append(await one(r))
            if order.get("between") and len(told) == 1:
                print("between", flush=True)
                sys.stdin.readline()
        return told

    return asyncio.run(run())


def by_tunnel(order):
    """Extended CONNECTs (RFC 9220), one stream each: what is said by turns, and what is heard. Of each its status, what came, and its reset; and the
    server's settings."""
    import asyncio

    from aioquic.asyncio.client import connect
    from aioquic.asyncio.protocol import QuicConnectionProtocol
    from aioquic.h3.connection import H3_ALPN, H3Connection
    from aioquic.h3.events import DataReceived, HeadersReceived
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.events import ConnectionTerminated, StreamReset

    class Client(QuicConnectionProtocol):
        def __init__(self, *args, **kw):
            super().__init__(*args, **kw)
            self.http, self.told, self.changed = H3Connection(self._quic), {}, asyncio.Event()

        def quic_event_received(self, event):
            if isinstance(event, StreamReset):
                self.told[event.stream_id]["reset"] = event.error_code
            if isinstance(event, ConnectionTerminated):
                for t in self.told.values():
                    t["error"] = event.error_code
            for one in self.http.handle_event(event):
                t = self.told[one.stream_id]
                if isinstance(one, HeadersReceived):
                    t["headers"] = {k.decode(): v.decode("latin-1") for k, v in one.headers}
                elif isinstance(one, DataReceived):
                    t["data"] += one.data.decode("latin-1")
                t["ended"] = t["ended"] or one.stream_ended
            self.changed.set()

    async def run():
        url = urllib.parse.urlsplit(order["url"])
        conf = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE)
        async with connect(url.hostname, url.port, configuration=conf, create_protocol=Client) as client:
            streams = []
            for fields in order["heads"]:
                stream = client._quic.get_next_available_stream_id()
                client.told[stream] = {"data": "", "reset": None, "headers": {}, "ended": False}
                client.http.send_headers(stream, [(k.encode(), v.encode()) for k, v in fields])
                streams.append(stream)
            client.transmit()

            async def until(stream, wanted):
                def over():
                    t = client.told[stream]
                    return t["ended"] or t["reset"] is not None or "error" in t
                while not over() and not (wanted is not None and len(client.told[stream]["data"]) >= wanted):
                    client.changed.clear()
                    await asyncio.wait_for(client.changed.wait(), 30)
            for i, said, end, wanted in order["turns"]:
                if said or end:
                    client.http.send_data(streams[i], said.encode("latin-1"), end_stream=end)
                    client.transmit()
                await until(streams[i], wanted)
            return {"settings": client.http.received_settings, "streams": [client.told[s] for s in streams]}

    return asyncio.run(run())


if __name__ == "__main__":
    json.dump({"curl": by_curl, "aioquic": by_aioquic, "load": by_load, "bytes": by_bytes, "early": by_early, "tunnel": by_tunnel}[sys.argv[1]](json.loads(sys.stdin.readline())), sys.stdout)
