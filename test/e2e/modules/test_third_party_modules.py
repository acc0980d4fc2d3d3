# SPDX-License-Identifier: Apache-2.0
"""Modules from outside: what `cmake --install` leaves is enough to build, install and load one; binaries of Debian's
apache2 load as they are."""
import concurrent.futures
import os
import re
import shutil
import subprocess

import pytest

import brigade
from module_source import run
from trouble import compiled

pytestmark = pytest.mark.only("brigade")


def test_installed_tree(prefix):
    for name in ("bin/brigade", "bin/brigade-apxs", "conf/httpd.conf", "conf/mime.types", "include/httpd.h",
                 "include/brigade/response_cache.h", "htdocs/index.html", "share/man/man8/brigade.8",
                 "bin/brigade-filter-test", "share/man/man1/brigade-filter-test.1", "lib/pkgconfig/brigade.pc",
                 "lib/cmake/Brigade/BrigadeConfig.cmake", "share/doc/brigade/modules.md",
                 "share/doc/brigade/samples/mod_sample_output.c"):
        assert os.path.exists(os.path.join(prefix, name)), name
    assert "Syntax OK" in run(os.path.join(prefix, "bin/brigade"), "-t")


def test_apxs_query(prefix):
    apxs = os.path.join(prefix, "bin/brigade-apxs")
    assert run(apxs, "-q", "PREFIX").strip() == prefix
    assert run(apxs, "-q", "LIBEXECDIR").strip() == prefix + "/modules"
    everything = run(apxs, "-q")
    for key in "BINDIR SBINDIR TARGET SYSCONFDIR PREFIX LIBEXECDIR INCLUDEDIR CC CFLAGS".split():
        assert re.search(rf"^{key}=\S", everything, re.M), key
    p = subprocess.run([apxs, "-q", "NONSENSE"], capture_output=True, text=True)
    assert p.returncode == 1 and "NONSENSE" in p.stderr


def test_filter_of_the_guide(prefix, serve, tmp_path):
    """The filter module of the guide, as a reader would take it from there."""
    text = open(os.path.join(brigade.REPOSITORY, "docs/guides/07-write-a-filter.md")).read()
    source = re.search(r"```c\n(.*?)```", text, re.S).group(1)
    (tmp_path / "mod_upper.c").write_text(source)
    run(os.path.join(prefix, "bin/brigade-apxs"), "-c", "-i", "-a", "mod_upper.c", cwd=tmp_path)
    assert "LoadModule upper_module modules/mod_upper.so" in open(prefix + "/conf/httpd.conf").read()
    server = serve(f'LoadModule upper_module "{prefix}/modules/mod_upper.so"\nAddOutputFilter UPPER txt\n',
                     files={"a.txt": "mixed Case\n" * 5000, "b.html": "mixed Case\n"})
    assert server.get("/a.txt").body == b"MIXED CASE\n" * 5000
    assert server.get("/b.html").body == b"mixed Case\n"


def test_generated_module(prefix, serve, tmp_path):
    run(os.path.join(prefix, "bin/brigade-apxs"), "-g", "-n", "hello", cwd=tmp_path)
    run("make", cwd=tmp_path / "hello")
    server = serve(f'LoadModule hello_module "{tmp_path}/hello/mod_hello.so"\n'
                     '<Location "/hi">\nSetHandler hello\n</Location>\n')
    answer = server.get("/hi")
    assert answer.status == 200 and answer.body == b"The sample page from mod_hello.c\n"


STOCK = {
    "case_filter": ("CaseFilter On\n", b"ABC\n"),
    "substitute": ("AddOutputFilterByType SUBSTITUTE text/plain\nSubstitute s/b/X/\n", b"aXc\n"),
    "sed": ("<Location />\nAddOutputFilter Sed txt\nOutputSed s/b/Y/\n</Location>\n", b"aYc\n"),
}


@pytest.mark.parametrize("name", sorted(STOCK))
def test_stock_filter(serve, name):
    """A filter binary that Debian built for Apache 2.4 loads and works, on a worker thread."""
    so = f"{brigade.APACHE_MODULES}/mod_{name}.so"
    if not os.path.exists(so):
        pytest.skip(f"{so} is not installed")
    conf, body = STOCK[name]
    server = serve(f'LoadModule {name}_module "{so}"\n{conf}', files={"a.txt": "abc\n"})
    for _ in range(5):
        assert server.get("/a.txt").body == body


def test_stock_rewrite_htaccess(serve):
    so = f"{brigade.APACHE_MODULES}/mod_rewrite.so"
    if not os.path.exists(so):
        pytest.skip(f"{so} is not installed")
    server = serve(f'LoadModule rewrite_module "{so}"\n<Directory "@ROOT@/htdocs">\nAllowOverride All\n</Directory>\n',
                     files={"real.html": "real", ".htaccess": "RewriteEngine On\nRewriteRule ^nice/([a-z]+)$ $1.html [L]\n"})
    assert server.get("/nice/real").body == b"real"
    server.write(".htaccess", "RewriteEngine On\nRewriteRule ^nice/ - [F]\n")
    assert server.get("/nice/real").status == 403


def test_missing_symbol_is_named(serve, tmp_path):
    if not shutil.which("cc"):
        pytest.skip("no compiler")
    (tmp_path / "mod_needy.c").write_text(
        '#include "httpd.h"\n#include "http_config.h"\nint ap_not_there(void);\n'
        "static void hooks(apr_pool_t *p) { ap_not_there(); }\n"
        "module AP_MODULE_DECLARE_DATA needy_module = {STANDARD20_MODULE_STUFF, 0, 0, 0, 0, 0, hooks, 0};\n")
    flags = run("pkg-config", "--cflags", "apr-1", "apr-util-1").split()
    run("cc", "-shared", "-fPIC", "-I", os.path.join(brigade.REPOSITORY, "include"), *flags, "mod_needy.c", "-o",
        "mod_needy.so", cwd=tmp_path)
    server = serve.unstarted(f'LoadModule needy_module "{tmp_path}/mod_needy.so"\n')
    p = server.run("-t")
    assert p.returncode == 1
    assert b"mod_needy.so needs ap_not_there, which this version does not offer" in p.stdout + p.stderr


@pytest.mark.threads
@pytest.mark.parametrize("options", [(), ("-DON_LOOP",)])
def test_suspended_requests_are_resumed(serve, options):
    """The answer comes from a thread of the module's choice, and the connection goes on with its next request."""
    server = serve(f'LoadModule suspend_module "{compiled("mod_suspend", *options)}"\n<Location /later>\nSetHandler suspend\n</Location>\n',
                   {"a.txt": "A\n"})

    def client(ms):
        with server.connect() as c:
            for _ in range(20):
                assert c.request("GET", f"/later?{ms}").body == b"resumed\n"
                assert c.request("GET", "/a.txt").body == b"A\n"
        return True
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert all(pool.map(client, [0, 0, 0, 1, 2, 5]))
