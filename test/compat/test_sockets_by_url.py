# SPDX-License-Identifier: Apache-2.0
"""Which socket a URL leads to: workers of ProxyPass "unix:PATH|URL" are found by URLs that name no socket, as Apache finds them."""
import contextlib
import itertools

import pytest

import brigade
from script_backend import Script
from test_compare import APACHE, pytestmark  # noqa: F401

RULES = """
RewriteEngine On
RewriteRule ^/p/(.*) {scheme}://localhost/$1 [P]
RewriteRule ^/q/(.*) {scheme}://localhost [P]
RewriteRule ^/port/(.*) {scheme}://localhost:{port}/$1 [P]
RewriteRule ^/other/(.*) {scheme}://localhost/app/$1 [P]
RewriteRule ^/appx/(.*) {scheme}://localhost/appx/$1 [P]
RewriteRule ^/upper/(.*) {scheme}://LOCALHOST/$1 [P]
RewriteRule ^/two/(.*) unix:@TWO@|{scheme}://localhost/$1 [P]
RewriteRule ^/twoapp/(.*) unix:@TWO@|{scheme}://localhost/app/$1 [P]
<Location /h>
SetHandler "proxy:{scheme}://localhost"
</Location>
<Location /hs>
SetHandler "proxy:{scheme}://localhost/"
</Location>
<Location /htwo>
SetHandler "proxy:unix:@TWO@|{scheme}://localhost"
</Location>
<Proxy "*">
Require all granted
</Proxy>
"""
PASSES = {
    "plain": 'ProxyPass /a/ "unix:@ONE@|{scheme}://localhost/"',
    "bare": 'ProxyPass /a "unix:@ONE@|{scheme}://localhost"',
    "path": 'ProxyPass /a/ "unix:@ONE@|{scheme}://localhost/app/"',
    "port": 'ProxyPass /a/ "unix:@ONE@|{scheme}://localhost:{port}/"',
    "two": 'ProxyPass /a/ "unix:@ONE@|{scheme}://localhost/"\nProxyPass /b/ "unix:@TWO@|{scheme}://localhost/"',
    "turned": 'ProxyPass /b/ "unix:@TWO@|{scheme}://localhost/"\nProxyPass /a/ "unix:@ONE@|{scheme}://localhost/"',
    "both": 'ProxyPass /a/ "unix:@ONE@|{scheme}://localhost/"\nProxyPass /c/ "{scheme}://localhost/"',
    "first": 'ProxyPass /c/ "{scheme}://localhost/"\nProxyPass /a/ "unix:@ONE@|{scheme}://localhost/"',
    "longer": 'ProxyPass /a/ "unix:@ONE@|{scheme}://localhost/"\nProxyPass /b/ "unix:@TWO@|{scheme}://localhost/app/"',
    "section": '<Proxy "unix:@ONE@|{scheme}://localhost/">\nProxySet timeout=5\n</Proxy>',
    "settings": '<Proxy "{scheme}://localhost/">\nProxySet timeout=5\n</Proxy>',
    "balancer": '<Proxy "balancer://b">\nBalancerMember "unix:@ONE@|{scheme}://localhost"\n</Proxy>\nProxyPass /a/ "balancer://b/"',
    "none": "",
}
TARGETS = ["/p/x.php", "/q/x.php", "/port/x.php", "/other/x.php", "/appx/x.php", "/upper/x.php", "/two/x.php", "/twoapp/x.php", "/a/x.php", "/b/x.php", "/c/x.php",
           "/h/x.php", "/hs/x.php", "/htwo/x.php"]
OTHER_SOCKET = ("/two/x.php", "/twoapp/x.php", "/htwo/x.php")  # lines that name it; Apache takes the first worker of that URL
WITHOUT = {target: "" for target in TARGETS if target not in (*OTHER_SOCKET, "/a/x.php", "/b/x.php")}  # a worker without a socket has the URL
OURS = {"two": {"/b/x.php": "two"}, "turned": {"/a/x.php": "one"}, "longer": {"/b/x.php": "two", "/other/x.php": "two"}, "both": WITHOUT,
        "settings": {"/h/x.php": "", "/hs/x.php": ""},  # Apache: the socket that the request before named
        "first": {**WITHOUT, "/a/x.php": "one"}}


def answer_by(name):
    def script(params, body, send):
        script.of.answer(send, f"{name} {params['SCRIPT_FILENAME']}".encode().replace(b"//", b"/"))
    return script


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("scheme, port", [("fcgi", 8000)])
def test_which_socket(name, scheme, port):
    with contextlib.ExitStack() as stack:
        scripts = []
        for word in ("one", "two"):
            script = answer_by(word)
            script.of = stack.enter_context(Script(scheme, script))
            scripts.append(script.of)
        config = (PASSES[name] + RULES).replace("{scheme}", scheme).replace("{port}", str(port)).replace("@ONE@", scripts[0].path).replace("@TWO@", scripts[1].path)
        pair = []
        for binary in (APACHE, brigade.BINARY):
            server = brigade.Server(config, binary=binary, modules=("proxy", "proxy_fcgi", "proxy_balancer", "slotmem_shm", "lbmethod_byrequests", "rewrite"))
            server.expect_trouble = True
            pair.append(stack.enter_context(server))
        wrong, own = [], OURS.get(name, {})
        for target, _ in itertools.product(TARGETS, range(2)):
            answers = [(a.status, a.body.replace(s.root.encode(), b"ROOT") if a.status == 200 else b"") for s in pair for a in [s.get(target)]]
            expected = own.get(target, "two" if target in OTHER_SOCKET else None)
            if answers[1][1].split(b" ")[0].decode() != expected if expected is not None else answers[0] != answers[1]:
                wrong.append((target, *answers))
        assert not wrong, "\n".join(map(str, wrong))
