# SPDX-License-Identifier: Apache-2.0
"""Access logs of answers from memory: a line that is written without a request_rec is the one that is written with it."""
import os

import pytest

from brigade import wait_until
from cache_site import one_loop, settle

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

# %V needs a request_rec: a log beside the others that has it makes all of a server's logs take that way.
NEEDS_RECORD = 'CustomLog @ROOT@/logs/other "%V"\n'
ITEMS = ["%a", "%{c}a", "%A", "%b", "%B", "%{K}C", "%{SET}e", "%{NONE}e", "%f", "%h", "%{c}h", "%H", "%{Host}i", "%{User-Agent}i", "%{X-Twice}i", "%{None}i",
         "%k", "%l", "%m", "%{N}n", "%{Content-Type}o", "%{Content-Length}o", "%{ETag}o", "%{Last-Modified}o", "%{Content-Range}o", "%{X-Set}o", "%{None}o",
         "%p", "%{canonical}p", "%{remote}p", "%P", "%q", "%r", "%R", "%s", "%>s", "%<s", "%u", "%U", "%v", "%X", "%I", "%O", "%S", "%{sec}t", "%404,200{User-Agent}i",
         "%!200,304{Referer}i", "100%%", "a\\tb", "%{begin:%Y}t", "%{Connection}o", "%{Date}o", "%{Server}o", "%{Expires}o"]
VARYING = {"%P", "%{remote}p", "%p", "%{canonical}p", "%{sec}t", "%r", "%{Date}o", "%{Expires}o", "%f"}  # two servers differ in them
NO_FORM = {"%{c}a", "%{K}C", "%{c}h"}  # a request_rec is made for these
REQUESTS = [("GET", "/a.txt", {}), ("HEAD", "/a.txt", {}), ("GET", "/a.txt?b=c%20d&\"e", {}), ("GET", "/a.txt", {"Range": "bytes=1-2"}), ("GET", "/none", {}),
            ("GET", "/a.txt", {"If-None-Match": "@TAG@"}), ("GET", "/a.txt", {"User-Agent": "quote\" back\\ \x80 tab\t" + "x" * 40 + '"' + "y" * 30, "Referer": "r"}),
            ("GET", "/a.txt", [("X-Twice", "1"), ("x-twice", "2"), ("Cookie", "K=v")]), ("GET", "/page.shtml", {}), ("GET", "/a.txt", {"Connection": "close"})]
CONFIG = """MaxKeepAliveRequests 50
SetEnvIf Request_URI a SET=value
Header set X-Set "set \\"it\\""
ExpiresActive On
ExpiresDefault "access plus 1 hour"
AddOutputFilter INCLUDES .shtml
<Directory "@ROOT@/htdocs">
Options +Includes
</Directory>
CustomLog @ROOT@/logs/main "%s" @CLAUSE@
"""


def lines(serve, more, form, clause="", whole=False):
    server = one_loop(serve, CONFIG.replace("%s", form).replace("@CLAUSE@", clause) + more, files={"a.txt": "some text\n", "page.shtml": '<!--#include virtual="/a.txt" -->\n'})
    settle(server.path("htdocs"))
    tag = server.get("/a.txt")["ETag"]
    for _ in range(4):
        with server.connect() as c:
            for method, target, fields in REQUESTS:
                fields = [(n, v.replace("@TAG@", tag)) for n, v in (fields.items() if isinstance(fields, dict) else fields)]
                c.request(method, target, fields)
    server.stop()
    if whole:
        return server
    with open(server.path("logs/main"), "rb") as f:
        return f.read().splitlines()


def test_each_item(serve):
    form = " | ".join(i.replace('"', '\\"') for i in ITEMS)
    direct, record = lines(serve, "", form), lines(serve, NEEDS_RECORD, form)
    assert len(direct) == len(record) == 1 + 4 * len(REQUESTS)
    for one, other in zip(direct, record):
        pairs = list(zip(ITEMS, one.split(b" | "), other.split(b" | ")))
        assert [(i, a) for i, a, b in pairs if i not in VARYING] == [(i, b) for i, a, b in pairs if i not in VARYING]


def test_items_with_a_form_of_their_own(serve):
    """One item without such a form would hide that of all others: each in a log of its own, in servers with and without %V."""
    items = [i for i in ITEMS if i not in VARYING]
    logs = "".join('CustomLog @ROOT@/logs/%d "%%>s %s"\n' % (n, i.replace('"', '\\"')) for n, i in enumerate(items) if i not in NO_FORM)
    found = []
    for more in (logs, logs + NEEDS_RECORD):
        server = lines(serve, more, "x", whole=True)
        found.append([open(server.path(f"logs/{n}"), "rb").read() for n, i in enumerate(items) if i not in NO_FORM])
    for item, one, other in zip([i for i in items if i not in NO_FORM], *found):
        assert one == other, item


@pytest.mark.parametrize("clause", ["env=SET", "env=!SET", "env=NONE", "\"expr=%{REQUEST_STATUS} -eq 200\"", "\"expr=-n %{HTTP:Range}\""])
def test_conditions(serve, clause):
    both = [lines(serve, more, "%r %>s", clause) for more in ("", NEEDS_RECORD)]
    assert both[0] == both[1] and (both[0] == [] if clause == "env=NONE" else both[0])


@pytest.mark.parametrize("fields,told", [((), b"-"), ((("Connection", "close"),), b"close"), ((("Connection", "Keep-Alive"),), b"Keep-Alive")])
@pytest.mark.parametrize("more", ["", "RewriteEngine On\nRewriteRule ^/other$ /a.txt\n"])
def test_the_connection_field_is_logged(serve, fields, told, more):
    """%{Connection}o of what memory answers, files and errors, as of what it does not."""
    server = serve(f'CustomLog @ROOT@/logs/told "%s %{{Connection}}o"\n{more}', files={"a.txt": "x"})
    os.utime(server.path("htdocs/a.txt"), (1, 1))
    for path in ("/a.txt", "/none") * 4:
        with server.connect() as c:
            got = c.get(path, headers=list(fields))
            assert (got["Connection"] or "-").encode() == told
    wait_until(lambda: server.read("logs/told").count(b"\n") == 8, "the log")
    assert sorted(server.read("logs/told").splitlines()) == [b"200 " + told] * 4 + [b"404 " + told] * 4
