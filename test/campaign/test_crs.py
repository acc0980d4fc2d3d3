# SPDX-License-Identifier: Apache-2.0
"""The regression cases of the OWASP Core Rule Set, with Debian's mod_security2 here and on Apache: the same answers, the same rules in the
error log, the same entries in the audit log.

    CRS=FOLDER        where the package modsecurity-crs is unpacked, if it is not installed
    CRS_TESTS=FOLDER  a checkout of coreruleset/coreruleset of the same version (cases in YAML below tests/regression/tests)
    CRS_ONLY=WORD     cases with this in the names of their files

docs/internals/suites.md tells what came of it."""
import base64
import concurrent.futures
import glob
import os
import re
import socket
import urllib.parse

import pytest

import support  # noqa: F401 pylint: disable=unused-import
from support import brigade

yaml = pytest.importorskip("yaml")

ROOT = os.environ.get("CRS", "/").rstrip("/")
RULES = f"{ROOT}/usr/share/modsecurity-crs/rules"
CASES = os.environ.get("CRS_TESTS", "")
ONLY = os.environ.get("CRS_ONLY", "")
APACHE = os.environ.get("APACHE", "/usr/sbin/apache2")
MODULE = f"{brigade.APACHE_MODULES}/mod_security2.so"

SITE = f"""LoadModule unique_id_module @MODULES@/mod_unique_id.so
LoadModule security2_module {MODULE}
LogFormat "%{{X-Case}}i %>s %{{UNIQUE_ID}}e" cases
CustomLog @ROOT@/logs/cases cases
SecDataDir @ROOT@/data
SecTmpDir @ROOT@/data
SecAuditEngine RelevantOnly
SecAuditLogParts ABCFHZ
SecAuditLogType Serial
SecAuditLog @ROOT@/logs/audit
SecRequestBodyAccess On
SecResponseBodyAccess On
SecResponseBodyMimeType text/plain text/html text/xml
SecRule REQUEST_HEADERS:Content-Type "^(?:application(?:/soap\\+|/)|text/)xml" "id:1,phase:1,t:none,t:lowercase,pass,nolog,ctl:requestBodyProcessor=XML"
SecRule REQUEST_HEADERS:Content-Type "^application/json" "id:2,phase:1,t:none,t:lowercase,pass,nolog,ctl:requestBodyProcessor=JSON"
SecAction "id:3,phase:1,nolog,pass,ctl:ruleRemoveById=910000,setvar:tx.paranoia_level=@LEVEL@,setvar:tx.crs_validate_utf8_encoding=1,setvar:tx.arg_name_length=100,setvar:tx.arg_length=400"
Include {ROOT}/etc/modsecurity/crs/crs-setup.conf
Include {RULES}/*.conf
SecRuleEngine @ENGINE@
"""
# Requests whose answers differ: why (docs/differences-from-apache.md).
KNOWN = {
    **dict.fromkeys(["920180-4", "920430-8"], "a major version that is not spoken is 505"),
    "920181-1": "a length beside a transfer coding is refused",
    **dict.fromkeys(["920200-3", "920200-5", "920200-7", "920200-8"], "white space in a list of ranges"),
    **dict.fromkeys(["920190-2", "920200-6"], "a wrong range behind one of all bytes"),
}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.only("brigade"),
    pytest.mark.skipif(not os.path.isdir(RULES) or not os.path.exists(MODULE), reason="modsecurity-crs or libapache2-mod-security2 is not installed"),
    pytest.mark.skipif(not os.path.isdir(f"{CASES}/tests/regression/tests"), reason="CRS_TESTS names no checkout with cases"),
    pytest.mark.skipif(not os.access(APACHE, os.X_OK), reason="Apache is not installed"),
]


def encoded(data, fields):
    """A form as a browser sends it, where the case has it as plain text."""
    form = fields.get("Content-Type", "application/x-www-form-urlencoded") == "application/x-www-form-urlencoded"
    if form and urllib.parse.unquote(data) == data and "=" in data:
        return urllib.parse.urlencode(urllib.parse.parse_qsl(data, keep_blank_values=True))
    return data


def request(stage, number):
    """The bytes of a stage, with its number in a field of its own."""
    if "encoded_request" in stage or "raw_request" in stage:
        data = base64.b64decode(stage["encoded_request"]) if "encoded_request" in stage else stage["raw_request"].encode("utf-8")
        first, _, rest = data.partition(b"\n")
        return first + b"\nX-Case: %d\r\n" % number + rest
    fields = {str(name): str(value) for name, value in (stage.get("headers") or {}).items()}
    data = stage.get("data") or ""
    data = "\r\n".join(data) if isinstance(data, list) else str(data)
    if data and not stage.get("stop_magic"):
        data = encoded(data, fields)
        fields.setdefault("Content-Type", "application/x-www-form-urlencoded")
    body = data.encode("utf-8")
    if body and not stage.get("stop_magic"):
        fields.setdefault("Content-Length", str(len(body)))
    if not stage.get("stop_magic"):
        fields.setdefault("Connection", "close")
    head = [f"{stage.get('method', 'GET')} {stage.get('uri', '/')} {stage.get('version', 'HTTP/1.1')}", *(f"{n}: {v}" for n, v in fields.items()), f"X-Case: {number}"]
    return "\r\n".join(head).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body


