# SPDX-License-Identifier: Apache-2.0
"""What files of certificates and keys may hold: encrypted keys, keys of two types, DH parameters; keys of tickets."""
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess

import pytest

import brigade
from tls_site import TLSAuthority, start

pytestmark = [pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
              pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="the built-in module")]

RSA = ("rsa", "rsa_keygen_bits:2048")
CONFIG = """
BuiltinModule ssl_module On
LoadModule ssl_module @MODULES@/mod_ssl.so
Listen 127.0.0.1:@TLS@
@GLOBAL@
<VirtualHost *:@TLS@>
ServerName a.test
SSLEngine on
@HERE@
</VirtualHost>
"""
TWO = "\n".join(f"SSLCertificateFile @ROOT@/made/{n}.pem\nSSLCertificateKeyFile @ROOT@/made/{n}.key" for n in ("ec", "rsa"))


class Site:
    def __init__(self, serve, here=TWO, everywhere=""):
        self.tls = brigade.free_port()
        self.server = serve.unstarted(CONFIG.replace("@TLS@", str(self.tls)).replace("@HERE@", here).replace("@GLOBAL@", everywhere),
                                      {"x.txt": "x\n"}, modules=())
        self.authority = TLSAuthority(self.server.path("made"))
        self.authority.make("a.test", "ec")
        self.authority.make("a.test", "rsa", RSA)

    def encrypt(self, name, phrase="geheim", *form):
        key = self.server.path(f"made/{name}.key")
        subprocess.run(["openssl", "pkey", "-aes256", "-passout", f"pass:{phrase}", "-in", key, "-out", key + ".enc", *form], check=True,
                       capture_output=True)
        os.rename(key + ".enc", key)

    def asker(self, name="ask", phrase="geheim"):
        path = self.server.path(name)
        with open(path, "w") as f:
            f.write(f'#!/bin/sh\necho "$*" >> {self.server.root}/asked\n{"cat >> " + self.server.root + "/asked" if name == "pipe" else ""}\n'
                    f'echo {phrase}\n')
        os.chmod(path, 0o700)
        return path

    def connect(self, **settings):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        ciphers = settings.pop("ciphers", None)
        if ciphers:
            context.set_ciphers(ciphers)
        for name, value in settings.items():
            setattr(context, name, value)
        return context.wrap_socket(socket.create_connection(("127.0.0.1", self.tls), brigade.PATIENCE), server_hostname="a.test")

    def unit(self, **settings):
        with self.connect(**settings) as s:
            return self.authority.unit(s.getpeercert(binary_form=True))

    def both_types(self):
        v12 = {"maximum_version": ssl.TLSVersion.TLSv1_2}
        assert self.unit(ciphers="ECDHE-ECDSA-AES128-GCM-SHA256", **v12) == "ec"
        assert self.unit(ciphers="ECDHE-RSA-AES128-GCM-SHA256", **v12) == "rsa"


def test_two_types_of_keys(serve):
    site = Site(serve)
    start(site.server)
    site.both_types()


@pytest.mark.parametrize("how", ["exec:", "|"])
def test_pass_phrase_of_a_program(serve, how):
    """It is asked once for keys of the same pass phrase, and not at a reload."""
    site = Site(serve, everywhere=f'SSLPassPhraseDialog "{how}@ROOT@/{"ask" if how != "|" else "pipe one two"}"')
    site.encrypt("ec")
    site.encrypt("rsa", "geheim", "-traditional")
    site.asker("ask" if how != "|" else "pipe")
    start(site.server)
    site.both_types()
    asked = site.server.read("asked").decode()
    assert asked == "a.test:443 RSA\n" if how != "|" else asked == f"one two\nPrivate key of a.test:{site.tls} ({site.server.path('made/ec.key')})\nPass phrase:\n"
    before = site.server.children()
    os.kill(site.server.process.pid, signal.SIGUSR1)
    brigade.wait_until(lambda: not set(before) & set(site.server.children()), "new processes")
    site.both_types()
    assert site.server.read("asked").decode() == asked
    assert b"geheim" not in site.server.error_log()


