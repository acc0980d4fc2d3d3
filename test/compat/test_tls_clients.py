# SPDX-License-Identifier: Apache-2.0
"""Client certificates, per virtual host and per directory, and what is asked of TLS by sections: the same requests to Apache
with mod_ssl and to the built-in module, with TLS 1.2 (renegotiation) and 1.3 (authentication after the handshake)."""
import contextlib
import http.client
import os
import select
import shutil
import socket
import ssl
import subprocess

import pytest

import brigade
from stock import driver

pytestmark = [
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK), reason=f"the peer is absent: {driver.APACHE} is not installed"),
    pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]

MODULES = ("socache_shmcb", "authn_core", "authn_file", "authz_user", "auth_basic", "cgid", "ssl")
HOST = """SSLEngine on
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
SSLCACertificateFile @ROOT@/conf/ca.pem
"""


def section(name, lines):
    return "\n".join([f"<{name}>", *lines, f"</{name.split()[0]}>", ""])


SECTIONS = {
    "Directory @ROOT@/htdocs": ["AllowOverride All"],
    "Directory @ROOT@/htdocs/cgi": ["Options +ExecCGI", "AddHandler cgi-script .cgi", "SSLOptions +StdEnvVars"],
    "Directory @ROOT@/htdocs/require": ["SSLVerifyClient require"],
    "Directory @ROOT@/htdocs/optional": ["SSLVerifyClient optional"],
    "Directory @ROOT@/htdocs/noca": ["SSLVerifyClient optional_no_ca"],
    "Location /expr": ["SSLVerifyClient optional", 'SSLRequire %{SSL_CLIENT_S_DN_CN} in {"good", "other"} and %{SSL_CIPHER_USEKEYSIZE} >= 128'],
    "Location /verified": ["SSLVerifyClient optional", "Require ssl-verify-client"],
    "Location /named": ["SSLVerifyClient optional", "SSLUserName SSL_CLIENT_S_DN_CN"],
    "Location /fake": ["SSLVerifyClient require", "SSLOptions +FakeBasicAuth +StdEnvVars", "AuthType Basic", "AuthName fake", "AuthUserFile @ROOT@/conf/users", "Require valid-user"],
    "Location /strict": ["SSLOptions +StrictRequire", "SSLRequire false", "Satisfy any", "AuthType Basic", "AuthName x", "AuthUserFile @ROOT@/conf/users", "Require valid-user"],
    "Location /extension": ["SSLVerifyClient optional", 'SSLRequire "CA:FALSE" in PeerExtList("2.5.29.19")'],
    "Location /otherwise": ["SSLVerifyClient optional", 'SSLRequire "CA:TRUE" in PeerExtList("basicConstraints")'],
    "Location /said": ['Require expr "%{REQUEST_SCHEME} == \'https\' && %{HTTPS} == \'on\' && %{SSL:SSL_PROTOCOL} =~ /^TLS/ && %{SSL_SERVER_SAN_DNS_1} == \'www.cert.test\'"'],
    "Directory @ROOT@/htdocs/certs": ["Options +ExecCGI", "AddHandler cgi-script .cgi", "SSLOptions +ExportCertData"],
    "Location /cgi/echo.cgi": ["SSLVerifyClient require"],
    "Location /small": ["SSLVerifyClient require", "SSLRenegBufferSize 1000"],
    "Location /ciphers": ["SSLCipherSuite AES256-GCM-SHA384:ECDHE-ECDSA-AES256-GCM-SHA384"],
    'Files "only.txt"': ["SSLVerifyClient require"],
}
CONFIG = """
SSLSessionCache shmcb:@ROOT@/logs/sessions(64000)
ScriptSock @ROOT@/logs/cgisock
LogFormat "%v %U %>s %u %{SSL_PROTOCOL}x %{SSL_CLIENT_VERIFY}x %{SSL_CLIENT_S_DN}x %{SSL_CLIENT_S_DN_CN}x %{SSL_CLIENT_S_DN_OU_RAW}x %{SSL_CLIENT_S_DN_OU_1_RAW}x %{SSL_CLIENT_S_DN_OU_1}x %{SSL_CLIENT_SAN_OTHER_msUPN_0}x %{SSL_CLIENTHELLO_VERSION}x %{version}c %{cipher}c" tls
CustomLog @ROOT@/logs/tls.log tls
LogLevel ssl:info
ErrorDocument 400 /open/a.txt
ErrorDocument 421 /open/a.txt
""" + "".join(section(*item) for item in SECTIONS.items()) + """ServerName outer
Listen 127.0.0.1:@TLS@
<VirtualHost *:@TLS@>
ServerName plain.test
""" + HOST + """</VirtualHost>
<VirtualHost *:@TLS@>
ServerName require.test
""" + HOST + """SSLVerifyClient require
SSLVerifyDepth 2
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName optional.test
""" + HOST + """SSLVerifyClient optional
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName noca.test
""" + HOST + """SSLVerifyClient optional_no_ca
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName revoked.test
""" + HOST + """SSLVerifyClient require
SSLCARevocationCheck chain
SSLCARevocationFile @ROOT@/conf/crl.pem
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName named.test
SSLStrictSNIVHostCheck On
ErrorDocument 403 /open/a.txt
""" + HOST + """</VirtualHost>
"""
SCRIPT = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nenv | grep -E '^(SSL_|HTTPS|REMOTE_USER|REQUEST_SCHEME|SERVER_PORT)' | grep -v -E 'SESSION_ID|VERSION_INTERFACE|SERVER_PORT|V_REMAIN' | sort\nwc -c\n"
CERTS = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n%s\\n%s\\n%s\\n' \"$SSL_SERVER_CERT\" \"$SSL_CLIENT_CERT\" \"$SSL_CLIENT_CERT_CHAIN_0\"\n"
FOLDERS = ["open", "extension", "otherwise", "said", "require", "optional", "noca", "expr", "verified", "named", "small", "fake", "strict", "ciphers", "ht", "dir"]


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_client(folder, name, cn, ca="ca", days=2):
    units = "" if name == "good" else "/OU=J\u00f6rg/OU=second"
    openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/C=DE/O=Test{units}/CN={cn}", "-utf8", "-keyout", f"{name}.key", "-out", f"{name}.csr")
    openssl(folder, "ca", "-batch", "-config", f"{ca}.cnf", "-in", f"{name}.csr", "-out", f"{name}.pem", "-notext",
            *(["-days", str(days)] if days > 0 else ["-startdate", "20200101000000Z", "-enddate", "20200201000000Z"]))


