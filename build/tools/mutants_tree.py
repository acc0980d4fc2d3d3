# SPDX-License-Identifier: Apache-2.0
"""The tree in which build/mutants breaks things, and how it builds and tries there. It works in out/mutants, on what is committed."""
import os
import pathlib
import signal
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
WORK = TOP / "out" / "mutants"
TREE = WORK / "tree"


def run(words, log, seconds, **more):
    """@return the exit status; None: it took too long. What was started with it ends with it."""
    with open(log, "a", encoding="utf-8") as out:
        print("+", *words, file=out, flush=True)
        with subprocess.Popen(words, stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True, **more) as child:
            try:
                return child.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                return None


def build(preset, log, *more):
    if not (TREE / "out" / preset / "build.ninja").exists() and run(["cmake", "--preset", preset], log, 300, cwd=TREE):
        sys.exit(f"build/mutants: the configuration of {preset} failed, see {log}")
    return run(["cmake", "--build", "--preset", preset, "-j", str(os.cpu_count() or 2), *more], log, 7200, cwd=TREE)


def python():
    for found in ("/usr/bin/python3", sys.executable):
        if subprocess.run([found, "-c", "import pytest"], capture_output=True, check=False).returncode == 0:
            return found
    sys.exit("build/mutants: there is no python3 with pytest")


def scripts(paths, preset, log, seconds, *more, settings=None):
    words = [python(), "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *more, *paths]
    return run(words, log, seconds, cwd=TREE / "test", env={**os.environ, **(settings or {}), "BRIGADE": str(TREE / "out" / preset / "brigade")})


def head():
    return subprocess.run(["git", "-C", str(TOP), "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()


def prepare():
    """The tree is what is committed, without any change."""
    WORK.mkdir(parents=True, exist_ok=True)
    if not TREE.exists():
        subprocess.run(["git", "-C", str(TOP), "clone", "-q", "--shared", str(TOP), str(TREE)], check=True)
    subprocess.run(["git", "-C", str(TREE), "checkout", "-q", "--force", "--detach", head()], check=True)
