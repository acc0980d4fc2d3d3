# SPDX-License-Identifier: Apache-2.0
"""ASTable bgp beside other implementations than BIRD: GoBGP and FRR, where they are installed."""
import os
import shutil
import subprocess

import pytest

from bgp_site import becomes, net, says, start
from brigade import wait_until
from ports import free_port

pytestmark = pytest.mark.only("brigade")

GOBGP = shutil.which("gobgpd") and shutil.which("gobgp")
FRR = shutil.which("bgpd") or (os.path.exists("/usr/lib/frr/bgpd") and "/usr/lib/frr/bgpd")

GOBGP_CONF = """[global.config]
  as = 64512
  router-id = "10.0.0.1"
  port = {port}
  local-address-list = ["127.0.0.1"]
[[neighbors]]
  [neighbors.config]
    neighbor-address = "127.0.0.1"
    peer-as = 65000
  [neighbors.transport.config]
    passive-mode = true
  [neighbors.ebgp-multihop.config]
    enabled = true
    multihop-ttl = 255
  [neighbors.graceful-restart.config]
    enabled = true
    restart-time = 20
  [[neighbors.afi-safis]]
    [neighbors.afi-safis.config]
      afi-safi-name = "ipv4-unicast"
    [neighbors.afi-safis.mp-graceful-restart.config]
      enabled = true
  [[neighbors.afi-safis]]
    [neighbors.afi-safis.config]
      afi-safi-name = "ipv6-unicast"
    [neighbors.afi-safis.mp-graceful-restart.config]
      enabled = true
"""

FRR_CONF = """router bgp 64512
 bgp router-id 10.0.0.1
 no bgp ebgp-requires-policy
 no bgp network import-check
 neighbor 127.0.0.1 remote-as 65000
 neighbor 127.0.0.1 passive
 neighbor 127.0.0.1 ebgp-multihop 255
 neighbor 127.0.0.1 disable-connected-check
 address-family ipv4 unicast
  network 198.51.100.0/24
 exit-address-family
 address-family ipv6 unicast
  neighbor 127.0.0.1 activate
  network 2001:db8::/32
 exit-address-family
"""


class GoBgp:
    def __init__(self, folder):
        self.port, self.api = free_port(), free_port()
        self.conf = os.path.join(folder, "gobgp.toml")
        with open(self.conf, "w", encoding="ascii") as f:
            f.write(GOBGP_CONF.format(port=self.port))
        self.start()

    def start(self):
        self.process = subprocess.Popen(["gobgpd", "-f", self.conf, "--api-hosts", f"127.0.0.1:{self.api}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: self.tell("global") is not None, "GoBGP")

    def tell(self, *words):
        done = subprocess.run(["gobgp", "-p", str(self.api), *words], capture_output=True, text=True, check=False, timeout=20)
        return done.stdout if done.returncode == 0 else None

    def routes(self):
        for words in ("198.51.100.0/24 aspath 64999 community 64512:77 nexthop 192.0.2.1", "203.0.113.0/24 nexthop 192.0.2.1"):
            assert self.tell("global", "rib", "add", *words.split()) is not None
        assert self.tell(*"global rib add -a ipv6 2001:db8::/32 nexthop 2001:db8::1".split()) is not None

    def stop(self):
        self.process.kill()
        self.process.wait()


@pytest.mark.skipif(not GOBGP, reason="gobgpd is not installed")
def test_gobgp(serve, tmp_path):
    peer = GoBgp(str(tmp_path))
    try:
        peer.routes()
        server = start(serve, f"port={peer.port}")
        becomes(server, "198.51.100.7", "64999 198.51.100.0/24 64512 64999 64512:77")
        becomes(server, "2001:db8::7", "64512 2001:db8::/32 64512 -")
        peer.tell(*"global rib del 203.0.113.0/24".split())
        becomes(server, "203.0.113.7", "- - - -")
        peer.stop()
        says(server, "session ended")
        assert net(server, "198.51.100.7").startswith("64999 "), "routes stay for a while"
        peer.start()
        peer.routes()
        says(server, "is up", 2)
        becomes(server, "203.0.113.7", "64512 203.0.113.0/24 64512 -")
    finally:
        peer.stop()


@pytest.mark.skipif(not FRR, reason="FRR's bgpd is not installed")
def test_frr(serve, tmp_path):
    port = free_port()
    (tmp_path / "bgpd.conf").write_text(FRR_CONF, encoding="ascii")
    peer = subprocess.Popen([FRR, "-f", tmp_path / "bgpd.conf", "-i", tmp_path / "pid", "--vty_socket", tmp_path, "-P", "0",
                             "-l", "127.0.0.1", "-p", str(port), "-S", "-Z", "-n"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        server = start(serve, f"port={port}")
        becomes(server, "198.51.100.7", "64512 198.51.100.0/24 64512 -")
        becomes(server, "2001:db8::7", "64512 2001:db8::/32 64512 -")
        peer.kill()
        says(server, "session ended")
        assert net(server, "198.51.100.7").startswith("64512 "), "routes stay for a while"
    finally:
        peer.kill()
        peer.wait()
