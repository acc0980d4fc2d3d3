# SPDX-License-Identifier: Apache-2.0
"""Pages that are rendered for each request keep what their directives led to. Whatever had a say in a look-up, a change of it shows."""
import os
import time

import pytest

from brigade import wait_until
from ssi_site import ERROR, body, echo, include

CONF = """FileCacheEntries 0
EventLoops 1
ServerProcesses 1
AddType text/html .shtml .html
AddOutputFilter INCLUDES .shtml
<Directory @ROOT@/htdocs>
    Options +Includes
    AllowOverride None
</Directory>
"""
INCLUDE = '<!--#config timefmt="%s" --><!--#include file="part.html" -->|<!--#flastmod file="part.html" -->|<!--#fsize virtual="/part.html" -->'


def old(path):
    """At rest long enough to be remembered."""
    t = time.time() - 3600
    os.utime(path, (t, t))


@pytest.fixture(scope="module")
def site(serve_module):
    return serve_module(CONF)


def rendered(server, page, part="part.html"):
    """The answer, after the page was rendered often enough for what it leads to to be kept."""
    answers = {body(server, page) for _ in range(4)}
    assert len(answers) == 1
    return answers.pop()


def at_rest(server, **files):
    """Files whose inode was changed two seconds ago, as far as their times tell: what is kept must have been at rest."""
    for name, text in files.items():
        old(server.write(name.replace("_", "."), text))
    newest = max(os.stat(server.path("htdocs", n.replace("_", "."))).st_ctime for n in files)
    wait_until(lambda: time.time() > newest + 2.1, "rest")


def test_a_page_shows_what_became_of_its_parts(site):
    at_rest(site, page_shtml=INCLUDE, part_html="one")
    path = site.path("htdocs", "part.html")
    first = rendered(site, "/page.shtml")
    assert first.startswith(b"one|") and first.endswith(b"|  3 ")
    site.write("part.html", "other")  # in place
    assert body(site, "/page.shtml").startswith(b"other|")
    site.write("new.html", "replaced")
    os.rename(site.path("htdocs", "new.html"), path)
    assert body(site, "/page.shtml").startswith(b"replaced|") and body(site, "/page.shtml").endswith(b"|  8 ")
    os.unlink(path)
    assert body(site, "/page.shtml") == b"|".join([ERROR] * 3)
    site.write("part.html", "again")
    assert body(site, "/page.shtml").startswith(b"again|")


def test_rights_count(site):
    at_rest(site, page_shtml=INCLUDE, part_html="one")
    rendered(site, "/page.shtml")
    os.chmod(site.path("htdocs", "part.html"), 0)
    try:
        assert not body(site, "/page.shtml").startswith(b"one|")
    finally:
        os.chmod(site.path("htdocs", "part.html"), 0o644)


def test_each_name_of_a_page_has_its_own(serve):
    """A relative name leads elsewhere under another URI, and another virtual host refuses it."""
    server = serve(CONF + """Alias /other @ROOT@/htdocs/page
<Location /other/part.html>
    Require all denied
</Location>
<VirtualHost *:@PORT@>
    ServerName first
</VirtualHost>
<VirtualHost *:@PORT@>
    ServerName second
    <Location /page/part.html>
        Require all denied
    </Location>
</VirtualHost>
""")
    server.write("page/index.shtml", '<!--#include virtual="part.html" -->')
    server.write("page/part.html", "shown")
    for name in ("page/index.shtml", "page/part.html"):
        old(server.path("htdocs", name))
    at_rest(server, page_txt="x")
    for _ in range(3):
        assert body(server, "/page/index.shtml", host="first") == b"shown"
        assert body(server, "/page/index.shtml", host="second") == ERROR
        assert body(server, "/other/index.shtml", host="first") == ERROR
        assert body(server, "/page/index.shtml", host="first") == b"shown"


@pytest.mark.parametrize("section, headers", [
    ('Require expr "%{HTTP_COOKIE} == \'a\'"', [("Cookie", "a")]),
    ("Require env let-in", [("Cookie", "a")]),
    ("Order deny,allow\n Deny from all\n Allow from env=let-in", [("Cookie", "a")]),
])
def test_what_depends_on_the_client_is_asked_each_time(serve, section, headers):
    server = serve(CONF + f"SetEnvIf Cookie a let-in\n<Files part.html>\n {section}\n</Files>\n")
    at_rest(server, page_shtml=INCLUDE, part_html="one")
    for _ in range(3):
        assert body(server, "/page.shtml", headers).startswith(b"one|")
        assert body(server, "/page.shtml").startswith(ERROR)


