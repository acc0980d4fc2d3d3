#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run a command, and all that comes of it, on a machine that is slowed down: it gets a part of the time of one processor.

    test/bench/slow_machine.py [--share 0.1] [--slice 2] COMMAND...
    test/bench/slow_machine.py --share 0.1 out/release/brigade -X -f httpd.conf

What costs too much shows there first: waits that are too short, work that grows with load, a queue that never empties. The processes run
for a slice (milliseconds) and then stop, so that they get their share; on one processor, as a slow machine has one. Where a
group of processes with a quota can be made (cgroup 2), the kernel does that more evenly, which --quota asks for. Ends with the command's exit status.
"""
import argparse
import glob
import os
import signal
import subprocess
import sys
import time

PERIOD = 100_000  # microseconds, of the quota
GROUPS = "/sys/fs/cgroup"


def tree(pid):
    """The process and all that come of it."""
    found = [pid]
    for one in found:
        for path in glob.glob(f"/proc/{one}/task/*/children"):
            try:
                with open(path, encoding="ascii") as f:
                    found += [int(child) for child in f.read().split()]
            except OSError:
                pass  # it ended
    return found


def tell(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def by_signals(command, share, piece):
    """Stopped for most of the time. Descendants are looked for once in each round: one that has just begun runs until the next."""
    child = subprocess.Popen(command)
    try:
        while child.poll() is None:
            time.sleep(piece / 1000)
            stopped = tree(child.pid)
            tell(stopped, signal.SIGSTOP)
            time.sleep(piece / 1000 * (1 / share - 1))
            tell(stopped, signal.SIGCONT)
    except KeyboardInterrupt:
        tell(tree(child.pid), signal.SIGTERM)
    return child.wait()


def by_quota(command, share):
    group = f"{GROUPS}/brigade-slow-{os.getpid()}"
    os.mkdir(group)
    try:
        with open(f"{group}/cpu.max", "w", encoding="ascii") as f:
            f.write(f"{int(share * PERIOD)} {PERIOD}\n")

        def enter():
            with open(f"{group}/cgroup.procs", "w", encoding="ascii") as f:
                f.write("0")

        return subprocess.run(command, preexec_fn=enter, check=False).returncode
    finally:
        os.rmdir(group)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=0.1, help="of one processor's time")
    parser.add_argument("--slice", type=float, default=2, help="milliseconds that it runs at once")
    parser.add_argument("--quota", action="store_true", help="by a cgroup")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if not arguments.command or not 0 < arguments.share <= 1:
        parser.error("a command and a share above 0 are needed")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if arguments.quota:
        sys.exit(by_quota(arguments.command, arguments.share))
    sys.exit(by_signals(arguments.command, arguments.share, arguments.slice))


if __name__ == "__main__":
    main()
