# SPDX-License-Identifier: Apache-2.0
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402
from support import brigade  # noqa: E402,F401


def pytest_collection_modifyitems(items):
    for item in items:
        if support.HERE in str(item.path) and (brigade.is_apache(brigade.BINARY) or not os.access(brigade.BINARY, os.X_OK)):
            item.add_marker(pytest.mark.skip(reason=f"{brigade.BINARY} is not Brigade"))
