# SPDX-License-Identifier: Apache-2.0
"""What a client of QUIC may do, by aioquic. Run by the interpreter of http3_client.py:

    python quic_scenes.py PORT SCENE PATH [HOST]     one line of JSON: what came of it
"""
import asyncio
import hashlib
import json
import socket
import ssl
import sys

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated
from aioquic.tls import CipherSuite

PORT, SCENE, PATH = int(sys.argv[1]), sys.argv[2], sys.argv[3]
HOST = sys.argv[4] if len(sys.argv) > 4 else "127.0.0.1"
V1, V2 = 1, 0x6b3343cf


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **settings):
        super().__init__(*args, **settings)
        self.http, self.waiting, self.came, self.end = H3Connection(self._quic), {}, {}, None

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated):
            self.end = event
            for future in self.waiting.values():
                future.cancel()
        for answer in self.http.handle_event(event):
            if isinstance(answer, DataReceived):
                self.came.setdefault(answer.stream_id, hashlib.sha256()).update(answer.data)
            if getattr(answer, "stream_ended", False) and answer.stream_id in self.waiting:
                digest = self.came.pop(answer.stream_id, hashlib.sha256())
                self.waiting.pop(answer.stream_id).set_result(digest.hexdigest())

    def get(self):
        stream = self._quic.get_next_available_stream_id()
        self.http.send_headers(stream, [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"localhost"),
                                        (b":path", PATH.encode())], end_stream=True)
        self.waiting[stream] = asyncio.get_running_loop().create_future()
        self.transmit()
        return asyncio.wait_for(self.waiting[stream], 60)


def configuration(**settings):
    made = QuicConfiguration(is_client=True, alpn_protocols=["h3"], **settings)
    made.verify_mode = ssl.CERT_NONE
    return made


async def within(scene, conf=None, **settings):
    async with connect(HOST, PORT, configuration=conf or configuration(), create_protocol=Client, **settings) as client:
        return await scene(client)


async def one(client):
    return {"digests": [await client.get()], "version": client._quic._version, "resumed": client._quic.tls.session_resumed}


async def handshake():
    return await within(one)


class Liar(Client):
    """Its transport parameters name another first packet than it sends."""

    def __init__(self, *args, **settings):
        super().__init__(*args, **settings)
        self._quic._local_initial_source_connection_id = bytes(8)


async def bad_parameters():
    try:
        async with connect(HOST, PORT, configuration=configuration(), create_protocol=Liar) as client:
            await client.get()
    except ConnectionError:
        return {"refused": True}
    return {"refused": False}


async def chacha20():
    return await within(one, configuration(cipher_suites=[CipherSuite.CHACHA20_POLY1305_SHA256]))


async def v2():
    return await within(one, configuration(original_version=V2, supported_versions=[V2, V1]))


async def compatible():
    return await within(one, configuration(original_version=V1, supported_versions=[V2, V1]))


async def only_v1():
    return await within(one, configuration(original_version=V1, supported_versions=[V1]))


async def unknown_version():
    return await within(one, configuration(original_version=0x1a2a3a4a, supported_versions=[0x1a2a3a4a, V1]))


async def multiplexing():
    async def scene(client):
        digests = []
        for _ in range(3):
            digests += await asyncio.gather(*[client.get() for _ in range(80)])
        return {"digests": digests}
    return await within(scene)


async def keyupdate():
    async def scene(client):
        digests = []
        for _ in range(4):
            digests.append(await client.get())
            client._quic.request_key_update()
        return {"digests": digests}
    return await within(scene)


async def resumption():
    tickets = []

    async def first(client):
        made = await one(client)
        while not tickets:
            await asyncio.sleep(0.01)
        return made
    await within(first, session_ticket_handler=tickets.append)
    return await within(one, configuration(session_ticket=tickets[-1]))


async def connection_ids():
    async def scene(client):
        digests = []
        for _ in range(6):
            digests.append(await client.get())
            client.change_connection_id()
            await client.ping()
        return {"digests": digests}
    return await within(scene)


async def migration():
    async def scene(client):
        digests = [await client.get()]
        for _ in range(2):
            running = asyncio.ensure_future(client.get())
            await asyncio.sleep(0)
            client.change_connection_id()
            other = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
            other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            other.bind(("::", 0))
            await asyncio.get_running_loop().create_datagram_endpoint(lambda: client, sock=other)
            digests += [await running, await client.get()]
        return {"digests": digests}
    return await within(scene)


async def amplification():
    """One Initial, and nothing else: how many bytes come back."""
    quic = QuicConnection(configuration=configuration())
    quic.connect((HOST, PORT), now=0)
    sent = quic.datagrams_to_send(now=0)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(2.5)
    for data, _ in sent[:1]:
        s.sendto(data, (HOST, PORT))
    came = 0
    try:
        while True:
            came += len(s.recv(65536))
    except TimeoutError:
        pass
    return {"sent": len(sent[0][0]), "came": came}


async def flood():
    """Many first packets of clients that are not there, and one that is."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setblocking(False)
    answers = retries = 0
    for i in range(900):
        quic = QuicConnection(configuration=configuration())
        quic.connect(("127.0.0.1", PORT), now=0)
        s.sendto(quic.datagrams_to_send(now=0)[0][0], ("127.0.0.1", PORT))
        try:
            while True:
                first = s.recv(65536)[0]
                answers, retries = answers + 1, retries + (first & 0xf0 == 0xf0)
        except BlockingIOError:
            pass
    return dict(await within(one), answers=answers, retries=retries)


print(json.dumps(asyncio.run(globals()[SCENE]())))