def test_pass_phrase_goes_to_the_next_program(serve):
    """Nobody is asked again by an upgrade, nor by the trial before it."""
    site = Site(serve, everywhere="SSLPassPhraseDialog exec:@ROOT@/ask")
    site.encrypt("ec")
    site.asker()
    site.server.binary = site.server.path("brigade")
    shutil.copy(brigade.BINARY, site.server.binary)
    start(site.server)
    assert site.server.read("asked").count(b"\n") == 1
    os.unlink(site.server.path("ask"))
    site.server.write("ask", "#!/bin/sh\necho asked again >>@ROOT@/asked\n".replace("@ROOT@", site.server.root), base=".")
    os.chmod(site.server.path("ask"), 0o755)
    before = site.server.children()
    os.kill(site.server.process.pid, signal.SIGUSR2)
    brigade.wait_until(lambda: not set(before) & set(site.server.children()), "new processes")
    assert site.server.read("asked").count(b"\n") == 1
    assert site.unit(maximum_version=ssl.TLSVersion.TLSv1_2, ciphers="ECDHE-ECDSA-AES128-GCM-SHA256")


def test_wrong_pass_phrase(serve):
    site = Site(serve, everywhere="SSLPassPhraseDialog exec:@ROOT@/ask")
    site.encrypt("ec")
    site.asker(phrase="falsch")
    done = site.server.run("-X")
    assert done.returncode != 0 and b"AH02577: Init: Can't read private key, check" in site.server.error_log() + done.stderr
    assert b"falsch" not in site.server.error_log() + done.stderr


def test_nobody_to_be_asked(serve):
    site = Site(serve)
    site.encrypt("ec")
    command = ["setsid", "-w", *site.server.command("-X")]
    site.server.port = brigade.free_port()
    site.server.write_config()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=site.server.env, timeout=brigade.PATIENCE)
    assert done.returncode != 0
    assert b"AH02578: Init: Unable to read pass phrase of" in site.server.error_log() and b"there is no terminal" in site.server.error_log()


def test_exchanged_for_an_encrypted_key(serve):
    site = Site(serve, everywhere="SSLPassPhraseDialog exec:@ROOT@/ask")
    site.encrypt("ec")
    site.asker()
    start(site.server)
    v12 = {"maximum_version": ssl.TLSVersion.TLSv1_2, "ciphers": "ECDHE-ECDSA-AES128-GCM-SHA256"}
    made = site.authority.make("a.test", "new")
    site.encrypt("new")
    for kind, name in (("cert", "ec.pem"), ("key", "ec.key")):
        shutil.copy(made[kind], site.server.path("made", name))
    brigade.wait_until(lambda: site.unit(**v12) == "new", "the new certificate")
    assert site.server.read("asked").decode().count("\n") == 1


TICKETS = TWO + "\nSSLSessionTicketKeyFile @ROOT@/tickets\n"


def ticket_key(site, content):
    path = site.server.path("tickets.new")
    with open(path, "wb") as f:
        f.write(content)
    os.chmod(path, 0o600)
    os.rename(path, site.server.path("tickets"))


def session(s):
    """What the server gave, when an answer is there."""
    s.sendall(b"GET /x.txt HTTP/1.1\r\nHost: a.test\r\n\r\n")
    while not s.recv(4096).endswith(b"x\n"):
        pass
    return s.session


