# SPDX-License-Identifier: Apache-2.0
"""build/mutants: what it changes, and what it leaves alone."""
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[3] / "build/tools"
sys.path.insert(0, str(TOOLS))

import mechanisms  # noqa: E402
import mutants  # noqa: E402
import mutants_source as source  # noqa: E402

pytestmark = pytest.mark.only("brigade")


def changed(body):
    """The lines of a function's body, each with one mutant."""
    found = source.mutants_of_text("a.c", f"int f(int a)\n{{\n{body}\n}}\n")
    return [m["after"] for m in found]


@pytest.mark.parametrize("line, lines", [
    ("    if (a < b)", ["if (a <= b)", "if (!(a < b))"]),
    ("    return x && y;", ["return x || y;"]),
    ("    n = 1;", ["n = 0;"]),
    ("    n = 41;", ["n = 42;"]),
    ("        i++;", ["i--;"]),
    ("    store_release(view);", ["(void)0;"]),
    ("    return store_release(view);", []),
    ('    show("a < b");', ["(void)0;"]),
    ("    p = a->b;", []),
    ("    *p = -1;", ["*p = -0;"]),
    ("    *at++ = c;", []),
    ("    BRG_ASSERT(a > 0);", []),
])
def test_what_is_changed(line, lines):
    assert changed(line) == lines


def test_lines_outside_functions_stay():
    text = "#define N 5\nstatic const int limit = 5;\n\nint f(int a)\n{\n    BRG_ASSERT(a > 0);\n    return a + 2; /* a > 2 */\n}\n"
    found = list(source.mutants_of_text("a.c", text))
    assert [(m["line"], m["what"]) for m in found] == [(7, "+ to -"), (7, "2 to 3")]


def test_the_same_seed_draws_the_same(tmp_path):
    """Also where lines before them are new."""
    (tmp_path / "a.c").write_text("int f(int a)\n{\n" + "".join(f"    a += a + {n};\n" for n in range(50)) + "    return a;\n}\n")
    before = {m["key"] for m in mutants.drawn(["."], 10, 1, tmp_path)}
    (tmp_path / "a.c").write_text("/* new */\n" + (tmp_path / "a.c").read_text())
    assert {m["key"] for m in mutants.drawn(["."], 10, 1, tmp_path)} == before
    assert {m["key"] for m in mutants.drawn(["."], 10, 2, tmp_path)} != before


PROGRAM = """#include <stdio.h>
static int f(int a, int b)
{
    int n = 0;

    for (int i = 0; i < a && (b > 2 || i == 1); i++)
        if (a - i > 3 &&
            b != 7)
            n += i ? b + 1 : 2;
        else
            n--;
    if (n)
        printf("");
    else
        printf("none ");
    while (n > 20)
        n = n - 20;
    return n + (a == b);
}
int main(void)
{
    for (int a = 0; a < 6; a++)
        printf("%d ", f(a, 3) * 100 + f(a, 7));
    return 0;
}
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no compiler")
def test_a_switch_does_as_the_change_alone(tmp_path):
    """One program with all changes behind switches says for each what the program with that change alone says."""
    found = list(source.mutants_of_text("a.c", PROGRAM))
    assert len(found) > 20
    switched = source.switched(PROGRAM, list(enumerate((m["change"] for m in found), 1)))
    (tmp_path / "a.h").write_text(source.HEAD % "a.c" + switched + source.SWITCH)
    (tmp_path / "all.c").write_text('#include "a.h"\n')
    subprocess.run(["cc", "-Wall", "-Werror", "-o", "all", "all.c"], cwd=tmp_path, check=True)

    def says(program, number):
        try:
            done = subprocess.run([program], cwd=tmp_path, capture_output=True, timeout=0.5, env={"BRIGADE_MUTANT": str(number)}, check=False)
            return done.returncode, done.stdout
        except subprocess.TimeoutExpired:
            return None

    for number, m in enumerate(found, 1):
        (tmp_path / "one.c").write_text(source.plain(PROGRAM, m["change"]))
        subprocess.run(["cc", "-w", "-o", "one", "one.c"], cwd=tmp_path, check=True)
        assert says("./all", number) == says("./one", 0), m
    (tmp_path / "one.c").write_text(PROGRAM)
    subprocess.run(["cc", "-w", "-o", "one", "one.c"], cwd=tmp_path, check=True)
    assert says("./all", 0) == says("./one", 0)


def test_what_units_alone_notice(tmp_path, monkeypatch):
    """What scripts noticed is left by units, as is what nobody was asked about yet."""
    monkeypatch.setattr(mutants.tree, "WORK", tmp_path)
    state = mutants.State("x")
    state.mutants = [{"key": key, "number": n} for n, key in enumerate("abcdefg")]
    state.units = {"unit_a": (True, 1.0, [0, 1, 2, 4]), "unit_fails": (False, 1.0, [3, 5])}
    state.noticed = {"a": "unit_a", "b": "e2e/x.py::test_y", "d": "e2e/x.py::test_y", "e": mutants.COMPILER, "f": mutants.UNREACHED}
    state.silent = {key: True for key in "bcd"}
    assert mutants.of_units(state) == {"a": "unit_a", "b": mutants.NOBODY, "c": mutants.NOBODY, "d": mutants.UNREACHED, "e": mutants.COMPILER,
                                       "f": mutants.UNREACHED}


def test_equal_mutants_are_there():
    """Each that is said to change nothing is one of the tree as it is, with a reason."""
    equal = mutants.equal_ones(mutants.EQUAL.read_text()) if mutants.EQUAL.exists() else {}
    files = {reason.split(":")[0] for reason in equal.values()}
    keys = {m["key"] for m in mutants.population(sorted(files), mutants.tree.TOP)}
    assert set(equal) <= keys
    assert not [reason for reason in equal.values() if len(reason.split(": ")) < 3]


def test_the_list_of_mechanisms_is_that_of_the_document():
    """Each row of the document that has code of ours has a mutation, which fits the source as it is."""
    rows = mechanisms.read_list(mechanisms.LIST.read_text())
    assert not [(row["id"], row["what"], reason) for row in rows if (reason := mechanisms.why_not(row, mutants.tree.TOP))]
    assert len({mechanisms.key_of(row) for row in rows}) == len(rows)
    for row in rows:
        path = re.search(r"\S+\.py", row["test"])
        text = (mutants.tree.TOP / "test" / path.group()).read_text() if path else ""
        assert not [name for name in re.findall(r"\btest_\w+(?!\S*\.py)\b", row["test"]) if path and f"{name}.py" not in path.group() and f"def {name}" not in text], row["id"]


def test_the_list_is_read():
    rows = mechanisms.read_list("# a comment\n[S0-1] no a\ntest: script x.py -k y\nfile: a.c\n-    a;\n-    b;\n+    b;\n")
    assert rows == [{"id": "S0-1", "what": "no a", "test": "script x.py -k y", "file": "a.c", "old": "    a;\n    b;", "new": "    b;"}]
    assert mechanisms.in_words("release PROFILE_SHAPES='full scan' p/test_profile.py -k test_x") == "`test_profile.py`: `test_x`, shapes full, scan"
    assert "not seen failing" in mechanisms.table(rows, {}) and "`x.py`: `y`" in mechanisms.table(rows, {mechanisms.key_of(rows[0]): True})
