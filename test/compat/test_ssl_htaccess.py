# SPDX-License-Identifier: Apache-2.0
"""Directives of mod_ssl in .htaccess files of a server without TLS: Apache with mod_ssl, and Brigade with its built-in module,
which needs no LoadModule, answer alike."""
import http.client
import os

import pytest

import brigade
from stock import driver

pytestmark = [
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK), reason=f"the peer is absent: {driver.APACHE} is not installed"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]
LOAD = "LoadModule ssl_module @MODULES@/mod_ssl.so\n"
LINES = ["SSLRequireSSL", "SSLRequireSSL x", "SSLRequire false", "SSLRequire true", "SSLOptions +StdEnvVars", "SSLOptions +StrictRequire\nSSLRequireSSL\nSatisfy any", "SSLOptions Foo",
         "SSLUserName X", "SSLVerifyClient none", "SSLVerifyClient require", "SSLVerifyDepth 1", "SSLCipherSuite HIGH", "SSLRenegBufferSize 100", "SSLRenegBufferSize x", "SSLEngine on",
         "Require ssl", "<Files a.txt>\nSSLRequireSSL\n</Files>", "<Files b.txt>\nSSLRequireSSL\n</Files>"]
OVERRIDES = ["AllowOverride All", "AllowOverride AuthConfig FileInfo", "AllowOverride FileInfo", "AllowOverride None\nAllowOverrideList SSLRequireSSL Require", "AllowOverride None"]


def answers(config, files, **how):
    server, got = brigade.Server(config, files, **how), {}
    try:
        server.start()
        ask(server, got)
    finally:
        server.close()
    return got


def ask(server, got):
    for line in range(len(LINES)):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=brigade.PATIENCE)
        connection.request("GET", f"/{line}/a.txt", headers={"Host": "localhost"})
        response = connection.getresponse()
        got[LINES[line]] = (response.status, response.read())
        connection.close()


@pytest.mark.parametrize("overrides", OVERRIDES, ids=range(len(OVERRIDES)))
def test_without_tls(overrides):
    files = {f"{i}/a.txt": "a\n" for i in range(len(LINES))} | {f"{i}/.htaccess": f"{line}\n" for i, line in enumerate(LINES)}
    access = "".join(f"LoadModule {m}_module @MODULES@/mod_{m}.so\n" for m in ("access_compat",))
    config = f"ServerAdmin a@b.test\n<Directory @ROOT@/htdocs>\n{overrides}\n</Directory>\n"
    theirs = answers(access + LOAD + config, files, binary=driver.APACHE)
    for load in (LOAD, ""):
        assert answers(load + config, files, modules=()) == theirs
