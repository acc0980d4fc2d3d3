# SPDX-License-Identifier: Apache-2.0
"""Apache's manual in all of its languages, with negotiation and prefixes of languages: every page as from Apache."""
import os
import random
import re

import brigade
import test_debian_config as debian
from applications import unpack
from stock import driver
import effort

pytestmark = debian.pytestmark
LANGUAGES = ["da", "de", "en", "es", "fr", "ja", "ko", "pt-br", "ru", "tr", "zh-cn"]
CONFIG = """Alias /manual @DOC@
<Directory @DOC@>
Options Indexes FollowSymLinks MultiViews
AllowOverride None
Require all granted
AddDefaultCharset off
</Directory>
AliasMatch ^/manual(?:/(?:da|de|en|es|fr|ja|ko|pt-br|ru|tr|zh-cn))?(/.*)?$ "@DOC@$1"
SetEnvIf Request_URI ^/manual/(da|de|en|es|fr|ja|ko|pt-br|ru|tr|zh-cn)/ prefer-language=$1
"""
COMPARED = ("content-type", "content-language", "content-location", "vary", "tcn", "last-modified", "location", "content-length", "accept-ranges")


def said(answer):
    body = re.sub(rb"(?:Apache|Brigade)/[\d.]+[^<\n]*|localhost:\d+|Port \d+", b"", answer.body)
    fields = {k.lower(): re.sub(r"localhost:\d+", "", v) for k, v in answer.headers if k.lower() in COMPARED}
    if answer.status != 200:
        fields.pop("content-length", None)  # the length of the page that names the server
    return answer.status, fields, body


def targets(folder):
    pages = set()
    for at, _, files in os.walk(folder):
        for name in files:
            path = os.path.relpath(os.path.join(at, name), folder)
            pages.add(re.sub(r"\.html\..*$|\.html$", ".html", path))
    pages = sorted(pages)
    found = [(f"/manual/{p}", lang) for p in pages for lang in LANGUAGES] + [(f"/manual/{lang}/{p}", None) for p in pages for lang in LANGUAGES]
    found += [("/manual/", lang) for lang in LANGUAGES] + [("/manual", None), ("/manual/none.html", "de")]
    return found if effort.everything("applications") else random.Random(1).sample(found, 1500)


def test_manual():
    root, = unpack("apache2-doc")
    folder = f"{root}/usr/share/doc/apache2-doc/manual"
    servers = [debian.DebianServer(binary, (), CONFIG.replace("@DOC@", folder)) for binary in (driver.APACHE, brigade.BINARY)]
    try:
        for server in servers:
            server.start()
        clients = [server.connect() for server in servers]
        different, asked = [], targets(folder)
        for i, (target, lang) in enumerate(asked):
            if i % 90 == 0:
                for c in clients:
                    c.close()
                clients = [server.connect() for server in servers]
            answers = [said(c.get(target, {"Accept-Language": lang} if lang else {})) for c in clients]
            if answers[0] != answers[1]:
                different.append((target, lang, answers[0][:2], answers[1][:2]))
        for c in clients:
            c.close()
        assert not different, (len(different), len(asked), different[:5])
    finally:
        for server in servers:
            server.close()
