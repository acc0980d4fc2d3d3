# SPDX-License-Identifier: Apache-2.0
"""FilterStatistics: calls, bytes and cpu time of each filter in the status page."""
import gzip
import json
import os
import re

import pytest

import brigade
from brigade import wait_until
from trouble import compiled

pytestmark = pytest.mark.only("brigade")

TEXT = "a line with some letters\n" * 4000
FILES = {"m/x.txt": TEXT, "p.shtml": '<!--#include virtual="/part.txt" -->!', "part.txt": "part\n"}
ON = "FilterStatistics On\n"


def with_status(config):
    return (f"LoadModule mishap_module {compiled('mod_mishap')}\nServerProcesses 1\n<Location /st>\nSetHandler server-status\n"
            f"</Location>\n{config}")


def stock(*names):
    for name in names:
        if not os.path.exists(f"{brigade.APACHE_MODULES}/mod_{name}.so"):
            pytest.skip(f"mod_{name}.so is not installed")
    return "".join(f"LoadModule {name}_module {brigade.APACHE_MODULES}/mod_{name}.so\n" for name in names)


def figures(server):
    """By name and direction."""
    return {(f["name"], f["direction"]): f for f in json.loads(server.get("/st?filters=json").body)["filters"]}


def figures_after(server, name, calls, direction="output"):
    """When so many calls were counted: a filter may return after the answer has arrived."""
    return wait_until(lambda: figures(server).get((name, direction), {"calls": 0})["calls"] >= calls and figures(server),
                      f"{calls} calls of {name}")


def test_off(serve):
    server = serve(with_status("<Location /m>\nSetOutputFilter M_FINE\n</Location>"), FILES)
    server.get("/m/x.txt")
    assert server.get("/st?filters=json").status == 404
    assert b"Filters of process" not in server.get("/st").body


def test_what_goes_through(serve):
    server = serve(with_status(ON + "<Location /m>\nSetOutputFilter M_FINE\n</Location>"), FILES)
    for _ in range(3):
        assert server.get("/m/x.txt").body == TEXT.encode()
    fine = figures_after(server, "m_fine", 3)["m_fine", "output"]
    assert fine["bytes_in"] == fine["bytes_out"] == 3 * len(TEXT)
    assert fine["module"] == "mod_mishap.c" and fine["cpu_ns"] > 0
    assert figures(server)["core", "output"]["bytes_in"] > 3 * len(TEXT)


def test_what_gets_smaller_and_larger(serve):
    config = stock("deflate", "substitute") + ("<Location /m>\nSetOutputFilter M_FINE;SUBSTITUTE;DEFLATE\n"
                                               "Substitute s/some/manymore/n\n</Location>\n")
    server = serve(with_status(ON + config), FILES)
    answer = server.get("/m/x.txt", {"Accept-Encoding": "gzip"})
    longer = TEXT.replace("some", "manymore")
    assert gzip.decompress(answer.body) == longer.encode()
    all_ = figures_after(server, "deflate", 1)
    fine, substitute, deflate = (all_[name, "output"] for name in ("m_fine", "substitute", "deflate"))
    assert fine["bytes_out"] == substitute["bytes_in"] == len(TEXT)
    assert substitute["bytes_out"] == deflate["bytes_in"] == len(longer)
    assert deflate["bytes_out"] == len(answer.body)


def test_time_is_that_of_the_filter_itself(serve):
    server = serve(with_status(ON + stock("deflate") + "DeflateCompressionLevel 9\n"
                               "<Location /m>\nSetOutputFilter M_FINE;DEFLATE\n</Location>\n"),
                   {"m/x.txt": os.urandom(400_000).hex()})
    server.get("/m/x.txt", {"Accept-Encoding": "gzip"})
    all_ = figures_after(server, "deflate", 1)
    assert all_["deflate", "output"]["cpu_ns"] > 10 * all_["m_fine", "output"]["cpu_ns"] > 0


def test_a_filter_that_another_one_calls(serve):
    """mod_filter calls the functions of its providers itself: the time is theirs, and so is the name."""
    server = serve(with_status(ON + "FilterDeclare up\nFilterProvider up M_FINE \"true\"\nFilterProvider up M_LEFT \"false\"\n"
                               "<Location /m>\nFilterChain up\n</Location>"), FILES)
    assert server.get("/m/x.txt").body == TEXT.encode()
    fine = figures_after(server, "m_fine", 1)["m_fine", "output"]
    assert fine["bytes_in"] == fine["bytes_out"] == len(TEXT)


def test_pages(serve):
    server = serve(with_status(ON + "AddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\n"
                               '<Directory "@ROOT@/htdocs">\nOptions +Includes\n</Directory>'), FILES)
    assert server.get("/p.shtml").body == b"part\n!"
    includes = figures_after(server, "includes", 1)["includes", "output"]
    assert includes["bytes_out"] >= len("part\n!")


def test_input(serve):
    server = serve(with_status(ON + "<Location /in>\nSetHandler mishap-read\nSetInputFilter M_INPUT\n</Location>"), FILES)
    assert server.request("POST", "/in", body=b"x" * 5000).body == b"5000\n"
    fine = figures_after(server, "m_input", 1, "input")["m_input", "input"]
    assert fine["bytes_in"] == fine["bytes_out"] == 5000


def test_reset_and_shapes(serve):
    server = serve(with_status(ON + "<Location /m>\nSetOutputFilter M_FINE\n</Location>"), FILES)
    server.get("/m/x.txt")
    figures_after(server, "m_fine", 1)
    assert re.search(rb'<td>m_fine</td><td>output</td><td>mod_mishap\.c</td><td align="right">\d+</td><td align="right">%d</td>' % len(TEXT),
                     server.get("/st").body)
    assert f"Filter output m_fine BytesIn: {len(TEXT)}\n".encode() in server.get("/st?auto").body
    assert re.search(rb'brigade_filter_bytes_in_total\{pid="\d+",filter="m_fine",direction="output"\} %d\n' % len(TEXT),
                     server.get("/st?filters=prometheus").body)
    assert server.get("/st?filters=other").status == 404
    assert server.get("/st?filters=reset").status == 405
    assert server.request("POST", "/st?filters=reset").status == 200
    assert ("m_fine", "output") not in figures(server)
    server.get("/m/x.txt")
    assert figures_after(server, "m_fine", 1)["m_fine", "output"]["bytes_in"] == len(TEXT)


@pytest.mark.parametrize("line,message", [("FilterStatistics some", rb"must be On or Off"),
                                          ("<VirtualHost *>\nFilterStatistics On\n</VirtualHost>", rb"cannot occur within")])
def test_mistakes(serve, line, message):
    result = serve.unstarted(line + "\n").run("-t")
    assert result.returncode == 1 and re.search(message, result.stderr), result.stderr
