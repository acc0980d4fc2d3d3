# SPDX-License-Identifier: Apache-2.0
"""Every directive of Debian's mod_ssl.so: the built-in module honours it, says that it has no effect here, or refuses it by
name with the reason; and all are taken in the same places. What Apache's module has and no list here is a failure."""
import functools
import os
import re
import ssl
import subprocess

import pytest

import brigade
from tls_site import TLSClient, certificate

MODULE = f"{brigade.APACHE_MODULES}/mod_ssl.so"
pytestmark = [pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="it is about the built-in module"),
              pytest.mark.skipif(not os.path.exists(MODULE), reason="no mod_ssl.so")]
CERT = "@ROOT@/conf/cert.pem"
HONOURED = {
    "SSLCACertificateFile": CERT, "SSLCACertificatePath": "@ROOT@/conf", "SSLCADNRequestFile": CERT, "SSLCADNRequestPath": "@ROOT@/conf", "SSLCARevocationCheck": "none",
    "SSLCARevocationFile": CERT, "SSLCARevocationPath": "@ROOT@/conf", "SSLCertificateChainFile": CERT, "SSLCertificateFile": CERT, "SSLCertificateKeyFile": "@ROOT@/conf/key.pem",
    "SSLCipherSuite": "HIGH", "SSLCompression": "off", "SSLCryptoDevice": "builtin", "SSLEngine": "on", "SSLFIPS": "off", "SSLHonorCipherOrder": "on", "SSLInsecureRenegotiation": "off",
    "SSLOCSPDefaultResponder": "http://127.0.0.1:9/", "SSLOCSPEnable": "leaf no_ocsp_for_cert_ok", "SSLOCSPNoVerify": "on", "SSLOCSPOverrideResponder": "off", "SSLOCSPProxyURL": "http://127.0.0.1:9/",
    "SSLOCSPResponderCertificateFile": CERT, "SSLOCSPResponderTimeout": "10", "SSLOCSPResponseMaxAge": "10", "SSLOCSPResponseTimeSkew": "10", "SSLOCSPUseRequestNonce": "off",
    "SSLOpenSSLConfCmd": "Options Bugs", "SSLOptions": "+StdEnvVars", "SSLPassPhraseDialog": "builtin", "SSLProtocol": "TLSv1.3",
    "SSLProxyCACertificateFile": CERT, "SSLProxyCACertificatePath": "@ROOT@/conf", "SSLProxyCARevocationCheck": "none", "SSLProxyCARevocationFile": CERT, "SSLProxyCARevocationPath": "@ROOT@/conf",
    "SSLProxyCheckPeerCN": "off", "SSLProxyCheckPeerExpire": "off", "SSLProxyCheckPeerName": "off", "SSLProxyCipherSuite": "HIGH", "SSLProxyEngine": "on",
    "SSLProxyMachineCertificateChainFile": CERT, "SSLProxyMachineCertificateFile": "@ROOT@/conf/both.pem", "SSLProxyMachineCertificatePath": "@ROOT@/machine", "SSLProxyProtocol": "TLSv1.3",
    "SSLProxyVerify": "none", "SSLProxyVerifyDepth": "2", "SSLRandomSeed": "startup builtin", "SSLRenegBufferSize": "1000", "SSLRequire": "true", "SSLRequireSSL": "",
    "SSLSessionCache": "shmcb:@ROOT@/cache(512000)", "SSLSessionCacheTimeout": "100", "SSLSessionTicketKeyFile": "@ROOT@/conf/ticket", "SSLSessionTickets": "off", "SSLStrictSNIVHostCheck": "off",
    "SSLUseStapling": "on", "SSLUserName": "SSL_CLIENT_S_DN_CN", "SSLVHostSNIPolicy": "secure", "SSLVerifyClient": "none", "SSLVerifyDepth": "2",
}
WITHOUT_EFFECT = {
    "SSLStaplingCache": "shmcb:x(10000)", "SSLStaplingErrorCacheTimeout": "10", "SSLStaplingFakeTryLater": "off", "SSLStaplingForceURL": "http://127.0.0.1:9/", "SSLStaplingResponderTimeout": "10",
    "SSLStaplingResponseMaxAge": "10", "SSLStaplingResponseTimeSkew": "10", "SSLStaplingReturnResponderErrors": "off", "SSLStaplingStandardCacheTimeout": "10",
}
# Whole directives, and values of those that are honoured; with the reason.
REFUSED = [
    ("SSLSRPUnknownUserSeed secret", "gives SRP up"), (f"SSLSRPVerifierFile {CERT}", "gives SRP up"),
    ("SSLCryptoDevice pkcs11", "gives engines up"), ("SSLCompression on", "CRIME"), ("SSLInsecureRenegotiation on", "CVE-2009-3555"), ("SSLFIPS on", "openssl.cnf"),
    ("SSLEngine optional", "RFC 2817"), ("SSLSessionCache dbm:@ROOT@/cache", "shmcb"), ("SSLCertificateFile pkcs11:object=x", "from files"),
]
NOT_BY_DEBIAN = {"SSLCryptoDevice pkcs11", "SSLSessionCache dbm:@ROOT@/cache"}
# Apache refuses these, too.
GONE = {"SSLLog": "use ErrorLog", "SSLLogLevel": "use LogLevel"}
IN_DIRECTORIES = {"SSLRequire", "SSLRequireSSL", "SSLRenegBufferSize"}


