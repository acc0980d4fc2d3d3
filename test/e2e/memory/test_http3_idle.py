# SPDX-License-Identifier: Apache-2.0
"""What an idle HTTP/3 connection keeps: test/bench/http3_many.py."""
import os
import subprocess
import sys

import pytest

import brigade
from http3_client import http3_python
from trouble import sanitizer

pytestmark = [pytest.mark.skipif(not http3_python(brigade.REPOSITORY), reason="no interpreter with aioquic (http3_client.py)"),
              pytest.mark.skipif(bool(sanitizer()), reason="sanitizers keep memory that was given back"), pytest.mark.slow, pytest.mark.default_memory]


def test_an_idle_connection_takes_at_most_six_kilobytes():
    program = os.path.join(brigade.REPOSITORY, "test/bench/http3_many.py")
    done = subprocess.run([sys.executable, program, "-n", "2000", "--most", "6144"], env={**os.environ, "BRIGADE": os.path.abspath(brigade.BINARY)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
