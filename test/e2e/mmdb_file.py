# SPDX-License-Identifier: Apache-2.0
"""Writes database files of MaxMind's format (MaxMind DB File Format Specification 2.0)."""
import ipaddress
import struct


def value(v):
    """A number is one of 32 bits; (5, n) one of 16, (9, n) one of 64."""
    if isinstance(v, str):
        return control(2, len(v.encode())) + v.encode()
    if isinstance(v, dict):
        return control(7, len(v)) + b"".join(value(k) + value(x) for k, x in v.items())
    if isinstance(v, list):
        return control(11, len(v)) + b"".join(map(value, v))
    kind, v = v if isinstance(v, tuple) else (6, v)
    data = v.to_bytes(8, "big").lstrip(b"\0")
    return control(kind, len(data)) + data


def control(kind, size):
    head = b"" if size < 29 else bytes([size - 29])
    size = min(size, 29)
    return (bytes([kind << 5 | size]) if kind < 8 else bytes([size, kind - 7])) + head


class Database:
    """networks: prefix -> what is said of it. An IPv4 network of a database of version 6 lies in ::/96, and again in ::ffff:0:0/96."""

    def __init__(self, networks, version=6):
        self.version, self.nodes, self.data = version, [[None, None]], b""
        for prefix, says in networks.items():
            self.add(ipaddress.ip_network(prefix), says)
        if version == 6:
            self.alias()

    def add(self, network, says):
        bits, length = int(network.network_address), network.prefixlen
        width = 32 if self.version == 4 else 128
        if network.version == 4 and self.version == 6:
            length += 96
        offset = len(self.data)
        self.data += value(says)
        self.at(bits, length, width, ("data", offset))

    def at(self, bits, length, width, what):
        node = 0
        for i in range(length - 1):
            side = bits >> (width - 1 - i) & 1
            if not isinstance(self.nodes[node][side], int):
                self.nodes.append([None, None])
                self.nodes[node][side] = len(self.nodes) - 1
            node = self.nodes[node][side]
        self.nodes[node][bits >> (width - length) & 1] = what

    def alias(self):
        node = 0
        for _ in range(96):
            node = self.nodes[node][0]
            if not isinstance(node, int):
                return
        self.at(0xffff << 32, 96, 128, node)

    def content(self, count=None):
        count = len(self.nodes) if count is None else count
        tree = b""
        for node in self.nodes:
            for record in node:
                number = count if record is None else record if isinstance(record, int) else count + 16 + record[1]
                tree += struct.pack("!I", number)
        about = {"node_count": count, "record_size": (5, 32), "ip_version": (5, self.version), "database_type": "Test-ASN", "languages": ["en"],
                 "binary_format_major_version": (5, 2), "binary_format_minor_version": (5, 0), "build_epoch": (9, 1), "description": {"en": "test"}}
        return tree + bytes(16) + self.data + b"\xab\xcd\xefMaxMind.com" + value(about)
