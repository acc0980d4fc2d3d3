# SPDX-License-Identifier: Apache-2.0
"""What tests of TLS share."""
import os
import ssl
import subprocess
import time

import brigade
from http_client import Client


def certificate(server):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-keyout", server.path("conf/key.pem"), "-out",
                    server.path("conf/cert.pem")], check=True, capture_output=True)


def start(server):
    """Start it, and let it be over: a start opens the ports one after the other, then reads the configuration a second time."""
    server.start()
    server.raw(b"GET / HTTP/1.0\r\n\r\n")
    return server


class TLSClient(Client):
    """One connection over TLS of one version; the certificate is not looked at."""

    def __init__(self, server, version=ssl.TLSVersion.TLSv1_3, suite=None, name="localhost", **options):
        super().__init__("127.0.0.1", server.port, brigade.PATIENCE)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.minimum_version = context.maximum_version = version
        if suite:
            context.set_ciphers(f"{suite}:@SECLEVEL=0")
        self.socket = context.wrap_socket(self.socket, server_hostname=name, **options)


class TLSAuthority:
    """An authority that makes certificates for tests, in a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder)
        self._run("req", "-x509", *self._key(("ec", "ec_paramgen_curve:prime256v1")), "-days", "2", "-subj", "/CN=Test authority",
                  "-keyout", self._path("ca.key"), "-out", self._path("ca.pem"))
        open(self._path("index"), "w").close()
        with open(self._path("ca.cnf"), "w") as f:
            f.write(f"[ca]\ndefault_ca=ca_\n[ca_]\ndatabase={folder}/index\nnew_certs_dir={folder}\ncertificate={folder}/ca.pem\nprivate_key="
                    f"{folder}/ca.key\nrand_serial=yes\ndefault_md=sha256\npolicy=any\nunique_subject=no\n[any]\n"
                    "organizationalUnitName=optional\ncommonName=supplied\n")

    def _path(self, name):
        return os.path.join(self.folder, name)

    @staticmethod
    def _key(key):
        return ["-newkey", key[0], "-pkeyopt", key[1], "-nodes"]

    @staticmethod
    def _run(*args):
        return subprocess.run(["openssl", *args], check=True, capture_output=True).stdout

    def make(self, name, unit, key=("ec", "ec_paramgen_curve:prime256v1"), days=30, old=0, extensions=""):
        """A certificate for a host that began `old` days ago and ends in `days`; its unit tells which one it is. The paths of "cert"
        and "key"."""
        made = {"key": self._path(f"{unit}.key"), "cert": self._path(f"{unit}.pem")}
        self._run("req", *self._key(key), "-subj", f"/OU={unit}/CN={name}", "-keyout", made["key"], "-out", self._path("request"))
        with open(self._path("extensions"), "w") as f:
            f.write(f"subjectAltName=DNS:{name}\n{extensions}")
        self._run("ca", "-config", self._path("ca.cnf"), "-batch", "-notext", "-in", self._path("request"), "-extfile",
                  self._path("extensions"), "-startdate", self._day(-old), "-enddate", self._day(days), "-out", made["cert"])
        return made

    def revoke(self, unit):
        self._run("ca", "-config", self._path("ca.cnf"), "-revoke", self._path(f"{unit}.pem"))

    @staticmethod
    def _day(days):
        return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + days * 86400))

    def unit(self, der):
        subject = subprocess.run(["openssl", "x509", "-inform", "der", "-noout", "-subject", "-nameopt", "multiline"], input=der,
                                 check=True, capture_output=True).stdout.decode()
        return subject.split("organizationalUnitName", 1)[1].split("=", 1)[1].split("\n", 1)[0].strip()
