# SPDX-License-Identifier: Apache-2.0
"""Each call of OpenSSL fails once, and each allocation of libcrypto: while a server starts, in handshakes, in requests over TLS,
and in those that it forwards by TLS. Nothing crashes or hangs; what failed has a line in the error log; later connections are
served. A sample in build/test, all with TEST_LONG=faults."""
import os
import shutil
import socket
import ssl
import threading

import pytest

import effort
import brigade
from call_faults import Faults, appears, library
from http_client import Truncated, request_bytes
from ocsp_responder import Responder, make_clients
from ports import named_localhost
from tls_site import TLSAuthority, certificate

LIBRARY = library("tls")
COMPLETE = effort.everything("faults")
AGAIN = 5  # a loop without what it needs tries again after a second
SAMPLE = effort.count(2)
pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(not os.path.exists(LIBRARY), reason=f"{LIBRARY} is not built"),
              pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")]

CONFIG = """
BuiltinModule ssl_module On
LoadModule ssl_module @MODULES@/mod_ssl.so
LoadModule proxy_module @MODULES@/mod_proxy.so
LoadModule proxy_http_module @MODULES@/mod_proxy_http.so
EventLoops 1
ServerProcesses 1
ServerLimit 1\nThreadsPerChild 4
Timeout 5
SSLSessionCache shmcb:x(64000)
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
SSLProxyEngine on
LogFormat "%s %{SSL_PROTOCOL}x %{SSL_CIPHER}x %{SSL_SERVER_S_DN}x %{SSL_SESSION_ID}x" tls
CustomLog @ROOT@/logs/access tls
Listen 127.0.0.1:@TLS@
<VirtualHost *:@TLS@>
SSLEngine on
ServerName localhost
</VirtualHost>
<VirtualHost *:@TLS@>
SSLEngine on
ServerName second.test
SSLSessionTickets off
SSLOptions +StdEnvVars +ExportCertData
</VirtualHost>
<VirtualHost *:@TLS@>
SSLEngine on
ServerName third.test
SSLVerifyClient optional
SSLCACertificateFile @ROOT@/conf/cert.pem
</VirtualHost>
<VirtualHost *:@TLS@>
SSLEngine on
ServerName fourth.test
SSLCACertificateFile @ROOT@/conf/cert.pem
<Location /a.txt>
SSLVerifyClient require
</Location>
</VirtualHost>
<VirtualHost *:@TLS@>
SSLEngine on
ServerName fifth.test
SSLVerifyClient require
SSLOCSPEnable on
SSLCACertificateFile @CLIENTS@/ca.pem
</VirtualHost>
ProxyPass /forwarded https://localhost:@TLS@/
<Proxy https://localhost:@TLS@/>
ProxySet disablereuse=On
</Proxy>
"""
FILES = {"a.txt": "text\n", "big.bin": b"0123456789abcdef" * 20_000}


@pytest.fixture(scope="module")
def clients(tmp_path_factory):
    """A folder with an authority, and a client's certificate that its responder is asked about."""
    responder, authority = Responder(), TLSAuthority(str(tmp_path_factory.mktemp("clients") / "ours"))
    threading.Thread(target=responder.serve_forever, daemon=True).start()
    make_clients(authority, responder.url)
    responder.folders = {"ours": authority.folder, "stranger": authority.folder, "middle": f"{authority.folder}/middle"}
    yield authority.folder
    responder.shutdown()


def site(serve, faults, clients, armed=""):
    tls = brigade.free_port()
    s = serve.unstarted(CONFIG.replace("@TLS@", str(tls)).replace("@CLIENTS@", clients), FILES, modules=(), env=faults.environment(armed))
    certificate(s)
    s.tls, s.clients = tls, clients
    return s


