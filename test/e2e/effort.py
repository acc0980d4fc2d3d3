# SPDX-License-Identifier: Apache-2.0
"""How much the tests try: variables of the environment, of which test/README.md has the table."""
import os

KNOWN = {"TEST_LONG", "TEST_COUNT", "TEST_SECONDS", "TEST_SEED", "TEST_SHARE", "TEST_LIMIT", "TEST_PATIENCE", "TEST_MEMORY", "TEST_PROTOCOL", "TEST_SANDBOX",
         "TEST_FOLDER", "TEST_HTTP3_PYTHON", "TEST_TURN"}
PROTOCOLS = {"", "h2", "h3"}
SUBJECTS = {"all", "minutes", "faults", "arguments", "matrix", "binaries", "applications", "packages", "networks"}
LONG = set(os.environ.get("TEST_LONG", "").split())
FOLDER = os.environ.get("TEST_FOLDER")


def wrong():
    """What is said of variables that mean nothing, or None."""
    unknown = sorted({name for name in os.environ if name.startswith("TEST_")} - KNOWN) + [f"TEST_LONG={word}" for word in sorted(LONG - SUBJECTS)]
    if os.environ.get("TEST_PROTOCOL", "") not in PROTOCOLS:
        unknown.append(f"TEST_PROTOCOL={os.environ['TEST_PROTOCOL']}")
    return f"{', '.join(unknown)}: no variable of these tests, see test/README.md" if unknown else None


def everything(subject):
    """Whether all of it is tried, not a sample."""
    return subject in LONG or "all" in LONG


def count(usual, long=None):
    """How many random cases, or rounds."""
    return int(os.environ.get("TEST_COUNT") or (long if long is not None and everything("minutes") else usual))


def seconds(usual, long=60):
    """How long random tests last."""
    return float(os.environ.get("TEST_SECONDS") or (long if everything("minutes") else usual))


def seed(usual):
    """Of random tests, as text."""
    return os.environ.get("TEST_SEED") or str(usual)
