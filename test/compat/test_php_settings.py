# SPDX-License-Identifier: Apache-2.0
"""500 .htaccess files with lines of mod_php: Brigade with PHP-FPM, and Apache with mod_php, have the same values in force."""
import glob
import json
import random

import pytest

import brigade
from php_fpm import IS_THERE, POOL, php
from test_compare import APACHE

MODULE = next(iter(sorted(glob.glob(f"{brigade.APACHE_MODULES}/libphp*.so"))), None)
pytestmark = pytest.mark.skipif(not APACHE or not IS_THERE or not MODULE, reason="no php-fpm, or no libapache2-mod-php, or not root")

FOLDERS = 500
# Those whose value PHP's SAPIs do not set themselves.
VALUES = {"memory_limit": ["64M", "77M", "none"], "upload_max_filesize": ["1M", "64M"], "post_max_size": ["9M", "65M"], "max_input_vars": ["50", "5000"],
          "user_agent": ["agent", "\"it's\"", '"a;b=c"', "${nothing}", '"E_ALL"', '"\\\\"'], "precision": ["3", "17"], "default_charset": ["UTF-8", "latin1", "none"],
          "error_reporting": ["1", "22519", "E_ALL", "\"E_ALL & ~E_NOTICE\""], "auto_append_file": ["none"], "arg_separator.output": ['"&amp;"', ";"],
          "sendmail_path": ["/bin/true"], "allow_url_include": ["1"], "magic_quotes_gpc": ["1"], "session.name": ["SID", "S2"], "date.timezone": ["UTC", "Europe/Berlin"]}
FLAGS = {"short_open_tag": 0, "log_errors": 0, "session.cookie_httponly": 0, "zlib.output_compression": 0, "register_globals": 0, "zend.enable_gc": 0, "ignore_user_abort": 0}
SWITCHES = ["on", "off", "1", "0", "On", "yes", "2"]
SHOWN = sorted([*VALUES, *FLAGS])
SCRIPT = "<?php header('Content-Type: text/plain'); $all = []; foreach (explode(',', $_GET['n']) as $name) $all[$name] = ini_get($name); echo json_encode($all);"
INI = "memory_limit = 100M\npost_max_size = 10M\nerror_reporting = E_ALL & ~E_NOTICE\nshort_open_tag = Off\n"


def lines(random_):
    made = []
    for _ in range(random_.randint(0, 4)):
        if random_.random() < 0.6:
            name = random_.choice(sorted(VALUES))
            made.append(f"php_value {name} {random_.choice(VALUES[name])}")
        else:
            made.append(f"php_flag {random_.choice(sorted(FLAGS))} {random_.choice(SWITCHES)}")
    return "\n".join(made) + "\n"


def folders():
    """Some lie in others, so that files are merged."""
    random_, names = random.Random(50), []
    for i in range(FOLDERS):
        above = random_.choice(names) + "/" if names and random_.random() < 0.4 else ""
        names.append(f"{above}d{i}" if above.count("/") < 4 else f"d{i}")
    return {name: lines(random_) for name in names}


CONFIG = ('php_value session.name OUTER\nphp_admin_value precision 12\n<Directory "@ROOT@/htdocs/d1">\nphp_admin_flag log_errors on\nphp_value memory_limit 90M\n</Directory>\n'
          '<Directory "@ROOT@/htdocs/d2">\nphp_admin_value sendmail_path /bin/admin\nphp_admin_value precision 8\n</Directory>\nphp_admin_value sendmail_path /bin/false\n')


def test_values_in_force():
    files = {}
    for name, text in folders().items():
        files[f"{name}/.htaccess"] = text
        files[f"{name}/i.php"] = SCRIPT
    targets = [f"/{name}/i.php?n={','.join(SHOWN)}" for name in folders()]
    random.Random(51).shuffle(targets)
    with php(POOL.replace("php_admin_value[post_max_size] = 32M\n", ""), ini=INI) as fpm:
        ours = brigade.Server(f'<FilesMatch "\\.php$">\nSetHandler "proxy:unix:{fpm}/socket|fcgi://localhost"\n</FilesMatch>\n' + CONFIG, files=files)
        with ours:
            got = [ours.get(target) for target in targets]
        apache = brigade.Server(f"LoadModule php_module {MODULE}\nPHPINIDir {fpm}\nAddHandler application/x-httpd-php .php\n" + CONFIG, files=files, binary=APACHE)
        apache.mpm = "mpm_prefork"
        with apache:
            wanted = [apache.get(target) for target in targets]
    different = []
    for target, mine, theirs in zip(targets, got, wanted):
        assert (mine.status, theirs.status) == (200, 200), target
        mine, theirs = json.loads(mine.body), json.loads(theirs.body)
        different += [(target.split("?")[0], name, mine[name], theirs[name]) for name in SHOWN if (mine[name] or "") != (theirs[name] or "")]
    print(f"{len(targets)} files, {len(SHOWN)} settings each, {len(different)} of {len(targets) * len(SHOWN)} values differ")
    assert not different, different[:20]
