# SPDX-License-Identifier: Apache-2.0
"""brigade --check-module: what is wrong with a module file is said, and what a good one brings is listed."""
import os
import re
import subprocess

import pytest

import brigade
from module_source import INCLUDE, compile_text

pytestmark = pytest.mark.only("brigade")

HANDLER = """
static int x_handler(request_rec *r) { return DECLINED; }
"""
GOOD = HANDLER + """
static apr_status_t out(ap_filter_t *f, apr_bucket_brigade *bb) { return ap_pass_brigade(f->next, bb); }
static const char *set(cmd_parms *cmd, void *conf, const char *arg) { return NULL; }
static const command_rec commands[] = {
    AP_INIT_TAKE1("XPlain", set, NULL, RSRC_CONF, "a word"), AP_INIT_ITERATE("XEach", set, NULL, OR_ALL, NULL), {NULL}};
static void x_hooks(apr_pool_t *p)
{
    static const char *const after[] = {"mod_alias.c", NULL};
    static const int provider;
    ap_hook_handler(x_handler, after, NULL, APR_HOOK_LAST);
    ap_hook_fixups(x_handler, NULL, NULL, 7);
    ap_register_output_filter("XOUT", out, NULL, AP_FTYPE_CONTENT_SET);
    ap_register_provider(p, "xgroup", "xname", "0", &provider);
}
"""


def check(*files):
    p = subprocess.run([brigade.BINARY, "--check-module", *files], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       timeout=brigade.PATIENCE * 2, env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))
    return p.returncode, p.stdout.decode()


def test_what_a_module_brings(tmp_path):
    so = compile_text(tmp_path, "x", GOOD, structure="AP_DECLARE_MODULE(x) = {STANDARD20_MODULE_STUFF, NULL, NULL, NULL, "
                                                     "NULL, commands, x_hooks, 0};")
    status, text = check(so)
    assert status == 0, text
    for line in ("  module x_module: interface 20120211:142, here 20120211:142", "    directive XPlain A (server): a word",
                 "    directive XEach A... (server, directory, .htaccess)", "    hook handler (last), after mod_alias.c",
                 "    hook fixups (order 7)", "    output filter xout (content set)",
                 "    provider xname of xgroup, version 0", "    runs on worker threads: it does not declare otherwise"):
        assert line in text.splitlines(), line + "\n" + text


def test_a_declared_module(tmp_path):
    so = compile_text(tmp_path, "d", '#include "brigade/response_cache.h"\nextern module AP_MODULE_DECLARE_DATA d_module;\n'
                      "static void d_hooks(apr_pool_t *p) { brg_nonblocking_declare(&d_module); }")
    text = check(so)[1]
    assert "    runs on event loops" in text and "costs" not in text


@pytest.mark.parametrize("hooks,costs", [
    ("ap_hook_fixups(x_do, NULL, NULL, APR_HOOK_MIDDLE);", "costs all requests: "),
    ("ap_hook_pre_connection(x_conn, NULL, NULL, APR_HOOK_MIDDLE);", "costs all connections and requests: "),
    ('ap_register_output_filter("XOUT", x_out, NULL, AP_FTYPE_RESOURCE);', "costs other requests nothing"),
    ("ap_hook_post_config(x_config, NULL, NULL, APR_HOOK_MIDDLE);", "costs other requests nothing")])
def test_what_a_module_without_a_declaration_costs(tmp_path, hooks, costs):
    so = compile_text(tmp_path, "x", '#include "http_request.h"\n#include "http_connection.h"\n'
                      "static int x_do(request_rec *r) { return DECLINED; }\nstatic int x_conn(conn_rec *c, void *s) { return DECLINED; }\n"
                      "static apr_status_t x_out(ap_filter_t *f, apr_bucket_brigade *bb) { return ap_pass_brigade(f->next, bb); }\n"
                      "static int x_config(apr_pool_t *p, apr_pool_t *l, apr_pool_t *t, server_rec *s) { return OK; }\n"
                      f"static void x_hooks(apr_pool_t *p) {{ (void)x_do; (void)x_conn; (void)x_out; (void)x_config; {hooks} }}")
    text = check(so)[1]
    assert "    " + costs in text
    assert ("brg_nonblocking_declare(&x_module)" in text) == ("nothing" not in costs)


