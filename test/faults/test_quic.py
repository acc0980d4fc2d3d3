# SPDX-License-Identifier: Apache-2.0
"""The calls that send and receive datagrams fail, are short or take time while a client asks over HTTP/3: what they lose is as if the
network had lost it, so the client gets its answer all the same, by the same process, and so does the next one."""
import errno
import os
import shutil
import subprocess

import pytest

import effort
import brigade
import fault_table as table
from fault_control import FOREVER, LIBRARY, SERVER, Faults
from http3_client import ask, http3_python
from tls_site import certificate

PYTHON = http3_python(brigade.REPOSITORY)
COMPLETE = effort.everything("faults")
pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(not os.path.exists(LIBRARY), reason=f"{LIBRARY} is not built"),
              pytest.mark.skipif(not PYTHON, reason="no interpreter with aioquic and pycurl (http3_client.py)"),
              pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")]

CONFIG = """
Protocols h3 h2 http/1.1
EventLoops 1
ServerProcesses 1
ServerLimit 1
Listen 127.0.0.1:@TLS@ https
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
<VirtualHost *:@TLS@>
ServerName localhost
SSLEngine on
</VirtualHost>
"""
BODY = bytes(range(256)) * 400


@pytest.fixture(scope="module")
def site(serve_module, tmp_path_factory):
    faults = Faults(str(tmp_path_factory.mktemp("faults") / "control"))
    tls = brigade.free_port()
    made = serve_module.unstarted(CONFIG.replace("@TLS@", str(tls)), {"a.bin": BODY}, env=faults.environment())
    certificate(made)
    made.url, made.faults = f"https://127.0.0.1:{tls}/a.bin", faults
    made.start()
    faults.check()
    yield made


def get(site):
    answer = ask(PYTHON, "curl", [{"url": site.url}], timeout=30)[0]
    assert (answer.status, answer.version, answer.body == BODY) == (200, "3", True), answer


POINTS = [(call, fault, n) for call in ("sendmmsg", "recvmmsg") for fault in table.faults_for(call, "socket")
          for n in (range(1, 9) if COMPLETE else (1, 3))]


def shown(point):
    call, fault, n = point
    return f"{call}-{errno.errorcode.get(fault, fault)}-{n}"


@pytest.mark.parametrize("point", POINTS, ids=shown)
def test_once(site, point):
    call, fault, n = point
    with site.faults.armed(call, "socket", fault, n, role=SERVER):
        get(site)
    get(site)


@pytest.mark.parametrize("fault", [errno.EAGAIN, errno.ENOBUFS], ids=lambda e: errno.errorcode[e])
def test_for_a_while(site, fault):
    """Nothing leaves for a while: no loop runs hot, and all goes on behind it."""
    pid = site._children()[0]
    with site.faults.armed("sendmmsg", "socket", fault, 1, FOREVER, role=SERVER):
        with pytest.raises(subprocess.TimeoutExpired):
            ask(PYTHON, "curl", [{"url": site.url}], timeout=2)
        hits = site.faults.hits
    assert 0 < hits < 3000
    get(site)
    assert site._children()[0] == pid
