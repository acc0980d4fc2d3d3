# SPDX-License-Identifier: Apache-2.0
"""LoadModule with files that are no modules, or not for this server: refused with file and cause, before anything in them
is run."""
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess

import pytest

import brigade
from brigade import unprivileged_user, wait_until
from trouble import descriptors, sanitizer

pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(not shutil.which("cc"), reason="needs a compiler")]

HEAD = '#include "httpd.h"\n#include "http_config.h"\n#include "http_protocol.h"\n'
GOOD = "module AP_MODULE_DECLARE_DATA x_module = {STANDARD20_MODULE_STUFF, 0, 0, 0, 0, 0, hooks, 0};\n"
HOOKS = "static void hooks(apr_pool_t *p) { }\n"


def structure(major="MODULE_MAGIC_NUMBER_MAJOR", minor="MODULE_MAGIC_NUMBER_MINOR", magic="MODULE_MAGIC_COOKIE"):
    return (f'module AP_MODULE_DECLARE_DATA x_module = {{{major}, {minor}, -1, "mod_x.c", 0, 0, {magic}, 0, 0, 0, 0, 0, 0, '
            "hooks, 0};\n")


@pytest.fixture
def compiled(tmp_path):
    os.chmod(tmp_path, 0o755)

    def compiler(text, name="mod_x", *options):
        source = tmp_path / f"{name}.c"
        source.write_text(HEAD + text)
        flags = subprocess.run(["pkg-config", "--cflags", "apr-1", "apr-util-1"], capture_output=True, text=True).stdout
        done = subprocess.run(["cc", "-shared", "-fPIC", "-I", os.path.join(brigade.REPOSITORY, "include"), *flags.split(),
                               str(source), "-o", str(tmp_path / f"{name}.so"), *options], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return str(tmp_path / f"{name}.so")
    return compiler


def loaded(serve, path, symbol="x_module", before=""):
    """Exit status and messages of -t."""
    done = serve.unstarted(f"{before}LoadModule {symbol} {path}\n").run("-t")
    return done.returncode, (done.stdout + done.stderr).decode()


def refused(serve, path, pattern, **more):
    status, text = loaded(serve, path, **more)
    assert status == 1, (status, text)
    assert re.search(rf"Cannot load {re.escape(str(path))} into server: {pattern}", text), text
    assert re.search(r"line \d+ of ", text)


def test_a_good_one(serve, compiled):
    assert loaded(serve, compiled(HOOKS + GOOD)) == (0, "Syntax OK\n")


@pytest.mark.parametrize("content,pattern", [(b"", "it is no shared object"), (b"LoadModule this\n" * 50, "it is no shared object"),
                                             (b"\x7fELF" + b"\0" * 500, "it is a shared object for another kind of machine")])
def test_no_shared_object(serve, tmp_path, content, pattern):
    (tmp_path / "mod_x.so").write_bytes(content)
    refused(serve, tmp_path / "mod_x.so", pattern)


def test_a_directory(serve, tmp_path):
    refused(serve, tmp_path, "it is a directory")


def test_nothing_there(serve, tmp_path):
    refused(serve, tmp_path / "mod_x.so", ".*No such file")


def test_no_permission(serve, compiled):
    path = compiled(HOOKS + GOOD)
    os.chmod(path, 0)
    server = serve.unstarted(f"LoadModule x_module {path}\n")
    server.port = 1
    server.write_config()
    user = unprivileged_user() if os.geteuid() == 0 else None
    for parent in list(pathlib.Path(path).parents)[:-1]:
        if parent.owner() == pathlib.Path(path).owner() and "pytest" in str(parent):
            parent.chmod(0o755)  # the file is the one that may not be read
    command = server.command("-t")
    command[0] = shutil.copy(command[0], pathlib.Path(path).parent)  # others may not enter the clone
    done = subprocess.run(command, capture_output=True, user=user, env=server.env)
    assert done.returncode == 1
    assert f"Cannot load {path} into server: it cannot be read: Permission denied".encode() in done.stderr


def test_a_program(serve, tmp_path):
    (tmp_path / "x.c").write_text("int main(void) { return 0; }\n")
    for options in (["-no-pie"], ["-pie", "-fPIE"], ["-c"]):
        subprocess.run(["cc", str(tmp_path / "x.c"), "-o", str(tmp_path / "mod_x.so"), *options], check=True)
        refused(serve, tmp_path / "mod_x.so", "it is a program")


def test_cut_short(serve, compiled):
    """Wherever it ends: no crash."""
    path = compiled(HOOKS + GOOD)
    content = open(path, "rb").read()
    for n in [16, 63, 64, 100, *range(500, len(content), len(content) // 12), len(content) - 1]:
        with open(path, "wb") as f:
            f.write(content[:n])
        refused(serve, path, "it is (no shared object|a damaged shared object)")


@pytest.mark.parametrize("at,value", [(4, b"\1"), (5, b"\2"), (18, struct.pack("<H", 40))], ids=["32 bits", "byte order", "machine"])
def test_other_machines(serve, compiled, at, value):
    path = compiled(HOOKS + GOOD)
    content = bytearray(open(path, "rb").read())
    content[at:at + len(value)] = value
    with open(path, "wb") as f:
        f.write(content)
    refused(serve, path, "it is a shared object for another kind of machine")


@pytest.mark.parametrize("text,pattern", [
    ("int nothing;\n", "it is no module: there is no module structure x_module in it"),
    (HOOKS + GOOD.replace("x_module", "y_module"), "it has no module x_module, but y_module"),
    ("int x_module(void) { return 1; }\n", "x_module is no module structure"),
    ("int x_module = 5;\n", "x_module is no module structure"),
    (HOOKS + structure(magic="0x12345678UL"), "x_module is no module structure: it has the signature 12345678"),
    (HOOKS + structure("20051115", "40", "0x41503232UL"), r"x_module was compiled for Apache 2\.2 \(module interface 20051115\)"),
    (HOOKS + structure("20020903", "14", "0x41503230UL"), r"x_module was compiled for Apache 2\.0 \(module interface 20020903\)"),
    (HOOKS + structure("20251231", "0"), r"x_module was compiled for module interface 20251231, this is 20120211"),
])
def test_no_module_or_not_for_this_server(serve, compiled, tmp_path, text, pattern):
    """Not even the constructors of the file run."""
    mark = tmp_path / "constructed"
    text += f'#include <stdio.h>\n__attribute__((constructor)) static void begin(void) {{ fclose(fopen("{mark}", "w")); }}\n'
    refused(serve, compiled(text), pattern)
    assert not mark.exists()


def test_a_later_minor_version(serve, compiled):
    """As Apache has it: it is loaded. But it is told."""
    status, text = loaded(serve, compiled(HOOKS + structure(minor="MODULE_MAGIC_NUMBER_MINOR + 5")))
    assert status == 0
    assert re.search(r"mod_x\.so: x_module was compiled for module interface 20120211:\d+, newer than this one", text)


@pytest.mark.parametrize("options", [[], ["-Wl,-z,lazy"], ["-Wl,-z,now"]])
def test_all_missing_symbols_are_named(serve, compiled, options):
    path = compiled("int ap_not_there(void); extern int ap_nor_this; int unused(void); int unused(void) { return ap_not_there(); }\n"
                    "static void hooks(apr_pool_t *p) { ap_nor_this = 1; }\n" + GOOD, "mod_x", *options)
    status, text = loaded(serve, path)
    assert status == 1
    needs = re.search(r"mod_x\.so needs (.*), which this version does not offer", text).group(1)
    assert sorted(needs.split(", ")) == ["ap_nor_this", "ap_not_there"]


def test_a_symbol_of_the_server(serve, compiled):
    """The server's is used by all; the module's own calls get it too."""
    path = compiled('const char *ap_get_server_built(void) { return "mine"; }\n'
                    "static int x_handler(request_rec *r)\n{\n    ap_rputs(ap_get_server_built(), r);\n    return OK;\n}\n"
                    '#include "http_request.h"\n'
                    "static void hooks(apr_pool_t *p) { ap_hook_handler(x_handler, 0, 0, APR_HOOK_FIRST); }\n" + GOOD)
    status, text = loaded(serve, path)
    assert status == 0
    assert re.search(r"mod_x\.so defines ap_get_server_built, which the server has too: that one is used by all, by "
                     r"mod_x\.so as well", text)
    assert serve(f"LoadModule x_module {path}\n").get("/").body not in (b"", b"mine")


def test_a_symbol_of_another_module(serve, compiled):
    one = compiled("int shared_name = 1;\n" + HOOKS + GOOD.replace("x_module", "one_module"), "mod_one")
    two = compiled("int shared_name = 2;\n" + HOOKS + GOOD.replace("x_module", "two_module"), "mod_two")
    status, text = loaded(serve, two, "two_module", f"LoadModule one_module {one}\n")
    assert status == 0
    assert f"{two} defines shared_name, which {one} has too" in text


def test_twice(serve, compiled):
    path = compiled(HOOKS + GOOD)
    copy = shutil.copy(path, os.path.join(os.path.dirname(path), "mod_copy.so"))
    for again in path, copy:
        status, text = loaded(serve, again, before=f"LoadModule x_module {path}\n")
        assert status == 0
        assert "module x_module is already loaded, skipping" in text


def test_a_reload_tells_of_nothing(serve, compiled):
    """The module that is loaded from before is not taken for another one's."""
    server = serve(f"LoadModule x_module {compiled('int shared_name = 1;' + HOOKS + GOOD)}\n", {"a.txt": "A"})
    server.signal(signal.SIGUSR1)
    server.wait_for_log("(?s)resuming.*resuming")
    assert b"defines" not in server.error_log()


def test_loadfile(serve, tmp_path):
    (tmp_path / "lib.so").write_bytes(b"\x7fELF")
    done = serve.unstarted(f"LoadFile {tmp_path}/lib.so\n").run("-t")
    assert done.returncode == 1 and b"it is no shared object" in done.stderr


# ---- Loaded and unloaded, again and again ---------------------------------------------------------------------

STOCK = ("rewrite deflate substitute ssl dav dav_fs dav_lock lua proxy proxy_http slotmem_shm proxy_balancer "
         "lbmethod_byrequests socache_shmcb session session_cookie auth_basic authn_core authn_file authz_user cache "
         "cache_disk http2 unique_id").split()


def size(server):
    """Resident kilobytes, mappings and descriptors of the supervisor, once the processes of before are gone."""
    wait_until(lambda: len(server.children()) == 1, "the end of the old processes")
    pid = server.process.pid
    with open(f"/proc/{pid}/smaps_rollup") as f:
        resident = int(re.search(r"(?m)^Rss:\s+(\d+)", f.read()).group(1))
    with open(f"/proc/{pid}/maps") as f:
        mappings = len(f.readlines())
    return resident, mappings, descriptors(pid)


@pytest.mark.skipif(bool(sanitizer()), reason="sanitizers keep memory that was given back")
def test_fifty_reloads_do_not_make_it_grow(serve):
    names = [name for name in STOCK if os.path.exists(f"{brigade.APACHE_MODULES}/mod_{name}.so")]
    if len(names) < len(STOCK) // 2:
        pytest.skip("Apache's modules are not installed")
    server = serve("ServerProcesses 1\n" + "".join(f"LoadModule {name}_module @MODULES@/mod_{name}.so\n" for name in names),
                   {"a.txt": "A"})
    sizes = []
    for n in range(1, 51):
        server.signal(signal.SIGUSR1)
        wait_until(lambda: server.error_log().count(b"resuming normal operations") > n, "the reload")
        if n in (10, 50):
            sizes.append(size(server))
    assert server.get("/a.txt").body == b"A"
    (resident, mappings, open_files), after = sizes
    assert after[1] <= mappings + 3 and after[2] == open_files and after[0] < resident + 300, sizes


# ---- families of modules: all built in, or all files ----

def proxies(*names):
    return "".join(f"LoadModule {name}_module {brigade.APACHE_MODULES}/mod_{name}.so\n" for name in names)


@pytest.mark.parametrize("config, shared, reason", [
    (proxies("proxy", "proxy_http"), [], None),
    (proxies("proxy", "proxy_http", "proxy_ajp"), ["proxy", "proxy_ajp", "proxy_http"], "proxy_ajp_module"),
    (proxies("proxy") + "BuiltinModule proxy_http Off\n" + proxies("proxy_http"), ["proxy", "proxy_http"], "proxy_http_module"),
    ("BuiltinModule proxy Auto\n" + proxies("proxy", "proxy_ajp"), ["proxy", "proxy_ajp"], "proxy_ajp_module"),
])
def test_a_family_is_built_in_or_files(serve, config, shared, reason):
    """No module of the family stays built in beside a file, not even one that no line names."""
    server = serve.unstarted(config)
    done = server.run("-t")
    assert done.returncode == 0, done.stderr
    said = re.findall(rb":(\d+): (\w+) is not offered by the built-in modules: .* of all that belong to the proxy modules", done.stderr)
    assert [name.decode() for _, name in said] == ([reason] if reason else [])
    listed = server.run("-M").stdout.decode()
    found = re.findall(r"(proxy\w*)_module \((\w+)\)", listed)
    if shared:
        assert sorted(found) == [(name, "shared") for name in shared]
        assert "lbmethod" not in listed
    else:
        assert set(found) >= {("proxy", "static"), ("proxy_http", "static")} and not [name for name, kind in found if kind == "shared"]


def test_a_family_that_is_kept(serve):
    """BuiltinModule On: the file has to do with what is built in, and says what it misses."""
    done = serve.unstarted("BuiltinModule proxy On\n" + proxies("proxy", "proxy_ajp")).run("-t")
    assert done.returncode == 1 and b"mod_proxy_ajp.so needs" in done.stderr
