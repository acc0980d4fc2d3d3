# SPDX-License-Identifier: Apache-2.0
"""The functions that requests run, for the linker to lay side by side: build/cmake/hot_functions.ld.

A request runs some hundred functions, out of a program of two megabytes. Side by side they take fifty pages; in the order of
the files, nearly as many pages as there are functions, and the processor waits for each.
"""
import os
import re

ORDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "cmake", "hot_functions.ld")

RARE = {"http3-connection"}  # a handshake is OpenSSL's for the most part

HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/* Written by build/profile --renew: the functions that requests run, laid side by side (test/profile/profile_order.py). */
SECTIONS
{
    .text.brigade_hot :
    {
"""
TAIL = """    }
}
INSERT BEFORE .text;
"""


def script_of(golden):
    """The functions of each shape in golden.json that are not in the one before; the cheapest shape first."""
    names = []
    for shape in sorted((shape for name, shape in golden["shapes"].items() if name not in RARE), key=lambda s: s["instructions"]):
        names += [n for n in shape["functions"] if re.fullmatch(r"[A-Za-z_]\w*", n)]
    lines = [f"        *(.text.{n} .text.{n}.constprop.* .text.{n}.isra.* .text.{n}.part.*)\n" for n in dict.fromkeys(names)]
    return HEAD + "".join(lines) + TAIL


def write(golden):
    with open(ORDER, "w", encoding="utf-8") as f:
        f.write(script_of(golden))
