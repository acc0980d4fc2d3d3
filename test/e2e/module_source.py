# SPDX-License-Identifier: Apache-2.0
"""Modules that a test builds."""
import os
import subprocess

import pytest

import brigade

INCLUDE = os.path.join(brigade.REPOSITORY, "include")


def run(*command, **more):
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, **more)
    assert p.returncode == 0, f"{command}: {p.stdout}"
    return p.stdout


def flags():
    done = subprocess.run(["pkg-config", "--cflags", "apr-1", "apr-util-1"], capture_output=True, text=True, check=True)
    return done.stdout.split()


def compile_file(source, so, *more):
    """A loadable module from a source file."""
    done = subprocess.run(["cc", "-shared", "-fPIC", "-g", "-Wall", f"-I{INCLUDE}", *flags(), *more, str(source), "-o",
                           str(so)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return str(so)


def preloaded(so):
    """LD_PRELOAD for a library of the test's: the sanitizer's run-time library, where the binary has one, wants to be the first."""
    shown = run("ldd", brigade.BINARY)
    first = [line.split("=>")[1].split()[0] for line in shown.splitlines() if "libasan" in line]
    return " ".join([*first, str(so)])


def compile_text(folder, name, body, *more, structure=None):
    """mod_NAME.so from the text of its functions; the last of them is NAME_hooks(apr_pool_t *)."""
    structure = structure or (f"AP_DECLARE_MODULE({name}) = {{STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, "
                              f"{name}_hooks, 0}};")
    path = os.path.join(folder, f"mod_{name}.c")
    with open(path, "w") as f:
        f.write('#include "httpd.h"\n#include "http_config.h"\n#include "http_protocol.h"\n#include "http_request.h"\n'
                f'#include "util_filter.h"\n#include "ap_provider.h"\n{body}\n{structure}\n')
    return compile_file(path, path[:-1] + "so", *more)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """What `cmake --install` leaves of the build that is tested."""
    build = os.path.dirname(brigade.BINARY)
    if not os.path.exists(os.path.join(build, "cmake_install.cmake")):
        pytest.skip("not a build folder of CMake")
    path = tmp_path_factory.mktemp("prefix")
    os.chmod(path, 0o755)
    os.chmod(path.parent, 0o755)
    run("cmake", "--install", build, "--prefix", str(path))
    return str(path)
