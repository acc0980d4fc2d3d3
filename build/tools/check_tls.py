#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a TLS server offers, by `openssl s_client` alone: protocols, ciphers, renegotiation, compression, and what old attacks need.

    check_tls.py HOST:PORT [--name SERVER_NAME] [--quiet]

Lines with "BAD" are what should not be offered; the exit status is 1 if there is one, 2 if the server cannot be asked."""
import argparse
import re
import subprocess
import sys
import time

PROTOCOLS = [("TLS 1.0", "-tls1", True), ("TLS 1.1", "-tls1_1", True), ("TLS 1.2", "-tls1_2", False), ("TLS 1.3", "-tls1_3", False)]
SUITES = ["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256", "TLS_AES_128_CCM_SHA256", "TLS_AES_128_CCM_8_SHA256"]
WEAK = re.compile(r"NULL|EXP|RC4|RC2|DES|MD5|ADH|AECDH|SEED|IDEA")
PATIENCE = 20


class Server:
    def __init__(self, address, name):
        self.address, self.name = address, name or address.rsplit(":", 1)[0]

    def command(self, *options):
        return ["openssl", "s_client", "-connect", self.address, "-servername", self.name, *options]

    def ask(self, *options):
        """What s_client prints of a connection; empty: there was no handshake."""
        done = subprocess.run(self.command(*options), input=b"", capture_output=True, timeout=PATIENCE)
        text = (done.stdout + done.stderr).decode(errors="replace")
        return text if re.search(r"Cipher is (?!\(NONE\))", text) else ""

    def cipher(self, *options):
        found = re.search(r"Cipher is (\S+)", self.ask(*options))
        return found[1] if found else None

    def renegotiates(self):
        """Whether a client may ask for a new handshake (TLS 1.2)."""
        with subprocess.Popen(self.command("-tls1_2"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as asked:
            asked.stdin.write(b"R\n")
            asked.stdin.flush()
            time.sleep(1)
            text = asked.communicate(timeout=PATIENCE)[0].decode(errors="replace")
        return "RENEGOTIATING" in text and "no renegotiation" not in text and not re.search(r"error:|:error", text)


class Report:
    def __init__(self, quiet):
        self.quiet, self.bad = quiet, 0

    def tell(self, what, value, bad=False):
        self.bad += bool(bad)
        if bad or not self.quiet:
            print(f"{'BAD ' if bad else 'ok  '}{what:34} {value}")


def ciphers_of(server):
    """TLS 1.2 ciphers in the server's order of what is left."""
    left = subprocess.run(["openssl", "ciphers", "-tls1_2", "-s", "ALL:COMPLEMENTOFALL:@SECLEVEL=0"], capture_output=True, check=True).stdout.decode().strip().split(":")
    found, left = [], [c for c in left if not c.startswith("TLS_")]
    while left:
        chosen = server.cipher("-tls1_2", "-cipher", ":".join(left) + ":@SECLEVEL=0")
        if chosen not in left:
            break
        found.append(chosen)
        left.remove(chosen)
    return found


def prefers(server, ciphers):
    """Whose order counts: with two ciphers offered both ways."""
    if len(ciphers) < 2:
        return "one cipher"
    a, b = ciphers[0], ciphers[-1]
    one, two = (server.cipher("-tls1_2", "-cipher", f"{x}:{y}:@SECLEVEL=0") for x, y in ((a, b), (b, a)))
    return "the server's" if one == two else "the client's"


def check_protocols(server, report):
    offered = []
    for name, option, old in PROTOCOLS:
        there = server.cipher(option, "-cipher", "ALL:@SECLEVEL=0") if old else server.cipher(option)
        offered += [option] if there else []
        report.tell(name, "offered" if there else "not offered", there and old)
    return offered


def check_ciphers(server, report):
    ciphers = ciphers_of(server)
    for cipher in ciphers:
        report.tell("TLS 1.2 cipher", cipher, WEAK.search(cipher))
    report.tell("order of ciphers", prefers(server, ciphers))
    plain = [c for c in ciphers if not c.startswith(("ECDHE", "DHE", "PSK", "SRP"))]
    report.tell("forward secrecy, ROBOT", f"RSA key exchange: {' '.join(plain)}" if plain else "no RSA key exchange", plain)


def check_suites(server, report):
    for suite in SUITES:
        if server.cipher("-tls1_3", "-ciphersuites", suite):
            report.tell("TLS 1.3 suite", suite)


def check_old_attacks(server, report, offered):
    text = server.ask("-tlsextdebug", "-status")
    report.tell("compression (CRIME)", "offered" if "Compression: zlib" in text else "not offered", "Compression: zlib" in text)
    report.tell("heartbeat (Heartbleed)", "offered" if 'extension "heartbeat"' in text else "not offered", 'extension "heartbeat"' in text)
    if "-tls1_2" in offered:
        secure = "Secure Renegotiation IS supported" in server.ask("-tls1_2")
        report.tell("secure renegotiation (RFC 5746)", "yes" if secure else "no", not secure)
        again = server.renegotiates()
        report.tell("renegotiation by clients", "allowed" if again else "refused", again)
        extended = "Extended master secret: yes" in server.ask("-tls1_2")
        report.tell("extended master secret (RFC 7627)", "yes" if extended else "no", not extended)
    report.tell("fallback to TLS 1.1 (POODLE)", "possible" if server.ask("-tls1_1", "-fallback_scsv", "-cipher", "ALL:@SECLEVEL=0") else "refused")
    report.tell("stapled OCSP response", "yes" if "OCSP Response Status: successful" in text else "no")
    for what, pattern in (("certificate", r"subject=(.*)"), ("key", r"Server public key is (.*)"), ("issuer", r"issuer=(.*)")):
        found = re.search(pattern, text)
        report.tell(what, found[1] if found else "?")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("address", metavar="HOST:PORT")
    parser.add_argument("--name", help="server name to ask for (default: HOST)")
    parser.add_argument("--quiet", action="store_true", help="print what is bad alone")
    args = parser.parse_args()
    server, report = Server(args.address, args.name), Report(args.quiet)
    try:
        offered = check_protocols(server, report)
        if not offered:
            print("no handshake with any protocol", file=sys.stderr)
            return 2
        if "-tls1_2" in offered:
            check_ciphers(server, report)
        if "-tls1_3" in offered:
            check_suites(server, report)
        check_old_attacks(server, report, offered)
    except (OSError, subprocess.SubprocessError) as e:
        print(f"{args.address}: {e}", file=sys.stderr)
        return 2
    return 1 if report.bad else 0


if __name__ == "__main__":
    sys.exit(main())
