# SPDX-License-Identifier: Apache-2.0
"""soak.py and soak_backends.py for a moment: no wrong answer, and nothing that is left when the clients have gone."""
import os

import pytest

import brigade
import soak_backends
from soak import options_of, run

pytestmark = pytest.mark.skipif(brigade.is_apache(brigade.BINARY) or not os.access(brigade.BINARY, os.X_OK), reason="needs brigade")


def test_a_short_soak(tmp_path):
    options = options_of(["--seconds", "20", "--connections", "300", "--reload", "5", "--warm-up", "8", "--pause", "0.5",
                          "--ramp", "2", "--every", "0.25"])
    figures, complaints, samples = run(options)
    samples.write_svg(str(tmp_path / "soak.svg"))
    print(figures)
    assert not complaints, "\n".join([*complaints, samples.plot()])


def test_a_short_soak_with_backends():
    """No wrong answer, and nothing left of requests that were handed on."""
    figures, complaints, samples = soak_backends.run(soak_backends.options_of(["--seconds", "40"]))
    print(figures)
    assert not complaints, "\n".join([*complaints, figures, samples.plot()])
