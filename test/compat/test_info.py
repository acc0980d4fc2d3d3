# SPDX-License-Identifier: Apache-2.0
"""Pages of mod_info: Debian's binary and the built-in module tell the same of one server; of the configuration Apache does, too."""
import os
import re

import pytest

import brigade
from stock import driver

BINARY = f"{driver.MODULES}/mod_info.so"
pytestmark = [
    pytest.mark.skipif(not os.access(BINARY, os.R_OK), reason=f"the peer is absent: {BINARY} is not installed"),
    pytest.mark.skipif(not os.access(brigade.BINARY, os.X_OK), reason=f"{brigade.BINARY} is not built"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]
CONFIG = """ServerTokens Prod
ServerSignature On
<Location /i>
SetHandler server-info
</Location>
AddModuleInfo mod_info.c "added <b>text</b>"
AddModuleInfo mod_info.c more
AddModuleInfo mod_alias.c base
<Directory @ROOT@/htdocs>
<IfModule mod_headers.c>
Header set X-A "<&>"
</IfModule>
<Files a>
Header set X b
</Files>
</Directory>
<Directory /empty>
</Directory>
<Directory /nested>
<Files x>
</Files>
</Directory>
<VirtualHost *:@PORT@>
ServerName v
AddType a/b .c
AddModuleInfo mod_alias.c host
Include @ROOT@/conf/more.conf
Include @ROOT@/conf/more.conf
</VirtualHost>
""" + "\n" * 9990 + "Timeout 77\n<IfVersion >= 2.4>\nTimeout 78\n</IfVersion>\n"
MORE = "Header set Q 1\n<Location /qq>\nHeader set Y 2\n</Location>\n"
QUERIES = ["", "?", "?list", "?LIST", "?list&x", "?config", "?server", "?hooks", "?providers", "?core.c", "?http_core.c", "?mod_headers.c", "?mod_info.c", "?mod_info",
           "?mod_alias.c", "?MOD_ALIAS.C", "?mod_mime.c", "?mod_authn_core.c", "?mod_macro.c", "?mod_nope.c"]
# What the binary was built with, and the handlers, among which its own place is another one.
OWN = re.compile(r" -D (HTTPD_ROOT|SUEXEC_BIN|DEFAULT_PIDLOG|SERVER_CONFIG_FILE|AP_TYPES_CONFIG_FILE)=.*|(?<=Content Handlers:</strong>\n <br /><tt>\n).*")


def pages(before, binary=None):
    server = brigade.Server(before + CONFIG, binary=binary, modules=["headers"])
    server.write("more.conf", MORE, base="conf")

    def own(text):
        return text.replace(server.root, "@").replace(str(server.port), "PORT")

    with server:
        dumped = server.run("-t", "-DDUMP_CONFIG")
        found = {"dump": own(dumped.stdout.decode())}
        for query in QUERIES:
            answer = server.get(f"/i{query}")
            assert answer.status == 200 and answer["Content-Type"] == "text/html; charset=ISO-8859-1"
            found[query] = OWN.sub("", own(answer.body.decode()))
        for method in ("HEAD", "POST", "OPTIONS"):
            answer = server.request(method, "/i")
            found[method] = (answer.status, answer["Allow"], own(answer.body.decode()))
    return found


def test_one_server():
    debian = pages(f"BuiltinModule info_module Off\nLoadModule info_module {BINARY}\n")
    ours = pages("BuiltinModule info_module On\n# as many lines\n")
    for name, page in debian.items():
        expected = page.replace(f"LoadModule <i>info_module {BINARY}</i>", "") if isinstance(page, str) else page
        assert ours[name] == expected, name


@pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK), reason=f"the peer is absent: {driver.APACHE} is not installed")
def test_the_configuration():
    """How lines are numbered is not the same on both, which the tests' own configuration does."""
    load = f"LoadModule info_module {BINARY}\n"
    apache, ours = pages(load, driver.APACHE), pages(load)
    for name, begin in (("dump", "AddModuleInfo"), ("?config", "AddModuleInfo"), ("?mod_headers.c", "Current Configuration")):
        texts = [re.sub(r"(?m)^( *#) *\d+:|(&nbsp;)*\d+:", r"\1N:", page[name][page[name].index(begin):]) for page in (apache, ours)]
        assert texts[0].replace("Apache Server at", "Brigade Server at") == texts[1], name
