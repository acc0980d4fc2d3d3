# SPDX-License-Identifier: Apache-2.0
"""The program that measures files of the wild, with two of our own: what it changes, what it finds, what it counts."""
import os
import subprocess
import sys

import pytest

import support
import wild_files
from support import brigade

pytestmark = [pytest.mark.only("brigade")]
ACCESS = """Options -Indexes
php_value memory_limit 1M
Redirect 301 /old /style.css
RewriteEngine On
RewriteRule ^item/([0-9]+)$ page.html [L]
RewriteRule ^away$ http://elsewhere.example/x [P]
"""
SERVER = """Listen 443
LoadModule none_module modules/none.so
<VirtualHost *:80>
    ServerName one.example
    DocumentRoot /srv/www/one
    <Directory /srv/www>
        Require all granted
    </Directory>
    ErrorLog ${APACHE_LOG_DIR}/error.log
    NoSuchDirective On
</VirtualHost>
<VirtualHost 192.0.2.1:443>
    ServerName one.example
    DocumentRoot "/srv/www/one"
    SSLEngine on
    SSLCertificateFile /etc/ssl/one.pem
</VirtualHost>
"""


def test_what_is_changed():
    text = wild_files.of_access_file(ACCESS, 8080, "/s")
    assert "php_value" not in text and "elsewhere.example" not in text and "http://127.0.0.1:8080/x [P]" in text
    assert wild_files.targets_of(text)[0] == ["/old", "/item/0", "/away"]
    made = wild_files.Made(SERVER, "/base", "/ours", 8080, "/s")
    assert made.hosts == [("one.example", False), ("one.example", True)] and ("/base/srv/www/one", True) in made.roots
    assert '<Directory "/base/srv/www">' in made.text and "SSLCertificateFile /ours.pem" in made.text and "<VirtualHost *:@TLS@>" in made.text
    assert "192.0.2.1" not in made.text and "none.so" not in made.text and "ErrorLog" not in made.text


def test_it_counts(tmp_path):
    if not os.access(os.environ.get("APACHE", "/usr/sbin/apache2"), os.X_OK):
        pytest.skip("Apache is not installed")
    for kind, text in (("access", ACCESS), ("server", SERVER)):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "one").write_text(text)
    done = subprocess.run([sys.executable, os.path.join(support.HERE, "wild.py"), "--access", tmp_path / "access", "--server", tmp_path / "server"],
                          capture_output=True, text=True, timeout=10 * brigade.PATIENCE, check=False)
    print(done.stdout[-6000:])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-4000:]
    assert done.stdout.count("1 files served, 0 refused by both, 0 refused by one alone") == 2 and done.stdout.count("0 differences") == 2
    assert "left out 1: Invalid command 'NoSuchDirective'" in done.stdout and "redirect  again" in done.stdout
