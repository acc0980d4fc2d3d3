# SPDX-License-Identifier: Apache-2.0
"""php_value and its kin for a real PHP-FPM of one process, which keeps what it is told."""
import glob
import json
import re
import subprocess

import pytest

import brigade
from php_fpm import IS_THERE, POOL, php

pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(not IS_THERE, reason="no php-fpm (php8.2-fpm), or not root")]

SCRIPT = """<?php header('Content-Type: text/plain'); $all = [];
foreach (explode(',', $_GET['n']) as $name) $all[] = ini_get($name);
echo json_encode($all);"""
PLAIN = POOL.replace("php_admin_value[post_max_size] = 32M\n", "")
INI = "memory_limit = 100M\npost_max_size = 9M\n"
HANDLER = '<FilesMatch "\\.php$">\nSetHandler "proxy:unix:{}/socket|fcgi://localhost"\n</FilesMatch>\n<Directory "@DOCROOT@">\nAllowOverride Options\n</Directory>\n'


@pytest.fixture
def site(serve):
    """Starts a server with PHP: (config, folders with their .htaccess) -> ask(folder, *names)."""
    with php(PLAIN, children=1, ini=INI) as fpm:
        def start(config, folders, handler=HANDLER):
            files = {f"{name}/{file}": text for name, access in folders.items() for file, text in ((".htaccess", access), ("i.php", SCRIPT))}
            server = serve("EventLoops 1\n" + handler.format(fpm).replace("@DOCROOT@", "@ROOT@/htdocs") + config, files=files)

            def ask(folder, *names):
                got = server.get(f"/{folder}/i.php?n={','.join(names)}")
                return json.loads(got.body) if got.status == 200 else got.status
            ask.server = server
            return ask
        yield start


def test_each_folder_has_its_own_and_leaves_nothing_behind(site):
    ask = site("", {"a": "php_value upload_max_filesize 64M\nphp_flag display_errors on\nphp_value memory_limit 77M\n", "a/b": "php_value memory_limit 78M\nphp_flag display_errors off\n", "c": ""})
    names = ["upload_max_filesize", "display_errors", "memory_limit"]
    before = ask("c", *names)
    assert before == ["2M", before[1], "100M"]
    for _ in range(2):
        assert ask("a", *names) == ["64M", "1", "77M"]
        assert ask("a/b", *names) == ["64M", "0", "78M"]
        assert ask("c", *names) == before, "a process of PHP-FPM keeps what it was told"


def test_an_admins_value_holds_below(site):
    ask = site('php_value post_max_size 20M\nphp_value sendmail_path /bin/one\nphp_admin_value sendmail_path /bin/true\n<Directory "@ROOT@/htdocs/a">\nphp_admin_value memory_limit 50M\nphp_admin_flag log_errors on\n</Directory>\n',
               {"a": "php_value memory_limit 500M\nphp_flag log_errors off\nphp_value post_max_size 21M\n", "b": ""})
    assert ask("a", "memory_limit", "log_errors", "post_max_size", "sendmail_path") == ["50M", "1", "21M", "/bin/true"]
    assert ask("b", "memory_limit", "post_max_size", "sendmail_path") == ["100M", "20M", "/bin/true"]


@pytest.mark.parametrize("access", ["SetEnv PHP_ADMIN_VALUE memory_limit=500M", "SetEnv PHP_ADMIN_VALUE 'x=\"'", "SetEnv PHP_VALUE memory_limit=500M", "SetEnv PHP_VALUE 'x=\"'",
                                    "ProxyFCGISetEnvIf true PHP_ADMIN_VALUE memory_limit=500M", "ProxyFCGISetEnvIf true !PHP_ADMIN_VALUE", "ProxyFCGIBackendType GENERIC",
                                    "RewriteEngine On\nRewriteRule . - [E=PHP_ADMIN_VALUE:memory_limit=500M]", "RewriteEngine On\nRewriteRule i.php @FPM@@ROOT@/htdocs/a/i.php [P]",
                                    "SetEnv memory_limit 500M"])
def test_what_a_folder_says_by_other_lines(site, access):
    """With AllowOverride FileInfo all variables are a folder's to set; an administrator's settings stay."""
    line = re.compile('SetHandler "proxy:(.*)"')
    handler = HANDLER.replace("Override Options", "Override Options FileInfo")
    ask = site('<Directory "@ROOT@/htdocs/a">\nphp_admin_value memory_limit 50M\n</Directory>\n', {"a": "", "b": ""}, handler)
    fpm = line.search(ask.server.config)[1]
    ask.server.write("a/.htaccess", access.replace("@FPM@", fpm).replace("@ROOT@", ask.server.path("")[:-1]) + "\nphp_value precision 9\n")
    for _ in range(2):
        assert ask("a", "memory_limit") == ["50M"] and ask("b", "memory_limit") == ["100M"]


def test_what_a_folder_may_not_set(site):
    """PHP-FPM would take all of it."""
    ask = site("", {"a": "php_value sendmail_path /bin/evil\nphp_value open_basedir /\nphp_value allow_url_include 1\nphp_value extension evil.so\nphp_value xdebug.mode x\n"
                         "php_value disable_functions phpinfo\nphp_value include_path /evil\nphp_flag magic_quotes_gpc off\n"})
    assert ask("a", "sendmail_path", "open_basedir", "allow_url_include")[1:] == ["", "0"]
    assert "evil" not in str(ask("a", "sendmail_path", "include_path"))


