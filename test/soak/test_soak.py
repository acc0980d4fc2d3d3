# SPDX-License-Identifier: Apache-2.0
"""soak.py for 20 seconds: no wrong answer, and nothing that is left when the clients have gone."""
import os

import pytest

import brigade
from soak import options_of, run


@pytest.mark.skipif(brigade.is_apache(brigade.BINARY) or not os.access(brigade.BINARY, os.X_OK), reason="needs brigade")
def test_a_short_soak(tmp_path):
    options = options_of(["--seconds", "20", "--connections", "300", "--reload", "5", "--warm-up", "8", "--pause", "0.5",
                          "--ramp", "2", "--every", "0.25"])
    figures, complaints, samples = run(options)
    samples.write_svg(str(tmp_path / "soak.svg"))
    print(figures)
    assert not complaints, "\n".join([*complaints, samples.plot()])
