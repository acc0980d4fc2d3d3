#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a server says to HTTP/3 that is wrong, by a client that nobody here wrote: h3i, which bends each rule that it is told to.

    BRIGADE=out/release/brigade test/campaign/http3_h3i.py [--server brigade|h2o|nginx|caddy[=PROGRAM]] [--case NAME]

Each case is a connection of its own over loopback. Prints a table in Markdown: the case, what RFC 9114 (9204, 9218) lets a server do, and what
the server did; the exit status is 1 where that is something else. A request behind each case shows that the server goes on. The client is built
from http3_h3i/ where cargo is (some ten minutes, in out/test/h3i), or is HTTP3_H3I=PROGRAM.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "test/e2e"), HERE]
import http3_interop  # noqa: E402
from http3_frames import CANCELLED, CLOSED_CRITICAL, DECODER, DECOMPRESSION, ENCODER, FRAME_ERROR, FRAME_UNEXPECTED, ID_ERROR, INCOMPLETE, MESSAGE_ERROR, MISSING_SETTINGS, \
    NO_ERROR, SETTINGS_ERROR, STREAM_CREATION  # noqa: E402
from ports import free_port  # noqa: E402

CONTROL = ["uni 2 0", "settings 2"]
METHOD, SCHEME, AUTHORITY, PATH = ":method=GET", ":scheme=https", ":authority=localhost", ":path=/small"
GET = f"{METHOD} {SCHEME} {AUTHORITY} {PATH}"
POST = GET.replace("GET", "POST")
ASK = [f"headers 0+ {GET}"]
END = ["until 0", "close 0x100"]
AWHILE = ["pause 300", "close 0x100"]
# What may come of it: an error of the connection, a reset or a status of stream 0. "go on": the connection is not ended by the server.
OK = ["status 200"]
MALFORMED = [f"reset {MESSAGE_ERROR:#x}", "status 400"]


def error(*codes):
    return [f"connection {code:#x}" for code in codes]


def malformed(*fields, how="headers", body=()):
    return [*CONTROL, " ".join([f"{how} 0{'' if body else '+'}", *fields]), *body, *END], MALFORMED


def on_request(*actions):
    return [*CONTROL, *actions, *AWHILE]


def on_control(*actions):
    return [*CONTROL, *actions, *AWHILE]


def goes_on(*actions):
    return [*CONTROL, *actions, *ASK, *END], OK


