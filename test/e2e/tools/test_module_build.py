# SPDX-License-Identifier: Apache-2.0
"""Ways to build a module outside of the tree: brigade-apxs with all its options, pkg-config, CMake; also from a tree that was
moved after it was installed, or put under DESTDIR."""
import os
import re
import shutil
import subprocess

import pytest

import brigade
from module_source import run

pytestmark = [pytest.mark.only("brigade"), pytest.mark.slow]

# A module whose answer tells what it was compiled with.
SOURCE = """
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#ifndef WORD
#define WORD "plain"
#endif
#ifdef HELPED
const char *helper(void);
#else
#define helper() ""
#endif
static int tell(request_rec *r)
{
    if (!r->handler || strcmp(r->handler, "tell"))
        return DECLINED;
    ap_rprintf(r, "%s%s", WORD, helper());
    return OK;
}
static void hooks(apr_pool_t *p) { ap_hook_handler(tell, NULL, NULL, APR_HOOK_MIDDLE); }
module AP_MODULE_DECLARE_DATA tell_module = {STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, hooks, 0};
"""


@pytest.fixture
def source(tmp_path):
    (tmp_path / "mod_tell.c").write_text(SOURCE)
    return tmp_path


def told(serve, so):
    server = serve(f'LoadModule tell_module "{so}"\n<Location "/tell">\nSetHandler tell\n</Location>\n')
    return server.get("/tell").body.decode()


def apxs(prefix, *args, cwd=None, env=None):
    return run(f"{prefix}/bin/brigade-apxs", *args, cwd=cwd, env=dict(os.environ, **(env or {})))


# ---- pkg-config, CMake -----------------------------------------------------------------------------------------

def pkg_config(prefix, *args):
    return run("pkg-config", *args, "brigade", env=dict(os.environ, PKG_CONFIG_PATH=f"{prefix}/lib/pkgconfig")).strip()


def test_pkg_config(serve, prefix, source):
    assert pkg_config(prefix, "--variable=mmn") == "20120211"
    assert os.path.realpath(pkg_config(prefix, "--variable=libexecdir")) == os.path.realpath(f"{prefix}/modules")
    run("cc", "-shared", "-fPIC", "-Wall", "-Werror", *pkg_config(prefix, "--cflags").split(), "mod_tell.c", "-o",
        "mod_tell.so", cwd=source)
    assert told(serve, source / "mod_tell.so") == "plain"


CMAKE = """cmake_minimum_required(VERSION 3.16)
project(tell C)
find_package(Brigade 0.1 REQUIRED)
brigade_add_module(mod_tell mod_tell.c)
add_library(other MODULE mod_tell.c)
target_link_libraries(other PRIVATE Brigade::module)
install(TARGETS mod_tell DESTINATION ${BRIGADE_MODULES_DIR})
"""


def cmake_build(prefix, source):
    (source / "CMakeLists.txt").write_text(CMAKE)
    run("cmake", "-S", ".", "-B", "out", f"-DCMAKE_PREFIX_PATH={prefix}", cwd=source)
    run("cmake", "--build", "out", cwd=source)


def test_cmake_package(serve, prefix, source):
    cmake_build(prefix, source)
    assert os.path.exists(source / "out" / "libother.so")
    run("cmake", "--install", "out", cwd=source)
    assert told(serve, f"{prefix}/modules/mod_tell.so") == "plain"
    p = subprocess.run(["cmake", "-S", ".", "-B", "out2", f"-DCMAKE_PREFIX_PATH={prefix}"], cwd=source, text=True,
                       capture_output=True) if (source / "CMakeLists.txt").write_text(CMAKE.replace("0.1", "7.0")) else None
    assert p.returncode != 0 and "compatible with requested" in p.stderr


