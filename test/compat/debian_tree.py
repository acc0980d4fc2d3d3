# SPDX-License-Identifier: Apache-2.0
"""A copy of Debian's /etc/apache2 that can run beside it: only the port and the folders are others."""
import os
import re
import shutil

ETC = os.path.dirname(os.environ.get("APACHE_AVAILABLE", "/etc/apache2/mods-available"))


def copy(root, port, extra_modules=(), conf="", site="", without=(), tls=0):
    """Make root/etc, root/www, root/run, root/log. Returns the environment that envvars would set.

    extra_modules  names for mods-enabled besides those that are enabled
    without        names of modules that are enabled, to be disabled
    conf           lines for a file in conf-enabled
    site           lines inside the default site's virtual host
    tls            port of Debian's default-ssl site, which is enabled; 0: it is not
    """
    etc = os.path.join(root, "etc")
    shutil.copytree(ETC, etc)
    for name in ("run", "log", "lock", "www/html"):
        os.makedirs(os.path.join(root, name), exist_ok=True)
    for name in ("www", "www/html", "run", "lock"):
        os.chmod(os.path.join(root, name), 0o777 if name in ("run", "lock") else 0o755)
    for module in without:
        for suffix in ("load", "conf"):
            if os.path.lexists(f"{etc}/mods-enabled/{module}.{suffix}"):
                os.unlink(f"{etc}/mods-enabled/{module}.{suffix}")
    for module in extra_modules:
        for suffix in ("load", "conf"):
            source = f"{etc}/mods-available/{module}.{suffix}"
            if os.path.exists(source):
                shutil.copy(source, f"{etc}/mods-enabled/{module}.{suffix}")
    change(f"{etc}/ports.conf", r"(?m)^Listen 80$", f"Listen 127.0.0.1:{port}")
    change(f"{etc}/ports.conf", r"(?m)^\s*Listen 443$", f"Listen 127.0.0.1:{tls}" if tls else "")
    if tls:
        shutil.copy(f"{etc}/sites-available/default-ssl.conf", f"{etc}/sites-enabled/default-ssl.conf")
        change(f"{etc}/sites-enabled/default-ssl.conf", r"\*:443>", f"*:{tls}>")
    enabled = os.listdir(f"{etc}/sites-enabled")
    for name in enabled:
        change(f"{etc}/sites-enabled/{name}", r"\*:80>", f"*:{port}>")
        change(f"{etc}/sites-enabled/{name}", r"/var/www", f"{root}/www")
    if site:
        change(f"{etc}/sites-enabled/{sorted(enabled)[0]}", r"</VirtualHost>", lambda m: site + "\n</VirtualHost>")
    change(f"{etc}/apache2.conf", r"/var/www", f"{root}/www")
    with open(f"{etc}/conf-enabled/zz-test.conf", "w") as f:
        f.write("ServerName localhost\n" + conf)
    return {"APACHE_RUN_USER": "www-data", "APACHE_RUN_GROUP": "www-data", "APACHE_PID_FILE": f"{root}/run/apache2.pid",
            "APACHE_RUN_DIR": f"{root}/run", "APACHE_LOCK_DIR": f"{root}/lock", "APACHE_LOG_DIR": f"{root}/log", "LANG": "C"}


def change(path, pattern, to):
    with open(path) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(re.sub(pattern, to, text))
