#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Apache offers to modules by its public headers, and whether a server offers it too.

  api_symbols.py SERVER [APACHE [HEADERS]]    prints: symbol, offered or missing

A symbol counts if Apache's program exports it and one of the installed headers declares it, as a function, as data, or by
a hook macro (which stands for ap_hook_X, ap_hook_get_X and ap_run_X).
"""
import os
import re
import subprocess
import sys


def exported(program):
    lines = subprocess.run(["nm", "-D", "--defined-only", program], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in lines.splitlines()}


def declared(headers):
    """All identifiers of the headers, and those that hook macros make."""
    names = set()
    for name in os.listdir(headers):
        if not name.endswith(".h"):
            continue
        with open(os.path.join(headers, name), errors="replace") as f:
            text = re.sub(r"/\*.*?\*/", " ", f.read(), flags=re.S)
        names |= set(re.findall(r"\b(?:ap_\w+|\w+_module)\b", text))
        hooks = re.findall(r"\bAP_DECLARE_HOOK\s*\(\s*[\w ]+?\**\s*,\s*(\w+)", text)
        hooks += re.findall(r"\bAPR_DECLARE_EXTERNAL_HOOK\s*\(\s*ap\s*,\s*\w+\s*,\s*[\w ]+?\**\s*,\s*(\w+)", text)
        for hook in hooks:
            names |= {f"ap_hook_{hook}", f"ap_hook_get_{hook}", f"ap_run_{hook}"}
    return names


def compare(server, apache="/usr/sbin/apache2", headers="/usr/include/apache2"):
    """{symbol: offered} of the interface."""
    offered = exported(server)
    return {name: name in offered for name in sorted(exported(apache) & declared(headers))}


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for symbol, there in compare(*sys.argv[1:]).items():
        print(symbol, "offered" if there else "missing")
