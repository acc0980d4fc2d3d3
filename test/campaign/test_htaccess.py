# SPDX-License-Identifier: Apache-2.0
"""Lines of .htaccess files, combined at random, beside Apache. HTACCESS_TRIALS, HTACCESS_SECONDS and HTACCESS_SEED ask for others; htaccess.py
is the same as a program."""
import os
import subprocess
import sys

import pytest

import htaccess_lines
import support
from support import brigade

pytestmark = [pytest.mark.only("brigade")]
TRIALS = os.environ.get("HTACCESS_TRIALS", "60")
SECONDS = float(os.environ.get("HTACCESS_SECONDS", "20"))
SEED = os.environ.get("HTACCESS_SEED", "1")


def test_sites_are_answered_as_by_apache():
    if not os.access(os.environ.get("APACHE", "/usr/sbin/apache2"), os.X_OK):
        pytest.skip("Apache is not installed")
    done = subprocess.run([sys.executable, os.path.join(support.HERE, "htaccess.py"), "--trials", TRIALS, "--seconds", str(SECONDS), "--seed", SEED, "--most", "3"],
                          capture_output=True, text=True, timeout=SECONDS + 20 * brigade.PATIENCE, check=False)
    print(done.stdout[-6000:])
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-4000:]


def test_all_choices_are_filled():
    import random
    rng = random.Random(1)
    for group in htaccess_lines.GROUPS:
        for text in group.values():
            filled = htaccess_lines.fill(rng, text)
            assert "~{" not in filled.replace("~{15}", "") and "}~" not in filled