@functools.cache
def stock():
    """name -> places, as Apache's module says."""
    done = subprocess.run([brigade.BINARY, "--check-module", MODULE], capture_output=True, text=True, check=True)
    return dict(re.findall(r"^ *directive (SSL\w+) .*?\(([^)]*)\):", done.stdout, re.M))


@pytest.fixture
def check(serve):
    def run(lines, module="On"):
        choice = f"BuiltinModule ssl_module {module}\nLoadModule ssl_module {MODULE}\nLogLevel info\n"
        server = serve.unstarted(choice + "".join(line + "\n" for line in lines), {}, modules=())
        certificate(server)
        server.write("both.pem", server.read("conf/cert.pem") + server.read("conf/key.pem"), base="conf")
        server.write("ticket", bytes(48), base="conf")
        server.write("m.pem", server.read("conf/both.pem"), base="machine")
        return server.run("-t")
    return run


def line(name, value):
    text = f"{name} {value}"
    return f"<Location />\n{text}\n</Location>" if name in IN_DIRECTORIES else text


def test_none_is_left_out():
    ours = {*HONOURED, *WITHOUT_EFFECT, *GONE, *(text.split()[0] for text, _ in REFUSED)}
    assert {n.lower() for n in stock()} == {n.lower() for n in ours}


def test_honoured(check):
    done = check([line(*item) for item in HONOURED.items()])
    assert done.returncode == 0 and b"not offered" not in done.stderr and re.findall(rb"(\w+) has no effect", done.stderr) == [b"SSLRandomSeed"], done.stderr


def test_without_effect(check):
    done = check([line(*item) for item in WITHOUT_EFFECT.items()])
    assert done.returncode == 0, done.stderr
    for name in WITHOUT_EFFECT:
        assert f"{name} has no effect here: OCSP responses are those of mod_md".encode() in done.stderr


@pytest.mark.parametrize("text, why", REFUSED, ids=[text for text, _ in REFUSED])
def test_refused(check, text, why):
    done = check([text])
    assert done.returncode == 1, done.stderr
    assert re.search(rf"{text.split()[0]}.* is not offered by the built-in ssl module \(.*{why}".encode(), done.stderr), done.stderr


@pytest.mark.parametrize("text", [text for text, _ in REFUSED])
def test_what_is_refused_takes_the_binary(check, text):
    """With a notice; what Debian's module has not either is refused by that, as by itself."""
    done, by_itself = check([text], "Auto"), check([text], "Off")
    assert done.returncode == by_itself.returncode, done.stderr
    if text != "SSLCompression on":  # OpenSSL of Debian 13 has it, that of 12 has not
        assert done.returncode == int(text in NOT_BY_DEBIAN), done.stderr
    if done.returncode:
        def said(of):  # names of a list come in any order
            return [sorted(re.findall(rb"[^(), :]+", line)) for line in of.stderr.splitlines()[1:]]
        assert said(done) == said(by_itself)
    else:
        assert re.search(b"%s.* is not offered by the built-in mod_ssl.c" % text.split()[0].encode(), done.stderr), done.stderr


@pytest.mark.parametrize("text", ["SSLOCSPEnable maybe", "SSLOCSPEnable on never", "SSLOCSPResponderTimeout -1", "SSLOCSPResponseTimeSkew -1", "SSLOCSPResponseMaxAge -1", "SSLOCSPProxyURL :",
                                  "SSLOCSPResponderCertificateFile nowhere", "SSLCARevocationCheck leaf never"])
def test_mistakes(check, text):
    for module in ("On", "Off"):
        done = check([text], module)
        assert done.returncode == 1 and text.split()[0].encode() in done.stderr, (module, done.stderr)


