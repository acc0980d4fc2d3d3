# SPDX-License-Identifier: Apache-2.0
"""Every symbol that Apache's program exports and its public headers declare is offered, or listed here with the reason."""
import os
import re
import shutil
import subprocess
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


# Of what Apache's program exports: pattern -> why it is not offered. None of it stands in an installed header.
PRIVATE = {
    r"ap_hack_.*|ap_suck_in_APR|ap_ugly_hack": "references that make the linker keep what modules may want",
    r"ap_expr_yy.*|ap_expr_(binary_op|unary_op|list_func|str_func|var)_make|ap_expr_make": "the inside of Apache's parser of expressions",
    r"ap_queue_.*": "the queues of Apache's process models",
    r"ap__authz_ap_some_auth_required|ap__logio_add_bytes_out": "where Apache's core keeps optional functions",
    r"apr_.*": "data of libapr, which the linker copied into the program; modules find it in libapr",
    r"main|std(in|out|err)@.*": "the C library's",
}
LINKERS = {"_edata", "_end", "__bss_start"}  # where the program's data ends: some linkers export that


def exported(binary):
    done = subprocess.run(["nm", "-D", "--defined-only", binary], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in done.stdout.splitlines()} - LINKERS


@pytest.mark.skipif(not shutil.which("nm"), reason="nm is not installed")
def test_every_exported_symbol_is_offered_or_private():
    missing = exported(APACHE) - exported(brigade.BINARY)
    reasons = {symbol: [p for p in PRIVATE if re.fullmatch(p, symbol)] for symbol in missing}
    assert [s for s, found in reasons.items() if not found] == []
    unused = set(PRIVATE) - {p for found in reasons.values() for p in found}
    assert unused <= {r"apr_.*"}, "a reason that nothing needs any more"  # data is copied by either program, as it is compiled
