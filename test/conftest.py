# SPDX-License-Identifier: Apache-2.0
"""What holds for every test: one that does not come to its end fails, and the others run; a share of them can be asked for; markers."""
import collections
import os
import signal
import zlib

import pytest

import effort

SECONDS = int(os.environ.get("TEST_LIMIT", "600"))  # of one test; 0: no bound
SHARE = os.environ.get("TEST_SHARE")  # "1/5": the second of five
LONG = 30  # tests of a file that is shared out by test: others share what they start, and are taken or left as a whole
WHOLE = ("profile",)  # takes of its shapes as many
UNBOUNDED = ("applications", "campaign", "faults", "soak")  # each of these has its own bounds


def pytest_configure(config):
    if effort.wrong():
        raise pytest.UsageError(effort.wrong())
    config.addinivalue_line("markers", "only(kind): behaviour of brigade, or of apache, alone")
    config.addinivalue_line("markers", "default_memory: looks at what requests draw from, or at how much")
    config.addinivalue_line("markers", "slow: takes seconds; build/test quick leaves it out")
    config.addinivalue_line("markers", "threads: worth running under ThreadSanitizer")


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


def keep_share(items, share):
    which, shares = map(int, share.split("/"))
    files = collections.Counter(item.nodeid.split("::")[0] for item in items)

    def is_kept(item):
        file = item.nodeid.split("::")[0]
        if file.split("/")[0] in WHOLE:
            return True
        return zlib.crc32((item.nodeid if files[file] > LONG else file).encode()) % shares == which

    items[:] = [item for item in items if is_kept(item)]


def pytest_collection_modifyitems(config, items):
    if SHARE and not config.getoption("lf", False):  # what failed was of the share, and is too little of its file to tell how that was shared out
        keep_share(items, SHARE)
