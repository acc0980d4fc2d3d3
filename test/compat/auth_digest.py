# SPDX-License-Identifier: Apache-2.0
"""A client of HTTP Digest that can be made to send anything."""
import hashlib
import re

TARGET = "/d/a.txt"


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()


def challenge(server, target):
    field = server.get(target)["WWW-Authenticate"]
    return dict(re.findall(r'(\w+)="?([^",]*)"?', field[len("Digest "):]))


def field(c, target, user="joe", password="secret", nc="00000001", cnonce="abc", qop="auth", method="GET", realm=None, **parts):
    """An Authorization field for a challenge. Parts are sent in place of those that are right; None: not at all."""
    realm = realm or c["realm"]
    sum_of_target = md5(f"{method}:{target}")
    middle = f"{c['nonce']}:{nc}:{cnonce}:{qop}" if qop else c["nonce"]
    right = {"username": f'"{user}"', "realm": f'"{realm}"', "nonce": f'"{c["nonce"]}"', "uri": f'"{target}"',
             "response": '"' + md5(f"{md5(f'{user}:{realm}:{password}')}:{middle}:{sum_of_target}") + '"'}
    if qop:
        right.update(qop=qop, nc=nc, cnonce=f'"{cnonce}"')
    if "opaque" in c:
        right["opaque"] = f'"{c["opaque"]}"'
    right.update(parts)
    return "Digest " + ", ".join(f"{name}={value}" for name, value in right.items() if value is not None)


def steps(server):
    """(name, target, method, field): one after the other, since nonces and counts go on."""
    c, t = challenge(server, TARGET), TARGET
    yield "no cnonce", t, "GET", field(c, t).replace("cnonce=", "other=")
    for name, parts in {
        "right": {}, "again": {}, "second": {"nc": "00000002"}, "password": {"password": "x"}, "user": {"user": "bob"},
        "realm": {"realm": "other"}, "no qop": {"qop": None}, "auth-int": {"qop": "auth-int"}, "AUTH": {"qop": "AUTH"},
        "no username": {"username": None}, "no nonce": {"nonce": None}, "no uri": {"uri": None}, "no response": {"response": None},
        "md5": {"algorithm": "md5"}, "MD5 quoted": {"algorithm": '"MD5"'},
        "SHA-256": {"algorithm": "SHA-256"}, "sess": {"algorithm": "MD5-sess"}, "nc no number": {"nc": "zz"}, "nc 0": {"nc": "00000000"},
        "opaque": {"opaque": '"5"'}, "opaque no number": {"opaque": '"zz"'}, "opaque empty": {"opaque": '""'},
        "escaped": {"username": '"j\\oe"'}, "others": {"foo": "bar", "baz": '"q,w"'},
    }.items():
        yield name, t, "GET", field(c, t, **parts)
    for name, nonce in {"short": "short", "sum": c["nonce"][:-4] + "0000", "time": "!!!!" + c["nonce"][4:], "x": 52 * "x", "no end": c["nonce"][:11] + "x" + c["nonce"][12:],
                        "two ends": 10 * "x" + "==" + c["nonce"][12:]}.items():
        yield f"nonce {name}", t, "GET", field({**c, "nonce": nonce}, t)
    good = field(c, t)
    for name, text in {"basic": "Basic am9lOnNlY3JldA==", "empty": "Digest ", "bare": "Digest", "junk": "Digest ,,,=,=;;",
                       "unclosed": 'Digest username="joe', "case": good.replace("Digest", "dIgEsT"), "twice": good + ', username="bob"',
                       "names": good.replace("username", "USERNAME").replace("nonce=", "Nonce=", 1),
                       "blanks": good.replace(", ", "  ,   ").replace("=", " = ", 1)}.items():
        yield text and f"field {name}", t, "GET", text
    for asked, sent in [(t, "/n0/a.txt"), (t + "?x=1", t + "?x=1"), (t + "?x=1", t), (t, t + "?x=1"), (t, f"http://localhost{t}"),
                        (t, f"http://other{t}"), ("/d/%61.txt", "/d/%61.txt"), ("/d/%61.txt", t), (t, "/d/%61.txt"), (t, "http://[::1"),
                        (t, ""), (t, "*")]:
        yield f"uri {sent} for {asked}", asked, "GET", field(c, sent)
    yield "head", t, "HEAD", field(c, t, method="HEAD")
    for t in ("/n0/a.txt", "/nc/a.txt", "/nm/a.txt"):
        c = challenge(server, t)
        for nc in ("00000001", "00000001", "00000002", "00000009", "00000008"):
            yield f"{t} {nc}", t, "GET", field(c, t, nc=nc)
        yield f"{t} no opaque", t, "GET", field({n: v for n, v in c.items() if n != "opaque"}, t, nc="0000000a")


def normal(value):
    """A field without what is random."""
    return re.sub(r'((?:next)?nonce|rspauth|opaque)="[^"]*"', r'\1="X"', value)
