# SPDX-License-Identifier: Apache-2.0
"""curl, by its wheel, as a load: run by an interpreter that has pycurl with HTTP3 (http3_client.py). The order is its argument, as JSON, and so is what it prints.

    {"do": "bulk", "version": "3", "url": URL, "connections": 8, "seconds": 15}      bytes of bodies by connection and second
    {"do": "page", "version": "2", "urls": [PAGE, OBJECT, ...], "visits": 10}        milliseconds of each visit, over a new connection
"""
import json
import socket
import sys
import time

import pycurl

VERSIONS = {"1.1": pycurl.CURL_HTTP_VERSION_1_1, "2": pycurl.CURL_HTTP_VERSION_2TLS, "3": 31}  # 31: HTTP/3 alone


def opened(address_family, socket_type, protocol, *_):
    """A socket of UDP whose buffer is as large as TCP's grows by itself: what a busy machine's client does not read in time is not to count as lost
    by the link."""
    made = socket.socket(address_family, socket_type, protocol)
    if socket_type & 15 == socket.SOCK_DGRAM:
        made.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_RCVBUFFORCE", 33), 6 << 20)
    return made


def transfer(url, version, write):
    c = pycurl.Curl()
    c.setopt(pycurl.URL, url)
    c.setopt(pycurl.HTTP_VERSION, VERSIONS[version])
    c.setopt(pycurl.SSL_VERIFYPEER, 0)
    c.setopt(pycurl.SSL_VERIFYHOST, 0)
    c.setopt(pycurl.BUFFERSIZE, 512 * 1024)
    c.setopt(pycurl.OPENSOCKETFUNCTION, lambda purpose, address: opened(*address))
    c.setopt(pycurl.WRITEFUNCTION, write)
    return c


def wait(multi):
    """For sockets, and for no longer than curl's own timers (of QUIC: pacing, ACK, PTO) allow; select() alone knows nothing of these."""
    due = multi.timeout()
    if due:
        multi.select(min(0.02, due / 1000) if due > 0 else 0.02)


def drive(multi, until, over):
    """Until over() or the time is up. @return faults"""
    faults = []
    while time.monotonic() < until and not over():
        multi.perform()
        for c, code, text in multi.info_read()[2]:
            faults.append(text or str(code))
        wait(multi)
    return faults


def bulk(order):
    multi, got, handles = pycurl.CurlMulti(), [0] * order["connections"], []
    multi.setopt(pycurl.M_MAXCONNECTS, 4 * order["connections"])

    def counter(i):
        def write(data):
            got[i] += len(data)
        return write

    begun = time.monotonic()
    for i in range(order["connections"]):
        c = transfer(order["url"], order["version"], counter(i))
        c.setopt(pycurl.FRESH_CONNECT, 1)
        c.setopt(pycurl.PIPEWAIT, 0)
        handles.append(c)
        multi.add_handle(c)
    faults = drive(multi, begun + order["seconds"], lambda: False)
    return {"bytes": got, "seconds": time.monotonic() - begun, "faults": faults}


def visit(order):
    multi, left, handles, status = pycurl.CurlMulti(), {"n": 0}, [], []
    multi.setopt(pycurl.M_PIPELINING, 2)
    begun = time.monotonic()

    def add(url):
        c = transfer(url, order["version"], lambda data: None)
        c.setopt(pycurl.PIPEWAIT, 1)
        handles.append(c)
        multi.add_handle(c)

    def until_done(n):
        while len(status) < n and time.monotonic() < begun + 120:
            multi.perform()
            _, ok, bad = multi.info_read()
            status.extend(c.getinfo(pycurl.RESPONSE_CODE) for c in ok)
            if bad:
                raise RuntimeError(bad[0][2])
            if len(status) < n:
                wait(multi)

    add(order["urls"][0])
    until_done(1)
    for url in order["urls"][1:]:
        add(url)
    until_done(len(order["urls"]))
    took = (time.monotonic() - begun) * 1000
    assert status == [200] * len(order["urls"]), status
    for c in handles:
        multi.remove_handle(c)
        c.close()
    multi.close()
    return took


def page(order):
    return {"ms": [visit(order) for _ in range(order["visits"])]}


print(json.dumps({"bulk": bulk, "page": page}[(asked := json.loads(sys.argv[1]))["do"]](asked)))
