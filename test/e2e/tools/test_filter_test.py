# SPDX-License-Identifier: Apache-2.0
"""brigade-filter-test: filters that keep to the rules pass, and each kind of mistake is found and named."""
import gzip
import os
import re
import shutil
import subprocess

import pytest

import brigade

pytestmark = pytest.mark.only("brigade")
PROGRAM = os.path.join(os.path.dirname(brigade.BINARY), "brigade-filter-test")
SOURCE = os.path.join(brigade.REPOSITORY, "test", "e2e", "modules", "mod_broken.c")
INPUT = b"".join(b"ba line %d of bananas, aba and bab\n" % i for i in range(12))


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    if not os.access(PROGRAM, os.X_OK):
        pytest.skip("brigade-filter-test is not built")
    so = str(tmp_path_factory.mktemp("broken") / "mod_broken.so")
    flags = subprocess.run(["pkg-config", "--cflags", "apr-1", "apr-util-1"], capture_output=True, text=True, check=True)
    subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Wno-unused-parameter", "-g", "-I",
                    os.path.join(brigade.REPOSITORY, "include"), *flags.stdout.split(), SOURCE, "-o", so], check=True)
    return so


def check(*args, data=INPUT):
    """(exit status, output)"""
    p = subprocess.run([PROGRAM, *args], input=data, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       timeout=brigade.PATIENCE * 10, env=dict(os.environ, UBSAN_OPTIONS="print_stacktrace=1"))
    return p.returncode, p.stdout.decode(errors="replace")


MISTAKES = {
    "cut": r"cut:\d+: the output differs at byte \d+",
    "no_eos": r"whole:0: EOS missing",
    "no_flush": r"FLUSH swallowed",
    "no_meta": r"empty:4: metadata swallowed: 0 of 1",
    "two_eos": r"whole:0: EOS twice",
    "after_eos": r"whole:0: data after EOS \(IMMORTAL bucket\)",
    "twice": r"whole:0: filter twice of mod_broken.c passes a HEAP bucket .* a second time",
    "no_remove": r"whole:0: filter no_remove of mod_broken.c has a broken brigade: .* stands in two brigades",
    "transient": r"transient data was kept without being set aside",
    "length": r"whole:0: Content-Length: \d+ stands in r->headers_out, but the output has \d+ bytes",
    "leaves": r"whole:0: filter leaves of mod_broken.c returned success and left 2 buckets in the brigade",
    "leaks": r"leaked: 1 data buckets were never destroyed",
    "ignores": r"errors:\d+: the filter returned APR_SUCCESS although the next filter had failed",
    "goes_on": r"errors:\d+: goes on although the next filter returned an error",
    "state": r"whole:0: the output differs at byte \d+",
    "crashes": r"empty:1: (crashed with signal 11|the process ended with status)",
    "loops": r"cut:\d+: did not come to an end within 2 seconds",
    "size": r"types:6: the filter returned \d+",
}


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_mistakes_are_found(broken, name):
    more = ["--timeout", "2", "--only", "cut"] if name == "loops" else []
    status, text = check("--runs", "60", *more, broken, name)
    assert status == 1 and re.search("FAIL  .*" + MISTAKES[name], text), text
    assert text.endswith("FAILED\n")


def test_a_good_filter_passes(broken):
    status, text = check(broken, "good")
    assert status == 0 and text.endswith("PASSED\n") and "FAIL" not in text, text
    groups = re.findall(r"^PASS  (\w+) +(\d+) runs", text, re.M)
    assert [name for name, _ in groups] == ["whole", "cut", "bytes", "types", "empty", "random", "errors"]
    assert dict(groups)["cut"] == str(2 * (len(INPUT) + 1))  # every byte


def test_a_run_is_repeated_by_its_seed(broken):
    _, text = check("--seed", "7", "--runs", "50", broken, "cut")
    number = re.search(r"FAIL  (random:\d+): (.*)", text)
    status, again = check("--seed", "7", "--only", number.group(1), broken, "cut")
    assert status == 1 and f"{number.group(1)}: {number.group(2)}" in again
    assert re.search(r"FAIL  random +1 of 1 runs", again), again
    sent = re.search("sent:  (.*)", again).group(1)
    assert sent in text
    assert sent not in check("--seed", "8", "--only", number.group(1), "-v", broken, "cut")[1]


def test_long_inputs_are_cut_at_chosen_places(broken):
    status, text = check("--only", "cut", broken, "good", data=INPUT * 400)
    assert status == 0 and "PASS  cut     1536 runs" in text, text


def test_all_in_one_process(broken):
    status, text = check("--no-fork", "--runs", "20", broken, "good")
    assert status == 0, text


