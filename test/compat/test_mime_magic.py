# SPDX-License-Identifier: Apache-2.0
"""mod_mime_magic beside Apache's: Debian's magic file over a folder of samples, random rules over random files, lines with
mistakes with what the log says of them."""
import gzip
import io
import os
import random
import re
import tarfile

import pytest

import effort
import brigade
from stock import driver

MODULE = f"{driver.MODULES}/mod_mime_magic.so"
DEBIANS = "/etc/apache2/magic"
pytestmark = [
    pytest.mark.skipif(not all(os.access(f, os.R_OK) for f in [driver.APACHE, MODULE]), reason="the peer is absent: Apache and its modules are not installed"),
    pytest.mark.skipif(not os.access(brigade.BINARY, os.X_OK), reason=f"{brigade.BINARY} is not built"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]
LONG = b"\n" + b"." * 100  # a rule needs 64 bytes behind its offset


def as_meant(kind, encoding):
    """Apache forgets the NUL behind a type of 7, 15, ... characters with an encoding: both stand in Content-Type."""
    if kind and encoding and len(kind.split()[0]) % 8 == 7:
        kind = kind.split()[0]
    return kind, encoding


def asked(binary, rules, files, config="", names=None):
    """Status, type and encoding of each file, and what the module logged."""
    path = rules if rules.startswith("/") else "conf/magic"
    server = brigade.Server(f"LoadModule mime_magic_module {MODULE}\nMimeMagicFile {path}\n{config}", files=files, binary=binary)
    server.expect_trouble = True
    if path != rules:
        server.write("magic", rules, base="conf")
    with server:
        found = {}
        for name in names or files:
            r = server.get(f"/{name}")
            found[name] = (r.status, *as_meant(r["Content-Type"], r["Content-Encoding"]))
        log = server.read("logs/error_log").decode("latin-1")
    messages = [re.sub(r"\[client [^]]*\] ", "", m).replace(server.root, "ROOT") for m in re.findall(r"(?:AH015[0-5]\d: ).*", log)]
    return found, messages


def same(rules, files, config="", names=None):
    (apaches, told), (ours, said) = (asked(b, rules, files, config, names) for b in (driver.APACHE, brigade.BINARY))
    differ = {n: (apaches[n], ours[n], files.get(n)) for n in apaches if apaches[n] != ours[n]}
    assert not differ, differ
    assert set(said) == set(told), set(said) ^ set(told)
    return apaches


def tar():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        info = tarfile.TarInfo("./x")
        info.size = 3
        t.addfile(info, io.BytesIO(b"abc"))
    return out.getvalue()


def samples():
    """Beginnings of files of many kinds, and what goes wrong with them."""
    begin = [b"GIF89a", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0\0\x10JFIF", b"%PDF-1.4", b"%!PS-Adobe", b"#!/bin/sh", b"#!/usr/bin/perl", b"<?xml version='1.0'?>", b"OggS", b"ID3\3", b"RIFF\0\0\0\0WAVEfmt ",
             b"RIFF\0\0\0\0AVI ", b"RIFF\0\0\0\0none", b"PK\3\4", b"\x7fELF\2\1\1", b"BZh91AY", b"{\\rtf1", b"MThd", b".snd\0\0\0\x18\0\0\0\0\0\0\0\1", b"\xca\xfe\xba\xbe", b"II*\0", b"MM\0*", b"BM", b"\xfd7zXZ", b"AT&TFORM",
             b"From: x", b"Received: from x", b"Newsgroups: a.b", b"/* C */", b"#include <x>", b"struct a", b"<!DOCTYPE HTML", b"<html>", b".de XX", b".\\a x", b".\\\" x", b"c fortran", b"-----BEGIN PGP MESSAGE-", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"]
    files = {f"kind{i}": b + LONG for i, b in enumerate(begin)}
    files |= {"empty": b"", "short": b"GIF89a", "plain": b"some words" + LONG, "tar": tar(), "nottar": tar()[:511], "badtar": tar().replace(b"ustar", b"ustaR"), "escapes": b"<html> \033[1m", "bytes": bytes(range(256)),
              "late": b"a " * 510 + b"The ", "toolate": b"a " * 511 + b"The ", "nul": b"a\0 The", "page.html": b"<html>", "page.html@12": b"x", "page@1": b"<html> ", "folder/x": b"<html> "}
    html = b"<html> " + LONG
    files |= {"gz": gzip.compress(html), "gzcut": gzip.compress(html)[:40], "gzbad": b"\x1f\x8b" + LONG, "gzunknown": gzip.compress(LONG), "gzcrc": gzip.compress(html)[:-8] + bytes(8), "gztrail": gzip.compress(html) + b"junk",
              "gzshort": gzip.compress(b"<html>"), "gzshort1": gzip.compress(b"<html> "), "gzgz": gzip.compress(gzip.compress(html)), "gzlong": gzip.compress(html + os.urandom(20000)), "gzrule": gzip.compress(b"GIF89a" + LONG),
              "gzonly": b"\x1f\x8b", "gztext": gzip.compress((b"<head>" + b" x" * 4000))}
    return files | {"many": random.Random(7).randbytes(6000)} | compressed(html)


class Lzw:
    """What compress writes: codes from 9 bits on, in groups of eight of the same length."""

    def __init__(self, most=16, clear=None):
        self.most, self.clear = most, clear  # bits of a code; after how many codes the table is emptied
        self.out, self.value, self.bits, self.group = bytearray(b"\x1f\x9d" + bytes([0x80 | most])), 0, 0, 0
        self.known = 256  # what a reader adds next
        self.length = 9

    def change(self, length):
        self.bits = self.group + -(-(self.bits - self.group) // (self.length * 8)) * self.length * 8
        self.group, self.length = self.bits, length

    def put(self, code):
        if self.known > (1 << self.length) - 1 and self.length < self.most:
            self.change(self.length + 1)
        self.value |= code << self.bits
        self.bits += self.length
        self.known = min(self.known + 1, 1 << self.most)

    def write(self, text):
        table, codes, now = {bytes([b]): b for b in range(256)}, 0, b""
        for byte in (text[i:i + 1] for i in range(len(text))):
            if now + byte in table:
                now += byte
                continue
            self.put(table[now])
            if len(table) + 1 < 1 << self.most:
                table[now + byte] = len(table) + 1  # 256 empties the table
            now, codes = byte, codes + 1
            if codes == self.clear:
                self.put(256)
                self.change(9)
                self.known, codes, table = 256, 0, {bytes([b]): b for b in range(256)}
        if now:
            self.put(table[now])
        return bytes(self.out) + self.value.to_bytes((self.bits + 7) // 8, "little")


def compressed(html):
    """Files of compress: with many codes, with few bits, with tables that are emptied; and such as are wrong."""
    draw = random.Random(5)
    texts = {"Z": html, "Zshort": b"<html> ", "Zrule": b"GIF89a" + LONG, "Zlong": b"<html> " + bytes(draw.choices(b"abcdefgh", k=20000)), "Zrandom": b"<html> " + draw.randbytes(9000), "Zsame": b"<h1> " + b"a" * 9000}
    made = {name: Lzw().write(text) for name, text in texts.items()}
    made |= {"Zfew": Lzw(9).write(texts["Zlong"]), "Zclear": Lzw(12, 300).write(texts["Zlong"]), "Zclear7": Lzw(16, 7).write(texts["Zlong"]), "Zend": Lzw().write(texts["Zlong"][:4000] + b"\0" * 90)}
    return made | {"Zcut": made["Zlong"][:100], "Zbad": b"\x1f\x9d\x90<html> ", "Zonly": b"\x1f\x9d\x90", "Zbits": b"\x1f\x9d\x88<html> ", "Zflag": b"\x1f\x9d\xb0" + made["Z"][3:]}


@pytest.mark.skipif(not os.access(DEBIANS, os.R_OK), reason="Debian's magic file is not installed")
def test_debians_file():
    files = samples()
    found = same(DEBIANS, files, names=[*files, "folder/", "missing"])
    assert len({kind for _, kind, _ in found.values()}) > 15
    assert found["gz"] == (200, "text/html", "x-gzip")
    assert found["Zlong"] == found["Zfew"] == found["Zclear7"] == (200, "text/html", "x-compress")


def test_mod_mime_comes_first():
    """What a name tells is not looked for in the file; nor is what has a handler."""
    files = {"a.txt": b"<html> ", "a": b"<html> ", "b.own": b"<html> ", "c.gz": gzip.compress(b"<html> x")}
    same("0 string <html> own/html\n", files, "AddType text/plain .txt\nAddHandler default-handler .own\nAddEncoding x-gzip .gz\n")


def test_lines():
    """A text's type and encoding, and lines with mistakes."""
    texts = ["text/ab enc", "text/ab", "text/ab ", "text/ab  7BIT more", "TEXT/Ab;Q=V", "text", "/text", "t /x", "t/", "t//x", "t/x/y gz/ip", "\\bt/x", "a/%%b", "x\\y/z", "t/x,y"]
    rules = "".join(f"0 string Q{i:02d} {t}\n" for i, t in enumerate(texts))
    mistakes = ["zz string a b/c", "0 strin a b/c", "0 string " + "a" * 70 + " b/c", "0", ">(0.q+3) byte 1 a/b", ">(0.l+3 byte 1 a/b", ">>(4.s-1) byte 1 a/b", "0 byte 0 " + "d" * 80, "  # no rule", "", "\t0 string QA a/long" + "e" * 9000, "0 string QB a/b ", "0 byte =0x78 a/any"]
    files = {f"Q{i:02d}": f"Q{i:02d}".encode() + LONG for i in range(len(texts))} | {n: n.encode() + LONG for n in ("QA", "QB", "none")}
    same(rules + "\n".join(mistakes), files)


@pytest.mark.parametrize("bad", ["0 strin a b/c\n0 string AAA a/b\n", None])
def test_files_of_virtual_hosts(bad):
    """The first file with a mistake is the last that is read; the last host's comes first."""
    found = []
    for binary in (driver.APACHE, brigade.BINARY):
        hosts = "".join(f"<VirtualHost *>\nServerName v{i}\n{f'MimeMagicFile conf/{f}' if f else ''}\n</VirtualHost>\n" for i, f in enumerate(["good", "", "bad", "good"]))
        server = brigade.Server(f"LoadModule mime_magic_module {MODULE}\nMimeMagicFile conf/good\n{hosts}", files={"A": b"AAA" + LONG}, binary=binary)
        server.expect_trouble = True
        for name, content in (("good", "0 string AAA good/good\n"), ("bad", bad)):
            if content:
                server.write(name, content, base="conf")
        with server:
            found.append([server.request("GET", "/A", host=f"v{i}")["Content-Type"] for i in range(4)])
    assert found[0] == found[1] and found[0][0] is None and found[0][3] == "good/good"


def rule(draw, depth):
    offset = draw.choice(["0", "0", "1", "2", "4", "8", "0x10", "010", "3", "33", "4x", "16"])
    if depth and draw.random() < 0.15:
        offset = draw.choice(["(0", "(1", "(0x2"]) + draw.choice([".b", ".s", ".l", ""]) + draw.choice(["+1", "-1", "+0", "+", "", "4"]) + draw.choice([")", ")", ")", ""])
    kind = draw.choice(["byte", "short", "long", "string", "string", "string", "beshort", "belong", "leshort", "lelong", "bedate", "ledate", "none"])
    of_text, dated = kind == "string", kind.endswith("date")
    name = draw.choice(["", "", "", "u"]) + kind + draw.choice([""] * 20 + ["&0xff", "&0x7f", "&0xdf00", "&0", "&0xff00ff", "&-2"])
    if of_text:
        value = draw.choice(["", "=", ">", "<", "&", "^", "!"]) + draw.choice(["a", "ab", "b", "c", "x", "A", "\\x61", "\\141b", "\\n", "a\\ b", "\\x61\\062", "\\0b", "\\q", "\\x", "a" * draw.randint(60, 66), "\\8", "\\xzz", "\\", "\\x6", "\\x611", "\\1234"])
    else:
        value = draw.choice(["", "=", ">", "<", "&", "^", "!", "x", "x "]) + draw.choice(["0", "1", "0x61", "0x6162", "24930", "-1", "0x61626364", "0x80", "0xff80", "120", "07", "a", "0x64636261", "", "0xffff0078"])
    # A text whose conversion is not for its value makes Apache crash; types of 7 and 15 characters run into the encoding there.
    printed = ["c/%s", "x/%.3s"] if of_text or dated else ["x/%d", "x/%x", "x/%ld", "%lu"]
    text = draw.choice(["", "a/b", "text/plain", "a/b enc", "a/%%", "\\ba/b", "/b", "b", "A/B;c=DE", "x/y " + "z" * 60, *printed])
    return ">" * depth + draw.choice([" ", "\t", " \t"]).join([offset, name, value, text])


def rules_of(draw):
    lines, depth = [], 0
    for _ in range(draw.randint(1, 9)):
        lines.append(rule(draw, depth if draw.random() < 0.95 else 1))
        depth = draw.choice([0, depth, depth + 1, max(0, depth - 1), 1])
    return "\n".join(lines) + draw.choice(["\n", ""])


def content(draw):
    size, kind = draw.choice([3, 60, 63, 64, 65, 70, 100, 200]), draw.random()
    if kind < 0.5:
        return bytes(draw.choices(b"abcx\n .A\0", k=size))
    if kind < 0.8:
        return draw.choice([b"ab", b"abcd", b"a", b"b", b"aa"]) + draw.randbytes(size)
    return bytes(draw.choices([0, 0, 0, 1, 2, 0x61, 0x62, 0x80, 0xFF, 0x78], k=size))


@pytest.mark.parametrize("seed", range(effort.count(6)))
def test_random_rules(seed):
    draw = random.Random(seed)
    same(rules_of(draw), {f"f{i}": content(draw) for i in range(24)})
