# SPDX-License-Identifier: Apache-2.0
"""The suite of HTTP caches that npm has as http-cache-tests, where it is installed: what it requires, and what it calls optimal. Each
exception is named with its reason. npm's version is older than RFC 9111: what it requires of Age, and how it judges a closed connection, is
otherwise in the suite's repository (http-tests/cache-tests).

    npm install -g http-cache-tests    # or HTTP_CACHE_TESTS=FOLDER, of a checkout of the repository

Two counts are printed: of all tests, and by the suite's own rule, where a test counts only if those that it depends on passed, and one whose
beginning was no good is no failure.
"""
import json
import os
import shutil
import subprocess

import pytest

from brigade import free_port, wait_until

pytestmark = pytest.mark.only("brigade")

KINDS = """import tests from "./tests/index.mjs";
console.log(JSON.stringify(Object.fromEntries(tests.flatMap(s => s.tests.filter(t => !t.browser_only).map(t =>
    [t.id, [t.kind || "required", t.depends_on || []]])))))"""

AGE = "RFC 9111, 5.1: of several values of Age the first counts, and what is no number is ignored; so say newer versions of the suite"
COOKIE = "answers with Set-Cookie are not stored, unless CacheStoreCookies says so: one client's session is not for others"
COOKIE_304 = "a 304 changes no cookie that is stored: it came to one client"
PARTIAL = "the suite's 206 has five bytes and says that it has six: its Content-Range cannot be believed"
JUDGED = "the page of an error has no field of the suite's server: older versions take it for a stored answer, newer ones look for that"
PROVOKED = "a client may bring these about for others by a field that it sends: they are stored where they say so"
OLDER = {
    **dict.fromkeys(["age-parse-" + i for i in ("nonnumeric", "negative", "float", "prefix-twoline", "dup-0", "dup-0-twoline", "dup-old",
                                                "parameter", "numeric-parameter")], AGE),
    **dict.fromkeys(["304-etag-update-response-Set-Cookie", "304-etag-update-response-Set-Cookie2"], COOKIE_304),
    **dict.fromkeys(["stale-close-" + i for i in ("must-revalidate", "proxy-revalidate", "no-cache", "s-maxage=2")], JUDGED),
}
EXCEPTIONS = {
    **dict.fromkeys(["partial-store-partial-" + i for i in ("reuse-partial", "reuse-partial-byterange", "reuse-partial-absent",
                                                            "reuse-partial-suffix")], PARTIAL),
    "partial-store-partial-complete": "without a strong validator parts are not joined: RFC 9111, 3.4",
    "headers-store-Transfer-Encoding": "an answer with a coding that is not known is refused: RFC 9112, 6.1",
    "304-etag-update-response-ETag": "a 304 with another tag is not about what is stored: RFC 9111, 4.3.4",
    "method-POST": "answers to POST are not stored",
    "vary-normalise-lang-select": "the two requests differ in what they accept, and a client may want fr: RFC 9111, 4.1, compares fields, not answers",
    "conditional-lm-fresh-no-lm": "its date is before Date, with which it is compared without Last-Modified: RFC 9111, 4.3.2",
    **dict.fromkeys(["heuristic-405-cached", "heuristic-501-cached"], PROVOKED),
}

COOKIES = dict.fromkeys(["headers-store-Set-Cookie", "headers-store-Set-Cookie2", "other-set-cookie"], COOKIE)


def suite():
    """The folder; None: it is not installed."""
    where = os.environ.get("HTTP_CACHE_TESTS")
    if not where and shutil.which("npm") and shutil.which("node"):
        root = subprocess.run(["npm", "root", "-g"], capture_output=True, text=True, check=False).stdout.strip()
        where = os.path.join(root, "http-cache-tests")
    return where if where and shutil.which("node") and os.path.exists(os.path.join(where, engine(where, "cli.mjs"))) else None


def engine(where, name):
    """Newer versions have a folder for what is no test."""
    return os.path.join("test-engine", name) if os.path.exists(os.path.join(where, "test-engine")) else name


def node(where, *args, **variables):
    environment = {**os.environ, "npm_package_config_id": "", "npm_config_protocol": "http", **variables}
    return subprocess.Popen(["node", "--no-warnings", *args], cwd=where, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def counts(tests, results, kind):
    """Passed, of all; and the same by the suite's rule."""
    def passed(i):
        return results.get(i) is True and all(passed(d) for d in tests[i][1] if d in tests)

    ids = [i for i in results if i in tests and tests[i][0] == kind]
    ruled = [i for i in ids if all(passed(d) for d in tests[i][1] if d in tests) and (results[i] is True or results[i][0] != "Setup")]
    return (sum(results[i] is True for i in ids), len(ids)), (sum(results[i] is True for i in ruled), len(ruled))


@pytest.mark.parametrize("more,refused", [("", COOKIES), ("CacheStoreCookies On", {})])
def test_suite(serve, tmp_path, more, refused):
    where = suite()
    if not where:
        pytest.skip("http-cache-tests is not installed")
    port = free_port()
    maps = "".join(f"ProxyPass /{path} http://localhost:{port}/{path}\n" for path in ("test", "config", "state"))
    server = serve(f"EventLoops 1\nKeepAliveTimeout 60\n{maps}CacheEnable memory /test\n{more}\n")
    tests = json.loads(node(where, "--input-type=module", "-e", KINDS).communicate(timeout=30)[0])
    origin = node(where, engine(where, "server/server.mjs"), npm_config_port=str(port), npm_config_pidfile=str(tmp_path / "pid"))
    try:
        wait_until(lambda: server.get("/state/none").status != 503, "the suite's server")
        client = node(where, engine(where, "cli.mjs"), npm_config_base=f"http://127.0.0.1:{server.port}")
        results = json.loads(client.communicate(timeout=240)[0])
    finally:
        origin.terminate()
        origin.communicate()
    exceptions = {**(EXCEPTIONS if "interim-102" in tests else {**OLDER, **EXCEPTIONS}), **refused}
    judged = {i: results.get(i) for i, (kind, _) in tests.items() if kind != "check" and i in results}
    assert len(judged) > 200
    for kind in ("required", "optimal"):
        (n, of), (ruled, ruled_of) = counts(tests, results, kind)
        print(f"{kind}: {n} of {of}; by the suite's rule {ruled} of {ruled_of}")
    failed = {i: r for i, r in judged.items() if r is not True}
    assert {i: r for i, r in failed.items() if i not in exceptions} == {}
    assert [i for i in exceptions if judged.get(i) is True] == []
