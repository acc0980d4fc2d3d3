# SPDX-License-Identifier: Apache-2.0
"""`-t -D DUMP_CACHE URL` says whether the answer to a request would be kept in memory, and if not, what keeps it out."""
import os
import socket

import pytest

import brigade
from backend import Backend
from planned_site import PLAIN
from tls_site import certificate

pytestmark = pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="an option of Brigade's")
FILES = {"a.html": "a\n", "b.html": "b\n", "index.html": "index\n", "list/x.txt": "x\n", "page.shtml": '<!--#include file="a.html" -->\n', "clock.shtml": '<!--#echo var="DATE_LOCAL" -->\n',
         "cgi/a.cgi": "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\necho cgi\n", "host/a.html": "host\n", "far.html": "far\n",
         "coded.txt": "coded\n" * 50}
CONFIG = """LoadModule cgid_module @MODULES@/mod_cgid.so
LoadModule deflate_module @MODULES@/mod_deflate.so
ScriptSock @ROOT@/logs/cgisock
CustomLog @ROOT@/logs/access_log "%h %U"
<Directory @ROOT@/htdocs>
    Options +Includes +ExecCGI
    AddHandler cgi-script .cgi
    AddType text/html .shtml
    AddOutputFilter INCLUDES .shtml
</Directory>
<Location /coded.txt>
    SetOutputFilter DEFLATE
</Location>
<Location /b.html>
    SetEnvIf X-Kind one kind=one
    Header set X-Kind yes env=kind
</Location>
<VirtualHost 192.0.2.1:@PORT@>
    ServerName bound.example
    DocumentRoot @ROOT@/htdocs/host
</VirtualHost>
<VirtualHost *:@PORT@>
    ServerName first.example
    DocumentRoot @ROOT@/htdocs
</VirtualHost>
"""


@pytest.fixture(scope="module")
def site():
    server = brigade.Server(CONFIG, FILES)
    for name in FILES:
        os.utime(server.path("htdocs", name), (1e9, 1e9))
    os.chmod(server.path("htdocs/cgi/a.cgi"), 0o755)
    yield server
    server.remove()


def dump(server, url, *options):
    done = server.run("-t", *options, "-D", "DUMP_CACHE", url)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize("url,said", [
    ("/a.html", "200, by first.example, virtual host of "), ("http://first.example/a.html?x=1", "200, by first.example, virtual host of "), ("/page.shtml", "200, by"), ("/none.html", "404, by"), ("/", "/htdocs/index.html"),
    ("http://bound.example/a.html", "/htdocs/host/a.html\n"), ("/b.html", "one answer for each kind of value of X-Kind\n"),
    ("/coded.txt", "one answer for each kind of value of Accept-Encoding\n"), ("http://192.0.2.1/a.html", "/htdocs/host/a.html\n")])
def test_kept(site, url, said):
    status, out, err = dump(site, url)
    assert status == 0 and "Kept in memory: yes\n" in out and said in out, (out, err)


@pytest.mark.parametrize("url,options,said", [
    ("/list/", [], "httpd/unix-directory: the answer is no file"), ("/cgi/a.cgi", [], "cgi-script: the answer is no file"), ("/clock.shtml", [], "no file or page that was offered"),
    ("/", ["-c", "<If \"%{TIME_HOUR} == '25'\">\nSetEnv X 1\n</If>"], "core.c: the condition of an <If>"),
    ("/a.html", ["-c", "LogLevel debug"], "LogLevel asks for debug messages"), ("/a.html", ["-c", "FileCacheEntries 0"], "FileCacheEntries is 0"),
    ("/a.html", ["-c", "<Location /a.html>\nRequire host none.example\nRequire all granted\n</Location>"], "a worker thread had to answer"),
    ("/far", ["-c", "FallbackResource /far.html"], "its target led to another file"), ("/a.html", ["-c", 'Header set X-Time "%D"'], "mod_headers.c: the answer depends on more than its target, files and request fields")])
def test_not_kept(site, url, options, said):
    status, out, err = dump(site, url, *options)
    assert status == 1 and "Kept in memory: no\n" in out and said in out, (out, err)


UNPLANNED = {
    "": None, "Header set X-A b\nRequestHeader unset X-Forwarded-Host": None,
    "Header set X-A expr=%{resp:X}": "a rule of Header goes by the answer, the time or an access file", "ProxyPassInterpolateEnv On": "ProxyPassInterpolateEnv is on",
    "SetEnv proxy-nokeepalive 1": "a variable has requests or answers made otherwise", "CacheEnable memory /": "the filter cache_save is on the answer's way",
    "RemoteIPHeader X-Client": "addresses of clients come in fields", "RequestHeader set TE x": "a module changes a field that means something to this server",
    "SetOutputFilter SUBSTITUTE": "the filter substitute is on the answer's way", "SetEnv force-response-1.0 1": "a variable has requests or answers made otherwise"}


@pytest.mark.parametrize("lines", UNPLANNED)
def test_what_a_backend_answers(site, lines):
    with Backend() as backend:
        backend.scripts["*"] = PLAIN
        options = [word for line in (f"ProxyPass /p/ http://127.0.0.1:{backend.port}/", *lines.splitlines()) for word in ("-c", line)]
        status, out, err = dump(site, "/p/a", *options)
    said = UNPLANNED[lines]
    assert status == 1 and ("Sent on by a plan: no\n  " + said if said else "Sent on by a plan: yes\n") in out, (out, err)