def make_authority(folder, ca):
    openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "3", "-subj", f"/CN={ca}", "-addext", f"subjectAltName=DNS:{ca}.test,DNS:www.{ca}.test,email:{ca}@test,otherName:1.3.6.1.5.5.7.8.7;IA5STRING:_https.{ca}.test", "-keyout", f"{ca}.key", "-out", f"{ca}.pem")
    (folder / f"{ca}.txt").write_text("")
    (folder / f"{ca}.cnf").write_text(f"[ca]\ndefault_ca=d\n[d]\ndatabase={ca}.txt\nnew_certs_dir=.\ncertificate={ca}.pem\nprivate_key={ca}.key\ndefault_md=sha256\npolicy=p\nrand_serial=yes\n"
                                      "unique_subject=no\nx509_extensions=x\ndefault_crl_days=2\n[p]\ncountryName=optional\norganizationName=optional\norganizationalUnitName=optional\ncommonName=supplied\n[x]\nbasicConstraints=CA:FALSE\nsubjectAltName=email:one@test,email:two@test,DNS:client.test,otherName:msUPN;UTF8:upn@corp.test\n")


@pytest.fixture(scope="module")
def clients(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clients")
    for ca in ("ca", "wrong"):
        make_authority(folder, ca)
    make_authority(folder, "cert")
    os.rename(folder / "cert.key", folder / "key.pem")
    make_client(folder, "good", "good")
    make_client(folder, "revoked", "revoked")
    make_client(folder, "expired", "expired", days=0)
    make_client(folder, "stranger", "stranger", ca="wrong")
    openssl(folder, "ca", "-config", "ca.cnf", "-revoke", "revoked.pem")
    openssl(folder, "ca", "-config", "ca.cnf", "-gencrl", "-out", "crl.pem")
    return folder


def make(binary, clients):
    server = brigade.Server("", binary=binary, modules=MODULES)
    server.tls = brigade.free_port()
    loads = "" if server.apache else "".join(f"LoadModule {m}_module {driver.MODULES}/mod_{m}.so\n" for m in MODULES)
    for name in ("ca.pem", "crl.pem", "cert.pem", "key.pem"):
        shutil.copy(clients / name, server.path(f"conf/{name}"))
    server.config = loads + CONFIG.replace("@TLS@", str(server.tls))
    for name in FOLDERS:
        server.write(f"{name}/a.txt", f"{name}\n")
    server.write("dir/only.txt", "only\n")
    server.write("ht/.htaccess", "SSLVerifyClient require\n")
    server.write("cgi/env.cgi", SCRIPT)
    server.write("certs/certs.cgi", CERTS)
    server.write("cgi/echo.cgi", "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\ncat\n")
    for script in ("cgi/env.cgi", "cgi/echo.cgi", "certs/certs.cgi"):
        os.chmod(server.path(f"htdocs/{script}"), 0o755)
    with open(server.path("conf/users"), "w", encoding="ascii") as f:
        f.write("/C=DE/O=Test/CN=good:$apr1$CMwf.ZBf$n18eMdA76RM6/RrGMCAc/.\nme:$apr1$CMwf.ZBf$n18eMdA76RM6/RrGMCAc/.\n")
    driver.settle(server.path("htdocs"))
    return server.start()


@pytest.fixture(scope="module")
def servers(clients):
    apache, here = make(driver.APACHE, clients), make(brigade.BINARY, clients)
    assert b"is not offered by the built-in" not in here.error_log()
    yield apache, here
    apache.close()
    here.close()


VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


def context_for(clients, version, certificate_name, pha=True):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = VERSIONS[version]
    if version == "1.3":
        context.post_handshake_auth = pha
    if certificate_name:
        context.load_cert_chain(clients / f"{certificate_name}.pem", clients / f"{certificate_name}.key")
    return context


def ask(server, context, name, steps, host=None):
    """What each of the requests of one connection brings; an exception ends it."""
    client = http.client.HTTPSConnection("127.0.0.1", server.tls, timeout=brigade.PATIENCE, context=context)
    plain, context_wrap = [], context.wrap_socket
    client._context = type("C", (), {"wrap_socket": staticmethod(lambda s, server_hostname=None: context_wrap(s, server_hostname=name))})()
    try:
        for method, target, body in steps:
            client.request(method, target, body=body, headers={"Host": host or name})
            answer = client.getresponse()
            text = answer.read()
            plain.append((answer.status, text if answer.status == 200 else b"Reason: Cannot perform" in text))
    except (OSError, http.client.HTTPException):
        plain.append("closed")
    finally:
        client.close()
    return plain


CERTIFICATES = ["good", "stranger", "expired", "revoked", None]


def settle(answers):
    """mod_ssl says GENEROUS with TLS 1.2 alone, though its manual knows no such difference."""
    return [line.replace("FAILED:unable to verify the first certificate", "GENEROUS") for a in answers for line in repr(a).replace("\\n", "\n").splitlines()]


def compare(servers, clients, version, certificate_name, host, steps, **more):
    seen = [ask(s, context_for(clients, version, certificate_name, **more), host, steps) for s in servers]
    lines = [settle(answers) for answers in seen]
    assert [sorted(set(lines[i]) - set(lines[1 - i])) for i in (0, 1)] == [[], []]
    assert lines[1] == lines[0]
    return seen[0]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", CERTIFICATES)
@pytest.mark.parametrize("host", ["require.test", "optional.test", "noca.test", "revoked.test"])
def test_hosts(servers, clients, host, name, version):
    seen = compare(servers, clients, version, name, host, [("GET", "/open/a.txt", None), ("GET", "/cgi/env.cgi", None), ("GET", "/certs/certs.cgi", None), ("GET", "/verified/a.txt", None)])
    if host == "revoked.test":
        assert (seen == ["closed"]) == (name != "good")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", CERTIFICATES)
@pytest.mark.parametrize("folder", FOLDERS)
def test_directories(servers, clients, folder, name, version):
    target = f"/{folder}/a.txt"
    seen = compare(servers, clients, version, name, "plain.test", [("GET", "/open/a.txt", None), ("GET", target, None), ("GET", target, None), ("GET", "/open/a.txt", None), ("GET", "/cgi/env.cgi", None)])
    if folder in ("require", "fake") and name == "good":
        assert [status for status, _ in seen] == [200] * 5


@pytest.mark.parametrize("version", VERSIONS)
def test_bodies(servers, clients, version):
    for size in (10, 5_000, 100_000, 200_000):
        compare(servers, clients, version, "good", "plain.test", [("POST", "/require/a.txt", b"x" * size), ("GET", "/require/a.txt", None)])
    compare(servers, clients, version, "good", "plain.test", [("POST", "/small/a.txt", b"x" * 5000)])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [10, 5_000, 100_000])
