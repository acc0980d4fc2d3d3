# SPDX-License-Identifier: Apache-2.0
"""Our public headers against those of Debian's apache2-dev: every struct, function, constant and macro.

A module that was built for one set must run with a program that was built with the other.
"""
import os
import shutil

import pytest

from abi import declarations, probe

REFERENCE = os.environ.get("APACHE_INCLUDE", "/usr/include/apache2")
OURS = os.environ.get("BRIGADE_INCLUDE") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "include"))

pytestmark = pytest.mark.skipif(
    not os.path.exists(os.path.join(REFERENCE, "httpd.h")) or not shutil.which("clang") or not shutil.which("gcc"),
    reason=f"needs the headers of apache2-dev in {REFERENCE}, clang and gcc")

# Macros whose value differs on purpose. What this build is called, and where it is installed: not interface.
OWN_VALUES = {"AP_SERVER_COPYRIGHT", "AP_SERVER_BASEVENDOR", "AP_SERVER_BASEPROJECT", "HTTPD_ROOT", "SERVER_CONFIG_FILE",
              "AP_TYPES_CONFIG_FILE", "SUEXEC_BIN"}
# Macros about the reference's own build: where it was installed, what its configure script found. Modules
# have no use for them.
OWN_BUILD = ("DEFAULT_EXP_", "DEFAULT_REL_", "DEFAULT_PREFIX", "DEFAULT_PIDLOG", "PACKAGE_", "HAVE_", "STDC_HEADERS",
             "__STDC_WANT_", "_ALL_SOURCE", "_DARWIN_", "__EXTENSIONS__", "_HPUX_", "_NETBSD_", "_OPENBSD_", "_TANDEM_",
             "_POSIX_PTHREAD", "AP_DOC_ROOT", "AP_HTTPD_USER", "AP_LOG_EXEC", "AP_UID_MIN", "AP_USERDIR_SUFFIX")


@pytest.fixture(scope="module")
def reference():
    return declarations.Declarations(declarations.umbrella(declarations.header_names(REFERENCE)), REFERENCE)


@pytest.fixture(scope="module")
def ours():
    return declarations.Declarations(declarations.umbrella(declarations.header_names(OURS)), OURS)


@pytest.fixture(scope="module")
def baseline():
    return declarations.Declarations(declarations.baseline_source())


def public(reference, baseline, kind):
    """What the reference has beyond APR and the system."""
    known = getattr(baseline, kind)
    return {name: value for name, value in getattr(reference, kind).items()
            if name not in known and not name.startswith("__builtin")}


def different(expected, actual):
    return {name: (value, actual.get(name, "missing")) for name, value in expected.items() if actual.get(name) != value}


def test_same_header_names():
    assert set(declarations.header_names(REFERENCE)) - set(declarations.header_names(OURS)) == set()


@pytest.mark.parametrize("kind,at_least", [("functions", 700), ("variables", 50), ("typedefs", 300), ("records", 120)])
def test_declarations(reference, ours, baseline, kind, at_least):
    expected = public(reference, baseline, kind)
    assert len(expected) >= at_least, "the reference was not read"
    assert different(expected, getattr(ours, kind)) == {}


def test_layout_and_values(reference, ours, baseline):
    records = public(reference, baseline, "records")
    names = [n for n, (args, body) in public(reference, baseline, "macros").items()
             if args is None and body and not n.startswith(OWN_BUILD) and n not in OWN_VALUES]
    umbrella = declarations.umbrella(declarations.header_names(REFERENCE))
    integers = probe.constants(umbrella, names, reference.flags, "enum { probe_@i = (@name) };")
    strings = probe.constants(umbrella, [n for n in names if n not in integers], reference.flags,
                              'static const char probe_@i[sizeof((@name))] = "" @name;')
    integers += public(reference, baseline, "enums")
    assert len(integers) > 500 and len(strings) > 50, "the reference was not read"
    source = [probe.program(declarations.umbrella(declarations.header_names(d)), records, integers, strings)
              for d in (REFERENCE, OURS)]
    expected = probe.output(source[0], reference.flags)
    actual = probe.output(source[1], ours.flags)
    assert different(expected, actual) == {}


def test_macros_exist_with_the_same_number_of_arguments(reference, ours, baseline):
    def count(args):
        return None if args is None else 0 if args == "()" else args.count(",") + 1

    expected = {n: count(args) for n, (args, _) in public(reference, baseline, "macros").items()
                if not n.startswith(OWN_BUILD) and not n.endswith("_H") and not n.endswith("_H_")}
    actual = {n: count(args) for n, (args, _) in ours.macros.items()}
    assert len(expected) > 1200, "the reference was not read"
    assert different(expected, actual) == {}


@pytest.mark.parametrize("header", declarations.header_names(OURS)
                         + [f"brigade/{h}" for h in declarations.header_names(os.path.join(OURS, "brigade"))])
@pytest.mark.parametrize("language", ["c", "c++"])
def test_header_compiles_alone(header, language):
    standard, compiler = ("gnu17", "gcc") if language == "c" else ("gnu++17", "g++")
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    warnings = ["-Wall", "-Wextra", "-Wundef", "-Werror", "-Wno-unused-parameter"] if language == "c" else []
    declarations.run([compiler, "-x", language, f"-std={standard}", "-fsyntax-only", f"-I{OURS}", *warnings,
                      *declarations.pkg_cflags()], f'#include "{header}"\n')


def test_headers_in_any_order():
    names = declarations.header_names(OURS)
    for order in (names, list(reversed(names))):
        source = declarations.PRELUDE + "".join(f'#include "{h}"\n' for h in order)
        declarations.run(["gcc", "-std=gnu17", "-fsyntax-only", f"-I{OURS}", *declarations.pkg_cflags()], source)