LINES = {  # of the server and of an access file; those that are the reason
    "one of many": ('Header set X-A b\n-Header set X-Time "%D"\nHeader set X-B c\n', ""),
    "two, either of which is enough": ('-Header set X-D "%D"\nHeader set X-A b\n', '-Header set X-T "%t"\n'),
    "a rule with its conditions": ("LoadModule rewrite_module @MODULES@/mod_rewrite.so\n-RewriteEngine On\n-RewriteCond %{REQUEST_METHOD} !POST\n-RewriteCond %{TIME_HOUR} !25\n"
                                   "-RewriteRule ^/a /b.html\nRewriteRule ^/zz /b.html\n", ""),
    "a condition that does not hold": ("", "-<If \"%{TIME_HOUR} == '25'\">\nHeader set X 1\n</If>\nHeader set X-B c\n"),
    "of two modules": ('-Header set X-D "%D"\n', "-<If \"%{TIME_HOUR} == '25'\">\nHeader set X 1\n</If>\n"),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_that_are_the_reason(name):
    server, access = LINES[name]
    server = brigade.Server(server, {"a.html": "a\n", "b.html": "b\n", ".htaccess": access})
    try:
        wanted = []
        for path, text in (("conf/httpd.conf", server.config), ("htdocs/.htaccess", access)):
            lines = text.split("\n")
            clean = "\n".join(line.removeprefix("-") for line in lines)
            if path == "conf/httpd.conf":
                server.config = clean
                before = server.preamble().count("\n")
            else:
                server.write(".htaccess", clean)
                before = 0
            wanted += [f"{server.path(path)}:{before + n}: {line[1:]}" for n, line in enumerate(lines, 1) if line.startswith("-")]
        for file in ("a.html", "b.html", ".htaccess"):
            os.utime(server.path("htdocs", file), (1e9, 1e9))
        status, out, err = dump(server, "/a.html")
        said = [line.strip() for line in out.split("\n") if line.startswith("    ")]
        assert status == 1 and sorted(said) == sorted(wanted), (out, err)
        assert f"Without {'this line' if len(wanted) == 1 else 'these lines'} it would be kept in memory.\n" in out
    finally:
        server.remove()


def test_a_new_file(site):
    site.write("new.html", "new\n")
    status, out, _ = dump(site, "/new.html")
    assert status == 1 and "the file changed in the last two seconds\n" in out


def test_redirects_inside(site):
    """The cause is not said to be a handler's."""
    loads = ["-C", f"LoadModule rewrite_module {brigade.APACHE_MODULES}/mod_rewrite.so"]
    lines = f"<Directory {site.root}/htdocs/list>\nRewriteEngine On\nRewriteRule ^none$ /a.html\n</Directory>"
    status, out, err = dump(site, "/list/none", *loads, "-c", lines)
    assert status == 1 and "a redirect inside the server" in out, (out, err)


def test_documents_of_errors(site):
    status, out, err = dump(site, "/list/none", "-c", "ErrorDocument 404 /a.html")
    assert status == 0, (out, err)


def test_managed_domains(site):
    """Their daemon does not run for a look."""
    status, out, err = dump(site, "/a.html", "-c", "<MDomainSet managed.example>\nMDMember auto\n</MDomainSet>")
    assert status == 0 and "assertion" not in err, (out, err)


def test_a_kind_that_is_not_kept(site):
    """A file that is old is not said to be young."""
    status, out, _ = dump(site, "/far.html", "-c", "Redirect 503 /far.html")
    assert status == 1 and "two seconds" not in out and "answers of this status are not kept" in out


def test_over_tls(site):
    """As over TCP alone, but for what is read of the connection."""
    certificate(site)
    host = "Listen 443\n<VirtualHost *:443>\nServerName first.example\nDocumentRoot @ROOT@/htdocs\nSSLEngine on\nSSLCertificateFile @ROOT@/conf/cert.pem\n" \
           "SSLCertificateKeyFile @ROOT@/conf/key.pem\n<Location /b.html>\nSSLOptions +StdEnvVars\n</Location>\n</VirtualHost>".replace("@ROOT@", site.root)
    for target, code, said in [("/a.html", 0, "Kept in memory: yes"), ("/coded.txt", 0, "of Accept-Encoding\n"), ("/b.html", 1, "mod_ssl.c")]:
        status, out, err = dump(site, "https://first.example" + target, "-c", host)
        assert status == code and said in out, (out, err)


def test_a_port_of_tls_alone(site):
    """A path is asked for as the site can be."""
    certificate(site)
    status, out, err = dump(site, "/a.html", "-c", f"SSLEngine on\nSSLCertificateFile {site.root}/conf/cert.pem\nSSLCertificateKeyFile {site.root}/conf/key.pem")
    assert status == 0 and "Kept in memory: yes" in out, (out, err)


def test_over_tls_that_is_not_there(site):
    status, out, err = dump(site, "https://first.example/a.html")
    assert status == 2 and "TLS" in err, (out, err)


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["ftp://x/y"], ["/a", "/b"], ["/a\r\nX: y"]])
def test_mistakes(site, arguments):
    done = site.run("-t", "-D", "DUMP_CACHE", *arguments)
    assert done.returncode in (1, 2) and b"Kept" not in done.stdout and done.stderr


def test_nothing_is_opened(site):
    """It runs beside the server, and leaves its port and its logs alone."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = site.run("-t", "-D", "DUMP_CACHE", "/a.html", port=taken.getsockname()[1])
    assert done.returncode == 0, done.stderr
    assert not os.path.exists(site.path("logs/access_log")) and not os.path.exists(site.path("logs/error_log")) and not os.path.exists(site.path("logs/httpd.pid"))


def test_prefork(site):
    status, out, err = dump(site, "/a.html", "-C", "LoadModule mpm_prefork_module modules/mod_mpm_prefork.so")
    assert status == 0 and "Kept in memory: yes" in out, (out, err)
