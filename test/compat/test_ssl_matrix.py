# SPDX-License-Identifier: Apache-2.0
"""Every directive of mod_ssl, and those of mod_http2 that sections take: in the first, in the second, or in both of two
sections of each kind that hold for a request, in the clear and over TLS. No callback of a module gets what Apache never
passes it; both servers answer alike, or refuse the configuration alike. Run it with an ASan build of the server, too."""
import http.client
import os
import re
import ssl

import pytest

import brigade
from stock import driver
from tls_site import certificate

pytestmark = [
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK), reason=f"the peer is absent: {driver.APACHE} is not installed"),
    pytest.mark.skipif(not os.path.exists(f"{driver.MODULES}/mod_http2.so"), reason="no mod_http2.so"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]
PLACES = {"first": (1, 0), "second": (0, 1), "both": (1, 1)}
IN_SECTIONS = ["SSLOptions +StdEnvVars", "SSLOptions StrictRequire", "SSLRequireSSL", 'SSLRequire "%{SSL_PROTOCOL} ne \\"none\\""', "SSLCipherSuite HIGH", "SSLVerifyClient none", "SSLVerifyClient optional_no_ca",
               "SSLVerifyDepth 3", "SSLRenegBufferSize 1000", "SSLUserName SSL_CLIENT_S_DN_CN", "SSLCACertificateFile @ROOT@/conf/cert.pem", "SSLCACertificatePath @ROOT@/conf", "H2PushResource /a.txt",
               "H2Push off", "H2EarlyHints on", "H2Upgrade off"]
IN_HOSTS = ["SSLProtocol TLSv1.2", "SSLHonorCipherOrder on", "SSLCompression off", "SSLSessionTickets off", "SSLInsecureRenegotiation off", "SSLStrictSNIVHostCheck off", "SSLProxyEngine on", "SSLProxyProtocol TLSv1.2",
            "SSLProxyCipherSuite HIGH", "SSLProxyVerify none", "SSLProxyVerifyDepth 2", "SSLProxyCheckPeerExpire off", "SSLProxyCheckPeerCN off", "SSLProxyCheckPeerName off", "SSLOCSPEnable off", "SSLOCSPOverrideResponder off",
            "SSLOCSPResponseTimeSkew 10", "SSLOCSPUseRequestNonce off", "SSLSessionCacheTimeout 100", "SSLUseStapling off", "SSLVerifyClient none", "SSLVerifyDepth 2", "SSLOptions +StdEnvVars", "SSLCipherSuite HIGH",
            "SSLUserName SSL_CLIENT_S_DN_CN", "SSLCARevocationCheck none", "SSLProxyCARevocationCheck none", "SSLCADNRequestFile @ROOT@/conf/cert.pem", "SSLCACertificateFile @ROOT@/conf/cert.pem", "SSLEngine on", "SSLEngine optional", "SSLFIPS off",
            "SSLOpenSSLConfCmd Options Bugs", "SSLProxyCACertificateFile @ROOT@/conf/cert.pem", "H2Direct off", "H2MaxSessionStreams 10", "H2ModernTLSOnly off", "H2Push off", "H2SerializeHeaders on", "H2TLSWarmUpSize 0", "H2WindowSize 70000"]
HOST = "SSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/key.pem\n"
BASE = """Listen 127.0.0.1:@TLS@
Protocols h2 h2c http/1.1
SSLSessionCache none
<Directory @ROOT@/htdocs>
AllowOverride All
</Directory>
"""
HOSTS = f"<VirtualHost *:@TLS@>\nSSLEngine on\n{HOST}@SECOND@</VirtualHost>\n<VirtualHost *:@PORT@>\n@SECOND_CLEAR@</VirtualHost>\n"


