# SPDX-License-Identifier: Apache-2.0
"""Debian's mod_ssl and mod_http2 with what its default site says: request bodies that somebody reads, directives of mod_ssl
in sections. BRIGADE=/usr/sbin/apache2 runs the same."""
import os
import shutil
import subprocess

import pytest

import brigade
from tls_site import certificate

MODULES = ["socache_shmcb", "ssl", "http2", "cgid"]
pytestmark = [pytest.mark.skipif(not os.path.exists(f"{brigade.APACHE_MODULES}/mod_http2.so"), reason="no mod_http2.so"),
              pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")]

CONFIG = "".join(f"LoadModule {m}_module @MODULES@/mod_{m}.so\n" for m in MODULES) + """
ScriptSock @ROOT@/logs/cgisock
Protocols h2 h2c http/1.1
SSLSessionCache none
LogLevel ssl:warn
Listen 127.0.0.1:@TLS@
<VirtualHost *:@TLS@>
SSLEngine on
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
<FilesMatch "\\.(cgi|shtml)$">
SSLOptions +StdEnvVars
</FilesMatch>
<Directory @ROOT@/htdocs/cgi>
SSLOptions +StdEnvVars
</Directory>
<Directory @ROOT@/htdocs/client>
SSLVerifyClient none
SSLVerifyDepth 3
</Directory>
<Location /client>
SSLVerifyClient none
</Location>
<Directory @ROOT@/htdocs/secure>
SSLRequireSSL
</Directory>
</VirtualHost>
<VirtualHost *:@PORT@>
</VirtualHost>
<VirtualHost *:@PORT@>
ServerName second
</VirtualHost>
<Directory @ROOT@/htdocs>
AllowOverride All
</Directory>
<Directory @ROOT@/htdocs/cgi>
Options +ExecCGI
AddHandler cgi-script .cgi
</Directory>
<Directory @ROOT@/htdocs/secure>
SSLRequireSSL
</Directory>
"""
SCRIPT = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n%s ' \"$SSL_PROTOCOL\"\nexec wc -c\n"


@pytest.fixture(scope="module", params=["binary", "builtin"])
def server(serve_module, request):
    if request.param == "builtin" and brigade.is_apache(brigade.BINARY):
        pytest.skip("Apache has one module")
    choice = "" if request.param == "builtin" or brigade.is_apache(brigade.BINARY) else "BuiltinModule ssl_module Off\n"
    config = choice + CONFIG
    files = {"cgi/count.cgi": SCRIPT, "client/a.txt": "a\n", "secure/a.txt": "a\n", "ht/.htaccess": "SSLRequireSSL\n",
             "ht/a.txt": "a\n"}
    tls = brigade.free_port()
    made = serve_module.unstarted(config.replace("@TLS@", str(tls)), files, modules=())
    certificate(made)
    os.chmod(made.path("htdocs/cgi/count.cgi"), 0o755)
    made.tls = tls
    made.start()
    # mod_cgid's daemon starts beside the server.
    brigade.wait_until(lambda: curl(f"http://127.0.0.1:{made.port}/cgi/count.cgi")[-1] == "200", "an answer of a script")
    return made


def curl(*arguments, data=None):
    result = subprocess.run(["curl", "-s", "-k", "-m", str(brigade.PATIENCE), "-w", " %{http_code}", *arguments], input=data,
                            capture_output=True, check=False)
    return result.stdout.decode("latin1").split()


WAYS = {"h1": ("--http1.1", "http"), "h2c": ("--http2-prior-knowledge", "http"), "h1-tls": ("--http1.1", "https"),
        "h2": ("--http2", "https")}


@pytest.mark.parametrize("length", [0, 1, 8_191, 65_537, 5_000_000])
@pytest.mark.parametrize("way", WAYS)
def test_bodies_are_read_whole(server, way, length):
    option, scheme = WAYS[way]
    url = f"{scheme}://127.0.0.1:{server.tls if scheme == 'https' else server.port}/cgi/count.cgi"
    body = os.urandom(length)
    told = ["TLSv1.3"] if scheme == "https" else []
    assert curl(option, "--data-binary", "@-", url, data=body) == [*told, str(length), "200"]
    assert curl(option, "-X", "POST", "-T", "-", url, data=body) == [*told, str(length), "200"]


@pytest.mark.parametrize("target", ["/client/a.txt", "/secure/a.txt", "/ht/a.txt"])
def test_directives_in_two_sections(server, target):
    assert curl(f"https://127.0.0.1:{server.tls}{target}") == ["a", "200"]
    expected = "200" if target.startswith("/client") else "403"
    assert curl(f"http://127.0.0.1:{server.port}{target}")[-1] == expected


def test_hosts_do_not_share(server):
    """Each virtual host has a configuration of mod_ssl's of its own, also those without TLS."""
    assert b"AH10104" not in server.error_log()
