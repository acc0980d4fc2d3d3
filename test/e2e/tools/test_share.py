# SPDX-License-Identifier: Apache-2.0
"""A share of the script tests (test/conftest.py, build/test)."""
import os
import re
import shutil
import subprocess
import sys

import pytest

import effort

CONFTEST = os.path.join(os.path.dirname(__file__), "../../conftest.py")
TESTS = "import pytest\n@pytest.mark.parametrize('n', range({n}))\ndef test_{name}(n):\n    assert n % 10\n"


def run(folder, share, *options):
    """What pytest says of each kind of outcome: {"failed": 2, ...}"""
    said = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", *options], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "TEST_SHARE": share}, check=False).stdout
    return {kind: int(n) for n, kind in re.findall(r"(\d+) (passed|failed|deselected|error)", said.splitlines()[-1])}


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    for file in CONFTEST, effort.__file__:
        shutil.copy(file, tmp_path)
    (tmp_path / "test_long.py").write_text(TESTS.format(n=100, name="long"))
    (tmp_path / "test_short.py").write_text(TESTS.format(n=20, name="short"))
    return tmp_path


def test_each_test_is_in_one_share(folder):
    seen = [run(folder, f"{i}/4") for i in range(4)]
    assert sum(one.get("failed", 0) for one in seen) == 12 and sum(one.get("passed", 0) for one in seen) == 108


@pytest.mark.parametrize("which", range(4))
def test_what_failed_in_a_share_is_run_once_more(folder, which):
    failed = run(folder, f"{which}/4").get("failed", 0)
    again = run(folder, f"{which}/4", "--last-failed", "--last-failed-no-failures", "none")
    assert again.get("failed", 0) == failed and "passed" not in again
