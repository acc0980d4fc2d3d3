# SPDX-License-Identifier: Apache-2.0
"""Random rules of Substitute on random texts: files, and bodies that come in pieces. Both servers send the same bytes, or both give up."""
import os
import random

import pytest

import brigade
import http_client
from stock import driver

NEEDED = [f"{driver.MODULES}/mod_{m}.so" for m in ("substitute", "reflector")]
pytestmark = [
    pytest.mark.skipif(not all(os.access(f, os.R_OK) for f in [driver.APACHE, *NEEDED]), reason="the peer is absent: Apache and its modules are not installed"),
    pytest.mark.skipif(not os.access(brigade.BINARY, os.X_OK), reason=f"{brigade.BINARY} is not built"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]
LOADS = "".join(f"LoadModule {m}_module {driver.MODULES}/mod_{m}.so\n" for m in ("substitute", "reflector"))
FOLDERS, FILES = 50, 4
PATTERNS = ["a", "b", "ab", "[ab]", "a+", "(a)(b)?", "a|bc", "^a", "b$", "c\\n", "(?:ab)+", "[^\\n]", "b.", "(a*)b", "\\bc", "A"]
# Not an empty result for a pattern at the beginning of a line: there Apache crashes.
RESULTS = ["q", "x", "a", "bb", "[$0]", "q$1", "&\\&", "ab", "xyzxyz", "\\$0$2", "a$"]


def rule(draw):
    text = draw.random() < 0.4
    pattern = "".join(draw.choices("abcA", k=draw.randint(1, 3))) if text else draw.choice(PATTERNS)
    line = f"s/{pattern}/{draw.choice(['', *RESULTS] if text else RESULTS)}/{'n' if text else ''}{draw.choice(['', '', 'q', 'f', 'i'])}"
    return 'Substitute "%s"\n' % line.replace("\\", "\\\\")


def content(draw):
    return "".join(draw.choice(["a", "b", "c", "ab", "A", "\n", "aab"]) for _ in range(draw.randint(0, 30)))


def site(draw):
    config, files = LOADS, {}
    for n in range(FOLDERS):
        limit = f"SubstituteMaxLineLength {draw.randint(0, 14)}\n" if n % 2 else ""
        config += f"<Location /d{n}>\nSetOutputFilter SUBSTITUTE\n{limit}{''.join(rule(draw) for _ in range(draw.choice([1, 1, 2, 2, 3])))}</Location>\n"
        config += f"<Location /d{n}/echo>\nSetHandler reflector\n</Location>\n"
        files |= {f"d{n}/{i}.txt": content(draw) for i in range(FILES)}
    return config, files, [[content(draw) for _ in range(draw.randint(1, 4))] for _ in range(FOLDERS)]


def chunked(pieces):
    return "".join(f"{len(p):x}\r\n{p}\r\n" for p in pieces if p) + "0\r\n\r\n"


def answer(ask):
    """The status and the body; None for a response that its filter gave up."""
    try:
        r = ask()
    except (http_client.Truncated, OSError):
        return None
    return None if r.status == 500 else (r.status, r.body)


def answers(binary, config, files, bodies):
    server = brigade.Server(config, files=files, binary=binary)
    server.expect_trouble = True
    with server:
        found = {name: answer(lambda name=name: server.get(f"/{name}")) for name in files}
        for n in range(0, FOLDERS, 2):  # without a limit: how a body is read in pieces is not the same
            found[f"echo {n}"] = answer(lambda n=n: server.request("POST", f"/d{n}/echo", {"Transfer-Encoding": "chunked"}, chunked(bodies[n])))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_random_rules(seed):
    config, files, bodies = site(random.Random(seed))
    apache, ours = answers(driver.APACHE, config, files, bodies), answers(brigade.BINARY, config, files, bodies)
    assert sum(a is not None for a in apache.values()) > FOLDERS
    differ = {name: (files.get(name), apache[name], ours[name]) for name in apache if apache[name] != ours[name]}
    assert not differ, differ
