# SPDX-License-Identifier: Apache-2.0
"""build/test changed: which tests a change asks for, and that no room is without."""
import importlib.util
import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[3]
SPEC = importlib.util.spec_from_file_location("changed_tests", TOP / "build/tools/changed_tests.py")
changed_tests = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(changed_tests)
TABLE = changed_tests.rooms((TOP / "test/rooms.txt").read_text())

pytestmark = pytest.mark.only("brigade")


def test_each_folder_has_tests():
    folders = [f"{top}/{folder.name}" for top in ("server", "modules", "filters") for folder in (TOP / top).iterdir() if folder.is_dir()]
    known = {folder for folder, tests in TABLE if tests}
    families = {f"filters/{name}" for name in ("content_length.c",)}
    assert not [folder for folder in folders if folder not in known | families]


def test_each_row_names_what_is_there():
    for folder, tests in TABLE:
        assert (TOP / folder).exists(), folder
        assert not [test for test in tests if not (TOP / "test" / test).exists()], folder


@pytest.mark.parametrize("files, first, among, absent", [
    (["server/proxy/exchange.c"], "e2e/proxy", "compat/test_proxied.py", "e2e/ssi"),
    (["filters/ssi/ssi_lex.c"], "e2e/ssi", "compat/test_compare.py", "e2e/proxy"),
    (["test/e2e/files/test_paths.py"], "e2e/files/test_paths.py", "e2e/files/test_paths.py", "e2e/ssi"),
    (["test/e2e/planned_site.py"], "e2e/cached/test_front.py", "e2e/proxy/test_planned_streams.py", "e2e/proxy"),
])
def test_which_tests(files, first, among, absent):
    chosen = changed_tests.selection(files, TABLE)
    assert chosen[0] == first and among in chosen and absent not in chosen


def test_a_folder_takes_its_files_with_it():
    chosen = changed_tests.selection(["server/cache/cache_store.c", "server/watch/watch.c"], TABLE)
    assert "e2e/cache" in chosen and not [test for test in chosen if test.startswith("e2e/cache/")]


def test_a_tree_without_a_change(tmp_path):
    """A revision that is not there is an error; a file that no test notices asks for none."""
    tool = [str(TOP / "build/tools/changed_tests.py")]
    assert subprocess.run([*tool, "LICENSE"], capture_output=True, text=True, check=True).stdout == ""
    if (TOP / ".git").exists():
        unknown = subprocess.run([*tool, "--base", "no-such-revision"], capture_output=True, text=True, check=False)
        assert unknown.returncode != 0 and "no revision no-such-revision" in unknown.stderr
