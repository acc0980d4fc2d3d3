# SPDX-License-Identifier: Apache-2.0
"""Elements of pages that a module of its own brings (modules/mod_testelement.c), by Apache and by Brigade."""
import shutil
import tempfile

import pytest

import brigade
import peer_module
from test_compare import APACHE, pytestmark  # noqa: F401

CONF = """<IfModule !mod_include.c>
    LoadModule include_module @MODULES@/mod_include.so
</IfModule>
LoadModule testelement_module @MODULE@
AddType text/html .shtml
AddType text/plain .txt
AddOutputFilter INCLUDES .shtml
SSITimeFormat time
SSIErrorMsg [error]
SetEnv a "the value of a"
<Directory @ROOT@/htdocs>
    Options Includes
</Directory>
"""
PAGES = {
    "plain": '<!--#tell plain="x &amp; y" other="$a" -->',
    "raw": '<!--#tell-raw plain="x &amp; y" other="$a" -->',
    "drop": '<!--#tell drop="<$a|$b|${a}|\\$a|$DOCUMENT_NAME>" -->',
    "leave": '<!--#tell leave="<$a|$b|${a}|${b}|\\$a>" -->',
    "short": '<!--#tell short="<$a>" short="" short="1234567" short="12345678" -->',
    "missing-brace": '<!--#tell drop="1${a" leave="2${a" -->',
    "no-value": '<!--#tell plain="1" flag plain="2" -->',
    "none": "[<!--#tell -->]",
    "capitals": '<!--#TELL Plain="1" --><!--#Tell-Raw PLAIN="2" -->',
    "state": '<!--#tell state="" more="" --><!--#config timefmt="other" errmsg="oh" --><!--#tell state="" -->',
    "nested": '<!--#if expr="true" --><!--#tell state="" --><!--#else --><!--#tell state="" --><!--#endif -->'
              '<!--#if expr="false" --><!--#if expr="true" --><!--#tell state="" --><!--#endif --><!--#endif -->',
    "error": 'a<!--#tell error="" -->b<!--#tell plain="1" error="" plain="2" -->',
    "set": '<!--#tell var="b" --><!--#echo var="b" --><!--#set var="b" value="other" --><!--#tell drop="$b" -->',
    "flush": 'before<!--#tell flush="" -->after<!--#tell plain="1" flush="" plain="2" -->end',
    "group": "<!--#if expr=\"'xyz' =~ /(y)/\" --><!--#tell drop=\"$0\" --><!--#endif -->",
    "lexical": '<!--#tell "x" -->|<!--#tell plain= -->|<!--#tell plain=x -->|<!--#tell',
    "many": "".join(f'{n}<!--#tell plain="{n}" drop="$a" -->' for n in range(2000)),
    "included": '1<!--#include virtual="state.shtml" -->2<!--#include virtual="set.shtml" -->3<!--#echo var="b" -->',
}


class Site:
    def __init__(self, binary):
        self.folder = tempfile.mkdtemp(prefix="brigade-element-")
        module = peer_module.build("mod_testelement", brigade.is_apache(binary), self.folder)
        self.server = brigade.Server(CONF.replace("@MODULE@", module), binary=binary,
                                     files={f"{name}.shtml": text for name, text in PAGES.items()})
        self.server.start()

    def close(self):
        self.server.close()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def sites():
    made = [Site(APACHE), Site(brigade.BINARY)]
    yield made
    for site in made:
        site.close()


@pytest.mark.parametrize("name", PAGES)
def test_element(sites, name):
    theirs, ours = [[(a.status, a.body, a["Content-Type"]) for a in (site.server.get(f"/{name}.shtml") for _ in range(2))] for site in sites]
    # docs/differences-from-apache.md, "names in braces": Apache drops the brace of a name that stays.
    theirs = [(status, text.replace(b"|${b|", b"|${b}|"), kind) for status, text, kind in theirs]
    assert theirs == ours
    assert name == "none" or name == "lexical" or b"[" in ours[0][1]