def test_all_missing_symbols_are_named(tmp_path):
    so = compile_text(tmp_path, "needy", "int ap_not_there(void);\nint ap_nor_this(void);\nextern int some_data;\n"
                      "static void needy_hooks(apr_pool_t *p) { ap_not_there(); ap_nor_this(); }")
    status, text = check(so)
    assert status == 1
    assert "missing: ap_not_there, which this version does not offer" in text and "missing: ap_nor_this," in text
    assert "(2 missing" in text and "needy_module brings" in text  # it was opened all the same, and
    assert "ended the process with status 127 in register_hooks of needy_module" in text


def test_another_module_offers_them(tmp_path):
    one = compile_text(tmp_path, "one", "AP_DECLARE(int) one_offers(void) { return 1; }\n"
                       "static void one_hooks(apr_pool_t *p) { }")
    two = compile_text(tmp_path, "two", "int one_offers(void);\nstatic void two_hooks(apr_pool_t *p) { one_offers(); }")
    assert check(two)[0] == 1
    assert check(one, two)[0] == 0


def test_a_missing_library_is_named(tmp_path):
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "/dev/null", "-o", str(tmp_path / "libgone.so")], check=True)
    so = compile_text(tmp_path, "lib", "static void lib_hooks(apr_pool_t *p) { }", f"-L{tmp_path}", "-Wl,--no-as-needed",
                      "-lgone")
    (tmp_path / "libgone.so").rename(tmp_path / "libelse.so")
    status, text = check(so)
    assert status == 1 and "library libgone.so: not found" in text


def test_other_interfaces(tmp_path):
    old = compile_text(tmp_path, "old", HANDLER.replace("x_", "old_") + "static void old_hooks(apr_pool_t *p) { }",
                       "-DMODULE_MAGIC_NUMBER_MAJOR=20051115", "-Wno-unused-function")
    status, text = check(old)
    assert status == 1 and "module old_module: built for interface 20051115, this is 20120211" in text
    assert "brings" not in text
    garbled = compile_text(tmp_path, "garbled", "static void garbled_hooks(apr_pool_t *p) { }", structure=
                           "module AP_MODULE_DECLARE_DATA garbled_module = {MODULE_MAGIC_NUMBER_MAJOR, 0, -1, \"x.c\", NULL,"
                           " NULL, 0x12345, NULL, NULL, NULL, NULL, NULL, NULL, garbled_hooks, 0};")
    status, text = check(garbled)
    assert status == 1 and "no module structure of Apache 2.x (signature 00012345" in text


def test_crashes_are_reported(tmp_path):
    hook = compile_text(tmp_path, "crash", "static void crash_hooks(apr_pool_t *p) { *(volatile int *)8 = 1; }")
    start = compile_text(tmp_path, "start", "__attribute__((constructor)) static void begin(void) { __builtin_trap(); }\n"
                         "static void start_hooks(apr_pool_t *p) { }")
    status, text = check(hook, start)
    assert status == 1
    assert "in register_hooks of crash_module" in text
    assert "while it was opened (a constructor, or a library of it)" in text


def test_duplicates_are_named(tmp_path):
    so = compile_text(tmp_path, "twice", "__attribute__((visibility(\"default\"))) int ap_rind(const char *s, char c) "
                      "{ return 7; }\nstatic void twice_hooks(apr_pool_t *p) { }")
    status, text = check(so)
    assert status == 0 and "duplicate: ap_rind: the server" in text


