# SPDX-License-Identifier: Apache-2.0
"""An authority that answers whatever it likes, at each step of an order: each job ends with a complaint, none by a crash."""
import re
import shutil

import pytest

import acme_site
import brigade
from acme_authority import Authority
from tls_site import start

pytestmark = [pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
              pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="of the built-in md module")]

CONFIG = acme_site.MANAGED.replace("https:@TLS@", "https:-").replace("100ms", "30s") + """
MDRenewMode always
MDCAChallenges http-01
Listen 127.0.0.1:@HTTP@
"""


def raw(head, body=b"", fields=b""):
    return b"HTTP/1.1 " + head + b"\r\n" + fields + b"\r\n" + body


BYTES = {
    "204-bytes": raw(b"204 No Content", b"x" * 3000), "304-bytes": raw(b"304 Not Modified", b"x" * 3000),
    "204-length": raw(b"204 No Content", b"x" * 50, b"Content-Length: 50\r\n"), "200-empty": raw(b"200 OK", b"", b"Content-Length: 0\r\n"),
    "null": raw(b"200 OK", b"null"), "array": raw(b"200 OK", b"[{}]"), "number": raw(b"200 OK", b"1e999"), "text": raw(b"200 OK", b'"x"'),
    "nul": raw(b"200 OK", b'{"status": "va\0lid"}'), "latin": raw(b"200 OK", b'{"status": "\xff\xfe"}'),
    "escape": raw(b"200 OK", b'{"status": "\\ud800\\u0000"}'), "repeated": raw(b"200 OK", b'{"status":1,"status":2,"status":"valid"}'),
    "chunks": raw(b"200 OK", b"5\r\n{}", b"Transfer-Encoding: chunked\r\n"), "chunk-size": raw(b"200 OK", b"fffffff\r\n{}", b"Transfer-Encoding: chunked\r\n"),
    "two-lengths": raw(b"200 OK", b"{}", b"Content-Length: 2\r\nContent-Length: 9\r\n"), "closed": b"", "100": raw(b"100 Continue"),
    "500": raw(b"500 No", b"x" * 3000), "problem": raw(b"403 No", b'{"type": 7, "detail": {"a": []}, "subproblems": [1, {"detail": null}, []]}'),
    "fields": raw(b"200 OK", b"{}", b"A: b\r\n" * 2000), "retry": raw(b"503 No", b"{}", b"Retry-After: 99999999999999999999\r\n"),
}
WORDS = ("pending", "ready", "processing", "valid", "invalid", "", "deactivated", None, 7, [], {})
ORDERS = {**{f"status-{word!r}": (lambda body, word=word: {**body, "status": word}) for word in WORDS if word not in ("pending", "ready", "processing")},
          "valid-with-certificate": lambda body: {**body, "status": "valid", "certificate": body["finalize"].rpartition("/")[0].replace("finalize", "cert/0")},
          "finalize-none": lambda body: {**body, "finalize": None}, "finalize-ftp": lambda body: {**body, "finalize": "ftp://x"},
          "ready-elsewhere": lambda body: {**body, "status": "ready", "finalize": "https://127.0.0.1:1/x"},
          "authorizations": lambda body: {**body, "authorizations": [1]}, "authorizations-many": lambda body: {**body, "authorizations": ["https://x"] * 2000},
          "error": lambda body: {**body, "status": "invalid", "error": [7]}}
AUTHZS = {**{f"status-{word!r}": (lambda body, word=word: {**body, "status": word}) for word in WORDS if word not in ("pending", "valid")},
          "nobody": lambda body: {**body, "identifier": None}, "no-challenges": lambda body: {**body, "challenges": []},
          "other-challenges": lambda body: {**body, "challenges": [{"type": "x"}, 7, None, {"type": []}]},
          "no-url": lambda body: {**body, "challenges": [{"type": "http-01", "token": "abc"}]},
          "path": lambda body: {**body, "challenges": [{**c, "token": "../x"} for c in body["challenges"]]}}
CASES = [(step, name, answer) for step in ("new", "authz", "challenge", "finalize", "cert") for name, answer in BYTES.items()
         if not (step == "challenge" and name not in ("closed", "500", "problem", "retry", "nonsense"))]
CASES += [("new", name, answer) for name, answer in ORDERS.items()] + [("authz", name, answer) for name, answer in AUTHZS.items()]
CASES += [("finalize", name, answer) for name, answer in ORDERS.items() if name in ("finalize-none", "error") or name.startswith("status-")]
# What an honest authority may say, too, or what nothing follows from.
CASES = [c for c in CASES if c[:2] not in (("finalize", "status-'valid'"), ("new", "finalize-ftp"))]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_every_answer(serve, part):
    cases = CASES[part::4]
    port = brigade.free_port()
    names = [f"h{i}.test" for i in range(len(cases))]
    config = CONFIG + "".join(f"MDomain {n}\n<VirtualHost *:@HTTP@>\nServerName {n}\n</VirtualHost>\n" for n in names)
    server = serve.unstarted(config, {"index.html": "the page"})
    with Authority(server.path("made"), {"HTTP": port, "TLS": port}) as authority:
        server.config = server.config.replace("@HTTP@", str(port)).replace("@ACME@", authority.url)
        with open(authority.ca) as ca:
            authority.certs.append(ca.read())  # for orders that are valid before they are asked for
        for name, (step, _, answer) in zip(names, cases):
            authority.hostile[name] = step, answer
        server.expect_trouble = True
        start(server)
        wrong = {}

        def all_complained():
            log = server.error_log()
            wrong.clear()
            wrong.update({n: c[:2] for n, c in zip(names, cases) if not re.search(rb"encountered error.*\b%s\b|\b%s\b.*encountered error" % (n.encode(), n.encode()), log)})
            return not wrong
        try:
            brigade.wait_until(all_complained, "complaints")
        except AssertionError:
            raise AssertionError(f"no complaint: {wrong}") from None
        assert not re.search(rb"assertion|exit signal|AddressSanitizer|fatal signal|runtime error", server.error_log(), re.I)
