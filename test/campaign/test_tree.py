# SPDX-License-Identifier: Apache-2.0
"""The cache against its own absence: a walk of random changes, and each kind of change that is known to be missed.
TREE_STEPS, TREE_SECONDS and TREE_SEED ask for others; tree.py is the same as a program."""
import os
import subprocess
import sys

import pytest

import support
from support import brigade

pytestmark = [pytest.mark.only("brigade")]
STEPS = os.environ.get("TREE_STEPS", "10000")
SECONDS = float(os.environ.get("TREE_SECONDS", "20"))
SEED = os.environ.get("TREE_SEED", "1")


def tree(*arguments):
    """The program, which is in a mount namespace of its own."""
    done = subprocess.run([sys.executable, os.path.join(support.HERE, "tree.py"), *arguments], capture_output=True, text=True, timeout=SECONDS + 20 * brigade.PATIENCE, check=False)
    print(done.stdout[-6000:])
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-4000:]


@pytest.fixture(autouse=True)
def modules():
    if not all(os.path.exists(f"{brigade.APACHE_MODULES}/mod_{m}.so") for m in ("rewrite", "negotiation")):
        pytest.skip("no modules of Apache")


def test_what_is_remembered_is_what_is_found():
    tree("--steps", STEPS, "--seconds", str(SECONDS), "--seed", SEED, "--most", "3")


def test_clients_of_several_networks():
    tree("--places", "--steps", STEPS, "--seconds", str(SECONDS / 5), "--seed", SEED, "--most", "3")


def test_each_kind_of_change():
    """Those that are missed are those that are known to be, and no others."""
    if os.geteuid():
        pytest.skip("needs root: owners, mounts")
    tree("--sweep", "--seconds", str(SECONDS), "--seed", SEED)