def resumed(site, context, kept):
    with context.wrap_socket(socket.create_connection(("127.0.0.1", site.tls), brigade.PATIENCE), server_hostname="a.test", session=kept) as s:
        session(s)
        return s.session_reused


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tickets_of_a_file(serve, version):
    """Servers with the same file take each other's tickets; a new file is taken, and tickets of the one before still are."""
    sites = [Site(serve, TICKETS) for _ in range(3)]
    old, new = os.urandom(48), os.urandom(48)
    for site, key in zip(sites, (old, old, new)):
        ticket_key(site, key)
        start(site.server)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode, context.maximum_version = False, ssl.CERT_NONE, version
    with context.wrap_socket(socket.create_connection(("127.0.0.1", sites[0].tls), brigade.PATIENCE), server_hostname="a.test") as s:
        kept = session(s)
    assert [resumed(site, context, kept) for site in sites] == [True, True, False]
    ticket_key(sites[0], new)
    with context.wrap_socket(socket.create_connection(("127.0.0.1", sites[2].tls), brigade.PATIENCE), server_hostname="a.test") as s:
        newer = session(s)
    brigade.wait_until(lambda: resumed(sites[0], context, newer), "the new key of tickets")
    assert resumed(sites[0], context, kept), "the one before"


def test_ticket_key_of_another_size(serve):
    site = Site(serve, TICKETS)
    ticket_key(site, os.urandom(80))
    done = site.server.run("-t")
    assert done.returncode != 0 and b"AH02287: A ticket key file has 48 bytes, not fewer and not more: " in done.stderr


def test_dh_parameters_in_the_file(serve):
    """2,048 bits are the least that OpenSSL takes; the file's are others than those that fit the key."""
    site = Site(serve, "SSLCertificateFile @ROOT@/made/rsa.pem\nSSLCertificateKeyFile @ROOT@/made/rsa.key\n")
    own = subprocess.run(["openssl", "genpkey", "-genparam", "-algorithm", "DH", "-pkeyopt", "group:ffdhe3072"], check=True, capture_output=True)
    with open(site.server.path("made/rsa.pem"), "ab") as f:
        f.write(own.stdout)
    start(site.server)
    out = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{site.tls}", "-tls1_2", "-cipher", "DHE-RSA-AES128-GCM-SHA256"],
                         input=b"", capture_output=True, timeout=brigade.PATIENCE).stdout
    assert b" Temp Key: DH, 3072 bits" in out  # "Server", since openssl 3.5 "Peer"


# ---- where a key's bytes are, and where they are not ----

def private_number(path):
    """The secret number of an EC key: 32 bytes, and the same as OpenSSL has them in memory."""
    text = subprocess.run(["openssl", "pkey", "-in", path, "-noout", "-text"], check=True, capture_output=True).stdout.decode()
    data = bytes.fromhex(re.sub(r"[\s:]", "", text.split("priv:")[1].split("pub:")[0]))
    return (data, data[::-1])


def memory(pid):
    """What a debugger run by root sees of a process."""
    found = []
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as mem:
        for line in maps:
            area, access = line.split()[:2]
            start_at, end_at = (int(n, 16) for n in area.split("-"))
            if access.startswith("r") and "[v" not in line:
                mem.seek(start_at)
                try:
                    found.append(mem.read(end_at - start_at))
                except OSError:
                    pass
    return b"".join(found)


def has(data, secrets):
    return any(s in data for s in secrets)


@pytest.mark.skipif(os.geteuid() != 0, reason="memory of other users' processes")
@pytest.mark.skipif("asan" in brigade.BINARY or "tsan" in brigade.BINARY, reason="their memory is too large")
def test_a_key_is_nowhere_else(serve):
    """Not in the supervisor, not in a program that writes a log, not in a log; server processes have it, and their memory is not for others."""
    site = Site(serve, everywhere='LogLevel trace8\nCustomLog "|/bin/cat" common')
    start(site.server)
    secrets = private_number(site.server.path("made/ec.key"))
    assert site.unit(maximum_version=ssl.TLSVersion.TLSv1_2, ciphers="ECDHE-ECDSA-AES128-GCM-SHA256") == "ec"
    children = site.server.children()
    serving = [p for p in children if os.path.basename(os.readlink(f"/proc/{p}/exe")).startswith("brigade")]
    others = [p for p in children if p not in serving]
    assert others and serving
    assert not has(b"".join(memory(p) for p in others), secrets)
    assert any(has(memory(p), secrets) for p in serving), "else the test would find nothing anywhere"
    assert not has(memory(site.server.process.pid), secrets)
    assert not has(site.server.error_log(), secrets)
    for p in serving:
        assert os.stat(f"/proc/{p}/mem").st_uid == 0, "not dumpable: root's, though the process is not"


