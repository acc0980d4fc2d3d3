# SPDX-License-Identifier: Apache-2.0
"""What holds for every test: one that does not come to its end fails, and the others run."""
import os
import signal

import pytest

SECONDS = int(os.environ.get("TEST_SECONDS", "600"))  # of one test; 0: no bound
UNBOUNDED = ("applications", "campaign", "faults", "soak")  # each of these has its own bounds


def too_long(_number, _frame):
    pytest.fail(f"not at its end after {SECONDS} seconds")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    bounded = SECONDS and item.nodeid.split("/")[0] not in UNBOUNDED
    before = signal.signal(signal.SIGALRM, too_long) if bounded else None
    if bounded:
        signal.alarm(SECONDS)
    yield
    if bounded:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
