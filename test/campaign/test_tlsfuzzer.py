# SPDX-License-Identifier: Apache-2.0
"""tlsfuzzer's scripts for servers (github.com/tlsfuzzer/tlsfuzzer), here and on Apache's mod_ssl with one configuration: a conversation
that passes there and fails here is a fault, unless KNOWN says why.

    TLSFUZZER=FOLDER            a checkout
    TLSFUZZER_LIBRARIES=FOLDER  tlslite-ng, ecdsa and six, where Python has not got them
    TLSFUZZER_ONLY=WORD         scripts with this in their names
    TLSFUZZER_SECONDS=NUMBER    for one script

docs/internals/suites.md tells what came of it."""
import collections
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys

import pytest

import support  # noqa: F401 pylint: disable=unused-import
from support import brigade
from tls_site import start

FOLDER = os.environ.get("TLSFUZZER", "")
LIBRARIES = os.environ.get("TLSFUZZER_LIBRARIES", "")
ONLY = os.environ.get("TLSFUZZER_ONLY", "")
SECONDS = float(os.environ.get("TLSFUZZER_SECONDS", "60"))
APACHE = os.environ.get("APACHE", "/usr/sbin/apache2")

# They need a server that is set up for them in another way (certificates of clients, other kinds of keys, pre-shared keys, heartbeat),
# protocols and suites that OpenSSL 3 has not got, or measure times.
LEFT_OUT = re.compile(r"certificate-verify|client-cert|certificate-request|client-auth|post-handshake|psk|srp|dsa|eddsa|ed25519|heartbeat|sslv2|"
                      r"SSLv3|ssl3|sslv3|rc4|3des|export|anon|timing|bleichenbacher-timing|kerberos|ocsp|status|npn|pss-priv|pha|many|large-number|big|"
                      r"rsa-sigs-on|certificate-malformed|TLSv1_2-rejected|test-serverhello-random|dhe-rsa-key-exchange-signatures")

# Script: (how many conversations more than on Apache fail, why). Scripts choose conversations by chance, so names are not compared.
KNOWN = {}

SITE = """Listen 127.0.0.1:@TLS@
<VirtualHost *:@TLS@>
    ServerName localhost
    SSLEngine on
    SSLProtocol all
    SSLCipherSuite DEFAULT:AES128-SHA:AES256-SHA:@SECLEVEL=0
    SSLCertificateFile @ROOT@/conf/cert.pem
    SSLCertificateKeyFile @ROOT@/conf/key.pem
</VirtualHost>
"""
Result = collections.namedtuple("Result", "ended failed counts")


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (FOLDER, LIBRARIES, os.environ.get("PYTHONPATH"))))}


def scripts():
    found = [p for p in sorted(glob.glob(f"{FOLDER}/scripts/test-*.py")) if not LEFT_OUT.search(os.path.basename(p))]
    return [p for p in found if ONLY in os.path.basename(p)]


def run(path, port):
    """A Result: passed, failed, late (it was cut) or unable (the script ended without a count)."""
    try:
        done = subprocess.run([sys.executable, path, "-h", "127.0.0.1", "-p", str(port)], env=environment(), cwd=FOLDER, timeout=SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except subprocess.TimeoutExpired:
        return Result("late", frozenset(), "")
    text = done.stdout.decode(errors="replace")
    counts = " ".join(f"{name} {number}" for name, number in re.findall(r"^(TOTAL|PASS|XFAIL|FAIL|XPASS): *(\d+)", text, re.M))
    wrong = re.findall(r"^FAILED:\n((?:\t.*\n?)+)", text, re.M)
    failed = frozenset(line.strip() for line in "".join(wrong).splitlines())
    ended = "passed" if done.returncode == 0 else "failed" if failed else "unable"
    return Result(ended, failed, counts or text[-200:].strip())


def prepared(binary):
    """A server, started; its port for TLS is server.tls."""
    tls = brigade.free_port()
    server = brigade.Server(SITE.replace("@TLS@", str(tls)), {"index.html": "the page"}, binary=binary, modules=["socache_shmcb", "ssl"])
    server.tls = tls
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2", "-keyout", server.path("conf/key.pem"),
                    "-out", server.path("conf/cert.pem")], check=True, capture_output=True)
    return start(server)


def results(server, pool):
    return {os.path.basename(p): pool.submit(run, p, server.tls) for p in scripts()}


def compared(ours, apaches):
    """What passes there alone, as text."""
    wrong = []
    for name, here in ours.items():
        there = apaches[name]
        print(name, "|", here.ended, here.counts, "| Apache:", there.ended, there.counts)
        more = here.failed - there.failed
        worse = here.ended == "unable" and there.ended != "unable"
        if "late" in (here.ended, there.ended):  # cut, and said so above
            continue
        print("".join(f"    here alone: {one}\n" for one in sorted(more)) + "".join(f"    Apache alone: {one}\n" for one in sorted(there.failed - here.failed)), end="")
        if worse or len(here.failed) - len(there.failed) > KNOWN.get(name, (0, ""))[0]:
            wrong.append(f"{name}: {here.ended} {sorted(more)}")
    return wrong


@pytest.mark.slow
@pytest.mark.only("brigade")
def test_tlsfuzzer():
    if not FOLDER or subprocess.run([sys.executable, "-c", "import tlsfuzzer, tlslite"], env=environment(), capture_output=True, check=False).returncode:
        pytest.skip("TLSFUZZER names no folder of tlsfuzzer, or tlslite-ng is missing")
    if not shutil.which("openssl") or not os.access(APACHE, os.X_OK):
        pytest.skip("openssl or Apache is not installed")
    here, there = prepared(brigade.BINARY), prepared(APACHE)
    try:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            futures = [results(server, pool) for server in (here, there)]
            wrong = compared(*({name: future.result() for name, future in each.items()} for each in futures))
        assert here.get("/").status == 200
        here.check_logs()
    finally:
        there.stop()
        here.stop()
    assert not wrong, "\n".join(wrong)
