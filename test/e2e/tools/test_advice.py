# SPDX-License-Identifier: Apache-2.0
"""`brigade --advice`: what an auditor would say, with file and line."""
import os
import re

import pytest

from brigade import free_port
from tls_site import certificate

pytestmark = pytest.mark.only("brigade")

CASES = {
    "Options +Indexes": ("<Directory @ROOT@/htdocs>\nOptions +Indexes\n</Directory>", "folders without an index file are listed"),
    "Options All at the top": ('<Directory "/">\nOptions All\n</Directory>', "folders without an index file are listed"),
    "AllowOverride": ("<Directory />\nAllowOverride All\n</Directory>", "an .htaccess file anywhere"),
    "Require": ("<Directory />\nRequire all granted\n</Directory>", "every file on the disk"),
    "status": ("<Location /server-status>\nSetHandler server-status\n</Location>", "server-status is open to everybody"),
    "TRACE": ("TraceEnable On", "TRACE answers"),
    "timeout": ("RequestReadTimeout header=0", "all the time it likes"),
    "user": ("User root", "answered as root"),
    "php_value": ("PHPDirectives On\nphp_value sendmail_path /bin/true", "PHP-FPM is not told of sendmail_path: php_admin_value alone"),
    "php_admin_value": ("PHPDirectives On\nphp_admin_value disable_functions exec", "PHP-FPM is not told of disable_functions: PHP takes it at its start"),
    "php_flag": ("PHPDirectives On\n<Directory @ROOT@/htdocs>\nphp_flag xdebug.x on\n</Directory>", "PHP-FPM is not told of xdebug.x: PHP's own value is not known"),
}


def advice(server):
    done = server.run("--advice")
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize("case", CASES)
def test_lines(serve, case):
    config, said = CASES[case]
    server = serve.unstarted(config + "\n")
    status, out, err = advice(server)
    assert status == 2 and "Syntax OK" in err, out + err
    found = re.search(rf"^{re.escape(server.path('conf/httpd.conf'))}:(\d+): .*{re.escape(said)}.*\n    \S", out, re.M)
    assert found, out
    with open(server.path("conf/httpd.conf")) as f:
        assert case.split()[0] not in ("Options", "AllowOverride", "Require") or case.split()[0] in f.read().splitlines()[int(found[1]) - 1]


def test_nothing_to_say(serve):
    plain = "ServerRoot @ROOT@\nListen 127.0.0.1:@PORT@\nServerName localhost\nErrorLog logs/error_log\nPidFile logs/pid\nDocumentRoot @ROOT@/htdocs\nTraceEnable Off\nUser www-data\nGroup www-data\n" \
            "<Directory />\nAllowOverride None\nRequire all denied\n</Directory>\n<Directory @ROOT@/htdocs>\nOptions FollowSymLinks\nRequire all granted\n</Directory>\n" \
            "<Location /server-status>\nSetHandler server-status\nRequire local\n</Location>\n"
    server = serve.unstarted(plain, {"a.txt": "a"}, bare=True)
    os.symlink("a.txt", server.path("htdocs/b.txt"))
    status, out, err = advice(server)
    assert status == 0 and out == "0 pieces of advice\n", out + err


def test_files(serve):
    server = serve.unstarted("", {".git/HEAD": "x", "a.txt": "a"})
    os.symlink("/etc/passwd", server.path("htdocs/out"))
    os.symlink("/etc", server.path("htdocs/etc"))
    os.chmod(server.path("htdocs"), 0o777)
    os.chmod(server.path("logs"), 0o777)
    status, out, _ = advice(server)
    os.chmod(server.path("htdocs"), 0o755)
    os.chmod(server.path("logs"), 0o755)
    assert status == 2
    for said in ("/.git/HEAD is served", "htdocs/out is a link that leads out of the document root, to /etc/passwd", "htdocs/etc is a link", "may write to the document root", "every user may put a link into"):
        assert said in out, (said, out)


HIDDEN = {".git/config": "x", ".env": "x", ".well-known/a": "a"}


@pytest.mark.parametrize("lines,served", [
    ("", ["/.git/config", "/.env"]), ('RedirectMatch 404 "/\\.git"\n', ["/.env"]), ('RedirectMatch 404 "/\\.(?!well-known/)"\n', []),
    ('<Files ".*">\nRequire all denied\n</Files>\n', ["/.git/config"]), ('<DirectoryMatch "/\\.git">\nRequire all denied\n</DirectoryMatch>\n', ["/.env"]),
    ("<Location />\nRequire all denied\n</Location>\n", []), ("# a note about /\\.git\n<Location />\nRequire ip 127.0.0.1\n</Location>\n", ["/.git/config", "/.env"])])
def test_hidden_files_are_asked_for(serve, lines, served):
    """Told of is what is answered, not what lines look like."""
    server = serve.unstarted(lines, HIDDEN)
    assert re.findall(r"^\S+: (\S+) is served, from", advice(server)[1], re.M) == served
    server.start()
    assert [path for path in ("/.git/config", "/.env") if server.get(path).status == 200] == served and server.get("/.well-known/a").status == (403 if "denied" in lines and "Location" in lines else 200)


