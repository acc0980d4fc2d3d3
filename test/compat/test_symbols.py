# SPDX-License-Identifier: Apache-2.0
"""Every symbol that Apache's program exports and its public headers declare is offered, or listed here with the reason."""
import os
import sys

import pytest

import brigade

APACHE = os.environ.get("APACHE", "/usr/sbin/apache2")
HEADERS = "/usr/include/apache2"
sys.path.insert(0, os.path.join(brigade.REPOSITORY, "build", "tools"))

# symbol -> why it is not offered
MISSING = {}

pytestmark = [
    pytest.mark.skipif(not os.access(APACHE, os.X_OK), reason=f"the peer is absent: {APACHE} is not installed"),
    pytest.mark.skipif(not os.path.isdir(HEADERS), reason="Apache's headers are not installed"),
    pytest.mark.skipif(not os.access(brigade.BINARY, os.X_OK), reason=f"{brigade.BINARY} is not built"),
]


def test_every_public_symbol_is_offered():
    import api_symbols
    found = api_symbols.compare(brigade.BINARY, APACHE, HEADERS)
    assert len(found) > 700
    assert {name for name, there in found.items() if not there} == set(MISSING)


def test_the_comparison_can_fail():
    import api_symbols
    found = api_symbols.compare("/bin/sh", APACHE, HEADERS)
    assert not any(found.values())
