# SPDX-License-Identifier: Apache-2.0
"""A path never changes the host that a ProxyPass names."""
import os
import tempfile

import pytest

from backend import Backend

pytestmark = pytest.mark.only("brigade")

CONFIGS = {
    "pass": 'ProxyPass / http://{host}',
    "pass-below": 'ProxyPass /a/ http://{host}',
    "nocanon": 'ProxyPass / http://{host} nocanon',
    "location": '<Location "/">\nProxyPass http://{host}\n</Location>',
    "match": 'ProxyPassMatch "^/(.*)$" "http://{host}$1"',
    "location-match": '<LocationMatch "^/(.*)$">\nProxyPass http://{host}$1\n</LocationMatch>',
    "balancer": '<Proxy "balancer://a">\nBalancerMember http://{host}\n</Proxy>\nProxyPass / balancer://a',
}
SAFE = {
    "pass": 'ProxyPass / http://{host}/',
    "pass-below": 'ProxyPass /a http://{host}',
    "match": 'ProxyPassMatch "^/a(/.*)?$" "http://{host}$1"',
    "match-all": 'ProxyPassMatch "^(.*)$" "http://{host}$1"',
    "location": '<Location "/a">\nProxyPass http://{host}\n</Location>',
    "user": 'ProxyPass /a http://me:word@{host}',
}


@pytest.fixture
def backends():
    with Backend() as own, Backend() as evil:
        yield own, evil


@pytest.mark.parametrize("config", CONFIGS)
def test_a_path_that_continues_a_host(serve, backends, config):
    own, evil = backends
    prefix = "/a" if config == "pass-below" else ""
    server = serve("EventLoops 1\n" + CONFIGS[config].format(host=f"127.0.0.1:{own.port}"))
    for path in (f"@127.0.0.1:{evil.port}/x", f"x@127.0.0.1:{evil.port}/", ":x@127.0.0.1/", "0/", "x", ".evil.example/", f"%40127.0.0.1:{evil.port}/x"):
        assert server.get(f"{prefix}/{path}").status == 400, path
    assert not evil.connections and not own.connections
    assert b"ends without a slash" in server.error_log()
    got = server.get(f"{prefix}/")
    assert got.status == 200 and own.requests[0].target == "/"


@pytest.mark.parametrize("config", SAFE)
def test_paths_that_do_not(serve, backends, config):
    own, evil = backends
    server = serve("EventLoops 1\n" + SAFE[config].format(host=f"127.0.0.1:{own.port}"))
    for path in ("/a/x", f"/a/@127.0.0.1:{evil.port}/x", "/a"):
        assert server.get(path).status == 200, path
    assert not evil.connections


@pytest.mark.parametrize("config", ["", "ProxyPass / unix:{}|http://app/\n", "<Proxy *>\nRequire all granted\n</Proxy>\n", "RewriteEngine On\nRewriteRule ^/x - [L]\n"],
                         ids=["forward", "mixed", "section", "rules"])
def test_clients_of_a_forward_proxy_name_no_socket(serve, config):
    """Sockets of the machine are for its configuration to name. (500, as Apache's.)"""
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    path = f"{folder}/s"
    with Backend(address=path) as backend:
        os.chmod(path, 0o777)
        server = serve("ProxyRequests On\n" + config.format(path))
        for scheme in ("unix", "UNIX"):
            for url in ("http://app/x", "http://127.0.0.1/x", "fcgi://app/x"):
                got = server.raw(f"GET {scheme}:{path}|{url} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                assert got.startswith((b"HTTP/1.1 500 ", b"HTTP/1.1 403 ")), got
        assert not backend.connections


@pytest.mark.parametrize("block,host,status", [("127.0.0.1", "localhost", 403), ("127.0.0.1", "127.0.0.1", 403), ("127.0.0.1", "[::ffff:7f00:1]", 403), ("127.0.0.2", "localhost", 200),
                                               ("blocked.invalid", "localhost", 200)])
def test_blocked_addresses_are_blocked_under_each_name(serve, block, host, status):
    """ProxyBlock names an address, the client another name of it: no connection is made."""
    with Backend() as backend:
        server = serve(f"ProxyRequests On\nProxyBlock {block}\n")
        for _ in range(2):
            got = server.raw(f"GET http://{host}:{backend.port}/x HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            assert got.startswith(f"HTTP/1.1 {status} ".encode()), got
        assert bool(backend.connections) == (status == 200)


def text_of(done):
    return (done.stdout + (done.stderr or b"")).decode()


def test_lines_are_named(serve):
    """-t and --advice."""
    lines = [CONFIGS[c] for c in CONFIGS if c != "balancer"] + ['RewriteRule "^/(.*)$" "http://{host}$1" [P,L]',
                                                                '<Directory "/x">\nRewriteRule "^(.*)$" http://{host}$1 [P]\n</Directory>']
    for line in lines:
        server = serve.unstarted("EventLoops 1\n" + line.format(host="127.0.0.1:81"))
        for option in ("-t", "--advice"):
            done = text_of(server.run(option))
            assert "127.0.0.1:81" in done and "ends with its host" in done, (line, option, done)
    for line in [*SAFE.values(), 'RewriteRule "^(.*)$" "http://{host}$1" [P]', 'RewriteRule "^/(.*)$" "http://{host}/$1" [P]', 'RewriteRule "^/(.*)$" "http://{host}$1" [R]']:
        done = serve.unstarted("EventLoops 1\n" + line.format(host="127.0.0.1:81")).run("-t")
        assert "ends with its host" not in text_of(done), line
