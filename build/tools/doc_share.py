#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The share of declarations in headers that have a comment of their own, directly above or behind them.

    build/tools/doc_share.py [--list] [--least PERCENT] [HEADER...]      default: include/*.h and include/brigade/*.h

A declaration is a function, a typedef, a struct or union with members, a variable, or a macro with a value. A comment
above holds for the lines that follow it without a blank line in between if these are macros, enumerators, or hooks of one
kind; members of structs are not counted, nor are include guards. --list names those without, --least fails below a share.
"""
import argparse
import glob
import os
import re
import sys

REPOSITORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HOOK = re.compile(r"\w*(?:DECLARE_HOOK|DECLARE_EXTERNAL_HOOK|DECLARE_OPTIONAL_FN)\s*\(")


def pieces(text):
    """(kind, text, lines) of a header: comment, blank, macro, directive, declaration."""
    at = 0
    while at < len(text):
        if text[at] == "\n":
            yield "newline", "\n"
            at += 1
        elif text[at].isspace():
            at += 1
        elif text.startswith("/*", at):
            end = text.index("*/", at) + 2
            yield "comment", text[at:end]
            at = end
        elif text.startswith("//", at):
            end = text.find("\n", at)
            yield "comment", text[at:end]
            at = end
        elif text[at] == "#":
            end = at
            while True:
                end = text.find("\n", end)
                if end < 0 or text[end - 1] != "\\":
                    break
                end += 1
            end = len(text) if end < 0 else end
            line = text[at:end]
            comment = line.find("/*")
            yield ("macro" if re.match(r"#\s*define\b", line) else "directive"), line[:comment] if comment > 0 else line
            if comment > 0:
                end = text.index("*/", at + comment) + 2
                yield "comment", text[at + comment:end]
            at = end
        else:
            end, depth = at, 0
            hook = HOOK.match(text, at)
            while end < len(text):
                if hook and depth == 1 and text[end] == ")":
                    end += 1 + (text[end + 1:end + 2] == ";")
                    break
                if text.startswith("/*", end):
                    end = text.index("*/", end) + 2
                    continue
                depth += text[end] in "({["
                depth -= text[end] in ")}]"
                if text[end] == ";" and depth == 0:
                    end += 1
                    break
                # A function with a body, or extern "C" {.
                if text[end] == "{" and text[at:end].strip() == 'extern "C"':
                    end += 1
                    break
                if text[end] == "}" and depth <= 0:
                    after = text[end + 1:].lstrip(" \t")
                    if depth < 0 or (")" in text[at:end].split("{")[0] and not after.startswith(";")):
                        end += 1
                        break
                end += 1
            yield "declaration", text[at:end]
            at = end


def name_of(kind, text):
    if kind == "macro":
        return re.match(r"#\s*define\s+(\w+)", text)[1]
    plain = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    plain = re.sub(r"__attribute__\s*\(\(.*?\)\)(?=\s*[;{(])", " ", plain, flags=re.S)
    hook = HOOK.match(plain.strip())
    if hook:
        # Its result, then its name, behind the prefixes of an external hook.
        first = re.split(r",(?![^(]*\))", plain.strip()[hook.end():])
        return first[3 if "EXTERNAL" in hook[0] else 1].strip()
    if "{" in plain and plain.lstrip().startswith(("typedef", "struct", "union", "enum")):
        tail = plain[plain.rindex("}") + 1:].strip(" ;\n")
        head = re.match(r"\s*(?:typedef\s+)?(?:struct|union|enum)\s+(\w+)", plain)
        return re.sub(r"\W+", " ", tail).split(" ")[0] or (head[1] if head else "enum")
    plain = re.sub(r"\b(AP|APR|APU|BRG|PROXY|AP_CORE|AP_MODULE|APREQ)_(\w*)DECLARE\w*\s*\([^)]*\)", " ", plain)
    found = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", plain) or re.search(r"(\w+)\s*\(", plain) or re.search(r"(\w+)\s*(?:\[[^]]*\])*\s*[;=]", plain)
    return found[1] if found else plain.strip()[:30]


def counts(kind, text, guard):
    if kind == "macro":
        match = re.match(r"#\s*define\s+(\w+)(\(.*?\))?\s*(.*)", text, re.S)
        return match[1] != guard and bool(match[3].strip())
    if re.match(r'\s*(extern\s+"C"|\}|;)', text):
        return False
    # A type that is only named here is described where it is defined.
    return not re.match(r"\s*(struct|union|enum)\s+\w+\s*;$", text.strip())


def declarations(path):
    """(name, documented) of each."""
    with open(path) as f:
        text = f.read()
    guard = re.search(r"#ifndef\s+(\w+)\s*\n\s*#define\s+\1\b", text)
    guard = guard and guard[1]
    found, comment, newlines, group = [], False, 2, None
    for kind, piece in pieces(text):
        if kind == "newline":
            newlines += 1
            if newlines > 1:
                comment, group = False, None
            continue
        if kind == "comment":
            if newlines == 0 and found and found[-1][2]:
                found[-1][1] = True  # behind it, on its line
            elif "SPDX" not in piece and "@file" not in piece:
                comment, group = True, None
            newlines = 0
            continue
        if kind == "directive":
            newlines = 0
            continue
        newlines = 0
        if not counts(kind, piece, guard):
            continue
        this = "macro" if kind == "macro" else "hook" if "_HOOK" in piece else "other"
        found.append([name_of(kind, piece), comment or group == this, True])
        group = this if (comment or group == this) and this in ("macro", "hook") else None
        comment = False
    return [(name, documented) for name, documented, _ in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("headers", nargs="*")
    parser.add_argument("--list", action="store_true", help="name the declarations without a comment")
    parser.add_argument("--least", type=float, default=0, help="fail below this share")
    args = parser.parse_args()
    include = os.path.join(REPOSITORY, "include")
    headers = args.headers or sorted(glob.glob(f"{include}/*.h") + glob.glob(f"{include}/brigade/*.h"))
    total = documented = 0
    for path in headers:
        found = declarations(path)
        have = sum(d for _, d in found)
        total, documented = total + len(found), documented + have
        if found:
            print(f"{100 * have / len(found):5.1f} %  {have:4} of {len(found):4}  {os.path.relpath(path, REPOSITORY)}")
        if args.list:
            print("".join(f"          {name}\n" for name, d in found if not d), end="")
    share = 100 * documented / total if total else 100
    print(f"{share:5.1f} %  {documented:4} of {total:4}  in all")
    return share < args.least


if __name__ == "__main__":
    sys.exit(main())