def test_bodies_reach_scripts(servers, clients, version, size):
    seen = compare(servers, clients, version, "good", "plain.test", [("POST", "/cgi/echo.cgi", b"x" * size), ("POST", "/cgi/echo.cgi", b"y" * size)])
    assert seen == [(200, b"x" * size), (200, b"y" * size)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [2, 5_000, 100_000])
@pytest.mark.parametrize("when", ["with the head", "at once", "asked"])
def test_a_body_instead_of_an_answer(servers, clients, version, size, when):
    """A client says that it waits for 100, and does not: its body stands before its certificate. (Apache refuses what is not in the record of the head.)"""
    head = b"POST /cgi/echo.cgi HTTP/1.1\r\nHost: plain.test\r\nConnection: close\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n" % size
    with socket.create_connection(("127.0.0.1", servers[1].tls), brigade.PATIENCE) as plain, \
            context_for(clients, version, "good").wrap_socket(plain, server_hostname="plain.test") as s:
        s.sendall(b"GET /open/a.txt HTTP/1.1\r\nHost: plain.test\r\n\r\n")  # also takes the session tickets
        assert s.recv(4096).startswith(b"HTTP/1.1 200")
        s.sendall(head + b"x" * size if when == "with the head" else head)
        if when == "asked":
            select.select([s], [], [], brigade.PATIENCE)
        if when != "with the head":
            s.sendall(b"x" * size)
        answer, body = s.makefile("rb").read().split(b"\r\n\r\n", 1)
    assert answer.startswith(b"HTTP/1.1 200") and body.count(b"x") == size


