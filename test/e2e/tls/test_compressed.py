# SPDX-License-Identifier: Apache-2.0
"""Compressed files over TLS: Apache's mod_deflate asks each connection for its compression, which none has."""
import shutil
import ssl

import pytest

import brigade
from cache_site import await_hits, hits, settle
from http_client import Client
from tls_site import certificate

pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")]

CONFIG = f"""BuiltinModules all
EventLoops 1
LoadModule deflate_module {brigade.APACHE_MODULES}/mod_deflate.so
AddOutputFilterByType DEFLATE text/plain
<Location /metrics>
SetHandler metrics
</Location>
Listen 127.0.0.1:@TLS@ https
<VirtualHost *:@TLS@>
SSLEngine on
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
</VirtualHost>
"""


def test_from_memory(serve):
    tls = brigade.free_port()
    server = serve.unstarted(CONFIG.replace("@TLS@", str(tls)), {"a.txt": "a line of text\n" * 200})
    certificate(server)
    settle(server.path("htdocs"))
    server.start()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    before = hits(server)
    with Client("127.0.0.1", tls, brigade.PATIENCE) as client:
        client.socket = context.wrap_socket(client.socket, server_hostname="localhost")
        answers = [client.get("/a.txt", {"Accept-Encoding": "gzip"}) for _ in range(30)]
    assert {(a.status, a["Content-Encoding"]) for a in answers} == {(200, "gzip")} and len({a.body for a in answers}) == 1
    await_hits(server, before + 20)