def cases():
    """(title, bytes) of each stage."""
    found = []
    for path in sorted(glob.glob(f"{CASES}/tests/regression/tests/**/*.yaml", recursive=True)):
        if ONLY not in path:
            continue
        with open(path, encoding="utf-8") as f:
            document = yaml.safe_load(f)
        for test in document["tests"]:
            for stage in test["stages"]:
                found.append((str(test["test_title"]), request(stage["stage"]["input"], len(found))))
    return found


def status(port, data):
    """Of the answer; None where there is none within a second after the client has ended its side."""
    got = b""
    with socket.create_connection(("127.0.0.1", port), timeout=brigade.PATIENCE) as s:
        try:
            s.sendall(data)
            s.settimeout(1)  # a head without its end, or a connection that is kept
            while b"\r\n" not in got and (more := s.recv(65536)):
                got += more
        except (TimeoutError, ConnectionError):
            pass
    found = re.match(rb"HTTP/1\.[01] (\d+)", got)
    return int(found[1]) if found else None


def messages(text):
    """Unique ID -> the rules that told of the request, with what they matched."""
    found = {}
    for line in text.splitlines():
        if (one := re.search(r'\[unique_id "([^"]+)"\]', line)) and (rule := re.search(r'\[id "(\d+)"\]', line)):
            data = re.search(r'\[data "(.*?)"\]', line)
            found.setdefault(one[1], []).append((rule[1], data[1] if data else ""))
    return found


def audited(text):
    """Unique ID -> parts B, C, H of the audit log without what is the server's own, and the status of part F."""
    found = {}
    for one in re.split(r"^--[0-9a-f]{8}-A--\n", text, flags=re.M)[1:]:
        parts = {part[0]: part[1] for part in re.findall(r"^--[0-9a-f]{8}-([B-Y])--\n(.*?)(?=^--[0-9a-f]{8}-)", one, re.M | re.S)}
        told = [re.sub(r'\[(file|line|unique_id) "[^"]*"\] ?|(?<=Message: Rule )[0-9a-f]+', "", line) for line in parts.get("H", "").splitlines() if line.startswith(("Message", "Action"))]
        found[one.split()[2]] = (parts.get("B", ""), parts.get("C", ""), told, (parts.get("F", "").splitlines() or [""])[0])
    return found


def driven(binary, level, engine, stages):
    """For each stage: status, rules, entry of the audit log."""
    site = SITE.replace("@LEVEL@", level).replace("@ENGINE@", engine)
    server = brigade.Server(site, {"index.html": "the page", "post": "posted", "get": "got", "anything": "any"}, binary=binary)
    os.mkdir(server.path("data"), 0o777)
    os.chmod(server.path("data"), 0o777)
    server.start()
    try:
        answers = [status(server.port, data) for _, data in stages]
        assert server.get("/").status in (200, 403)
    finally:
        server.stop()
        server.check_logs()
    logged = {int(n): unique for n, _, unique in re.findall(r"^(\d+) (\S+) (\S+)$", server.read("logs/cases").decode("latin-1"), re.M)}
    rules, entries = messages(server.error_log().decode("latin-1")), audited(server.read("logs/audit").decode("latin-1"))
    server.remove()
    return [(answer, rules.get(logged.get(number)), entries.get(logged.get(number))) for number, answer in enumerate(answers)]


@pytest.mark.parametrize("level,engine", [("4", "DetectionOnly"), ("1", "On")])
def test_core_rule_set(level, engine):
    stages = cases()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        here, there = pool.map(lambda binary: driven(binary, level, engine, stages), (brigade.BINARY, APACHE))
    wrong, known = [], set()
    for (title, data), ours, apaches in zip(stages, here, there):
        if title in KNOWN and ours[0] != apaches[0]:
            known.add(title)
        elif ours != apaches:
            wrong.append(f"{title}: {data[:200]!r}\n  here   {ours}\n  Apache {apaches}")
    print(f"{len(stages)} requests, {sum(one[0] == 403 for one in there)} refused, {sum(bool(one[1]) for one in there)} with rules, "
          f"{sum(bool(one[2]) for one in there)} audited, {len(known)} differ as known, {len(wrong)} besides")
    assert stages and any(one[1] for one in there)
    assert not wrong, "\n".join(wrong)
    assert ONLY or engine == "On" or known == set(KNOWN), "an entry of KNOWN does not differ any more"
