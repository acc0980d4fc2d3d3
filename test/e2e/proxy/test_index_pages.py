# SPDX-License-Identifier: Apache-2.0
"""Pages of folders that a backend makes (DirectoryIndex, MultiViews): their requests wait on the loop, as those for the file itself do, and take no worker."""
import re

import pytest

from backend import Backend, answer
from brigade import wait_until

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]


def figure(server, name):
    """Of all labels; it is brought up to date once a second."""
    return sum(map(int, re.findall(rf"^{name}(?:{{.*}})? (\d+)$", server.get("/metrics").body.decode(), re.M)))


@pytest.mark.parametrize("target", ["/", "/index.php", "/page"])
def test_no_worker_waits_for_the_backend(serve, target):
    with Backend({"*": answer(b"page\n")}) as backend:
        server = serve("ServerProcesses 1\nEventLoops 1\nDirectoryIndex none.html index.php\n<Directory @ROOT@/htdocs>\nOptions +MultiViews\n</Directory>\n"
                       "<Location /metrics>\nSetHandler metrics\n</Location>\n"
                       f'AddType text/html .php\n<FilesMatch "\\.php$">\nSetHandler "proxy:http://127.0.0.1:{backend.port}/"\n</FilesMatch>\n', {"index.php": "", "page.php": ""})
        before = figure(server, "brigade_worker_wait_seconds_count")
        for i in range(40):
            assert server.get(f"{target}?{i}").body == b"page\n"
        assert server.request("POST", target, body=b"x" * 10000).body == b"page\n" and backend.requests[-1].body == b"x" * 10000
        wait_until(lambda: figure(server, "brigade_http_requests_total") > 41, "the figures")
        assert figure(server, "brigade_worker_wait_seconds_count") - before < 20


def test_an_index_that_is_not_there_takes_none(serve):
    """Its name has the backend's handler, but nobody calls it: what is found in its place is answered on the loop."""
    with Backend({"*": answer(b"page\n")}) as backend:
        server = serve("ServerProcesses 1\nEventLoops 1\nDirectoryIndex index.php last.txt\n<Location /metrics>\nSetHandler metrics\n</Location>\n"
                       f'<FilesMatch "\\.php$">\nSetHandler "proxy:http://127.0.0.1:{backend.port}/"\n</FilesMatch>\nFileCacheEntries 0\n', {"d/last.txt": "last\n", "e/x": ""})
        for _ in range(8):  # the folders' names are read, by a worker
            server.get("/d/"), server.get("/e/")
        before = figure(server, "brigade_worker_wait_seconds_count")
        for i in range(40):
            assert server.get("/d/").body == b"last\n" and server.get("/e/").status in (200, 403, 404)
        wait_until(lambda: figure(server, "brigade_http_requests_total") > 81, "the figures")
        assert figure(server, "brigade_worker_wait_seconds_count") - before < 20 and not backend.requests
