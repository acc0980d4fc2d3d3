# SPDX-License-Identifier: Apache-2.0
"""The harness of the end-to-end tests serves here too: this is the one place that says where it lies."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (os.path.join(HERE, "..", "e2e"), os.path.join(HERE, "..", "e2e", "support"), HERE):
    folder = os.path.abspath(folder)
    if os.path.isdir(folder) and folder not in sys.path:
        sys.path.insert(0, folder)

import brigade  # noqa: E402,F401
import http_client  # noqa: E402,F401
