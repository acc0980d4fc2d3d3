#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions of one TLS handshake by callgrind: by who asked for them, by kind of work, and by function; system calls by strace.

    BRIGADE=out/release/brigade test/bench/handshake_cost.py [--key RSA-2048] [--resumed] [--suite NAME] [--other PROGRAM] [--libraries FOLDER]

A client connects, makes a handshake of TLS 1.3, asks for 100 bytes and leaves. The program runs under valgrind with two numbers of such
connections; the difference by connection is shown. Costs of a function that several ask for are shared by what each call of theirs took.
OpenSSL's libraries have to have their symbols, or its inner functions are "else": --libraries names a folder with such ones. valgrind knows
no SHA instructions: what digests take is some ten times that of processors that have them.
"""
import argparse
import collections
import glob
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "profile"))
from profile_measure import read_callgrind  # noqa: E402

FEW, MANY, TRACED = 20, 80, 50
CONFIG = """ServerName localhost
ServerRoot {root}
Listen 127.0.0.1:{port}
PidFile {root}/pid
ErrorLog {root}/error_log
TypesConfig /dev/null
EventLoops 1
DocumentRoot {root}/htdocs
SSLEngine on
SSLCertificateFile {root}/cert.pem
SSLCertificateKeyFile {root}/key.pem
SSLCipherSuite TLSv1.3 {suite}
SSLSessionCache "shmcb:{root}/cache(512000)"
<Directory {root}/htdocs>
Require all granted
</Directory>
"""
KEYS = {"P-256": ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"], "RSA-2048": ["rsa:2048"]}
REQUEST = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

# Who asks: the function that begins it. What is below none of them is of the loop and of the request.
ASKERS = {
    "SSL made": r"SSL_new|ossl_ssl_connection_new_int",
    "SSL freed": r"SSL_free",
    "ClientHello": r"tls_process_client_hello|tls_early_post_process_client_hello|tls_post_process_client_hello",
    "key exchange": r"tls_parse_ctos_key_share|tls_construct_stoc_key_share|ssl_generate_pkey_group|ssl_derive",
    "ServerHello, EncryptedExtensions": r"tls_construct_server_hello|tls_construct_encrypted_extensions|tls_construct_stoc_.*",
    "certificate message": r"tls_construct_server_certificate|tls_construct_server_compressed_certificate",
    "signature": r"tls_construct_cert_verify",
    "Finished": r"tls_construct_finished|tls_process_finished|tls13_final_finish_mac|ssl3_take_mac",
    "tickets": r"tls_construct_new_session_ticket",
    "session taken up": r"tls_parse_ctos_psk|tls_decrypt_ticket|tls_psk_do_binder",
    "key schedule": r"tls13_change_cipher_state|tls13_generate_.*|tls13_setup_key_block|tls13_hkdf_expand.*",
    "transcript": r"ssl3_finish_mac|ssl3_digest_cached_records|ssl_handshake_hash|ssl3_init_finished_mac",
    "records": r"do_ssl3_write|ssl3_get_record|ssl3_write_pending|ssl3_read_n|tls_write_records.*|tls_read_record|tls_get_more_records",
    "our keys": r"tls_keys_take|tls_keys_expect",
    "our records": r"tls_records_recv|tls_seal|tls_records_say|tls_keys_drop",
}

# Kinds of work, with all that is below these functions and is of no other kind.
KINDS = {
    "X25519": r"(ossl_)?[xX]25519.*|fe(51|64)?_.*|ge_.*|ossl_x25519.*",
    "P-256": r"(__)?ecp_nistz256.*|ossl_ecdsa_s(imple_s)?ign.*|ecdsa_simple_sign.*|ec_GFp.*|ossl_ec_GFp.*|bn_.*|BN_.*",
    "RSA": r"rsa_ossl_.*|rsaz_.*|RSAZ_.*|ossl_rsaz.*",
    "digests": r"sha(1|256|512)_block.*|(ossl_)?sha.*|SHA.*|sha256_.*",
    "AES": r"aesni_.*|aes_.*|gcm_.*|vaes.*|ossl_gcm.*|ChaCha20.*|poly1305.*",
    "random numbers": r"RAND_.*|EVP_RAND_generate|ossl_prov_drbg_generate|drbg_.*|evp_rand_.*",
    "fetches": r"(inner_)?evp_generic_fetch.*|EVP_[A-Z_]+_fetch|ossl_namemap_.*|ossl_method_store_.*|ossl_property.*|evp_.*_fetch.*",
    "allocations": r"malloc|calloc|realloc|free|_int_.*|cfree|posix_memalign|CRYPTO_(malloc|zalloc|free|realloc|clear_.*|memdup|strdup).*",
    "cleansing": r"OPENSSL_cleanse|CRYPTO_clear_.*|memset.*|__memset.*",
    "locks, atomics": r"CRYPTO_(THREAD|atomic|UP|DOWN).*|pthread_.*|___pthread.*",
    "errors": r"ERR_.*|err_.*",
    "encoding of sessions": r"i2d_SSL_SESSION|d2i_SSL_SESSION",
    "kernel calls": r"sendmsg|recv|accept4|close|epoll_.*|shutdown|write|read",
}


class Server:
    def __init__(self, options, program, under=()):
        self.root = tempfile.mkdtemp(prefix="brigade-handshake-")
        os.chmod(self.root, 0o777)
        os.makedirs(f"{self.root}/htdocs")
        with open(f"{self.root}/htdocs/a.txt", "wb") as f:
            f.write(b"x" * 100)
        os.utime(f"{self.root}/htdocs/a.txt", (1, 1))
        subprocess.run(["openssl", "req", "-x509", "-newkey", *KEYS[options.key], "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout",
                        f"{self.root}/key.pem", "-out", f"{self.root}/cert.pem"], check=True, capture_output=True)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        with open(f"{self.root}/conf", "w", encoding="utf-8") as f:
            f.write(CONFIG.format(root=self.root, port=self.port, suite=options.suite) + (options.more or ""))
        who = {"user": "nobody", "group": "nogroup"} if os.getuid() == 0 else {}
        if who:
            shutil.chown(f"{self.root}/key.pem", "nobody")
        environment = {**os.environ, **({"LD_LIBRARY_PATH": options.libraries} if options.libraries else {})}
        self.output = open(f"{self.root}/output", "wb")
        self.process = subprocess.Popen([w.replace("@ROOT@", self.root) for w in under] + [program, "-X", "-f", f"{self.root}/conf"],
                                        stdout=self.output, stderr=self.output, env=environment, **who)
        self.client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.client.check_hostname, self.client.verify_mode = False, ssl.CERT_NONE
        self.client.minimum_version = ssl.TLSVersion.TLSv1_3
        self.session = None

    def connections(self, n, resumed):
        """@return how many took a session up"""
        taken = 0
        for _ in range(n):
            with socket.create_connection(("127.0.0.1", self.port), timeout=120) as plain:
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self.client.wrap_socket(plain, session=self.session) as s:
                    s.sendall(REQUEST)
                    while s.recv(4096):
                        pass
                    taken += s.session_reused
                    self.session = s.session if resumed else None
        return taken

    def wait(self):
        until = time.monotonic() + 120
        while True:
            try:
                self.connections(1, False)
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(open(f"{self.root}/output", errors="replace").read()[-2000:]) from None
                time.sleep(0.1)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(120)
        self.output.close()


def counted(options, program, n):
    server = Server(options, program, ["valgrind", "--tool=callgrind", "--callgrind-out-file=@ROOT@/cost.%p", "--vgdb=no"])
    try:
        server.wait()
        server.connections(4, options.resumed)
        taken = server.connections(n, options.resumed)
        if taken != (n if options.resumed else 0):
            raise RuntimeError(f"{taken} of {n} handshakes took a session up")
    finally:
        server.stop()
    found = collections.Counter(), collections.Counter(), collections.Counter()
    for path in glob.glob(f"{server.root}/cost.*"):  # a file for each process
        for into, more in zip(found, read_callgrind(path, {})):
            into.update(more)
    shutil.rmtree(server.root)
    return found


def one(options, program):
    """Of one connection: instructions by function, calls, and what these took, by caller and callee."""
    few, many = counted(options, program, FEW), counted(options, program, MANY)
    of = []
    for less, more in zip(few, many):
        of.append({name: (n - less.get(name, 0)) / (MANY - FEW) for name, n in more.items() if n != less.get(name, 0)})
    return of


def shares(functions, below, kinds, rest):
    """By function: to which of @a kinds what it takes belongs, by the calls that lead to it."""
    wanted = [(kind, re.compile(f"({pattern})$")) for kind, pattern in kinds.items()]
    names = set(functions) | {callee for _, callee in below}
    fixed = {}
    for name in names:
        for kind, pattern in wanted:
            if pattern.match(name):
                fixed[name] = {kind: 1.0}
                break
    callers = collections.defaultdict(list)
    for (caller, callee), n in below.items():
        if caller != callee and n > 0:
            callers[callee].append((caller, n))
    of = {name: fixed.get(name, {rest: 1.0}) for name in names}
    for _ in range(60):
        after = {}
        for name in names:
            if name in fixed or not callers[name]:
                after[name] = of[name]
                continue
            total, mixed = sum(n for _, n in callers[name]), collections.Counter()
            for caller, n in callers[name]:
                for kind, share in of.get(caller, {rest: 1.0}).items():
                    mixed[kind] += share * n / total
            after[name] = mixed
        of = after
    return of


def table(functions, of, title):
    total, sums = sum(functions.values()), collections.Counter()
    for name, n in functions.items():
        for kind, share in of[name].items():
            sums[kind] += share * n
    print(f"\n{title}")
    for kind, n in sums.most_common():
        print(f"  {kind:34} {n:10,.0f} {n / total:6.1%}")


def traced(options, program):
    server = Server(options, program)
    try:
        server.wait()
        server.connections(4, options.resumed)
        path = f"{server.root}/trace"
        tracer = subprocess.Popen(["strace", "-f", "-c", "-o", path, "-p", str(server.process.pid)], stderr=subprocess.PIPE)
        tracer.stderr.readline()
        server.connections(TRACED, options.resumed)
        tracer.send_signal(signal.SIGINT)
        tracer.communicate()
    finally:
        server.stop()
    print("\nkernel calls")
    with open(path, encoding="utf-8") as f:
        for fields in map(str.split, f):
            if len(fields) >= 5 and fields[-1] != "total" and fields[3].isdigit() and int(fields[3]) >= TRACED / 10:
                print(f"  {fields[-1]:34} {int(fields[3]) / TRACED:10.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--key", default="P-256", choices=list(KEYS))
    parser.add_argument("--suite", default="TLS_AES_128_GCM_SHA256")
    parser.add_argument("--resumed", action="store_true")
    parser.add_argument("--libraries")
    parser.add_argument("--other", help="another build: both totals, and what differs by function")
    parser.add_argument("--more", help="lines of configuration")
    parser.add_argument("--functions", type=int, default=40)
    parser.add_argument("--calls", default="fetches", help="of which kind of work the callers are shown")
    parser.add_argument("--total", action="store_true", help="the total alone")
    options = parser.parse_args()
    program = os.path.abspath(os.environ.get("BRIGADE", "out/release/brigade"))
    functions, calls, below = one(options, program)
    total = sum(functions.values())
    print(f"{total:,.0f} instructions of a connection")
    if options.total:
        return
    if options.other:
        other = one(options, os.path.abspath(options.other))[0]
        print(f"{sum(other.values()):,.0f} of {options.other}: {total / sum(other.values()) - 1:+.2%}")
        differs = {name: functions.get(name, 0) - other.get(name, 0) for name in set(functions) | set(other)}
        for name, n in sorted(differs.items(), key=lambda d: -abs(d[1]))[:options.functions]:
            print(f"  {name:50} {n:+10,.0f}")
        return
    table(functions, shares(functions, below, ASKERS, "loop, request, else"), "who asks")
    table(functions, shares(functions, below, KINDS, "else"), "kinds of work")
    print("\nfunctions, themselves")
    for name, n in sorted(functions.items(), key=lambda f: -f[1])[:options.functions]:
        print(f"  {name:50} {n:10,.0f} {n / total:6.1%}")
    kind = re.compile(f"({KINDS[options.calls]})$")
    print(f"\n{options.calls}: calls, and what they take")
    found = {edge: n for edge, n in below.items() if kind.match(edge[1]) and not kind.match(edge[0])}
    for (caller, callee), n in sorted(found.items(), key=lambda f: -f[1])[:options.functions]:
        print(f"  {caller:40} {callee:34} {calls.get((caller, callee), 0):6.1f} {n:10,.0f}")
    traced(options, program)


if __name__ == "__main__":
    main()
