# SPDX-License-Identifier: Apache-2.0
"""Certificates for servers behind a proxy: good ones, and all kinds of others."""
import os
import subprocess
import time

CONFIG = """[ca]
default_ca=authority
[authority]
database=@/index
new_certs_dir=@
certificate=@/ca.pem
private_key=@/ca.key
rand_serial=yes
default_md=sha256
policy=any
unique_subject=no
default_crl_days=2
default_days=2
[any]
commonName=supplied
"""


def openssl(*args):
    subprocess.run(["openssl", *args], check=True, capture_output=True)


def day(n):
    return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + n * 86400))


class Authority:
    def __init__(self, folder, cn="authority", parent=None):
        self.folder, self.ca, self.parent = folder, os.path.join(folder, "ca.pem"), parent
        os.makedirs(folder)
        if parent:
            parent.issue("sub-" + cn, cn, "basicConstraints=critical,CA:true\nkeyUsage=keyCertSign,cRLSign\n")
            for kind, name in (("crt", "ca.pem"), ("key", "ca.key")):
                os.link(parent.path(f"sub-{cn}.{kind}"), self.path(name))
        else:
            openssl("req", "-x509", *self.key(), "-days", "2", "-subj", f"/CN={cn}", "-addext", "keyUsage=keyCertSign,cRLSign", "-keyout",
                    self.path("ca.key"), "-out", self.ca)
        open(self.path("index"), "w").close()
        with open(self.path("ca.cnf"), "w") as f:
            f.write(CONFIG.replace("@", folder))

    def path(self, name):
        return os.path.join(self.folder, name)

    @staticmethod
    def key():
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

    def issue(self, name, cn, extensions="", begin=-1, end=2):
        """name.crt, name.key, and both in name.pem."""
        openssl("req", *self.key(), "-subj", f"/CN={cn}", "-keyout", self.path(name + ".key"), "-out", self.path("request"))
        with open(self.path("extensions"), "w") as f:
            f.write(extensions or "basicConstraints=CA:false\n")
        openssl("ca", "-config", self.path("ca.cnf"), "-batch", "-notext", "-in", self.path("request"), "-extfile", self.path("extensions"),
                "-startdate", day(begin), "-enddate", day(end), "-out", self.path(name + ".crt"))
        with open(self.path(name + ".pem"), "wb") as both:
            for kind in (".crt", ".key"):
                with open(self.path(name + kind), "rb") as f:
                    both.write(f.read())
        return self.path(name + ".pem")

    def revoke(self, name):
        openssl("ca", "-config", self.path("ca.cnf"), "-revoke", self.path(name + ".crt"))

    def crl(self):
        """The list as it is now; the name of its file."""
        openssl("ca", "-config", self.path("ca.cnf"), "-gencrl", "-crldays", "2", "-out", self.path("crl.pem"))
        return self.path("crl.pem")