def test_a_tree_that_was_moved(serve, prefix, source, tmp_path):
    build = os.path.dirname(brigade.BINARY)
    stage = tmp_path / "stage"
    run("cmake", "--install", build, "--prefix", "/opt/brigade", env=dict(os.environ, DESTDIR=str(stage)))
    moved = tmp_path / "elsewhere with a blank"
    shutil.move(stage / "opt" / "brigade", moved)
    assert not os.path.exists("/opt/brigade/bin/brigade")
    assert apxs(moved, "-q", "LIBEXECDIR").strip() == f"{moved}/modules"
    apxs(moved, "-c", "-i", "-a", "mod_tell.c", cwd=source)
    assert "LoadModule tell_module modules/mod_tell.so" in (moved / "conf" / "httpd.conf").read_text()
    cmake_build(moved, source)
    link = tmp_path / "apxs-link"
    link.symlink_to(moved / "bin" / "brigade-apxs")
    assert run(str(link), "-q", "PREFIX").strip() == str(moved)
    assert told(serve, moved / "modules" / "mod_tell.so") == "plain"
    flags = pkg_config(str(moved), "--cflags")
    assert "elsewhere" in flags


# ---- brigade-apxs ----------------------------------------------------------------------------------------------

def test_every_variable_of_apache_has_an_answer(prefix):
    if not shutil.which("apxs"):
        pytest.skip("Apache's apxs is not installed")
    theirs = [line.split("=")[0] for line in run("apxs", "-q").splitlines() if re.match(r"\w+=", line)]
    # What only the build of Apache itself asks for.
    own = re.compile(r"AP_\w+_DIRS|DTRACE|GIT|INSTALL_PROG_FLAGS|INSTALL_SUEXEC|LOAD_ALL_MODULES|MKINSTALLDIRS|MK_IMPLIB"
                     r"|NONPORTABLE_SUPPORT|RSYNC|ab_\w+|other_targets|\w*proxycachedir")
    theirs = [name for name in theirs if not own.fullmatch(name)]
    assert len(theirs) > 80
    assert apxs(prefix, "-q", *theirs).count(";;") == len(theirs) - 1


def test_queries(prefix):
    for name, value in {"TARGET": "brigade", "progname": "brigade", "SBINDIR": f"{prefix}/bin",
                        "LIBEXECDIR": f"{prefix}/modules", "exp_libexecdir": f"{prefix}/modules",
                        "includedir": f"{prefix}/include", "SYSCONFDIR": f"{prefix}/conf", "HTTPD_MMN": "20120211",
                        "HTTPD_VERSION": "2.4.71", "MPM_NAME": "event"}.items():
        assert apxs(prefix, "-q", name).strip() == value
    assert apxs(prefix, "-q", "-S", "LIBEXECDIR=/x", "-S", "MINE=a b", "LIBEXECDIR", "MINE") == "/x;;a b\n"
    assert apxs(prefix, "-q", "-S", "PREFIX=/y", "BINDIR").strip() == "/y/bin"
    assert os.access(apxs(prefix, "-q", "APR_CONFIG").strip(), os.X_OK)
    assert os.path.exists(apxs(prefix, "-q", "APR_INCLUDEDIR").strip() + "/apr.h")
    everything = apxs(prefix, "-q")
    assert f"\nSYSCONFDIR={prefix}/conf\n" in everything and "\nCFLAGS=-g -O2 -fPIC\n" in everything


def test_configure_scripts_find_what_they_want(serve, prefix, source):
    """As `./configure --with-apxs` does it: the compiler is called with what -q says."""
    run("sh", "-ec", f'APXS="{prefix}/bin/brigade-apxs"\n'
        '$($APXS -q CC) $($APXS -q CFLAGS) $($APXS -q CFLAGS_SHLIB) -I$($APXS -q INCLUDEDIR) $($APXS -q CPPFLAGS) '
        '$($APXS -q EXTRA_CFLAGS) -I$($APXS -q APR_INCLUDEDIR) $($APXS -q EXTRA_INCLUDES) $($APXS -q LDFLAGS_SHLIB) '
        '$($APXS -q LDFLAGS) mod_tell.c -o mod_tell.so $($APXS -q LIBS_SHLIB)', cwd=source)
    assert told(serve, source / "mod_tell.so") == "plain"


