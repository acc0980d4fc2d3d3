# SPDX-License-Identifier: Apache-2.0
"""Every directive of every stock module in the first, in the second, or in both of two sections of each kind that hold for a request.
Both servers accept or refuse a configuration alike, answer alike, and none crashes. No callback of a module gets what Apache never passes
it. TEST_LONG=matrix runs all of it, TEST_LONG=binaries those modules that are built into Brigade, as Apache's binaries; otherwise a
sample runs. Run it with an ASan build of the server, too."""
import functools
import os
import re
import zlib

import pytest

import effort
import brigade
import peer_module
from matrix import sites
from stock import driver

pytestmark = [
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK), reason=f"the peer is absent: {driver.APACHE} is not installed"),
    pytest.mark.skipif(not os.access(brigade.BINARY, os.X_OK), reason=f"{brigade.BINARY} is not built"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]
ALL = effort.everything("matrix") or "binaries" in effort.LONG
# Of the sample: one in so many of the modules and kinds of sections, and of the refused directives.
SHARE = 56


def sampled(name, share=SHARE):
    return ALL or zlib.crc32(name.encode()) % share == 0


@functools.cache
def contexts():
    """(module, directive) -> contexts, as Apache's modules say themselves."""
    server = brigade.Server(binary=driver.APACHE)
    try:
        lines = [f"LoadModule testtables_module {peer_module.build('mod_testtables', True, server.root)}\n"]
        loaded = set(brigade.APACHE_LOADS + brigade.APACHE_LOADS_IF_THERE)
        for module in sites.table():
            for name in sites.loads(module) or []:
                if name not in loaded:
                    loaded.add(name)
                    lines.append(f"LoadModule {name}_module {driver.MODULES}/mod_{name}.so\n")
        server.config = "".join(lines[1:] + lines[:1])
        done = server.run("-t")
        assert done.returncode == 0, done.stderr
        found = re.findall(r"^directive (?:mod_)?(\w+)\.c (\S+) (\d+)$", done.stdout.decode(), re.M)
        return {(module, name.lower()): int(where) for module, name, where in found}
    finally:
        server.remove()


# Directives of ours in modules of Apache's names.
OWN = {("cache", "cachemaxvariants"), ("cache", "cachemaxtags"), ("cache", "cachemaxfetching"), ("cache", "cachemaxobjects"),
       ("cache", "cachestorecookies"), ("cache", "cachemethods"), ("cache", "cachebypasscookies"), ("cache", "cacheignorequery"), ("cache", "cachekey"),
       ("cache", "cachekeymodify"), ("cache", "cachelookup"), ("cache", "cachenovarysearch"), ("cache", "cachesortquery"), ("cache", "litespeedcache"),
       ("cache", "litespeedsessions"),
       ("cache", "cachestatusheader"), ("cache", "cachememory"), ("cache", "cachepurge"), ("cache", "cacherefreshahead"),
       ("cache_disk", "cachemaxsize"), ("md", "autohttps"), ("md", "mdondemand"),
       ("md", "mdondemandlimits"), ("md", "mddnsresponder")}


def test_the_table_is_complete():
    """A directive that a new version of Apache brings has to get arguments, or a reason why it is not driven."""
    there = {(m, d.name.lower()) for m, directives in sites.table().items() for d in directives if sites.loads(m) is not None}
    assert set(contexts()) == there - OWN


@pytest.mark.parametrize("directive", [d for ds in sites.table().values() for d in ds if d.reason], ids=repr)
def test_not_driven(directive):
    pytest.skip(f"{directive.name} is not driven: {directive.reason}")


CASES = [(m, k) for m in sites.table() if not sites.REPLACED or sites.replaced(m) for k in [*sites.SECTIONS, *sites.HOSTS]]
# What went wrong once is in the sample.
KNOWN = {("autoindex", "If"), ("core", "Location"), ("lua", "Files")}


@pytest.mark.parametrize("module,kind", [c for c in CASES if sampled("/".join(c)) or c in KNOWN])
def test_directives(module, kind):
    if sites.loads(module) is None:
        pytest.skip(f"mod_{module}.so is not installed")
    directives = [d for d in sites.table()[module] if not d.reason and sites.offered(kind, d, contexts())]
    differences = sites.compare(module, kind, directives)
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("module", [m for m in sites.table() if sampled(m, 16)])
def test_refused(module):
    """What a module does not allow in a section is refused; in .htaccess it makes the request fail."""
    if sites.loads(module) is None:
        pytest.skip(f"mod_{module}.so is not installed")
    differences = []
    for kind in sites.SECTIONS:
        refused = [d for d in sites.table()[module] if not d.reason and not sites.offered(kind, d, contexts())]
        if kind == "htaccess" and refused:
            differences += sites.compare(module, kind, refused)
            continue
        for directive in refused if ALL else refused[:2]:
            sites.agreed(module, kind, [directive], differences)
    assert not differences, "\n".join(differences)
