# SPDX-License-Identifier: Apache-2.0
"""The directives of server-side includes as the guide and httpd.conf.in show them."""
import os
import re

import pytest

from brigade import REPOSITORY
from ssi_site import echo, include

pytestmark = pytest.mark.only("brigade")


def text_of(name):
    with open(os.path.join(REPOSITORY, name)) as f:
        return f.read()


def test_the_example_in_the_configuration_works_as_it_stands(serve):
    part = re.search(r"(?s)# Pages with server-side includes.*?\n\n", text_of("httpd.conf.in"))[0]
    lines = [line[1:] for line in part.splitlines() if not re.match(r"# \S", line)]
    conf = "\n".join(lines).replace("@BRIGADE_ROOT@", "@ROOT@") + "\n"
    server = serve(conf, files={"a.shtml": echo("DOCUMENT_NAME") + include("b.txt"), "b.txt": "b"})
    answer = server.get("/a.shtml")
    assert answer.body == b"a.shtmlb" and answer["ETag"] and answer["Last-Modified"]


def test_every_directive_is_in_both(serve):
    names = set(re.findall(r'"(SSI\w+|XBitHack)"', text_of("filters/ssi/ssi_config.c").split("ssi_commands[]")[1]))
    assert len(names) > 15
    of_apache = {"XBitHack", "SSIErrorMsg", "SSITimeFormat", "SSIUndefinedEcho", "SSIStartTag", "SSIEndTag", "SSILegacyExprParser"}
    guide, example = text_of("docs/guides/20-ssi.md"), text_of("httpd.conf.in")
    for name in names:
        assert f"`{name}" in guide, name
        assert name in of_apache or re.search(rf"# *{name} ", example), name