# name: (section, actions, what may come of it). Sections without a number before them are of RFC 9114.
CASES = {
    # ---- heads
    "a request": ("4.1", *goes_on()),
    "a name with capitals": ("4.2", *malformed(GET, "X-Upper=1", how="literally")),
    "a name with a blank control": ("4.2", *malformed(GET, "x\ty=1", how="literally")),
    "a value with a line feed": ("4.2", *malformed(GET, "x=a\nb", how="literally")),
    "a value with a carriage return": ("4.2", *malformed(GET, "x=a\rb", how="literally")),
    "no :method": ("4.3.1", *malformed(SCHEME, AUTHORITY, PATH)),
    "no :scheme": ("4.3.1", *malformed(METHOD, AUTHORITY, PATH)),
    "no :path": ("4.3.1", *malformed(METHOD, SCHEME, AUTHORITY)),
    "an empty :path": ("4.3.1", *malformed(METHOD, SCHEME, AUTHORITY, ":path=")),
    "neither :authority nor host": ("4.3.1", *malformed(METHOD, SCHEME, PATH)),
    "an empty :authority": ("4.3.1", *malformed(METHOD, SCHEME, ":authority=", PATH)),
    ":authority and another host": ("4.3.1", *malformed(GET, "host=elsewhere")),
    "a pseudo-field behind a field": ("4.3", *malformed(METHOD, SCHEME, AUTHORITY, "accept=*/*", PATH)),
    "a pseudo-field twice": ("4.3", *malformed(GET, PATH)),
    "a pseudo-field that there is not": ("4.3", *malformed(":fish=1", GET)),
    ":status in a request": ("4.3", *malformed(GET.replace(PATH, ":status=200"), PATH)),
    "CONNECT with a :path": ("4.4", *malformed(GET.replace("GET", "CONNECT"))),
    ":protocol without CONNECT": ("9220, 3", *malformed(GET, ":protocol=websocket")),
    "Connection": ("4.2", *malformed(GET, "connection=close")),
    "Keep-Alive": ("4.2", *malformed(GET, "keep-alive=timeout=5")),
    "Transfer-Encoding": ("4.2", *malformed(POST, "transfer-encoding=chunked", body=["data 0+ body"])),
    "Upgrade": ("4.2", *malformed(GET, "upgrade=h2c")),
    "TE that is not trailers": ("4.2", *malformed(GET, "te=gzip")),
    "a body that is too short": ("4.1.2", *malformed(POST, "content-length=9", body=["data 0+ body"])),
    "a body that is too long": ("4.1.2", *malformed(POST, "content-length=3", body=["data 0+ body"])),
    "Content-Length without a body": ("4.1.2", *malformed(POST, "content-length=3")),
    "two that differ of Content-Length": ("4.1.2", *malformed(POST, "content-length=4", "content-length=5", body=["data 0+ body"])),
    "a pseudo-field in trailers": ("4.3", *malformed(POST, body=["data 0 body", f"headers 0+ {PATH}"])),
    # ---- frames in wrong order
    "DATA before HEADERS": ("4.1", on_request("data 0 body"), error(FRAME_UNEXPECTED)),
    "HEADERS behind trailers": ("4.1", on_request(f"headers 0 {POST}", "headers 0 x=y", "headers 0 x=y"), error(FRAME_UNEXPECTED)),
    "DATA behind trailers": ("4.1", on_request(f"headers 0 {POST}", "headers 0 x=y", "data 0 body"), error(FRAME_UNEXPECTED)),
    "SETTINGS on a request stream": ("7.2.4", on_request("settings 0"), error(FRAME_UNEXPECTED)),
    "GOAWAY on a request stream": ("7.2.6", on_request("goaway 0 0"), error(FRAME_UNEXPECTED)),
    "MAX_PUSH_ID on a request stream": ("7.2.7", on_request("max_push_id 0 1"), error(FRAME_UNEXPECTED)),
    "CANCEL_PUSH on a request stream": ("7.2.3", on_request("cancel_push 0 0"), error(FRAME_UNEXPECTED)),
    "PRIORITY_UPDATE on a request stream": ("9218, 7.2", on_request("priority 0 0 u=1"), error(FRAME_UNEXPECTED)),
    "PUSH_PROMISE of a client": ("7.2.5", on_request(f"headers 0 {GET}", "push_promise 0 0"), error(FRAME_UNEXPECTED)),
    "DATA on the control stream": ("7.2.1", on_control("data 2 body"), error(FRAME_UNEXPECTED)),
    "HEADERS on the control stream": ("7.2.2", on_control(f"headers 2 {GET}"), error(FRAME_UNEXPECTED)),
    "PUSH_PROMISE on the control stream": ("7.2.5", on_control("push_promise 2 0"), error(FRAME_UNEXPECTED)),
    **{f"a frame of HTTP/2, {kind:#x}, on a {where} stream": ("7.2.8", [*CONTROL, f"frame {stream} {kind} 00", *AWHILE], error(FRAME_UNEXPECTED))
       for kind in (2, 6, 8, 9) for where, stream in (("request", 0), ("control", 2))},
    "unknown frames around HEADERS": ("9", [*CONTROL, "frame 2 0x21 7878", "frame 0 0x21 7878", f"headers 0 {GET}", "frame 0+ 0x40 ", *END], OK),
    "a frame that the end of its stream cuts": ("7.1", on_request("bytes 0+ 010500"), error(FRAME_ERROR)),
    "a request stream without a frame": ("4.1", [*CONTROL, "bytes 0+ ", *END], [f"reset {INCOMPLETE:#x}"]),
    "a GOAWAY that is too long": ("7.1", on_control("frame 2 7 0000"), error(FRAME_ERROR)),
    "a GOAWAY without a number": ("7.1", on_control("frame 2 7 "), error(FRAME_ERROR)),
    "a number that its frame cuts": ("7.1", on_control("frame 2 13 c000"), error(FRAME_ERROR)),
    # ---- SETTINGS
    "a control stream that begins with GOAWAY": ("6.2.1", ["uni 2 0", "goaway 2 0", *AWHILE], error(MISSING_SETTINGS)),
    "a control stream that begins with an unknown frame": ("6.2.1", ["uni 2 0", "frame 2 0x21 7878", "settings 2", *AWHILE], error(MISSING_SETTINGS)),
    "no control stream yet": ("3.2", [*ASK, *END], OK),
    "SETTINGS that come late": ("6.2.1", ["uni 2 0", "flush", *ASK, "until 0", "settings 2", "headers 4+ " + GET, "until 4", "close 0x100"], OK),
    "SETTINGS twice": ("7.2.4", on_control("settings 2"), error(FRAME_UNEXPECTED)),
    **{f"the setting of HTTP/2 {kind}": ("7.2.4.1", ["uni 2 0", f"settings 2 {kind}=1", *AWHILE], error(SETTINGS_ERROR)) for kind in (2, 3, 4, 5)},
    "a setting twice": ("7.2.4", ["uni 2 0", "settings 2 6=100000 6=100000", *AWHILE], [*error(SETTINGS_ERROR), "go on"]),
    "a setting that is cut": ("7.1", ["uni 2 0", "frame 2 4 06", *AWHILE], error(FRAME_ERROR, SETTINGS_ERROR)),
    "settings that nobody knows": ("7.2.4.1", ["uni 2 0", "settings 2 0x21=1 0x4141=5", *ASK, *END], OK),
    # ---- GOAWAY and pushes
    "GOAWAY, and a request behind it": ("5.2", goes_on("goaway 2 0")[0], [*OK, "go on"]),
    "GOAWAY with a smaller number": ("5.2", goes_on("goaway 2 8", "goaway 2 4")[0], [*OK, "go on"]),
    "GOAWAY with a larger number": ("5.2", on_control("goaway 2 0", "goaway 2 4"), error(ID_ERROR)),
    "MAX_PUSH_ID that falls": ("7.2.7", on_control("max_push_id 2 5", "max_push_id 2 4"), error(ID_ERROR)),
    "CANCEL_PUSH of no promise": ("7.2.3", on_control("cancel_push 2 0"), error(ID_ERROR)),
    "PRIORITY_UPDATE of a request": ("9218, 7.2", *goes_on("priority 2 0 u=1")),
    "PRIORITY_UPDATE of what is no request": ("9218, 7.2", on_control("priority 2 2 u=1"), error(ID_ERROR)),
    "PRIORITY_UPDATE of no promise": ("9218, 7.2", on_control("frame 2 0xf0701 00753d31"), error(ID_ERROR)),
    # ---- unidirectional streams
    "the control stream ends": ("6.2.1", ["uni 2 0", "settings 2+", *AWHILE], error(CLOSED_CRITICAL)),
    "the control stream ends, a request under way": ("6.2.1", ["uni 2 0", f"headers 0 {POST}", "settings 2+", *AWHILE], error(CLOSED_CRITICAL)),
    "the control stream ends before SETTINGS": ("6.2.1", ["uni 2+ 0", *AWHILE], error(CLOSED_CRITICAL, MISSING_SETTINGS)),
    "the control stream is reset": ("6.2.1", [*CONTROL, "flush", "pause 50", "reset 2 0x100", *AWHILE], error(CLOSED_CRITICAL)),
    "the server's control stream is not read": ("6.2.1", [*CONTROL, "flush", "pause 50", "stop 3 0x100", *AWHILE], error(CLOSED_CRITICAL)),
    "QPACK's encoder stream ends": ("9204, 4.2", [*CONTROL, "uni 6+ 2", *AWHILE], error(CLOSED_CRITICAL)),
    "QPACK's decoder stream ends": ("9204, 4.2", [*CONTROL, "uni 6+ 3", *AWHILE], error(CLOSED_CRITICAL)),
    "QPACK's encoder stream is reset": ("9204, 4.2", [*CONTROL, "uni 6 2", "flush", "pause 50", "reset 6 0x100", *AWHILE], error(CLOSED_CRITICAL)),
    "two control streams": ("6.2.1", [*CONTROL, "uni 6 0", *AWHILE], error(STREAM_CREATION)),
    "two encoder streams": ("9204, 4.2", [*CONTROL, "uni 6 2", "uni 10 2", *AWHILE], error(STREAM_CREATION)),
    "two decoder streams": ("9204, 4.2", [*CONTROL, "uni 6 3", "uni 10 3", *AWHILE], error(STREAM_CREATION)),
    "a push stream of a client": ("6.2.2", [*CONTROL, "uni 6 1", *AWHILE], error(STREAM_CREATION)),
    "a stream of an unknown type": ("6.2", *goes_on("uni 6 0x21", "bytes 6 78")),
    "a stream of an unknown type that ends": ("6.2", *goes_on("uni 6+ 0x21")),
    "a stream that is reset before its type": ("6.2", *goes_on("bytes 6 40", "flush", "pause 50", "reset 6 0x100")),
    # ---- QPACK
    "a field section that needs an insertion": ("9204, 2.2.3", on_request("frame 0+ 1 0200d1"), error(DECOMPRESSION)),
    "a line of the static table that there is not": ("9204, 3.1", on_request("frame 0+ 1 0000ff7f"), error(DECOMPRESSION)),
    "a field section that is cut": ("9204, 4.5", on_request("frame 0+ 1 00002705"), error(DECOMPRESSION)),
    "an insertion without a table": ("9204, 3.2.2", [*CONTROL, "uni 6 2", "bytes 6 c00178", *AWHILE], error(ENCODER)),
    "a table that is larger than allowed": ("9204, 4.3.1", [*CONTROL, "uni 6 2", "bytes 6 3fe11f", *AWHILE], error(ENCODER)),
    "a section that is acknowledged, and needed nothing": ("9204, 4.4.1", [*CONTROL, "uni 6 3", "bytes 6 80", *AWHILE], error(DECODER)),
    "an increment of 0": ("9204, 4.4.3", [*CONTROL, "uni 6 3", "bytes 6 00", *AWHILE], error(DECODER)),
    # ---- requests that end early
    "a request that is reset within its head": ("4.1.1", [*CONTROL, "bytes 0 0120", "flush", "pause 50", f"reset 0 {CANCELLED:#x}", f"headers 4+ {GET}", "until 4", "close 0x100"], ["status 200", f"reset {CANCELLED:#x}"]),
    "an answer that is not read": ("4.1.1", [*CONTROL, f"headers 0+ {GET.replace('small', 'large')}", "flush", f"stop 0 {CANCELLED:#x}", f"headers 4+ {GET}", "until 4", "close 0x100"], ["status 200"]),
    "the client closes behind a request": ("5.3", [*CONTROL, *ASK, "flush", f"close {NO_ERROR:#x}"], [*OK, "go on"]),
}


