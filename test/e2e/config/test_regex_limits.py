# SPDX-License-Identifier: Apache-2.0
"""Regular expressions that take for ever: the match is given up, the request fails, and everyone else is served."""
import os
import re
import time

import pytest

from processes import Load

FILES = {"a.txt": "A\n"}
EVIL = "/a.txt/" + "a" * 60 + "!"

RULES = {
    "LocationMatch": '<LocationMatch "^/a.txt/(a+)+$">\nRequire all denied\n</LocationMatch>\n',
    "RedirectMatch": 'RedirectMatch "^/a.txt/(a+)+$" /other\n',
    "SetEnvIf": 'SetEnvIf Request_URI "^/a.txt/(a+)+$" bad\n<Directory @ROOT@/htdocs>\nRequire not env bad\n</Directory>\n',
    "If": '<If "%{REQUEST_URI} =~ m#^/a.txt/(a+)+$#">\nRequire all denied\n</If>\n',
}
REWRITE = 'LoadModule rewrite_module @MODULES@/mod_rewrite.so\nRewriteEngine On\nRewriteRule "^/a.txt/(a+)+$" - [F]\n'
if os.path.exists("/usr/lib/apache2/modules/mod_rewrite.so"):
    RULES["RewriteRule"] = REWRITE


@pytest.mark.only("brigade")
@pytest.mark.parametrize("rule", RULES)
def test_request_fails_and_the_log_says_why(serve, rule):
    """A rule that could not be decided allows nothing; the log names expression, file and line."""
    server = serve("AcceptPathInfo On\n" + RULES[rule].replace("Require not env bad", "<RequireAll>\nRequire all granted\n"
                                                             "Require not env bad\n</RequireAll>"), FILES)
    for _ in range(3):
        begin = time.monotonic()
        assert server.get(EVIL).status == 500
        assert time.monotonic() - begin < 2
        assert server.get("/a.txt/other").status == 200
    log = server.error_log().decode()
    assert re.search(r'regular expression "[^"\n]*\(a\+\)\+\$" \(line \d+ of [^\n]*httpd.conf\) given up: [^\n]*RegexMatchLimit', log)


@pytest.mark.only("brigade")
def test_fields_that_choose_an_answer(serve):
    """A field whose expression reaches the limit is not taken for one that does not match, nor answered from memory."""
    server = serve('SetEnvIf User-Agent "^(a+)+$" bad\n<Directory @ROOT@/htdocs>\n<RequireAll>\nRequire all granted\n'
                   "Require not env bad\n</RequireAll>\n</Directory>\n", FILES)
    for _ in range(4):
        assert server.get("/a.txt", {"User-Agent": "b"}).status == 200
        assert server.get("/a.txt", {"User-Agent": "aaa"}).status == 403
        assert server.get("/a.txt", {"User-Agent": "a" * 60 + "!"}).status == 500


@pytest.mark.only("brigade")
def test_others_are_served_meanwhile(serve):
    server = serve("EventLoops 1\n" + RULES["LocationMatch"], FILES)
    with Load(server, clients=2) as load:
        slowest = 0
        for _ in range(20):
            assert server.get(EVIL + "?" + "a" * 4000).status == 500
            begin = time.monotonic()
            assert server.get("/a.txt").status == 200
            slowest = max(slowest, time.monotonic() - begin)
    assert load.failed == []
    assert slowest < 2


@pytest.mark.only("brigade")
def test_limit_is_a_directive(serve):
    server = serve("RegexMatchLimit 100000000\n" + RULES["LocationMatch"].replace("(a+)+", "(a+)+b?"), FILES)
    assert server.get("/a.txt/" + "a" * 18 + "!").status == 404
    done = serve.unstarted("RegexMatchLimit 0\n").run("-t")
    assert done.returncode and b"RegexMatchLimit: parameter must be a number between 1 and 1000000000: 0" in done.stderr


@pytest.mark.only("brigade")
def test_expressions_of_htaccess(serve):
    server = serve("", {**FILES, "d/.htaccess": 'RedirectMatch "^/d/(a+)+$" /other\n', "d/b": "B"})
    assert server.get("/d/" + "a" * 60 + "!").status == 500
    server.wait_for_log(r"line 1 of [^\n]*/d/\.htaccess\) given up")
    assert server.get("/d/b").body == b"B"
