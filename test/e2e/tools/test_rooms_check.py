# SPDX-License-Identifier: Apache-2.0
"""build/tools/check_rooms.py finds what breaks the order of the rooms: in a small tree of three rooms, built here."""
import os
import shutil
import subprocess
import sys

import pytest

from brigade import REPOSITORY

# Right as it is: high uses what low offers, and the module API, which low implements.
FILES = {
    "low/low.h": "int low_offered(void);\n",
    "low/low_private.h": "int low_hidden(void);\n",
    "low/low.c": '#include "low.h"\n#include "low_private.h"\nint low_offered(void) { return 1; }\nint low_hidden(void) { return 2; }\n'
                 "int ap_called(void) { return 3; }\n",
    "high/high.h": "int high_offered(void);\n",
    "high/high.c": '#include "high.h"\n#include "low.h"\n#include "api.h"\n'
                   "int high_offered(void) { return low_offered() + ap_called(); }\n",
    "modules/mod.c": '#include "api.h"\nint mod_own(void) { return ap_called(); }\n',
    "include/api.h": "int ap_called(void);\n",
}


def check(tmp_path, **changed):
    """Lines that the check prints for the tree with these files (low_c for low/low.c) in place of its own."""
    files = {**FILES, **{name.replace("__", "/").replace("_DOT_", "."): text for name, text in changed.items()}}
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
    for name in files:
        if name.endswith(".c"):
            room = os.path.dirname(name)
            to = tmp_path / "out" / "CMakeFiles" / f"brigade_{room}.dir" / f"{name}.o"
            to.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cc", *(f"-I{tmp_path / folder}" for folder in ("low", "high", "include")), "-c", "-o", str(to),
                            str(tmp_path / name)], check=True, timeout=60)
    (tmp_path / "out" / "rooms.txt").write_text("low\nhigh\n-\nmodules\n", encoding="ascii")
    (tmp_path / "build" / "tools").mkdir(parents=True)
    script = shutil.copy(os.path.join(REPOSITORY, "build", "tools", "check_rooms.py"), tmp_path / "build" / "tools")
    done = subprocess.run([sys.executable, script, str(tmp_path / "out")], capture_output=True, text=True, timeout=60, check=False)
    lines = done.stdout.splitlines()
    assert bool(done.returncode) == bool(lines[:-1]), done.stdout + done.stderr
    return lines


def test_right_tree(tmp_path):
    assert check(tmp_path) == ["3 rooms, 1 references between them, 0 upwards, 0 findings"]


@pytest.mark.parametrize("file,text,findings", [
    pytest.param("low__more_DOT_c", "extern int high_offered(void);\nint low_more(void) { return high_offered(); }\n",
                 ["low/more.c: takes high_offered from high/high.c, which is not below it"], id="upward-symbol"),
    pytest.param("low__more_DOT_c", '#include "high.h"\nint low_more(void) { return 0; }\n',
                 ["low/more.c: includes high.h of high, which is not below it"], id="upward-header"),
    pytest.param("high__more_DOT_c", '#include "low_private.h"\nint high_more(void) { return 0; }\n',
                 ["high/more.c: includes low_private.h, which is private to low"], id="private-header"),
    pytest.param("high__more_DOT_c", "extern int low_hidden(void);\nint high_more(void) { return low_hidden(); }\n",
                 ["high/more.c: takes low_hidden from low/low.c, which no offered header of low declares"], id="undeclared-symbol"),
    pytest.param("modules__more_DOT_c", "extern int low_offered(void);\nint mod_more(void) { return low_offered(); }\n",
                 ["modules/more.c: takes low_offered from low/low.c, which is not below it"], id="module-beside-the-api"),
])
def test_wrong_reference(tmp_path, file, text, findings):
    lines = check(tmp_path, **{file: text})
    assert lines[:-1] == findings
    assert lines[-1].endswith(" 1 findings")