def test_a_large_body_instead_of_an_answer(servers, clients):
    """SSLRenegBufferSize holds for it."""
    with socket.create_connection(("127.0.0.1", servers[1].tls), brigade.PATIENCE) as plain, \
            context_for(clients, "1.3", "good").wrap_socket(plain, server_hostname="plain.test") as s:
        s.sendall(b"POST /small/a.txt HTTP/1.1\r\nHost: plain.test\r\nContent-Length: 2000\r\nExpect: 100-continue\r\n\r\n")
        s.sendall(b"x" * 2_000)
        assert s.makefile("rb").read().startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("version", VERSIONS)
def test_files_of_a_folder(servers, clients, version):
    for name in ("good", None):
        compare(servers, clients, version, name, "plain.test", [("GET", "/dir/a.txt", None), ("GET", "/dir/only.txt", None)])


@pytest.mark.parametrize("version", VERSIONS)
def test_refused_twice(servers, clients, version):
    """A client without a certificate is asked again where one is required. (Apache cannot ask twice with TLS 1.3, and says 403.)"""
    for server in servers:
        seen = ask(server, context_for(clients, version, None), "plain.test", [("GET", "/named/a.txt", None), ("GET", "/require/a.txt", None)])
        assert seen[0][0] == 200 and seen[1] in ("closed", (403, True))


def test_without_authentication_after_the_handshake(servers, clients):
    seen = compare(servers, clients, "1.3", "good", "plain.test", [("GET", "/require/a.txt", None), ("GET", "/open/a.txt", None)], pha=False)
    assert seen == [(403, True), (200, b"open\n")]


def test_the_page_for_plain_http(servers, clients):
    """It is the site's own, as for other errors."""
    for server in servers:
        with socket.create_connection(("127.0.0.1", server.tls), brigade.PATIENCE) as s:
            s.sendall(b"GET /dir/a.txt HTTP/1.1\r\nHost: plain.test\r\n\r\n")
            answer = s.makefile("rb").read()
            assert answer.startswith(b"HTTP/1.1 400") and answer.endswith(b"\r\n\r\nopen\n"), answer


@pytest.mark.parametrize("name, host, status", [("plain.test", "require.test", 421), (None, "named.test", 403)])
def test_the_page_for_another_host(servers, clients, name, host, status):
    for server in servers:
        with socket.create_connection(("127.0.0.1", server.tls), brigade.PATIENCE) as plain, \
                context_for(clients, "1.3", "good").wrap_socket(plain, server_hostname=name) as s:
            s.sendall(f"GET /dir/a.txt HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            answer = s.makefile("rb").read()
            assert answer.startswith(b"HTTP/1.1 %d" % status) and answer.endswith(b"\r\n\r\nopen\n"), answer


def test_logs_are_alike(servers, clients):
    """What both logged of all the requests before, each some time after its answer. Apache may log when it has ended TLS already: "-" for all
    of it."""
    def differ():
        lines = [{line for line in settle([s.read("logs/tls.log").decode("latin1")]) if " 403 " not in line and not line.endswith("- - - - - - - - - -")} for s in servers]
        return sorted(lines[0] - lines[1]), sorted(lines[1] - lines[0])

    with contextlib.suppress(AssertionError):
        brigade.wait_until(lambda: differ() == ([], []), "the same lines")
    assert differ() == ([], [])
