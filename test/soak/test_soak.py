# SPDX-License-Identifier: Apache-2.0
"""soak.py and soak_backends.py for a moment: no wrong answer, and nothing that is left when the clients have gone."""
import importlib.util
import os
import time

import pytest

import brigade
import soak_backends

# By its path: newer pytests take the folder for a package of the program's name.
PROGRAM = importlib.util.spec_from_file_location("soak_program", os.path.join(os.path.dirname(os.path.abspath(__file__)), "soak.py"))
soak = importlib.util.module_from_spec(PROGRAM)
PROGRAM.loader.exec_module(soak)
options_of, run = soak.options_of, soak.run

pytestmark = pytest.mark.skipif(brigade.is_apache(brigade.BINARY) or not os.access(brigade.BINARY, os.X_OK), reason="needs brigade")


def test_a_short_soak(tmp_path):
    options = options_of(["--seconds", "20", "--connections", "300", "--reload", "5", "--warm-up", "8", "--pause", "0.5",
                          "--ramp", "2", "--every", "0.25"])
    figures, complaints, samples = run(options)
    samples.write_svg(str(tmp_path / "soak.svg"))
    print(figures)
    assert not complaints, "\n".join([*complaints, samples.plot()])


def test_a_reload_that_is_due_behind_the_end():
    """The soak does not wait for it, nor says that a client was stuck."""
    begin = time.monotonic()
    figures, complaints, _ = run(options_of(["--seconds", "3", "--connections", "10", "--reload", "300", "--warm-up", "2", "--pause", "0.5", "--ramp", "1"]))
    assert not [c for c in complaints if "did not end" in c], complaints
    assert time.monotonic() - begin < 120, figures


def test_a_short_soak_with_backends():
    """No wrong answer, and nothing left of requests that were handed on."""
    figures, complaints, samples = soak_backends.run(soak_backends.options_of(["--seconds", "40"]))
    print(figures)
    assert not complaints, "\n".join([*complaints, figures, samples.plot()])