@pytest.mark.parametrize("value", ["a'b", 'a"b', "${no_such_h}", "E_ALL & ~E_NOTICE", "a;b", "a=b", "yes", "none ", "''", '"', "\\", "x\\'y", "$a {b} (c) [d] !~^|"])
def test_a_value_is_a_text(site, value):
    """Nothing in it has a meaning to PHP: no variable, no constant, no other line."""
    quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    ask = site("", {"a": f"php_value user_agent {quoted}\n"})
    assert ask("a", "user_agent") == [value]


def test_a_line_break_is_part_of_the_value(site):
    ask = site("", {"a": "php_value user_agent 'a\\\nsendmail_path=/bin/evil'\n"})
    assert "evil" not in ask("a", "sendmail_path")[0] and "evil" in ask("a", "user_agent")[0]


def test_none_is_an_empty_value(site):
    ask = site("php_value auto_append_file /none.php\n", {"a": "php_value auto_append_file none\n"})
    assert ask("a", "auto_append_file") == [""]


def test_beside_settings_by_a_variable(site):
    ask = site("SetEnv PHP_VALUE precision=9\n", {"a": "php_value memory_limit 60M\n"})
    assert ask("a", "precision", "memory_limit") == ["9", "60M"]


def test_a_client_sets_nothing(site):
    ask = site("", {"a": "php_value memory_limit 60M\n"})
    got = ask.server.get("/a/i.php?n=memory_limit", headers={"PHP_VALUE": "memory_limit=1G", "Php-Value": "memory_limit=1G", "memory_limit": "1G"})
    assert json.loads(got.body) == ["60M"]


def test_override_as_mod_phps(site):
    ask = site('<Directory "@ROOT@/htdocs/n">\nAllowOverride FileInfo\n</Directory>\n', {"n": "php_value memory_limit 60M\n", "a": "php_admin_value memory_limit 60M\n"})
    assert ask("n", "memory_limit") == 500 and ask("a", "memory_limit") == 500
    ask.server.wait_for_log(r"n/\.htaccess:1: php_value not allowed here")
    ask.server.wait_for_log(r"a/\.htaccess:1: php_admin_value not allowed here")


@pytest.mark.parametrize("directives,kept", [("", ["100M", "100M"]), ("PHPDirectives On\n", ["61M", "62M"])])
def test_blocks_for_the_module(site, directives, kept):
    lines = "<IfModule mod_php.c>\nphp_value memory_limit 61M\n</IfModule>\n<IfModule !mod_php.c>\nphp_value precision 3\n</IfModule>\n"
    ask = site(directives, {"a": lines, "b": "<IfModule mod_php8.c>\nphp_value memory_limit 62M\n</IfModule>\n"})
    assert ask("a", "memory_limit") + ask("b", "memory_limit") == kept
    assert (ask("a", "precision") == ["3"]) == (not directives)


@pytest.mark.parametrize("config", ["", "PHPDirectives Off\nAddHandler proxy:fcgi://127.0.0.1:1 .php\n"])
def test_refused_without_php(serve, config):
    server = serve(config, files={"a/x.txt": "x", "a/.htaccess": "php_value memory_limit 60M\n"})
    assert server.get("/a/x.txt").status == 500
    server.wait_for_log(r"a/\.htaccess:1: Invalid command 'php_value'.*; write .*PHPDirectives On")
    done = serve.unstarted(config + "php_flag display_errors on\n").run("-t")
    assert done.returncode == 1 and b"Invalid command 'php_flag'" in done.stderr


def test_unknown_directives_may_be_let_go(serve):
    server = serve('<Directory "@ROOT@/htdocs">\nAllowOverride Options Nonfatal=Unknown\n</Directory>\n', files={"a/x.txt": "x", "a/.htaccess": "php_value memory_limit 60M\n"})
    assert server.get("/a/x.txt").status == 200


def test_only_for_a_handler_of_phps(site):
    ask = site("ProxyFCGIBackendType GENERIC\n", {"a": "php_value memory_limit 60M\n"})
    assert ask("a", "memory_limit") == ["100M"]


@pytest.mark.parametrize("inside", [False, True])
def test_a_takeover_tells_what_fpm_is_not_told(serve, inside):
    """Where PHP runs within the server, too: what would be, if PHP-FPM took its place."""
    module = next(iter(sorted(glob.glob(f"{brigade.APACHE_MODULES}/libphp*.so"))), None)
    if inside and not module:
        pytest.skip("mod_php is not installed")
    lines = f"LoadModule mpm_prefork_module {brigade.APACHE_MODULES}/mod_mpm_prefork.so\nLoadModule php_module {module}\n" if inside else HANDLER.format("/run")
    server = serve.unstarted(lines + "php_admin_value sendmail_path /bin/true\nphp_value extension x.so\n<Directory /srv>\nphp_value memory_limit 64M\nphp_value xdebug.mode off\n</Directory>\n")
    server.port = brigade.free_port()
    server.write_config()
    done = subprocess.run([server.binary, "--takeover-check", server.path("conf/httpd.conf")], capture_output=True, text=True, timeout=brigade.PATIENCE)
    assert ("it runs within the server (libphp)" in done.stdout) == inside, done
    told = done.stdout.split("PHP-FPM is told of")[1].split("Modules that keep")[0]
    assert "here (4 lines)" in told and "php_value extension x.so: PHP takes it at its start alone" in told and "xdebug.mode off: PHP's own value" in told
    assert "sendmail_path" not in told and "memory_limit" not in told
