# SPDX-License-Identifier: Apache-2.0
"""One reading of every request: 2,000 streams of wire_grammar.py, in bounded time. WIRE_STREAMS and WIRE_SEED ask for
others; wire.py is the same as a program, with more servers."""
import os
import re
import time

import pytest

import support
import wire
from support import brigade

STREAMS = int(os.environ.get("WIRE_STREAMS", "2000"))
SEED = int(os.environ.get("WIRE_SEED", "1"))
SECONDS = float(os.environ.get("WIRE_SECONDS", "30"))
FRONTS = ("brigade", "apache", "nginx")


@pytest.mark.only("brigade")
def test_a_request_has_one_reading():
    if not all(os.path.exists(f"{brigade.APACHE_MODULES}/mod_{m}.so") for m in ("reflector", "buffer", "proxy_http")):
        pytest.skip("no modules of Apache")
    campaign = wire.Campaign(SEED, fronts=FRONTS)
    failed = True
    try:
        done = campaign.streams(range(STREAMS), time.monotonic() + SECONDS)
        failed = False
    finally:
        campaign.close(failed)
    print(f"{done} streams, {campaign.readings} readings: {dict(campaign.counts)}")
    print(*wire.table(campaign.findings, True), sep="\n")
    left = [f for f in campaign.findings if not f.known()]
    assert not left, "\n".join([*wire.table(campaign.findings, False), *(f"{f.stream.number} {f.stream.tags} {f.pair}: {f.kind} {f.detail}\n    {f.stream.data!r}" for f in left[:5])])
    assert done >= min(STREAMS, 30), f"only {done} streams in {SECONDS} s"
    stale = [reason for _, _, _, reason in wire.KNOWN if reason.startswith("bug") and not any(f.known() == reason for f in campaign.findings)]
    assert done < STREAMS or not stale, f"mended, and still in wire_differences.py: {stale}"


def test_differences_of_streams_are_documented():
    """Reasons in capitals are keys of docs/differences-from-apache.md."""
    with open(os.path.join(brigade.REPOSITORY, "docs/differences-from-apache.md"), encoding="utf-8") as f:
        text = f.read().lower()
    for _, _, _, reason in wire.KNOWN:
        key = re.match(r"[A-Z0-9 ]{8,}(?=$|:)", reason)
        assert not key or f"**{key[0].lower()}**" in text, reason
