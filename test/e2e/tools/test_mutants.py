# SPDX-License-Identifier: Apache-2.0
"""build/mutants: what it changes, and what it leaves alone."""
import importlib.util
import pathlib
import sys

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[3] / "build/tools"
sys.path.insert(0, str(TOOLS))
SPEC = importlib.util.spec_from_file_location("mutants", TOOLS / "mutants.py")
mutants = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(mutants)

pytestmark = pytest.mark.only("brigade")


@pytest.mark.parametrize("line, changed", [
    ("    if (a < b)", ["    if (a <= b)", "    if (!(a < b))"]),
    ("    return x && y;", ["    return x || y;"]),
    ("    n = 1;", ["    n = 0;"]),
    ("    n = 41;", ["    n = 42;"]),
    ("        i++;", ["        i--;"]),
    ("    store_release(view);", ["    (void)0;"]),
    ("    return store_release(view);", []),
    ('    log("a < b");', ["    (void)0;"]),
    ("    p = a->b;", []),
    ("    *p = -1;", ["    *p = -0;"]),
])
def test_what_is_changed(line, changed):
    assert [new for _, new in mutants.mutants_of_line(line, mutants.blank(line))] == changed


def test_lines_outside_functions_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "TREE", tmp_path)
    file = tmp_path / "a.c"
    file.write_text("#define N 5\nstatic const int limit = 5;\n\nint f(int a)\n{\n    BRG_ASSERT(a > 0);\n    return a + 2; /* a > 2 */\n}\n")
    found = list(mutants.mutants_of_file(file, None))
    assert [(m["line"], m["what"]) for m in found] == [(7, "+ to -"), (7, "2 to 3")]
    assert not list(mutants.mutants_of_file(file, {"a.c": {1, 2, 3}}))
