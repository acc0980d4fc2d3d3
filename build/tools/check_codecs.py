#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Codecs of backends know no request_rec: an exchange of a route has none.

    build/tools/check_codecs.py [FOLDER]        default: server/proxy

A codec is a file that defines a proxy_codec, or that includes what codecs have in common (proxy_script.h, proxy_h2_private.h); these
headers belong to it. Fails, with a line for each finding, on "request_rec" and on a member "r" outside of comments and strings.
"""
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = ("proxy_script.h", "proxy_h2_private.h")
CODEC = re.compile(r'^const proxy_codec \w+ =|^#include "(?:%s)"' % "|".join(map(re.escape, SHARED)), re.M)
FORBIDDEN = re.compile(r"\brequest_rec\b|(?:->|\.)r\b")
OUTSIDE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)


def code_of(text):
    """The text with comments and strings blanked, line by line."""
    return OUTSIDE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def is_codec(name, text):
    return name in SHARED or (name.endswith(".c") and CODEC.search(text) is not None)


def findings(folder):
    """(number of codecs' files, lines that tell of what they must not have)"""
    found, files = [], 0
    for name in sorted(os.listdir(folder)):
        if not name.endswith((".c", ".h")):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            text = f.read()
        if not is_codec(name, text):
            continue
        files += 1
        for number, line in enumerate(code_of(text).splitlines(), 1):
            found += [f"{name}:{number}: a codec looks at a request_rec: {line.strip()}"] if FORBIDDEN.search(line) else []
    return files, found


def main():
    files, found = findings(sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "server", "proxy"))
    if not files:
        found.append("no codec was found")
    print(*found, f"{files} files of codecs, {len(found)} findings", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