def test_several_sources_and_all_kinds_of_flags(serve, prefix, source):
    os.makedirs(source / "in clude")
    os.makedirs(source / "lib")
    (source / "in clude" / "helper.h").write_text('#define TEXT "-helped"\n')
    (source / "helper.c").write_text('#include "helper.h"\nextern const char *part(void);\n'
                                     "const char *helper(void);\nconst char *helper(void) { return *part() ? TEXT : 0; }\n")
    (source / "part.c").write_text("const char *part(void);\nconst char *part(void) { return PART; }\n")
    run("cc", "-fPIC", '-DPART="p"', "-c", "part.c", "-o", "part.o", cwd=source)
    run("ar", "rc", "lib/libpart.a", "part.o", cwd=source)
    text = apxs(prefix, "-D", "HELPED", '-DWORD="two words"', "-I", "in clude", "-L", "lib", "-l", "part",
                "-Wc,-Wall,-Wextra", "-Wc,-Wno-unused-parameter", "-Wl,-z,defs", "-Wl,-z,lazy,--unresolved-symbols=ignore-all",
                "-o", "tell it.so", "-c", "mod_tell.c", "helper.c", cwd=source)
    assert "-Wall -Wextra" in text and "-Wl,-z,defs" in text
    assert told(serve, source / "tell it.so") == "two words-helped"


def test_flags_behind_the_files(serve, prefix, source):
    apxs(prefix, "-c", "mod_tell.c", '-DWORD="late"', "-lm", "-Wc,-O1", "-Wl,-lm", cwd=source)
    assert told(serve, source / "mod_tell.so") == "late"


def test_cplusplus(serve, prefix, source):
    if not shutil.which("c++"):
        pytest.skip("no compiler for C++")
    os.rename(source / "mod_tell.c", source / "mod_tell.cpp")
    text = (source / "mod_tell.cpp").read_text().replace("static int tell", 'extern "C" { extern module tell_module; }\n'
                                                         "#include <string>\nstatic int tell")
    (source / "mod_tell.cpp").write_text(text.replace('"%s%s", WORD', '"%s%s", std::string("c++").c_str()'))
    assert "c++ " in apxs(prefix, "-c", "-n", "tell", "-i", "mod_tell.cpp", cwd=source)
    assert told(serve, f"{prefix}/modules/mod_tell.so") == "c++"


def test_objects_and_names_of_libtool(serve, prefix, source):
    run("cc", "-fPIC", *pkg_config(prefix, "--cflags").split(), "-c", "mod_tell.c", "-o", "tell.o", cwd=source)
    apxs(prefix, "-c", "-o", "mod_tell.la", "tell.o", cwd=source)
    apxs(prefix, "-i", "-A", "-n", "tell", "mod_tell.la", cwd=source)
    conf = open(f"{prefix}/conf/httpd.conf").read()
    assert "\n#LoadModule tell_module modules/mod_tell.so\n" in "\n" + conf
    apxs(prefix, "-e", "-a", "-n", "tell", "mod_tell.so", cwd=source)
    conf = open(f"{prefix}/conf/httpd.conf").read()
    assert "\nLoadModule tell_module modules/mod_tell.so\n" in "\n" + conf and "#LoadModule tell" not in conf
    os.mkdir(source / ".libs")  # where the libtool of a module's own build system leaves it
    os.rename(source / "mod_tell.so", source / ".libs" / "mod_other.so")
    apxs(prefix, "-i", "mod_other.la", cwd=source)
    assert os.path.exists(f"{prefix}/modules/mod_other.so")
    (source / "x.lo").write_text("# x.lo - a libtool object file\n")
    p = subprocess.run([f"{prefix}/bin/brigade-apxs", "-c", "x.lo"], capture_output=True, text=True, cwd=source)
    assert p.returncode == 1 and "libtool" in p.stderr