def test_input_filters(broken):
    assert check("--input", broken, "in_good")[0] == 0
    status, text = check("--input", broken, "in_cut")
    assert status == 1 and re.search(r"FAIL  \w+:\d+: the output differs at byte", text), text
    status, text = check("--input", "--only", "whole", broken, "in_much", data=INPUT * 40)
    assert status == 1 and "returned 8193 bytes where 8192 were asked for" in text, text
    status, text = check("--input", broken, "in_nothing")
    assert status == 1 and "returns nothing for ever" in text, text


def test_a_filter_that_its_module_inserts(broken):
    so = stock("case_filter")
    args = ["--insert", "--no-flush", "--no-metadata", "--runs", "50", so, "CASEFILTER"]
    assert check(*args, "-c", "CaseFilter On")[0] == 0
    status, text = check(*args)
    assert status == 2 and "the module did not insert CASEFILTER" in text


def test_what_cannot_be_tested_is_said(broken, tmp_path):
    status, text = check(broken, "nonsense")
    assert status == 2 and "there is no output filter nonsense" in text and "in_good  of mod_broken.c" in text
    status, text = check(broken, "good", "-c", "Nonsense On")
    assert status == 2 and "Nonsense" in text
    status, text = check(broken, "good", "-c", "<Location />", "-c", "Require all denied", "-c", "</Location>")
    assert status == 2 and "answers the request for /filter-test with 403" in text
    (tmp_path / "text.so").write_text("no module, but as long as the head of one would be; really" * 4)
    status, text = check(str(tmp_path / "text.so"), "x")
    assert status == 2 and "is no shared object" in text
    assert check(broken)[0] == 2 and check("--seed", "x", broken, "good")[0] == 2
    assert check("--only", "nonsense", broken, "good")[0] == 2


def stock(name):
    so = f"{brigade.APACHE_MODULES}/mod_{name}.so"
    if not os.path.exists(so):
        pytest.skip(f"{so} is not installed")
    return so


# Binaries that Debian built for Apache. Where one does not keep to a rule, that rule is left out.
STOCK = {
    "substitute": ["SUBSTITUTE", "-c", "Substitute s/line/row/", "-c", "Substitute s/an/AN/"],
    "deflate": ["DEFLATE", "-H", "Accept-Encoding: gzip", "--no-flush"],
    "brotli": ["BROTLI_COMPRESS", "-H", "Accept-Encoding: br", "--no-flush"],
    "case_filter": ["CASEFILTER", "--no-flush", "--no-metadata"],
    "sed": ["Sed", "--no-metadata", "-c", "<Location />", "-c", "OutputSed s/line/row/g", "-c", "</Location>"],
    "include": ["INCLUDES", "-c", "Options +Includes", "--leftovers"],
    "data": ["DATA"],
    "buffer": ["BUFFER"],
    "xml2enc": ["xml2enc", "--no-flush"],
    "ratelimit": ["RATE_LIMIT"],
    "charset_lite": ["XLATEOUT", "--leftovers", "-e", "crit", "-c", "CharsetSourceEnc ISO-8859-1", "-c",
                     "CharsetDefault UTF-8"],
    "bucketeer": ["BUCKETEER", "--leftovers", "--no-flush", "--no-metadata"],
    "ext_filter": ["up", "-c", 'ExtFilterDefine up mode=output cmd="/usr/bin/tr a-z A-Z"', "--only", "random", "--runs",
                   "10", "--no-flush", "--no-metadata"],
}


@pytest.mark.parametrize("name", sorted(STOCK))
def test_stock_filters_pass(broken, name):
    data = INPUT + b'<!--#set var="a" value="1" --><!--#if expr="v(\'a\') -eq 1" -->yes<!--#else -->no<!--#endif -->\n'
    status, text = check(stock(name), *STOCK[name], data=data)
    assert status == 0 and text.endswith("PASSED\n"), text


@pytest.mark.parametrize("name", ["CONTENT_LENGTH", "BYTERANGE", "MOD_EXPIRES", "FIXUP_HEADERS_OUT", "OLD_WRITE"])
def test_our_own_filters_pass(broken, name):
    status, text = check("builtin", name, "--runs", "100")
    assert status == 0, text


@pytest.mark.parametrize("name,coding,through", [("DEFLATE", "gzip", "gzip -dc"), ("ZSTD_COMPRESS", "zstd", "zstd -dc"), ("BROTLI_COMPRESS", "br", None)])
@pytest.mark.slow
def test_our_own_compression_passes(broken, name, coding, through):
    """Every cut of the input; decoded, if there is a program for it."""
    if f"mod_{name.partition('_')[0].lower()}.c" not in subprocess.run([brigade.BINARY, "-l"], stdout=subprocess.PIPE, text=True, check=True).stdout:
        pytest.skip("built without its library")
    how = ["--through", through] if through and shutil.which(through.split()[0]) else ["--no-flush"]
    status, text = check("builtin", name, "-H", f"Accept-Encoding: {coding}", "--runs", "60", *how)
    assert status == 0, text


