# SPDX-License-Identifier: Apache-2.0
"""test/bench/slow_machine.py gives a command a part of a processor, and answers are right there, too."""
import os
import subprocess
import sys

SLOW = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/slow_machine.py")
BUSY = """
import time
began, used = time.monotonic(), time.process_time()
while time.monotonic() - began < 2:
    pass
print(time.process_time() - used)
"""


def test_a_command_gets_its_share():
    done = subprocess.run([sys.executable, SLOW, "--share", "0.1", sys.executable, "-c", BUSY], capture_output=True, text=True, timeout=120, check=True)
    assert float(done.stdout) < 2 * 0.4  # a busy machine stops it later than it should


def test_its_status_is_the_commands():
    assert subprocess.run([sys.executable, SLOW, "--share", "0.5", "sh", "-c", "exit 7"], timeout=60, check=False).returncode == 7
    assert subprocess.run([sys.executable, SLOW, "--share", "0"], capture_output=True, timeout=60, check=False).returncode == 2
