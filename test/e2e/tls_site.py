# SPDX-License-Identifier: Apache-2.0
"""What tests of TLS share."""
import subprocess


def certificate(server):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-keyout", server.path("conf/key.pem"), "-out",
                    server.path("conf/cert.pem")], check=True, capture_output=True)