def test_core_files_are_named(serve):
    site = Site(serve, everywhere="CoreDumpDirectory @ROOT@/logs")
    start(site.server)
    site.server.wait_for_log("TLS: with CoreDumpDirectory, core files of server processes contain private keys")


def test_default_configuration(serve):
    """The commented virtual host of the default configuration, as it stands there."""
    with open(os.path.join(brigade.REPOSITORY, "httpd.conf.in")) as f:
        lines = f.read().split("# HTTPS.")[1].split("</VirtualHost>")[0].splitlines()
    text = "\n".join(line[1:] for line in lines if re.match(r"#(\S|    )", line)) + "\n</VirtualHost>\n"
    command = next(line[1:].strip() for line in lines if "openssl req" in line)
    tls = brigade.free_port()
    server = serve.unstarted(f"BuiltinModule ssl_module On\nLoadModule ssl_module @MODULES@/mod_ssl.so\n{text.replace('8443', str(tls))}",
                             {"x.txt": "x\n"})
    subprocess.run(command.split(), cwd=server.root, check=True, capture_output=True)
    start(server)
    site = Site.__new__(Site)
    site.tls = tls
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        with site.connect(maximum_version=version) as s:
            assert s.version() == version.name.replace("_", ".")
    done = server.run("-t", "-D", "DUMP_CERTS", port=server.port)
    assert b"names localhost" in done.stdout and b"29 days left" in done.stdout
    with pytest.raises((ssl.SSLError, OSError)):
        site.connect(maximum_version=ssl.TLSVersion.TLSv1_1, ciphers="DEFAULT@SECLEVEL=0")


@pytest.mark.skipif(not os.path.exists(f"{brigade.APACHE_MODULES}/mod_md.so"), reason="mod_md is not installed")
def test_certificates_of_mod_md_are_shown(serve):
    """By -t, before mod_md gives them to the server: those of its store that fit the host."""
    config = "BuiltinModule ssl_module On\nLoadModule md_module @MODULES@/mod_md.so\nMDStoreDir @ROOT@/md\nMDomain md.test\nMDomain other.test\nListen 127.0.0.1:@TLS@\n" + "".join(
        f"<VirtualHost *:@TLS@>\nServerName {name}\nSSLEngine on\n</VirtualHost>\n" for name in ("md.test", "none.test"))
    server = serve.unstarted(config.replace("@TLS@", str(brigade.free_port())), {}, modules=())
    authority = TLSAuthority(server.path("made"))
    for name in ("md.test", "other.test"):
        made = authority.make(name, name, days=40)
        os.makedirs(server.path(f"md/domains/{name}"))
        shutil.copy(made["cert"], server.path(f"md/domains/{name}/pubcert.pem"))
    out = server.run("-t", "-D", "DUMP_CERTS").stdout
    assert re.search(rb"domains/md.test/pubcert.pem\n +md.test:\d+: .*names md.test, issued by .*, (39|40) days left", out), out
    assert out.count(b"pubcert.pem") == 1


def test_damaged_chain(serve):
    """A chain that ends in the middle of a certificate, as a file that is written just now does, is not taken for a short one."""
    site = Site(serve)
    with open(site.server.path("made/ec.pem"), "ab") as f, open(site.server.path("made/ca.pem"), "rb") as ca:
        f.write(ca.read()[:300])
    done = site.server.run("-t")
    assert done.returncode and b"AH02561: Failed to configure certificate, check " in done.stderr and b"made/ec.pem" in done.stderr