@pytest.mark.parametrize("args", [["INFLATE", "-u", "/x.gz", "-c", "AddEncoding gzip .gz"], ["--input", "-H", "Content-Encoding: gzip", "DEFLATE"]])
def test_our_own_decompression_passes(broken, tmp_path, args):
    if "mod_deflate.c" not in subprocess.run([brigade.BINARY, "-l"], stdout=subprocess.PIPE, text=True, check=True).stdout:
        pytest.skip("built without zlib")
    data = gzip.compress(INPUT)
    (tmp_path / "x.gz").write_bytes(data)
    options = ["--input"] if args[0] == "--input" else []
    name = args[-1] if options else args[0]
    rest = args[1:-1] if options else args[1:]
    status, text = check(*options, "builtin", name, *rest, "-c", f"DocumentRoot {tmp_path}", "-c", f"<Directory {tmp_path}>", "-c", "Require all granted", "-c", "</Directory>",
                         "-e", "crit", "--runs", "60", data=data)
    assert status == 0, text


@pytest.mark.parametrize("rules", [["s/line/row/", "s/an/AN/"], ["s/b(a)/$1$1b/i"], ["s/ba/x/n", "s/(x|a)n/[$0]/q", "s/na/N/nq"], ["s/\\\\n/;/"], ["s/x*/-/"]])
def test_our_own_substitutions_pass(broken, rules):
    """Cut at every byte: lines are put together again."""
    status, text = check("builtin", "SUBSTITUTE", *(a for r in rules for a in ("-c", f'Substitute "{r}"')))
    assert status == 0, text


def test_a_file_in_place_of_the_body_passes(broken, tmp_path):
    """However the program's own body is cut; what comes behind the file is not passed on."""
    (tmp_path / "file").write_bytes(INPUT * 3)
    status, text = check("builtin", "XSENDFILE", "--insert", "-c", "XSendFile On", "-c", f"XSendFilePath {tmp_path}",
                         "-c", f"Header set X-Sendfile {tmp_path}/file", "--no-flush", "--no-metadata")
    assert status == 0, text


@pytest.mark.parametrize("args", [["1000000", "--only", "cut"], ["1000000", "--only", "random", "--runs", "5"], ["2", "--only", "random", "--runs", "5", "--no-flush"]])
def test_our_own_rate_limit_passes(broken, args):
    """Cut at every byte, and in pieces; between pieces it waits, so there are few of these runs."""
    status, text = check("builtin", "RATE_LIMIT", "-c", f"SetEnv rate-limit {args[0]}", *args[1:])
    assert status == 0, text


def test_our_own_includes_pass(broken):
    data = INPUT + b'<!--#set var="a" value="1" --><!--#if expr="v(\'a\') -eq 1" -->yes<!--#else -->no<!--#endif -->\n'
    status, text = check("builtin", "INCLUDES", "-c", "Options +Includes", data=data)
    assert status == 0, text


def test_a_page_of_a_site(broken, tmp_path):
    """Sections apply to the request, and sub-requests find files."""
    (tmp_path / "part.html").write_text("the part")
    page = b'A <!--#include virtual="/part.html" --> of <!--#echo var="QUERY_STRING" --> B\n'
    (tmp_path / "page.shtml").write_bytes(page)
    status, text = check("builtin", "INCLUDES", "-u", "/page.shtml?x=1", "-c", f"DocumentRoot {tmp_path}", "-c",
                         f"<Directory {tmp_path}>", "-c", "Options +Includes", "-c", "</Directory>", "--runs", "30", "-e", "crit",
                         "--only", "random", "--through", f"tee {tmp_path}/output", data=page)
    assert status == 0, text
    assert (tmp_path / "output").read_bytes() == b"A the part of x=1 B\n"


def test_a_flush_shows_in_compressed_output(broken):
    """Why --no-flush and --through are there."""
    args = [stock("deflate"), "DEFLATE", "-H", "Accept-Encoding: gzip", "--only", "random", "--runs", "60"]
    status, text = check(*args)
    assert status == 1 and "the output" in text
    status, text = check(*args, "--through", "gzip -dc")
    assert status == 0, text


def test_stock_input_filter(broken):
    for name, *args in (("case_filter_in", "CaseFilterIn"), ("deflate", "DEFLATE"),
                        ("charset_lite", "XLATEIN", "-c", "CharsetSourceEnc ISO-8859-1", "-c", "CharsetDefault UTF-8"),
                        ("sed", "Sed", "-c", "<Location />", "-c", "InputSed s/line/row/", "-c", "</Location>")):
        status, text = check("--input", stock(name), *args)
        assert status == 0, text
