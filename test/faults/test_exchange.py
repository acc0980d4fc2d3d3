# SPDX-License-Identifier: Apache-2.0
"""Certificates that are renewed where no file can be watched: the files are looked at every ten seconds, whatever else is waited for."""
import errno
import os
import shutil
import socket
import ssl

import pytest

from brigade import PATIENCE, free_port, wait_until
from fault_control import FOREVER, LIBRARY, SUPERVISOR, Faults
from tls_site import TLSAuthority, start

pytestmark = [pytest.mark.only("brigade"), pytest.mark.slow,
              pytest.mark.skipif(not os.path.exists(LIBRARY), reason=f"{LIBRARY} is not built"),
              pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")]

CONFIG = """BuiltinModule ssl_module On
LoadModule ssl_module @MODULES@/mod_ssl.so
Listen 127.0.0.1:@TLS@
<VirtualHost *:@TLS@>
ServerName a.test
SSLEngine on
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
</VirtualHost>
"""


def test_one_that_replaces_one_that_begins_later(serve, tmp_path):
    faults, port = Faults(str(tmp_path / "faults")), free_port()
    server = serve.unstarted(CONFIG.replace("@TLS@", str(port)), env={**os.environ, **faults.environment()}, modules=())
    authority = TLSAuthority(server.path("made"))

    def put(unit, **more):
        for kind, path in authority.make("a.test", unit, **more).items():
            if kind in ("cert", "key"):
                shutil.copy(path, server.path("conf", f"{kind}.pem"))

    def unit():
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(socket.create_connection(("127.0.0.1", port), PATIENCE), server_hostname="a.test") as s:
            return authority.unit(s.getpeercert(binary_form=True))

    put("a1")
    faults.arm("inotify_add_watch", "none", errno.ENOSPC, 1, FOREVER, role=SUPERVISOR)
    start(server)
    faults.check()
    server.expect_trouble = True
    assert unit() == "a1" and faults.hits
    put("a2", old=-0.5)  # in half a day
    wait_until(lambda: b"is not valid yet" in server.error_log(), "the refusal", 30)
    put("a3")
    wait_until(lambda: unit() == "a3", "the one that is valid", 30)
