# SPDX-License-Identifier: Apache-2.0
"""LoopAffinity: each event loop on a processor of its own, workers and all other threads anywhere."""
import glob
import os
import re

import pytest

import brigade
from processes import reload

PROCESSORS = sorted(os.sched_getaffinity(0))
pytestmark = [pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="a directive of Brigade's"), pytest.mark.only("brigade")]
WORKER = """<Directory @ROOT@/htdocs>
    Options +Includes
    AddType text/html .shtml
    AddOutputFilter INCLUDES .shtml
</Directory>
"""
FILES = {"a.shtml": '<!--#exec cmd="echo run" -->\n'}


def threads(server):
    """[the processors of each thread of the server processes]"""
    with open(f"/proc/{server.process.pid}/task/{server.process.pid}/children") as f:
        children = f.read().split()
    found = []
    for child in children or [str(server.process.pid)]:
        for path in glob.glob(f"/proc/{child}/task/*/status"):
            with open(path) as f:
                found.append(re.search(r"^Cpus_allowed_list:\s*(\S+)", f.read(), re.M)[1])
    return found


def everywhere():
    with open("/proc/self/status") as f:
        return re.search(r"^Cpus_allowed_list:\s*(\S+)", f.read(), re.M)[1]


@pytest.mark.skipif(len(PROCESSORS) < 2, reason="there is one processor")
@pytest.mark.parametrize("more", ["", "Sandbox On\n", "ServerProcesses 2\nEventLoops 1\n"])
def test_loops_have_processors(serve, more):
    server = serve(f"LoopAffinity {PROCESSORS[1]},{PROCESSORS[0]}\n" + more + WORKER, FILES)
    assert server.get("/a.shtml").status == 200  # by a worker, which its loop started
    found = threads(server)
    assert sorted(one for one in found if one != everywhere()) == sorted(map(str, PROCESSORS[:2])), found
    assert len(found) > 3 and found.count(everywhere()) == len(found) - 2


def test_without_it_threads_run_anywhere(serve):
    server = serve("EventLoops 2\n" + WORKER, FILES)
    assert server.get("/a.shtml").body == b"run\n\n"
    assert set(threads(server)) == {everywhere()}


def test_auto_and_off_across_a_reload(serve):
    server = serve("LoopAffinity auto\n", {"a.txt": "a\n"})
    assert len([one for one in threads(server) if one != everywhere() or len(PROCESSORS) == 1]) >= len(PROCESSORS)
    reload(server, "LoopAffinity off\n")
    assert server.get("/a.txt").status == 200
    assert len(PROCESSORS) == 1 or everywhere() in threads(server)


def test_what_is_refused(serve):
    server = serve.unstarted("", {})
    for value, words in (("7000", "is no list of processors"), ("x", "is no list of processors"), ("1023", "this server may not use processor 1023"),
                         ("0-", "is no list of processors"), ("", "takes one argument")):
        done = server.run("-t", "-c", f"LoopAffinity {value}")
        assert done.returncode != 0 and words in done.stderr.decode(), done.stderr.decode()
    prefork = server.run("-t", "-C", "LoadModule mpm_prefork_module modules/mod_mpm_prefork.so", "-c", "LoopAffinity auto")
    assert prefork.returncode == 0 and b"LoopAffinity" in prefork.stderr, prefork.stderr
