# SPDX-License-Identifier: Apache-2.0
"""Links between two network namespaces, with a rate, delay and faults of their own: the programs that measure HTTP/3 over them, in short."""
import os
import subprocess
import sys

import pytest

import brigade
from http3_client import http3_python
from link import why_not

TEST = os.path.join(brigade.REPOSITORY, "test")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(why_not()), reason=why_not() or ""),
              pytest.mark.skipif(not http3_python(brigade.REPOSITORY), reason="no interpreter with aioquic and pycurl (http3_client.py)")]


def run(*command):
    done = subprocess.run([sys.executable, *command], cwd=brigade.REPOSITORY, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]


def test_goodput_and_page():
    """Goodput near that of TCP, and a page of 60 objects sooner: a handshake is a round trip shorter."""
    run(f"{TEST}/bench/http3_links.py", "--seconds", "5", "--visits", "3", "--least", "0.85", "--most", "1", "100ms/0%")


@pytest.mark.parametrize("case", ["amplificationlimit", "handshakecorruption", "transferloss", "rebind-addr", "connectionmigration", "ecn"])
def test_interop(case):
    run(f"{TEST}/campaign/http3_interop.py", "--client", "curl", "--client", "aioquic", "--client", "gtlsclient", "--case", case)