def built():
    program = os.environ.get("HTTP3_H3I")
    if program:
        return program
    cargo, target = shutil.which("cargo") or os.path.expanduser("~/.cargo/bin/cargo"), os.path.join(ROOT, "out/test/h3i")
    if not os.path.exists(cargo):
        sys.exit("no cargo, and no program (HTTP3_H3I)")
    subprocess.run([cargo, "build", "--target-dir", target], cwd=f"{HERE}/http3_h3i", check=True)
    return f"{target}/debug/http3_h3i"


def tried(client, port, actions):
    """@return what came of it, in words"""
    done = subprocess.run([client, f"127.0.0.1:{port}", *actions], capture_output=True, text=True, timeout=60)
    if done.returncode:
        return [f"the client: {done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else done.returncode}"]
    told = done.stdout.splitlines()
    ended = re.match(r"connection (?:application|transport) (0x[0-9a-f]+)", told[0])
    if ended and ended[1] != f"{NO_ERROR:#x}":
        return [f"connection {ended[1]}" + (" of QUIC" if "transport" in told[0] else "")]
    if "silent" in told[0]:
        return ["silence"]
    streams = {}
    for line in told[1:]:
        _, stream, what, value = line.split(" ", 3)
        if what in ("status", "reset"):
            streams.setdefault(int(stream), f"{what} {value}")
    return sorted(set(streams.values())) or ["go on"]


