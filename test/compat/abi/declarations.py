# SPDX-License-Identifier: Apache-2.0
"""What a set of headers declares: functions, variables, structs, enums, types and macros.

Clang parses one source file that includes all headers and dumps its syntax tree; gcc's -dM lists the
macros. Nothing of this depends on comments, order or layout of the headers.
"""
import json
import os
import re
import shlex
import subprocess
import tempfile

# Headers first that others expect to be there already.
FIRST = ["httpd.h", "http_config.h", "http_core.h", "http_log.h", "http_protocol.h", "http_request.h", "util_filter.h"]

# mod_xml2enc.h names a type of libxml2, which need not be installed; mod_dbd.h expects apr_dbd.h.
PRELUDE = """#include "apr_dbd.h"
#define __XML_CHAR_ENCODING_H__
typedef int xmlCharEncoding;
"""

# Names that come with APR and the system, and are no part of the comparison.
BASELINE = ["pwd.h", "grp.h", "signal.h", "syslog.h", "limits.h", "time.h", "stdlib.h", "string.h", "unistd.h",
            "sys/time.h", "sys/times.h", "sys/resource.h", "sys/ipc.h", "netinet/in.h", "netinet/tcp.h",
            "arpa/inet.h"]


def pkg_cflags():
    out = subprocess.run(["pkg-config", "--cflags", "apr-1", "apr-util-1"], capture_output=True, text=True, check=True)
    return shlex.split(out.stdout)


def apr_headers():
    dirs = [flag[2:] for flag in pkg_cflags() if flag.startswith("-I")]
    return sorted({h for d in dirs for h in os.listdir(d) if h.endswith(".h")} - {"apr_ldap_rebind.h"})


def header_names(directory):
    return sorted(h for h in os.listdir(directory) if h.endswith(".h"))


def umbrella(names):
    ordered = [h for h in FIRST if h in names] + [h for h in names if h not in FIRST]
    return PRELUDE + "".join(f'#include "{h}"\n' for h in ordered)


def baseline_source():
    return PRELUDE + "".join(f'#include "{h}"\n' for h in BASELINE + apr_headers())


# ccache takes a syntax tree on standard output for a preprocessed file, and compilers may be links to it.
ENVIRONMENT = dict(os.environ, CCACHE_DISABLE="1")


def run(command, source):
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "unit.c")
        with open(path, "w") as f:
            f.write(source)
        result = subprocess.run(command + [path], capture_output=True, text=True, env=ENVIRONMENT)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {result.stderr[:4000]}")
    return result.stdout


class Declarations:
    """Everything that a source file sees after its #include lines."""

    def __init__(self, source, include_dir=None):
        self.functions, self.variables, self.typedefs = {}, {}, {}
        self.records, self.enums, self.macros = {}, {}, {}
        self.flags = ["-std=gnu17", "-w", "-D_GNU_SOURCE"] + pkg_cflags()
        if include_dir:
            self.flags.insert(0, f"-I{include_dir}")
        tree = json.loads(run(["clang", *self.flags, "-fsyntax-only", "-Xclang", "-ast-dump=json"], source))
        self._by_id = {}
        for node in tree["inner"]:
            self._declaration(node)
        for line in run(["gcc", *self.flags, "-E", "-dM"], source).splitlines():
            match = re.match(r"#define (\w+)(\([^)]*\))?\s?(.*)", line)
            self.macros[match[1]] = (match[2], match[3].strip())

    def _declaration(self, node):
        kind, name = node["kind"], node.get("name")
        if kind == "FunctionDecl":
            self.functions[name] = canonical(node["type"]["qualType"])
        elif kind == "VarDecl":
            self.variables[name] = canonical(node["type"]["qualType"])
        elif kind == "RecordDecl" and node.get("completeDefinition"):
            self._by_id[node["id"]] = node
            if name:
                self.records[f"{node['tagUsed']} {name}"] = fields(node)
        elif kind == "EnumDecl":
            for position, item in enumerate(i for i in node.get("inner", []) if i["kind"] == "EnumConstantDecl"):
                self.enums[item["name"]] = position
        elif kind == "TypedefDecl":
            self.typedefs[name] = canonical(node["type"]["qualType"])
            owned = record_of(node)
            if owned in self._by_id and not self._by_id[owned].get("name"):
                self.records[name] = fields(self._by_id[owned])


def record_of(node):
    """Identifier of the anonymous record that a typedef names, or None."""
    for inner in node.get("inner", []):
        if inner["kind"] == "RecordType":
            return inner["decl"]["id"]
        if inner["kind"] == "ElaboratedType":
            return inner["ownedTagDecl"]["id"] if "ownedTagDecl" in inner else record_of(inner)
    return None


def fields(node):
    """(name, type, is a bit field) of each member in order."""
    return [(f.get("name", ""), canonical(f["type"]["qualType"]), bool(f.get("isBitfield")))
            for f in node.get("inner", []) if f["kind"] == "FieldDecl"]


def canonical(text):
    """A type's text without what depends on where it was written."""
    text = re.sub(r"\((unnamed|anonymous)[^)]*\)", "(unnamed)", text)
    return re.sub(r"\s+", " ", text)
