# SPDX-License-Identifier: Apache-2.0
"""Tests of a tree whose sources have mutants behind switches: which mutants each reaches, and whether it notices one of them."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import mutants_tree

GUARD = str(pathlib.Path(__file__).with_name("mutants_guard.py"))
SEEN_BYTES = 65536


def run(words, log, seconds, processor, **more):
    """@return the exit status; None: it took too long. Nothing that it started is left."""
    with open(log, "a", encoding="utf-8") as out:
        words = [sys.executable, "-S", "-E", GUARD, str(processor), *words]
        with subprocess.Popen(words, stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True, **more) as child:
            try:
                return child.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGTERM)
                child.wait()
                return None


class Units:
    """Unit tests, models and fuzz replays, as ctest has them; those that look at sources are left out."""

    def __init__(self, preset):
        done = subprocess.run(["ctest", "--preset", preset, "--show-only=json-v1"], cwd=mutants_tree.TREE, capture_output=True, text=True, check=True)
        self.tests = {}
        for test in json.loads(done.stdout)["tests"]:
            if not test["command"][0].split("/")[-1].startswith("python"):
                self.tests[test["name"]] = (test["command"], {p["name"]: p["value"] for p in test["properties"]})

    def run(self, name, log, settings, seconds=60.0):
        command, properties = self.tests[name]
        more = dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
        return run(command, log, 60 + 20 * seconds, int(5 + 5 * seconds), cwd=properties["WORKING_DIRECTORY"], env={**os.environ, **more, **settings})

    def reach(self, name, log):
        """(whether it passed, seconds, numbers of mutants)"""
        with tempfile.NamedTemporaryFile() as file:
            file.write(bytes(SEEN_BYTES))
            file.flush()
            began = time.monotonic()
            passed = self.run(name, log, {"BRIGADE_MUTANT_SEEN": file.name}) == 0
            file.seek(0)
            return passed, round(time.monotonic() - began, 2), [n for n, byte in enumerate(file.read()) if byte]

    def notices(self, name, seconds, number, log):
        return self.run(name, log, {"BRIGADE_MUTANT": str(number)}, seconds) != 0


class Scripts:
    """Script tests: a file is a run of pytest for the map, any number of tests for a mutant."""

    def __init__(self, preset):
        self.python = mutants_tree.python()
        self.settings = {**os.environ, "BRIGADE": str(mutants_tree.TREE / "out" / preset / "brigade"), "TEST_LIMIT": "120", "PYTHONDONTWRITEBYTECODE": "1",
                         "PYTHONPATH": str(pathlib.Path(__file__).parent)}

    def pytest(self, words, log, seconds, settings):
        return run([self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", *words], log, seconds, 600,
                   cwd=mutants_tree.TREE / "test", env={**self.settings, **settings})

    def reach(self, path, log, seconds=900):
        """[(test, whether it passed, seconds, numbers of mutants)]"""
        with tempfile.NamedTemporaryFile() as file, tempfile.NamedTemporaryFile() as found:
            file.write(bytes(SEEN_BYTES))
            file.flush()
            self.pytest(["-m", "not slow", "-p", "mutants_plugin", path], log, seconds, {"BRIGADE_MUTANT_SEEN": file.name, "MUTANTS_FOUND": found.name})
            return [tuple(json.loads(line)) for line in pathlib.Path(found.name).read_text().splitlines()]

    def notices(self, tests, seconds, number, log):
        """The test that failed twice; "" if there is none."""
        for _ in range(3):
            with tempfile.NamedTemporaryFile() as out:
                status = self.pytest(["-x", *tests], out.name, 60 + 20 * seconds, {"BRIGADE_MUTANT": str(number)})
                text = pathlib.Path(out.name).read_text(errors="replace")
            with open(log, "a", encoding="utf-8") as file:
                print(number, status, text, file=file)
            failed = re.search(r"^(?:FAILED|ERROR) (\S+::[^\n]*?)(?: - |$)", text, re.M)
            if status == 0:
                return ""
            words = [failed.group(1)] if failed and failed.group(1) in tests else tests
            with tempfile.NamedTemporaryFile() as out:
                if self.pytest(["-x", *words], out.name, 60 + 20 * seconds, {"BRIGADE_MUTANT": str(number)}) != 0:
                    return words[0]
            tests = tests[tests.index(words[0]) + 1:] if len(words) == 1 else []
            if not tests:
                return ""
        return ""
