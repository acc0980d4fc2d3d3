# SPDX-License-Identifier: Apache-2.0
"""Modules of the tests, built from one source for both servers."""
import os
import subprocess

import brigade

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDES = {True: os.environ.get("APACHE_INCLUDE", "/usr/include/apache2"),
            False: os.environ.get("BRIGADE_INCLUDE") or os.path.join(brigade.REPOSITORY, "include")}


def build(name, apache, folder):
    """modules/NAME.c as a loadable module for Apache or for Brigade; its path."""
    source, path = os.path.join(HERE, "modules", name + ".c"), os.path.join(folder, name + ".so")
    flags = subprocess.run(["pkg-config", "--cflags", "apr-1", "apr-util-1"], capture_output=True, text=True, check=True).stdout
    done = subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", f"-I{INCLUDES[apache]}", *flags.split(), "-o", path, source],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return path
