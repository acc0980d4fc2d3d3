# SPDX-License-Identifier: Apache-2.0
"""What tests of processes share: reloads, and clients that ask all the while."""
import signal
import socket
import threading

from brigade import wait_until
from http_client import Truncated


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


class Load:
    """Clients that ask without pause; what went wrong is in .failed."""

    def __init__(self, server, clients=4, keepalive=True, target="/a.txt", body=b"A\n"):
        self.server, self.target, self.body, self.keepalive = server, target, body, keepalive
        self.done, self.failed, self.end = 0, [], threading.Event()
        self.threads = [threading.Thread(target=self._client) for _ in range(clients)]

    def _client(self):
        while not self.end.is_set():
            try:
                with self.server.connect() as c:
                    for _ in range(50):
                        if self.end.is_set():
                            return
                        if not self._one(c) or not self.keepalive:
                            break
            except OSError as e:
                self.failed.append(repr(e))

    def _one(self, c):
        """One request. A connection that ended between requests is no failure; in mid-response it is."""
        try:
            c.send(f"GET {self.target} HTTP/1.1\r\nHost: localhost\r\n"
                   f"{'' if self.keepalive else 'Connection: close' + chr(13) + chr(10)}\r\n")
            r = c.read_response()
        except Truncated as e:
            if e.args[0] or not self.keepalive:
                self.failed.append(f"truncated: {e.args[0][:80]!r}")
            return False
        except (BrokenPipeError, ConnectionResetError) as e:
            if not self.keepalive:
                self.failed.append(repr(e))
            return False
        if (r.status, r.body) != (200, self.body):
            self.failed.append(repr(r))
        self.done += 1
        return r["Connection"] != "close"

    def __enter__(self):
        for t in self.threads:
            t.start()
        wait_until(lambda: self.done >= 20, "requests")
        return self

    def __exit__(self, *_):
        self.end.set()
        for t in self.threads:
            t.join()


def configured(server):
    return server.error_log().count(b"resuming normal operations")


def reload(server, config=None, number=signal.SIGUSR1):
    """A new configuration is read and its processes serve. Returns the processes that were there before."""
    before, count = set(server.children()), configured(server)
    if config is not None:
        server.write_config(config)
    server.signal(number)
    wait_until(lambda: configured(server) > count, "the new configuration")
    wait_until(lambda: set(server.children()) - before, "new processes")
    return before
