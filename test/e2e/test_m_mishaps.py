# SPDX-License-Identifier: Apache-2.0
"""Modules that go wrong: filters that mistreat their buckets, and crashes, which the log puts down to module and hook."""
import re

import pytest

from brigade import wait_until
from trouble import answers, compiled, filters_are_checked
from test_t_trouble import asked

pytestmark = pytest.mark.only("brigade")

FILES = {"a.txt": "A\n", "m/x.txt": "text\n"}


def with_mishap(config):
    return f"LoadModule mishap_module {compiled('mod_mishap')}\n<Location /handled>\nSetHandler mishap\n</Location>\n{config}"


# ---- Filters and their buckets --------------------------------------------------------------------------------

@pytest.fixture
def checked():
    if not filters_are_checked():
        pytest.skip("checks between filters are for debug and sanitizer builds")


@pytest.mark.parametrize("name,finding", [
    ("M_TWICE", r"filter m_twice of mod_mishap\.c passes a IMMORTAL bucket \(made by filter m_twice\) to filter \S+ a second"),
    ("M_TORN", r"filter m_torn of mod_mishap\.c has a broken brigade: bucket \d+, a \w+ bucket .*, stands in two brigades"),
    ("M_STALE", r"filter m_stale of mod_mishap\.c has bucket 0 of its brigade from filter m_stale destroyed already \(in filter"),
])
def test_a_fatal_mistake_ends_the_process(serve, checked, name, finding):
    server = serve(with_mishap(f"<Location /m>\nSetOutputFilter {name}\n</Location>"), FILES)
    server.expect_trouble = True
    asked(server, "/m/x.txt")
    server.wait_for_log(finding)
    server.wait_for_log("exit signal Abort")
    wait_until(lambda: answers(server), "an answer from the next process")


@pytest.mark.parametrize("name,finding", [
    ("M_LEAK", r"filter m_leak leaked: \d+ blocks of buckets that it made outlive its request"),
    ("M_LEFT", r"filter m_left of mod_mishap\.c returned success and left 2 buckets"),
    ("M_STRANGE", r"filter m_strange of mod_mishap\.c passes a IMMORTAL bucket \(.*\) of another connection's allocator"),
])
def test_a_mistake_that_can_be_lived_with_is_told(serve, checked, name, finding):
    server = serve(with_mishap(f"<Location /m>\nSetOutputFilter {name}\n</Location>"), FILES)
    server.expect_trouble = True
    child = server.children()
    assert server.get("/m/x.txt").body.endswith(b"text\n")
    server.wait_for_log(finding)
    assert answers(server) and server.children() == child


def test_a_filter_without_mistakes_is_not_told_of(serve):
    server = serve(with_mishap("<Location /m>\nSetOutputFilter M_FINE\nSetInputFilter M_INPUT\n</Location>"), FILES)
    for _ in range(3):
        assert server.get("/m/x.txt").body == b"text\n"
    assert b"BRG_" not in server.error_log()