def over_tls(s, version, name="localhost", target="/a.txt", again=False, certified=None):
    """A connection, and one that resumes its session. 1 if all was as it should be."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    if certified:
        context.load_cert_chain(*certified)
        context.post_handshake_auth = True
    session, right = None, 1
    for _ in range(1 + again):
        try:
            with socket.create_connection(("127.0.0.1", s.tls), brigade.PATIENCE) as c:
                with context.wrap_socket(c, server_hostname=name, session=session) as t:
                    data = b""
                    for _ in range(2):
                        t.sendall(request_bytes("GET", target, host=name))
                        while b"\r\n\r\n" not in data or (data.endswith(b"\r\n\r\n") and b"Content-Length: 0" not in data):
                            data += read(t)
                        length = int(data.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                        body = data.split(b"\r\n\r\n", 1)[1]
                        while len(body) < length:
                            body += read(t)
                        right &= b" 200 " in data.split(b"\r\n")[0]
                        data = b""
                    session = t.session
        except TimeoutError:
            raise
        except (OSError, ssl.SSLError):
            right = 0
    return right


def read(t):
    data = t.recv(65536)
    if not data:
        raise OSError("the end")
    return data


def forwarded(s):
    return s.get("/forwarded/a.txt").status == 200


def own(s):
    """The server's certificate, which stands for itself."""
    return s.path("conf/cert.pem"), s.path("conf/key.pem")


def known(s):
    """One of which a responder knows."""
    return f"{s.clients}/good.pem", f"{s.clients}/good.key"


SHAPES = {
    "1.2": lambda s: over_tls(s, ssl.TLSVersion.TLSv1_2, again=True),
    "1.3": lambda s: over_tls(s, ssl.TLSVersion.TLSv1_3, again=True),
    "1.2-second": lambda s: over_tls(s, ssl.TLSVersion.TLSv1_2, "second.test", "/big.bin", True),
    "1.3-second": lambda s: over_tls(s, ssl.TLSVersion.TLSv1_3, "second.test", "/big.bin", True),
    "1.2-client": lambda s: over_tls(s, ssl.TLSVersion.TLSv1_2, "third.test", again=True, certified=own(s)),
    "1.3-client": lambda s: over_tls(s, ssl.TLSVersion.TLSv1_3, "third.test", again=True, certified=own(s)),
    "1.3-asked": lambda s: over_tls(s, ssl.TLSVersion.TLSv1_3, "fourth.test", certified=own(s)),  # after the handshake
    "1.2-responder": lambda s: over_tls(s, ssl.TLSVersion.TLSv1_2, "fifth.test", certified=known(s)),
    "1.3-responder": lambda s: over_tls(s, ssl.TLSVersion.TLSv1_3, "fifth.test", certified=known(s)),
    "forwarded": forwarded,
}


# As if the client were gone.
LOST = {"SSL_read", "SSL_write", "SSL_do_handshake", "SSL_connect"}


def answers(s):
    try:
        return s.get("/a.txt").status == 200 and over_tls(s, ssl.TLSVersion.TLSv1_3)
    except (OSError, Truncated):
        return 0


