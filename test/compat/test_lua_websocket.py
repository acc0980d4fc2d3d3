# SPDX-License-Identifier: Apache-2.0
"""mod_lua's WebSockets: it reads frames off the connection's input filters, and takes it for granted that one bucket holds what has come."""
import base64
import socket
import struct

import pytest

import brigade

ECHO = """function handle(r)
    if r:wsupgrade() then
        while true do
            local line = r:wsread()
            r:wswrite(line)
            if line == "quit" then
                r:wsclose()
                break
            end
        end
    end
end
"""
MESSAGES = [b"a", b"b" * 50, b"c" * 500, b"d" * 5120, b"quit"]


def frame(data, mask=b""):
    n = len(data)
    head = bytes([0x81]) + (bytes([n | (0x80 if mask else 0)]) if n < 126 else struct.pack(">BH", 126 | (0x80 if mask else 0), n))
    return head + mask + (bytes(b ^ mask[i & 3] for i, b in enumerate(data)) if mask else data)


@pytest.mark.parametrize("path", ["/echo.lua", "/proxied/echo.lua"])
def test_frames_that_come_at_once(path):
    config = ("LoadModule lua_module @MODULES@/mod_lua.so\nAddHandler lua-script .lua\n"
              "ProxyPass /proxied/ ws://127.0.0.1:@PORT@/\n")
    server = brigade.Server(config, {"echo.lua": ECHO}, modules=["proxy", "proxy_http", "proxy_wstunnel"])
    server.start()
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=brigade.PATIENCE) as s:
            key = base64.b64encode(bytes(range(16))).decode()
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
            got = b""
            while b"\r\n\r\n" not in got:
                more = s.recv(65536)
                assert more, got
                got += more
            got = got.partition(b"\r\n\r\n")[2]
            want = b"".join(map(frame, MESSAGES))
            s.sendall(b"".join(frame(m, b"\x11\x22\x33\x44") for m in MESSAGES))
            while len(got) < len(want):
                more = s.recv(65536)
                assert more, (len(got), got[-100:])
                got += more
            assert got[:len(want)] == want
    finally:
        server.stop()