def started(name, program, root, port):
    """The server on 127.0.0.1, by the configurations of http3_interop.py."""
    text, command, _, off = http3_interop.SERVERS[name]
    text = text.format(root=root, four="127.0.0.1", six="::1", validation=off, certificate="cert.pem", more="").replace(":443", f":{port}").replace("port: 443", f"port: {port}")
    with open(f"{root}/conf", "w", encoding="ascii") as f:
        f.write(text)
    log = open(f"{root}/output", "wb")
    return subprocess.Popen(command(program, root), stdout=log, stderr=log, env={**os.environ, "HOME": root})


def wait_for(client, server, root, port):
    for _ in range(20):
        if server.poll() is not None:
            break
        if tried(client, port, [*ASK, *END]) == OK:
            return
    sys.exit(f"the server does not answer: {open(f'{root}/output', errors='replace').read()[-2000:]}")


def run(client, name, program, root, wanted):
    port, wrong = free_port(), 0
    server = started(name, program, root, port)
    try:
        wait_for(client, server, root, port)
        print(f"| case | RFC 9114 | may come of it | {name} |\n|---|---|---|---|")
        for case in wanted:
            section, actions, may = CASES[case]
            came = tried(client, port, actions)
            good = bool(came) and all(c in may or (c == "status 431" and "status 400" in may) for c in came)
            alive = tried(client, port, [*CONTROL, *ASK, *END]) == OK
            wrong += not good or not alive
            print(f"| {case} | {section} | {', '.join(may)} | {'' if good else 'WRONG: '}{', '.join(came)}{'' if alive else '; the next request has no answer'} |", flush=True)
    finally:
        server.terminate()
        server.wait()
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="brigade")
    parser.add_argument("--case", action="append", choices=CASES)
    arguments = parser.parse_args()
    name, _, program = arguments.server.partition("=")
    program = os.path.abspath(program or (os.environ.get("BRIGADE", "out/release/brigade") if name == "brigade" else shutil.which(name) or name))
    root = tempfile.mkdtemp(prefix="brigade-h3i-")
    try:
        http3_interop.site(root)
        return 1 if run(built(), name, program, root, arguments.case or CASES) else 0
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    sys.exit(main())
