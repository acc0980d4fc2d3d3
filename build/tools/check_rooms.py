#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hold the order of the rooms (build/cmake/BrigadeRooms.cmake, ARCHITECTURE.md).

    build/tools/check_rooms.py out/dev        after a build of that tree

Fails, with a line for each finding, on
- a header that is included from a higher room, or a *_private.h from any other room;
- a symbol that is taken from a higher room;
- a symbol that is taken from a lower room whose offered headers do not declare it.

Symbols of APR and those that include/ declares are the module API: every room may call them, whichever room has them. The rooms of
filters/ and modules/ are written against that alone, and may take nothing else from another room.
"""
import collections
import os
import re
import subprocess
import sys

# The list of built-in modules names each of them: one file, at the top of the house.
MODULE_LISTS = {"server/cli/builtin_modules.c"}


def words_of(paths):
    """All identifiers of some headers, comments left out."""
    words = set()
    for path in paths:
        with open(path, encoding="utf-8") as f:
            words.update(re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)))
    return words


def headers_in(folder):
    return [os.path.join(folder, f) for f in sorted(os.listdir(folder)) if f.endswith(".h")]


def public_headers(top):
    return [os.path.join(at, f) for at, _, files in os.walk(os.path.join(top, "include")) for f in files if f.endswith(".h")]


class Tree:
    def __init__(self, top, build):
        self.top, self.build = top, build
        with open(os.path.join(build, "rooms.txt"), encoding="utf-8") as f:
            own, api = f.read().split("\n-\n")
        self.rooms, self.api_rooms = own.split(), api.split()
        self.rank = {room: i for i, room in enumerate(self.rooms + self.api_rooms)}
        self.findings = []
        self.public = words_of(public_headers(top))
        self.offered = {room: words_of(h for h in headers_in(os.path.join(top, room)) if not h.endswith("_private.h"))
                        for room in self.rank}

    def room_of(self, path):
        room = os.path.dirname(path)
        return room if room in self.rank else None

    def may_see(self, room, other):
        """May room use what other offers?"""
        return room == other or (room in self.rooms and other in self.rooms and self.rank[other] < self.rank[room])

    # ---- headers ----

    def check_headers(self):
        where = {os.path.basename(h): room for room in self.rank for h in headers_in(os.path.join(self.top, room))}
        for room in self.rank:
            folder = os.path.join(self.top, room)
            for name in sorted(os.listdir(folder)):
                if name.endswith((".c", ".h")):
                    with open(os.path.join(folder, name), encoding="utf-8") as f:
                        self.check_includes(room, name, re.findall(r'^#include "([\w.]+)"', f.read(), flags=re.M), where)

    def check_includes(self, room, name, included, where):
        for header in included:
            other = where.get(header)
            if not other or other == room:
                continue
            if not self.may_see(room, other):
                self.findings.append(f"{room}/{name}: includes {header} of {other}, which is not below it")
            elif header.endswith("_private.h"):
                self.findings.append(f"{room}/{name}: includes {header}, which is private to {other}")

    # ---- symbols ----

    def objects(self):
        """(source, object) of all rooms."""
        base = os.path.join(self.build, "CMakeFiles")
        for room in self.rank:
            folder = os.path.join(base, "brigade_" + room.replace("/", "_") + ".dir", room)
            if not os.path.isdir(folder):
                sys.exit(f"{folder} is missing: build the tree first")
            for name in sorted(os.listdir(folder)):
                source = f"{room}/{name[:-2]}"
                if name.endswith(".c.o") and os.path.exists(os.path.join(self.top, source)):
                    yield source, os.path.join(folder, name)

    def symbols(self):
        defined, used = {}, collections.defaultdict(set)
        source_of = {path: source for source, path in self.objects()}
        output = subprocess.run(["nm", "-g", "-P", "-A", *source_of], capture_output=True, text=True, check=True).stdout
        for line in output.splitlines():
            path, name, kind = re.match(r"(.*): (\S+) (\w)", line).groups()
            if kind == "U":
                used[source_of[path]].add(name)
            elif kind in "BCDGRSTVW":
                defined[name] = source_of[path]
        return defined, used

    def check_symbols(self):
        defined, used = self.symbols()
        self.references = self.upwards = 0
        for source in sorted(used):
            room = self.room_of(source)
            for name in sorted(used[source]):
                target = defined.get(name)
                other = self.room_of(target) if target else None
                if not other or other == room or self.is_api(name) or source in MODULE_LISTS:
                    continue
                self.references += 1
                if not self.may_see(room, other):
                    self.upwards += 1
                    self.findings.append(f"{source}: takes {name} from {target}, which is not below it")
                elif name not in self.offered[other]:
                    self.findings.append(f"{source}: takes {name} from {target}, which no offered header of {other} declares")

    def is_api(self, name):
        """APR's, declared in include/, made there by a macro for hooks, or the structure of a module."""
        hooks = [h for p in ("run", "hook_get", "hook") for h in re.findall(rf"^(?:ap|brg)_{p}_(\w+)", name)]
        return (name.startswith("apr_") or name.endswith("_module") or name in self.public or
                any(h in self.public for h in hooks))


def main():
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "out/dev")
    tree = Tree(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), build)
    tree.check_headers()
    tree.check_symbols()
    for finding in tree.findings:
        print(finding)
    print(f"{len(tree.rank)} rooms, {tree.references} references between them, {tree.upwards} upwards, "
          f"{len(tree.findings)} findings")
    return 1 if tree.findings else 0


if __name__ == "__main__":
    sys.exit(main())
