# SPDX-License-Identifier: Apache-2.0
"""PHP-FPM behind servers that are compared."""
import contextlib
import os
import subprocess
import tempfile

import brigade

FPM = next((p for p in ("/usr/sbin/php-fpm8.2", "/usr/sbin/php-fpm8.4", "/usr/sbin/php-fpm") if os.access(p, os.X_OK)), None)
IS_THERE = bool(FPM) and os.geteuid() == 0  # it gives its processes another user
POOL = ("[global]\nerror_log = @ROOT@/log\ndaemonize = no\n[www]\nuser = www-data\ngroup = www-data\nlisten = @ROOT@/socket\n"
        "listen.mode = 0666\npm = static\npm.max_children = @CHILDREN@\nphp_admin_value[post_max_size] = 32M\n")


@contextlib.contextmanager
def php(pool=POOL, children=2, ini=None):
    """A folder with its socket, where it is there. ini: the text of php.ini; None: the system's."""
    with tempfile.TemporaryDirectory(prefix="brigade-fpm-") as folder:
        os.chmod(folder, 0o755)
        if not IS_THERE:
            yield folder
            return
        with open(f"{folder}/conf", "w") as f:
            f.write(pool.replace("@ROOT@", folder).replace("@CHILDREN@", str(children)))
        command = [FPM, "-F", "-y", f"{folder}/conf"]
        if ini is not None:
            with open(f"{folder}/php.ini", "w") as f:
                f.write(ini)
            command += ["-c", f"{folder}/php.ini"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            brigade.wait_until(lambda: os.path.exists(f"{folder}/socket"), "php-fpm")
            yield folder
        finally:
            process.terminate()
            process.wait()
