# SPDX-License-Identifier: Apache-2.0
"""The end-to-end harness serves here too."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