def spread(n):
    """Numbers from 1 to n: all, or some."""
    most = 400 if COMPLETE else SAMPLE
    return sorted({1 + i * (n - 1) // max(most - 1, 1) for i in range(most)}) if n > most else range(1, n + 1)


@pytest.mark.parametrize("shape", [pytest.param(shape, marks=named_localhost) if shape == "forwarded" else shape
                                   for shape in (SHAPES if COMPLETE else ["1.2", "1.3-second", "1.3-responder", "forwarded"])])
def test_requests(serve, tmp_path, clients, shape):
    faults, act = Faults(LIBRARY, str(tmp_path / "faults")), SHAPES[shape]
    s = site(serve, faults, clients).start()
    for _ in range(3):
        assert act(s)
    process, before = s.children(), faults.counts()
    assert act(s)
    calls = [after - n for n, after in zip(before, faults.counts())]
    tried, findings = 0, []
    for call, n in enumerate(calls):
        for number in spread(n):
            told = len(s.error_log())
            faults.arm(call, number)
            right = act(s)
            hit = faults.disarm()
            where = f"{faults.name(call)} number {number} of {n}"
            tried += hit
            assert s.children() == process, f"{where}: the server process ended\n{s.error_log().decode()[-3000:]}"
            assert act(s), f"{where}: later connections are not served\n{s.error_log().decode()[-2000:]}"
            if hit and not right and faults.name(call) not in LOST and not appears(lambda told=told: len(s.error_log()) > told):
                findings.append(where)
    assert tried
    assert not findings, f"no line in the error log: {findings}"
    print(f"{shape}: {tried} faults of {sum(calls)} calls")


def test_a_name_that_openssl_has_no_memory_for(serve, tmp_path, clients):
    """It sends an alert and does not fail itself: the client ends the connection, and the error log tells why."""
    faults = Faults(LIBRARY, str(tmp_path / "faults"))
    s = site(serve, faults, clients).start()
    for _ in range(3):
        assert SHAPES["1.3"](s)
    call = [faults.name(i) for i in range(faults.control.calls_n)].index("malloc")
    lost = 0
    for number in range(40, 64):
        told = len(s.error_log())
        faults.arm(call, number)
        right = SHAPES["1.3"](s)
        if faults.disarm() and not right:
            lost += 1
            assert appears(lambda told=told: len(s.error_log()) > told), f"no line: malloc number {number}"
    assert lost


def test_starts(serve, tmp_path, clients):
    """It says what failed and ends, or it serves."""
    faults = Faults(LIBRARY, str(tmp_path / "faults"))
    s = site(serve, faults, clients).start()
    calls, names = faults.counts(), [faults.name(i) for i in range(faults.control.calls_n)]
    s.close()
    served, refused, findings = 0, 0, []
    for name, n in zip(names, calls):
        for number in spread(n) if COMPLETE else [n][:n]:
            faults = Faults(LIBRARY, str(tmp_path / f"faults-{name}-{number}"))
            s = site(serve, faults, clients, f"{name}:{number}")
            try:
                s.start()
            except AssertionError:
                refused += 1
                if s.process.poll() not in (1, 2) or not s.error_log():
                    findings.append(f"{name}:{number}: status {s.process.poll()}, {s.error_log()[-300:]}")
            else:
                faults.disarm()
                right = appears(lambda s=s: answers(s) or s.process.poll() is not None, AGAIN) and s.process.poll() in (None, 1, 2)
                served, refused = (served + 1, refused) if s.process.poll() is None else (served, refused + 1)
                if not right:
                    findings.append(f"{name}:{number}: it does not serve\n{s.error_log().decode()[:1500]}")
            s.close()
    assert not findings, "\n".join(findings)
    print(f"starts: {served} served, {refused} refused with a message")


@pytest.mark.parametrize("name", ["SSL_CTX_new", "SSL_CTX_new_ex", "SSL_CTX_use_certificate", "OSSL_LIB_CTX_new", "EVP_KDF_fetch", "EVP_MD_fetch"])
def test_a_loop_that_has_no_memory_when_it_begins_serves_later(serve, tmp_path, clients, name):
    """The last calls of a start are those of event loops."""
    faults = Faults(LIBRARY, str(tmp_path / "faults"))
    s = site(serve, faults, clients).start()
    calls = dict(zip([faults.name(i) for i in range(faults.control.calls_n)], faults.counts()))
    s.close()
    if not calls.get(name):
        pytest.skip("not called")
    for number in range(max(1, calls[name] - 5), calls[name] + 1):
        faults = Faults(LIBRARY, str(tmp_path / f"faults-{number}"))
        s = site(serve, faults, clients, f"{name}:{number}")
        try:
            s.start()
        except AssertionError:
            assert s.process.poll() in (1, 2) and s.error_log()
        else:
            assert appears(lambda s=s: answers(s) or s.process.poll() is not None, AGAIN), f"{number}: {s.error_log().decode()[:1500]}"
        s.close()