def test_rules_that_look_elsewhere_are_asked_each_time(serve):
    server = serve(CONF + """RewriteEngine On
RewriteCond @ROOT@/htdocs/switch -f
RewriteRule ^/part\\.html$ /other.html [PT]
""")
    at_rest(server, page_shtml=include("/part.html") + '<!--#fsize virtual="/part.html" -->', part_html="one", other_html="other")
    assert rendered(server, "/page.shtml") == b"one  3 "
    server.write("switch", "")
    assert body(server, "/page.shtml") == b"other  5 "
    os.unlink(server.path("htdocs", "switch"))
    assert body(server, "/page.shtml") == b"one  3 "


def test_variables_of_the_page_may_choose_what_is_included(serve):
    server = serve(CONF + """RewriteEngine On
RewriteCond %{ENV:which} =other
RewriteRule ^/part\\.html$ /other.html [PT]
""")
    text = f'<!--#set var="which" value="$QUERY_STRING" -->{include("/part.html")}'
    at_rest(server, page_shtml=text, part_html="one", other_html="other")
    for _ in range(3):
        assert body(server, "/page.shtml?first") == b"one"
        assert body(server, "/page.shtml?other") == b"other"


def test_access_files_count(serve):
    server = serve(CONF.replace("AllowOverride None", "AllowOverride All"))
    at_rest(server, page_shtml=INCLUDE, part_html="one")
    assert rendered(server, "/page.shtml").startswith(b"one|")
    server.write(".htaccess", "<Files part.html>\nRequire all denied\n</Files>\n")
    assert body(server, "/page.shtml").startswith(ERROR)
    os.unlink(server.path("htdocs", ".htaccess"))
    assert body(server, "/page.shtml").startswith(b"one|")


def test_filters_of_a_part_run(serve):
    server = serve(CONF + """<Files part.html>
    SetOutputFilter SUBSTITUTE
    Substitute s/one/two/
</Files>
""")
    at_rest(server, page_shtml=include("/part.html"), part_html="one")
    assert rendered(server, "/page.shtml") == b"two"


ENVIRONMENT = '<!--#set var="A" value="1" -->' + echo("A") + echo("DOCUMENT_NAME") + echo("a") + '<!--#set var="document_name" value="n" -->' + echo(
    "DOCUMENT_NAME")


def test_variables_are_there_for_who_reads_them(serve):
    """printenv has them in the order of a server that made them all at first; a log that names some finds them."""
    server = serve(CONF + """SetEnv A before
SetEnv LAST_MODIFIED before
LogFormat "%{DOCUMENT_NAME}e %{A}e %{SERVER_PROTOCOL}e" names
<IfDefine LOGGED>
    CustomLog @ROOT@/logs/names names
</IfDefine>
""")
    at_rest(server, page_shtml=ENVIRONMENT, env_shtml=ENVIRONMENT + "<!--#printenv -->", all_shtml="<!--#printenv -->")
    assert rendered(server, "/page.shtml") == b"1page.shtml1n"
    names = [line.split(b"=")[0] for line in body(server, "/all.shtml").splitlines()]
    shown = body(server, "/env.shtml").replace(b"1env.shtml1n", b"", 1).splitlines()
    assert [line.split(b"=")[0] for line in shown] == names
    assert b"A=1" in shown and b"DOCUMENT_NAME=n" in shown


def test_a_log_that_names_variables_finds_them(serve):
    server = serve(CONF + 'CustomLog @ROOT@/logs/names "%{DOCUMENT_NAME}e %{A}e %{SERVER_PROTOCOL}e"\n')
    at_rest(server, page_shtml=ENVIRONMENT)
    body(server, "/page.shtml")
    server.wait_for_log(r"n 1 HTTP/1\.1\n", "logs/names")


def test_dates_have_the_format_of_the_page(site):
    at_rest(site, page_shtml='<!--#config timefmt="%Y" -->' + echo("DATE_GMT") + '<!--#config timefmt="%%" -->' + echo("DATE_GMT") + echo("LAST_MODIFIED"),
            in_shtml='<!--#config timefmt="=" -->' + include("/inner.shtml"), out_shtml=echo("LAST_MODIFIED") + "|" + include("/inner.shtml"),
            inner_shtml=echo("LAST_MODIFIED"))
    year = time.strftime("%Y", time.gmtime()).encode()
    assert rendered(site, "/page.shtml") == year + b"%%"
    assert rendered(site, "/in.shtml") == b"="
    first, second = rendered(site, "/out.shtml").split(b"|")
    assert first == second