# Words, and numbers at their limits, by directive; `|` stands between them.
ARGUMENTS = {
    "SSLVerifyClient": "on|On|off|OFF|none|optional|require|optional_no_ca|Optional_No_CA|required|yes|1", "SSLProxyVerify": "on|off|none|require|demand|true",
    "SSLVerifyDepth": "0|x|5x|2147483647|2147483648|4294967296|-1", "SSLProxyVerifyDepth": "0|x|5x|1001|2147483647|2147483648|4294967296|-1",
    "SSLProtocol": "-all|all -TLSv1.3|all -TLSv1 -TLSv1.1 -TLSv1.2 -TLSv1.3|-SSLv2|SSLv2|SSLv3|all -SSLv3|TLSv1.4||tlsv1.2|+", "SSLProxyProtocol": "-all|-SSLv3|none",
    "SSLCipherSuite": "SSL HIGH|ssl HIGH|TLSv1.3 x|tlsv1.3 x|nonsense|a b c", "SSLSessionCache": "default|shmcb|SHMCB:x|shmcb:x(8191)|shmcb:x(8192)|shmcb:x(x)|x",
    "SSLPassPhraseDialog": "Builtin|exec:|exec:nowhere|\\||\\|nowhere|x", "SSLCryptoDevice": "Builtin", "SSLOpenSSLConfCmd": "VerifyCAPath nowhere|VerifyCAPath conf|Nope x",
    "SSLRandomSeed": "startup builtin|startup builtin 5|startup file:nowhere|startup file:/dev/urandom -1|startup file:/dev/null x|startup file:|startup exec:nowhere|startup x|never builtin",
    "SSLStaplingFakeTryLater": "on|yes|", "SSLStaplingResponderTimeout": "5|-1|x|1 2|", "SSLStaplingForceURL": "x|a b", "SSLStaplingCache": "shmcb:x(8191)|shmcb:x(x)|shmcb:x(9000)",
    "SSLRenegBufferSize": "-1|x|2147483648|4294967296", "SSLProxyCARevocationCheck": "chain no_crl_for_cert_ok no_crl_for_cert_ok|leaf x|all", "SSLSessionCacheTimeout": "-1|x|2147483648",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(check, name):
    """What Apache's module takes is taken, and no more."""
    cache = f"LoadModule socache_shmcb_module {brigade.APACHE_MODULES}/mod_socache_shmcb.so"
    taken = {module: [(argument, check([cache, line(name, argument.replace("\\0", "|"))], module).returncode) for argument in ARGUMENTS[name].replace("\\|", "\\0").split("|")]
             for module in ("On", "Off")}
    assert taken["On"] == taken["Off"]


@pytest.mark.parametrize("word, handshake", [("on", False), ("off", True)])
def test_words_for_clients(serve, word, handshake):
    server = serve.unstarted(f"BuiltinModule ssl_module On\nSSLEngine on\nSSLCertificateFile {CERT}\nSSLCertificateKeyFile @ROOT@/conf/key.pem\nSSLCACertificateFile {CERT}\n"
                             f"SSLVerifyClient {word}\nSSLProtocol TLSv1.2\n", {"a.txt": "A"}, modules=())
    certificate(server)
    server.start()
    try:
        TLSClient(server, ssl.TLSVersion.TLSv1_2).close()
        assert handshake
    except ssl.SSLError:
        assert not handshake


def test_no_protocol_is_left(check):
    """That is a mistake where TLS is spoken, and nowhere else."""
    lines = ["SSLProtocol -all", f"SSLCertificateFile {CERT}", "SSLCertificateKeyFile @ROOT@/conf/key.pem"]
    assert check(lines).returncode == 0
    done = check([*lines, "SSLEngine on"])
    assert done.returncode == 1 and b"AH02231: No SSL protocols available" in done.stderr


def test_gone(check):
    for name, why in GONE.items():
        done = check([f"{name} x"])
        assert done.returncode == 1 and why.encode() in done.stderr, done.stderr


def test_places():
    """Server, directory, .htaccess: as Apache's module has it, by what -L says of both. (SSLProxy* are for <Proxy>, too.)"""
    here = subprocess.run([brigade.BINARY, "-L"], capture_output=True, text=True, check=True).stdout
    ours = {block.split(None, 1)[0].lower(): block for block in re.split(r"\n(?=\S)", here)}
    for name, places in stock().items():
        if not name.startswith("SSLProxy"):
            told = ours[name.lower()]
            assert ("htaccess" in places) == (".htaccess" in told), (name, places, told)
            assert ("server" in places) == ("only inside" not in told), (name, places, told)


@pytest.mark.parametrize("load", [f"LoadModule ssl_module {MODULE}\n", ""], ids=["loaded", "built in"])
def test_htaccess_without_tls(serve, load):
    """Of a server without TLS: what means nothing there is taken; what protects does."""
    lines = {"options": "SSLOptions +StdEnvVars +StrictRequire", "ciphers": "SSLCipherSuite HIGH", "user": "SSLUserName SSL_CLIENT_S_DN_CN", "verify": "SSLVerifyClient require", "required": "SSLRequireSSL"}
    files = {f"{name}/{file}": text for name, text in lines.items() for file, text in ((".htaccess", text + "\n"), ("a.txt", "a\n"))}
    server = serve(load + "<Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>\n", files, modules=())
    assert {name: server.get(f"/{name}/a.txt").status for name in lines} == {**dict.fromkeys(lines, 200), "required": 403}
