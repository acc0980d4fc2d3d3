# SPDX-License-Identifier: Apache-2.0
"""pebble, an ACME authority for tests, as a process of its own."""
import json
import os
import shutil
import socket
import subprocess
import urllib.request

import brigade
from tls_site import TLSAuthority


def program(name):
    return shutil.which(name) or shutil.which(name, path=os.path.expanduser("~/go/bin"))


class Pebble:
    """The authority; it asks for proofs at the server's ports, and asks dns= for names (a port; else a server of its own)."""

    def __init__(self, folder, ports, env=None, dns=None, **more):
        made = TLSAuthority(folder).make("127.0.0.1", "pebble", extensions="subjectAltName=IP:127.0.0.1\n")
        self.port, manage, self.dns, self.records_port = (brigade.free_port() for _ in range(4))
        self.processes = []
        with open(os.path.join(folder, "pebble.json"), "w") as f:
            json.dump({"pebble": {"listenAddress": f"127.0.0.1:{self.port}", "managementListenAddress": f"127.0.0.1:{manage}",
                                  "certificate": made["cert"], "privateKey": made["key"], "httpPort": ports["HTTP"], "tlsPort": ports["TLS"],
                                  "ocspResponderURL": "", "externalAccountBindingRequired": False, **more}}, f)
        self.url = f"https://127.0.0.1:{self.port}"
        self.out = open(os.path.join(folder, "pebble.log"), "wb")
        tool = program("pebble-challtestsrv")
        known = subprocess.run([tool, "-h"], capture_output=True).stderr.decode()
        options = ["-dnsserver" if "-dnsserver" in known else "-dns01", f"127.0.0.1:{self.dns}", *(["-doh", ""] if "-doh" in known else [])]
        self._start(tool, "-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", *options, "-http01", "", "-https01", "", "-tlsalpn01", "",
                    "-management", f"127.0.0.1:{self.records_port}")
        self._start(program("pebble"), "-config", os.path.join(folder, "pebble.json"), "-dnsserver", f"127.0.0.1:{dns or self.dns}", env=env)
        brigade.wait_until(self._answers, "pebble")

    def _start(self, *command, env=None):
        self.processes.append(subprocess.Popen(command, stdout=self.out, stderr=self.out,
                                               env={**os.environ, "PEBBLE_VA_NOSLEEP": "1", **(env or {})}))

    def _answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def record(self, name, value):
        """A TXT record of its own DNS server."""
        body = json.dumps({"host": f"{name}.", "value": value}).encode()
        urllib.request.urlopen(f"http://127.0.0.1:{self.records_port}/set-txt", body).close()

    def end(self):
        for process in self.processes:
            process.terminate()
            process.wait()
        self.out.close()
