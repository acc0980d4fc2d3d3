# SPDX-License-Identifier: Apache-2.0
"""build/tools/check_codecs.py finds codecs of backends that look at a request_rec: in a folder of small files."""
import os
import subprocess
import sys

import pytest

from brigade import REPOSITORY

CODEC = "static int take(proxy_exchange *x)\n{\n    return x->%s != 0; /* not x->r */\n}\nconst proxy_codec proxy_x_codec = {.take = take};\n"


def check(folder, **files):
    for name, text in files.items():
        (folder / name.replace("_DOT_", ".")).write_text(text, encoding="ascii")
    done = subprocess.run([sys.executable, os.path.join(REPOSITORY, "build", "tools", "check_codecs.py"), str(folder)], capture_output=True, text=True,
                          timeout=60, check=False)
    lines = done.stdout.splitlines()
    assert bool(done.returncode) == bool(lines[:-1]), done.stdout + done.stderr
    return lines[:-1]


def test_right_codec(tmp_path):
    assert not check(tmp_path, codec_DOT_c=CODEC % "cc", sink_DOT_c="static request_rec *of(proxy_exchange *x) { return x->r; }\n")


@pytest.mark.parametrize("text,line", [
    pytest.param(CODEC % "r", 3, id="member"),
    pytest.param('#include "proxy_script.h"\nstatic request_rec *kept;\n', 2, id="type"),
    pytest.param('#include "proxy_h2_private.h"\n/* a\n   comment */ static int is(proxy_exchange *x) { return x->r->main != NULL; }\n', 3, id="behind-a-comment"),
])
def test_a_codec_looks_at_it(tmp_path, text, line):
    assert [at.split(": ")[0] for at in check(tmp_path, codec_DOT_c=text)] == [f"codec.c:{line}"]


def test_no_codec(tmp_path):
    assert check(tmp_path, other_DOT_c="int other;\n") == ["no codec was found"]
