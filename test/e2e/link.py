# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces and a link between them with a rate, a delay and faults (test/bench/link_simulator.c): a server in one, clients in
the other. Needs root, /dev/net/tun, `ip`, `nsenter` and a C compiler; why_not() says what is missing."""
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "bench", "link_simulator.c")
SERVER, CLIENT, SERVER6, CLIENT6 = "10.9.8.1", "10.9.8.2", "fd09::1", "fd09::2"


def why_not():
    """Why no link can be had here; None: it can."""
    if os.geteuid():
        return "links need root"
    if not os.path.exists("/dev/net/tun"):
        return "no /dev/net/tun"
    missing = [tool for tool in ("ip", "nsenter", "cc", "sysctl") if not shutil.which(tool)]
    if missing:
        return f"not installed: {', '.join(missing)}"
    return "no network namespaces" if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode else None


class Link:
    """Settings are those of link_simulator: rate=10, delay=50, loss=1, rebind="300,port" ..."""
    made = 0

    def __init__(self, folder, congestion="cubic", **settings):
        self.folder, self.settings, self.simulator, self.told = folder, settings, None, None
        self.congestion = congestion
        Link.made += 1
        self.names = [f"brg{os.getpid()}-{Link.made}{side}" for side in "sc"]

    def connect(self):
        """Make a device link0 in both namespaces."""
        program = os.path.join(self.folder, "link_simulator")
        if not os.path.exists(program):
            subprocess.run(["cc", "-O2", "-std=gnu17", "-o", program, SOURCE], check=True)
        arguments = [f"{name}={value}" for name, value in self.settings.items()]
        self.simulator = subprocess.Popen([program, *(f"/run/netns/{name}" for name in self.names), *arguments], stdout=subprocess.PIPE, text=True)
        assert self.simulator.stdout.readline() == "ready\n"

    def __enter__(self):
        try:
            for name in self.names:
                subprocess.run(["ip", "netns", "add", name], check=True)
            self.connect()
            for name, four, six in ((self.names[0], SERVER, SERVER6), (self.names[1], CLIENT, CLIENT6)):
                for command in (["link", "set", "lo", "up"], ["addr", "add", f"{four}/24", "dev", "link0"], ["addr", "add", f"{six}/64", "dev", "link0", "nodad"],
                                ["link", "set", "link0", "txqueuelen", "20000", "up"]):
                    subprocess.run(["ip", "-n", name, *command], check=True)
            # By route: a namespace may not choose what the machine does not allow to all.
            subprocess.run(["ip", "-n", self.names[0], "route", "replace", "10.9.8.0/24", "dev", "link0", "src", SERVER, "congctl", self.congestion], check=True)
            self.on_server(["sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1"])
            self.on_client(["sysctl", "-qw", "net.ipv4.ip_local_port_range=32768 49151"])
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.end()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def end(self):
        """@return of each direction, to the server first: packets, bytes, lost, dropped, with ECN, and how late: on average, at most (microseconds)"""
        if self.simulator:
            self.simulator.terminate()
            out = self.simulator.communicate(timeout=20)[0]
            self.told = [[int(n) for n in line.split()] for line in out.splitlines()]
            self.simulator = None
        return self.told

    def command(self, side, command):
        return ["nsenter", f"--net=/run/netns/{self.names[side]}", *command]

    def on_server(self, command, **more):
        return subprocess.run(self.command(0, command), check=True, **more)

    def on_client(self, command, **more):
        return subprocess.run(self.command(1, command), check=True, **more)


class Cable(Link):
    """A pair of veth devices: an MTU of 1500, as fast as the machine, with what the kernel does for large datagrams."""

    def connect(self):
        subprocess.run(["ip", "-n", self.names[0], "link", "add", "link0", "type", "veth", "peer", "name", "link0", "netns", self.names[1]], check=True)
