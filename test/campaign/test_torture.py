# SPDX-License-Identifier: Apache-2.0
"""Truth of the cache under torture, for 20 seconds in all; torture.py is the same as a program, for longer."""
import os

import pytest

import support  # noqa: F401
import torture

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]
SECONDS = float(os.environ.get("TORTURE_SECONDS", "6"))


@pytest.mark.parametrize("how", [{"loops": 2}, {"loops": 2, "processes": 2}, {"loops": 2, "directives": "EnableSendfile On\nFileCacheMaxFile 1K"}], ids=["two loops", "two processes", "kept open"])
def test_no_answer_is_old_or_torn(how):
    counts, failures, changes = torture.torture(SECONDS, **how)
    print(f"{changes} changes: {dict(counts)}")
    new = {name: texts for name, texts in failures.items() if name not in torture.MISSED}
    assert not new, "\n".join(f"{name}: {texts[:3]}" for name, texts in new.items())
    assert changes > 50 and sum(counts.values()) > 50
