# SPDX-License-Identifier: Apache-2.0
"""The end-to-end harness serves here too, with its fixtures."""
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
E2E = os.path.join(HERE, "..", "e2e")
sys.path[:0] = [HERE, E2E]
spec = importlib.util.spec_from_file_location("e2e_conftest", os.path.join(E2E, "conftest.py"))
harness = importlib.util.module_from_spec(spec)
spec.loader.exec_module(harness)
for name in ("serve", "serve_module", "pytest_collection_modifyitems", "pytest_runtest_makereport"):
    globals()[name] = getattr(harness, name)
