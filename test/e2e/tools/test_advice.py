# SPDX-License-Identifier: Apache-2.0
"""`brigade --advice`: what an auditor would say, with file and line."""
import os
import re

import pytest

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
    for said in (".git is served", "htdocs/out is a link that leads out of the document root, to /etc/passwd", "htdocs/etc is a link", "may write to the document root", "every user may put a link into"):
        assert said in out, (said, out)


def test_a_hidden_folder_that_is_refused(serve):
    server = serve.unstarted('RedirectMatch 404 "/\\.git"\n', {".git/HEAD": "x"})
    assert "is served" not in advice(server)[1]


@pytest.mark.parametrize("line,bad", [("SSLProtocol all -SSLv3", "TLSv1 TLSv1.1"), ("SSLProtocol +TLSv1.1 +TLSv1.2", "TLSv1.1"), ("SSLProtocol -all +TLSv1.2 +TLSv1.3", ""),
                                      ("SSLProtocol TLSv1.3", ""), ("SSLCipherSuite HIGH:RC4", "weak ciphers are offered: RC4"), ("SSLCipherSuite HIGH:!RC4:!aNULL", "")])
def test_tls(serve, line, bad):
    server = serve.unstarted("BuiltinModule ssl_module On\nLoadModule ssl_module @MODULES@/mod_ssl.so\n" + line + "\n", modules=())
    status, out, err = advice(server)
    if "ssl_module" in err and status == 1:
        pytest.skip("built without TLS")
    assert (bad in out) if bad else not re.search(r"TLSv1|weak", out), out


def test_a_configuration_that_is_wrong(serve):
    status, out, err = advice(serve.unstarted("Nonsense\n"))
    assert status == 1 and "Nonsense" in err and "advice" not in out
