# SPDX-License-Identifier: Apache-2.0
"""The end-to-end harness serves here too."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e")]
