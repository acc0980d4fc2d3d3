#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/metrics.md, of what a server says of its figures.

    curl -s http://localhost:8080/metrics | build/tools/metrics_table.py
"""
import re
import sys

NOT_LABELS = ("le",)


def table(text):
    """Lines of a Markdown table: a family each, in the server's order."""
    families, labels = {}, {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, about = line[7:].split(" ", 1)
            families[name] = [None, about]
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ", 1)
            families[name][0] = kind
        else:
            for label, value in re.findall(r'(\w+)="([^"]*)"', line):
                if label not in NOT_LABELS:
                    labels.setdefault(name, {}).setdefault(label, []).append(value)
    yield "| Name | Type | Labels | Meaning |"
    yield "|---|---|---|---|"
    for name, (kind, about) in families.items():
        said = labels.get(name, {})
        if name.startswith(("brigade_http_", "brigade_certificate", "brigade_asn", "brigade_limit")):
            said = {label: [] for label in said}
        elif name.startswith("brigade_backend"):
            said = {label: [] if label in ("backend", "balancer", "host") else values for label, values in said.items()}
        words = ", ".join(label + (": " + ", ".join(f"`{v}`" for v in dict.fromkeys(values)) if values else "")
                          for label, values in said.items())
        yield f"| `{name}` | {kind} | {words} | {about} |"


if __name__ == "__main__":
    print("\n".join(table(sys.stdin.read())))