def sections(kind, folder, lines):
    """Two sections of that kind that hold for folder/sub/a.txt, and files."""
    path = f"@ROOT@/htdocs/{folder}"
    if kind == "Directory":
        return "".join(f"<Directory {path}{end}>\n{line}\n</Directory>\n" for end, line in zip(("", "/sub"), lines)), {}
    if kind == "Location":
        return "".join(f"<Location /{folder}{end}>\n{line}\n</Location>\n" for end, line in zip(("", "/sub"), lines)), {}
    if kind == "Files":
        return f"<Directory {path}>\n" + "".join(f"<Files {name}>\n{line}\n</Files>\n" for name, line in zip(("a.txt", "*.txt"), lines)) + "</Directory>\n", {}
    if kind == "If":
        return f"<Directory {path}>\n" + "".join(f'<If "{test}">\n{line}\n</If>\n' for test, line in zip(("true", "1 == 1"), lines)) + "</Directory>\n", {}
    return "", {f"{folder}{end}/.htaccess": line + "\n" for end, line in zip(("", "/sub"), lines)}


KINDS = ["Directory", "Location", "Files", "If", "htaccess"]


def make(binary, config, files):
    server = brigade.Server("", binary=binary, modules=["socache_shmcb", "ssl", "http2"])
    server.tls = brigade.free_port()
    loads = "" if server.apache else "".join(f"LoadModule {m}_module {driver.MODULES}/mod_{m}.so\n" for m in ("socache_shmcb", "ssl", "http2"))
    certificate(server)
    server.config = loads + config.replace("@TLS@", str(server.tls))
    for name, text in files.items():
        server.write(name, text.replace("@ROOT@", server.root))
    driver.settle(server.path("htdocs"))
    return server


def ask(server, target, tls):
    context = ssl._create_unverified_context()
    client = http.client.HTTPSConnection("127.0.0.1", server.tls, timeout=brigade.PATIENCE, context=context) if tls else http.client.HTTPConnection("127.0.0.1", server.port, timeout=brigade.PATIENCE)
    try:
        client.request("GET", target)
        answer = client.getresponse()
        body = answer.read() if answer.status == 200 else b""
        return answer.status, sorted(n.lower() for n, _ in answer.getheaders() if n.lower() not in ("date", "server", "content-length", "connection", "upgrade", "keep-alive")), body
    except (OSError, http.client.HTTPException) as e:
        return type(e).__name__
    finally:
        client.close()


def serve_both(config, files, requests):
    """What both answered; or whether both refused."""
    seen = []
    for binary in (driver.APACHE, brigade.BINARY):
        server = make(binary, config, files)
        done = server.run("-t")
        if done.returncode:
            seen.append("refused: " + re.sub(r".* of [^:]*:\s*|\[[^]]*\] *", "", done.stderr.decode(errors="replace"))[:0])
            server.close()
            continue
        with server:
            seen.append({(t, tls): ask(server, t, tls) for t in requests for tls in (0, 1)})
            assert not re.search(rb"exit signal|Segmentation|Assertion|AddressSanitizer|AH00052", server.error_log()), server.error_log()[-2000:]
    return seen


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("directive", IN_SECTIONS)
def test_sections(directive, kind):
    config, files, requests = BASE, {}, []
    for place, (first, second) in PLACES.items():
        text, more = sections(kind, place, [directive if there else "" for there in (first, second)])
        config, files = config + text, {**files, **more, f"{place}/sub/a.txt": "a\n"}
        requests.append(f"/{place}/sub/a.txt")
    config += HOSTS.replace("@SECOND@", "").replace("@SECOND_CLEAR@", "")
    apache, here = serve_both(config, files, requests)
    assert apache == here


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("directive", IN_HOSTS)
def test_hosts(directive, place):
    first, second = PLACES[place]
    line = directive + "\n"
    config = BASE + (line + HOST if first else "") + HOSTS.replace("@SECOND@", line if second else "").replace("@SECOND_CLEAR@", "" if directive.startswith("SSLEngine") or not second else line)
    apache, here = serve_both(config, {"a.txt": "a\n"}, ["/a.txt"])
    assert apache == here