def test_the_linker_flags_of_a_makefile(serve, prefix, source):
    """-Wc,"$(CFLAGS)" and -Wl,"$(LDFLAGS)": empty, or with -Wl, of their own."""
    apxs(prefix, "-c", "-Wc,", "-Wl,", "-l", "m", "mod_tell.c", cwd=source)
    assert told(serve, source / "mod_tell.so") == "plain"
    text = apxs(prefix, "-c", "-Wl,-L/nowhere,-lm -Wl,-z,relro,-z,now", "-Wl,-Wl,--as-needed,-O1", "mod_tell.c", cwd=source)
    assert "-L/nowhere -lm -Wl,-z,relro,-z,now" in text and "-Wl,--as-needed,-O1" in text


def test_headers_say_what_the_system_has(prefix, source):
    """As ap_config_auto.h does; engines of OpenSSL where they are installed."""
    (source / "mod_tell.c").write_text(
        "#include \"ap_config_auto.h\"\n#if !HAVE_STDINT_H || !HAVE_STRINGS_H || !defined(STDC_HEADERS)\n#error headers\n#endif\n"
        "#if __has_include(<openssl/engine.h>) && !(HAVE_OPENSSL_ENGINE_H && HAVE_ENGINE_INIT)\n#error engines\n#endif\n"
        + SOURCE)
    apxs(prefix, "-c", "-Wc,-Wall,-Werror", "mod_tell.c", cwd=source)


def test_messages_of_a_module_without_a_name_for_logs(serve, prefix, source):
    """Apache leaves the place of the name empty."""
    text = SOURCE.replace('#include "http_protocol.h"', '#include "http_protocol.h"\n#include "http_log.h"')
    (source / "mod_tell.c").write_text(
        text.replace("    return OK;", '    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, "nobody says");\n    return OK;'))
    apxs(prefix, "-c", "mod_tell.c", cwd=source)
    server = serve(f'LoadModule tell_module "{source}/mod_tell.so"\n<Location "/tell">\nSetHandler tell\n</Location>\n')
    assert server.get("/tell").status == 200
    server.wait_for_log(r"\] \[:error\] \[pid .*nobody says")


# ---- makefiles with the server's rules -------------------------------------------------------------------------

MAKEFILE = """builddir = .
top_builddir = {top}
include $(top_builddir)/build/special.mk
DEFS = -DHELPED -DWORD='"made"'
INCLUDES = -I$(builddir)/include
all: local-shared-build
install: install-modules-yes
"""
MODULES_MK = """mod_tell.la: mod_tell.slo helper.slo
\t$(SH_LINK) -rpath $(libexecdir) -module -avoid-version mod_tell.lo helper.lo
shared = mod_tell.la
"""


def test_makefile_of_one_module(serve, prefix, source):
    """As apxs -g of Apache writes them."""
    top = os.path.dirname(apxs(prefix, "-q", "installbuilddir").strip())
    (source / "include").mkdir()
    (source / "include" / "helper.h").write_text('#define TEXT "-by rules"\n')
    (source / "helper.c").write_text('#include "helper.h"\nconst char *helper(void) { return TEXT; }\n')
    (source / "Makefile").write_text(MAKEFILE.format(top=top))
    (source / "modules.mk").write_text(MODULES_MK)
    run("make", cwd=source)
    assert told(serve, source / "mod_tell.so") == "made-by rules"
    assert "-shared" not in run("make", cwd=source)  # it is made already
    run("make", "install", cwd=source)
    assert os.path.exists(f"{prefix}/modules/mod_tell.so")
    run("make", "clean", cwd=source)
    assert not os.path.exists(source / "mod_tell.so")