def test_what_is_no_module(tmp_path):
    (tmp_path / "text.so").write_text("just words, and enough of them to be as long as the head of an ELF file is, or so")
    (tmp_path / "short.so").write_bytes(b"\x7fELF")
    good = compile_text(tmp_path, "x", GOOD + "\n#define unused commands\nvoid *keep(void);\nvoid *keep(void) "
                        "{ return (void *)unused; }")
    data = open(good, "rb").read()
    (tmp_path / "cut.so").write_bytes(data[:len(data) // 2])
    (tmp_path / "other.so").write_bytes(data[:4] + b"\x01" + data[5:])
    (tmp_path / "empty.c").write_text("int nothing;\n")
    subprocess.run(["cc", "-shared", "-fPIC", str(tmp_path / "empty.c"), "-o", str(tmp_path / "empty.so")], check=True)
    for name, message in {"text.so": "is no shared object", "short.so": "is no shared object",
                          "cut.so": "is a damaged shared object", "other.so": "for another kind of machine",
                          "empty.so": "no module: it defines no structure NAME_module", ".": "is a directory",
                          "absent.so": "cannot be read: No such file"}.items():
        status, text = check(str(tmp_path / name))
        assert status == 1 and message in text, text
    status, text = check(brigade.BINARY)
    assert status == 1 and "is a program" in text
    assert check()[0] == 2


def test_stock_binaries():
    if not os.path.exists(f"{brigade.APACHE_MODULES}/mod_rewrite.so"):
        pytest.skip("Apache's modules are not installed")
    status, text = check(f"{brigade.APACHE_MODULES}/mod_rewrite.so", f"{brigade.APACHE_MODULES}/mod_mime.so")
    assert status == 0 and "hook translate_name (first), before mod_proxy.c" in text
    status, of_mpm = check(f"{brigade.APACHE_MODULES}/mod_mpm_event.so")
    assert status == 0 and "LoadModule does not open it" in of_mpm and "missing" not in of_mpm
    assert 'built in: LoadModule opens the file only behind "BuiltinModule mime_module Off"' in text


def test_every_hook_of_the_public_headers_is_known():
    """Others are named too, but without their order."""
    hooks = set()
    for name in os.listdir(INCLUDE):
        if name.endswith(".h"):
            hooks |= set(re.findall(r"^\s*AP_DECLARE_HOOK\([^,]+,\s*(\w+)", open(os.path.join(INCLUDE, name)).read(), re.M))
    hooks -= {"fatal_exception"}  # for servers that are built with AP_ENABLE_EXCEPTION_HOOK
    source = open(os.path.join(brigade.REPOSITORY, "server", "loader", "module_check_show.c")).read()
    assert len(hooks) > 60 and sorted(h for h in hooks if f"X({h})" not in source) == []


def test_a_library_with_many_thread_variables():
    module = os.path.join(os.path.dirname(brigade.BINARY), "modules", "sms_jemalloc.so")
    if not os.path.exists(module):
        pytest.skip("modules/sms_jemalloc.so was not built")
    status, text = check(module)
    assert status == 0 and "missing" not in text, text


def test_what_comes_to_no_handler_stays_on_the_loop(tmp_path):
    """A module with a handler and no declaration: redirects and refusals never reach it. No worker thread is started for them."""
    so = compile_text(tmp_path, "x", HANDLER + "static void x_hooks(apr_pool_t *p) { ap_hook_handler(x_handler, NULL, NULL, APR_HOOK_MIDDLE); }")
    with brigade.Server(f"LoadModule x_module {so}\nRedirect /r /a.txt\n<Location /d.txt>\nRequire all denied\n</Location>\n", {"a.txt": "A\n", "d.txt": "D\n"}) as server:
        def threads():
            return len(os.listdir(f"/proc/{server.children()[0]}/task"))
        server.get("/r")
        before = threads()
        assert [server.get(t).status for t in ("/r", "/d.txt", "/r")] == [302, 403, 302]
        assert threads() == before
        assert server.get("/a.txt").body == b"A\n"
        assert threads() > before
