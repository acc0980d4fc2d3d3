# SPDX-License-Identifier: Apache-2.0
"""What requests cost over time: golden.json in each commit that changed it, with what that commit did."""
import json
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
COUNTED = "calls"  # of what is counted, those that the trend has besides instructions
WORTH_TELLING = 0.005  # changes that are smaller are not told


def git(*arguments):
    return subprocess.run(["git", "-C", HERE, *arguments], capture_output=True, text=True, check=True).stdout


def versions():
    """(commit, date, subject, golden), the oldest first."""
    for line in git("log", "--reverse", "--format=%h %as %s", "--", "golden.json").splitlines():
        commit, date, subject = line.split(" ", 2)
        yield commit, date, subject, json.loads(git("show", f"{commit}:./golden.json"))


def change_of(old, new):
    """'stored 3281 -> 2910 (-11.3 %)' for each shape that changed; what kind of call came or went."""
    told = []
    for shape, now in new.items():
        before = old.get(shape)
        if not before:
            told.append(f"{shape} is new: {now['instructions']}")
            continue
        by = now["instructions"] / before["instructions"] - 1
        if abs(by) >= WORTH_TELLING:
            told.append(f"{shape} {before['instructions']} -> {now['instructions']} ({100 * by:+.1f} %)")
        for kind in sorted(set(before["system calls"]) | set(now["system calls"])):
            calls = [s["system calls"].get(kind, 0) for s in (before, now)]
            if calls[0] != calls[1]:
                told.append(f"{shape}: {kind} {calls[0]} -> {calls[1]}")
        for kind, n in now.get(COUNTED, {}).items():
            if n != before.get(COUNTED, {}).get(kind, n):
                told.append(f"{shape}: {kind} {before[COUNTED][kind]} -> {n}")
    return told


def trend():
    """A paragraph for each commit: what it did, and what requests cost before and after."""
    lines, old = [], {}
    for commit, date, subject, golden in versions():
        told = change_of(old, golden["shapes"])
        lines += [f"{date} {commit} {subject}", *(f"    {t}" for t in told or ["no shape by half a percent"]), ""]
        old = golden["shapes"]
    return "\n".join(lines)