def test_makefile_with_folders(prefix, source):
    """As configure.apxs of mod_fcgid makes them."""
    rules = apxs(prefix, "-q", "exp_installbuilddir").strip() + "/rules.mk"
    (source / "sub").mkdir()
    (source / "sub" / "Makefile").write_text(f"TARGETS = made\ninclude {rules}\nmade:\n\techo $(CFLAGS) > made\n")
    (source / "Makefile").write_text(
        "SUBDIRS = sub\nINSTALL_TARGETS = install-more\nDISTCLEAN_TARGETS = sub/made\nmanualdir = elsewhere\n"
        f"include {rules}\ninstall-more:\n\t$(MKINSTALLDIRS) there\n\techo $(manualdir) $(exp_manualdir) > there/it\n")
    run("make", cwd=source)
    assert "-O" in (source / "sub" / "made").read_text()
    run("make", "install", cwd=source)
    elsewhere, manual = (source / "there" / "it").read_text().split()
    assert elsewhere == "elsewhere" and os.path.samefile(os.path.dirname(manual), f"{prefix}/share/doc")
    run("make", "distclean", cwd=source)
    assert not os.path.exists(source / "sub" / "made")


def test_staged_installation(prefix, source, tmp_path):
    stage = tmp_path / "stage"
    (stage / "etc").mkdir(parents=True)
    (stage / "etc" / "httpd.conf").write_text("Listen 80\n")
    apxs(prefix, "-c", "-i", "-a", "-S", "LIBEXECDIR=/usr/lib/x", "-S", "SYSCONFDIR=/etc", "mod_tell.c", cwd=source,
         env={"DESTDIR": str(stage)})
    assert os.path.exists(stage / "usr/lib/x/mod_tell.so")
    assert 'LoadModule tell_module "/usr/lib/x/mod_tell.so"' in (stage / "etc" / "httpd.conf").read_text()


def test_the_template(serve, prefix, tmp_path):
    """What brigade-apxs -g makes builds without a warning, loads, answers, and its filter passes the test."""
    apxs(prefix, "-g", "-n", "first", cwd=tmp_path)
    folder = tmp_path / "first"
    apxs(prefix, "-Wc,-Wall,-Wextra,-Werror,-Wno-unused-parameter", "-c", "mod_first.c", cwd=folder)
    os.unlink(folder / "mod_first.so")
    run("make", cwd=folder)
    assert "PASSED" in run("make", "check", cwd=folder)
    run("make", "install", cwd=folder)
    server = serve(f'LoadModule first_module "{prefix}/modules/mod_first.so"\n<Location "/first">\nSetHandler first\n'
                   "</Location>\nAddOutputFilter FIRST txt\n", files={"a.txt": "some text"})
    assert server.get("/first").body == b"The sample page from mod_first.c\n"
    assert server.get("/a.txt").body == b"SOME TEXT"
    p = subprocess.run([f"{prefix}/bin/brigade-apxs", "-g", "-n", "first"], capture_output=True, text=True, cwd=tmp_path)
    assert p.returncode == 1 and "exists already" in p.stderr


def test_apache_compiles_the_template(prefix, tmp_path):
    if not shutil.which("apxs"):
        pytest.skip("Apache's apxs is not installed")
    apxs(prefix, "-g", "-n", "first", cwd=tmp_path)
    run("apxs", "-Wc,-Wall", "-Wc,-Werror", "-c", "mod_first.c", cwd=tmp_path / "first")


def test_mistakes(prefix, source):
    for args, message in {("-c", "nothing.c"): "no such file: nothing.c", ("-q", "NONSENSE"): "no variable NONSENSE",
                          ("-S", "x", "-q"): "takes NAME=VALUE", ("-c", "-Z", "x.c"): "unknown option -Z",
                          ("-c", "a.txt"): "do not know what to do", ("-g", "-n", "1x"): "not a name",
                          ("-i", "-a", "gone.so"): "no such file"}.items():
        p = subprocess.run([f"{prefix}/bin/brigade-apxs", *args], capture_output=True, text=True, cwd=source)
        assert p.returncode == 1 and message in p.stderr, (args, p.stderr)
    (source / "wrong.c").write_text("int wrong(void) { return }\n")
    p = subprocess.run([f"{prefix}/bin/brigade-apxs", "-c", "wrong.c"], capture_output=True, text=True, cwd=source)
    assert p.returncode == 1 and not os.path.exists(source / "wrong.so")
