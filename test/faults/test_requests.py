# SPDX-License-Identifier: Apache-2.0
"""Every system call of a request refused, short, interrupted and delayed, in a server that goes on serving.

It must not crash, hang, lose a descriptor, or bring a connection out of step; the next request must be right; and what
failed must be in the error log, unless it was the client that went. TEST_LONG=faults tries everything (build/test faults);
else a sample that is the same each time.
"""
import os
import random

import pytest

import effort
from fault_control import LIBRARY, Faults
from fault_report import report
from fault_site import SHAPES, Site, has_module
from fault_sweep import Sweep

COMPLETE = effort.everything("faults")
SAMPLE = effort.count(8)

pytestmark = [pytest.mark.only("brigade"),
              pytest.mark.skipif(not os.path.exists(LIBRARY), reason=f"{LIBRARY} is not built")]


@pytest.mark.parametrize("name", SHAPES)
def test_each_call(serve, tmp_path, name):
    shape = SHAPES[name]
    if shape.needs and not has_module(shape.needs):
        pytest.skip(f"no mod_{shape.needs}.so")
    faults = Faults(str(tmp_path / "faults"))
    site = Site(serve, faults, shape.config)
    site.server.start()
    faults.check()
    sweep = Sweep(site, faults, name, shape)
    points = list(sweep.points())
    assert len(points) > 20, points
    if not COMPLETE and len(points) > SAMPLE:
        points = random.Random(name).sample(points, SAMPLE)
    findings = sweep.run(points)
    text = report(name, sweep.tried, findings, sweep.missed)
    assert not findings, text