def test_hidden_files_of_virtual_hosts(serve):
    """Each DocumentRoot for the hosts that have it, over TLS, too."""
    server = serve.unstarted("", HIDDEN)
    certificate(server)
    server.write("a.txt", "a", base="other")
    for name, text in HIDDEN.items():
        server.write(name, text, base="other")
    tls = "SSLEngine on\nSSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/key.pem\n"
    port = free_port()
    server.config = (f"BuiltinModule ssl_module On\nListen 127.0.0.1:{port} https\n<Directory @ROOT@/other>\nRequire all granted\n</Directory>\n"
                     f"<VirtualHost *:{port}>\nServerName a.test\nDocumentRoot @ROOT@/other\n{tls}</VirtualHost>\n"
                     f"<VirtualHost *:{port}>\nServerName b.test\nDocumentRoot @ROOT@/htdocs\nRedirectMatch 404 /[.]\n{tls}</VirtualHost>\n")
    _, out, err = advice(server)
    if "without TLS" in err:
        pytest.skip("built without TLS")
    lines = server.read("conf/httpd.conf").decode().splitlines()
    found = re.findall(r"^\S+:(\d+): (\S+) is served, from", out, re.M)
    assert [(lines[int(n) - 1].split("/")[-1], path) for n, path in found] == [("htdocs", "/.git/config"), ("htdocs", "/.env"), ("other", "/.git/config"), ("other", "/.env")], out


@pytest.mark.parametrize("line,bad", [("SSLProtocol all -SSLv3", "TLSv1 TLSv1.1"), ("SSLProtocol +TLSv1.1 +TLSv1.2", "TLSv1.1"), ("SSLProtocol -all +TLSv1.2 +TLSv1.3", ""),
                                      ("SSLProtocol TLSv1.3", ""), ("SSLCipherSuite HIGH:RC4", "weak ciphers are offered: RC4"), ("SSLCipherSuite HIGH:!RC4:!aNULL", "")])
def test_tls(serve, line, bad):
    server = serve.unstarted("BuiltinModule ssl_module On\nLoadModule ssl_module @MODULES@/mod_ssl.so\n" + line + "\n", modules=())
    status, out, err = advice(server)
    if "ssl_module" in err and status == 1:
        pytest.skip("built without TLS")
    assert (bad in out) if bad else not re.search(r"TLSv1|weak", out), out


@pytest.mark.parametrize("line,said", [("", True), ("SSLCipherSuite HIGH:!aNULL", True), ("SSLProtocol TLSv1.3", False),
                                       ("SSLCipherSuite ECDHE+AESGCM:ECDHE+CHACHA20", False), ("SSLOpenSSLConfCmd CipherString ECDHE+AESGCM", False)])
def test_suites_in_cbc_mode(serve, line, said):
    server = serve.unstarted("")
    certificate(server)
    server.config = (f"BuiltinModule ssl_module On\nListen 127.0.0.1:{free_port()} https\n<VirtualHost *:*>\nSSLEngine on\nSSLCertificateFile @ROOT@/conf/cert.pem\n"
                     f"SSLCertificateKeyFile @ROOT@/conf/key.pem\n{line}\n</VirtualHost>\n")
    _, out, err = advice(server)
    if "without TLS" in err:
        pytest.skip("built without TLS")
    assert bool(re.search(r"conf/httpd.conf:\d+: suites in CBC mode are offered .* as \S+-SHA.*\n    SSLCipherSuite", out)) == said, out + err


def test_a_configuration_that_is_wrong(serve):
    status, out, err = advice(serve.unstarted("Nonsense\n"))
    assert status == 1 and "Nonsense" in err and "advice" not in out


def test_lines_that_keep_answers_out_of_memory(serve):
    """With how many folders they concern: those below one with an access file are as it is."""
    files = {"a.txt": "a\n", "x/a.txt": "a\n", "x/y/a.txt": "a\n", "x/y/z/a.txt": "a\n", "named/a.txt": "a\n", "named/deep/a.txt": "a\n", "plain/a.txt": "a\n",
             "x/y/.htaccess": 'Header set X-Y 1\nHeader set X-Time "%D"\n'}
    server = serve.unstarted('Header set X-A 1\n<Directory @ROOT@/htdocs/named>\nCookieTracking On\n<IfModule mod_headers.c>\nHeader set X-T "%t"\n</IfModule>\n</Directory>\n'
                             "<Directory @ROOT@/htdocs/plain>\nHeader set X-B 1\n</Directory>\n", files)
    for name in files:
        os.utime(server.path("htdocs", name), (1e9, 1e9))
    out = advice(server)[1]
    found = re.search(r"^Lines that keep answers out of memory, of 7 folders:\n((?:    .*\n)+)", out, re.M)
    assert found, out
    lines = dict(re.findall(r"^    (\S+:\d+: .*)\n        in (\d+) folders?$", found[1], re.M))
    with open(server.path("conf/httpd.conf")) as f:
        at = next(n for n, line in enumerate(f, 1) if "X-T " in line)
    assert lines == {f"{server.path('htdocs/x/y/.htaccess')}:2: Header set X-Time \"%D\"": "2",
                     f"{server.path('conf/httpd.conf')}:{at}: Header set X-T \"%t\"": "2"}, out
