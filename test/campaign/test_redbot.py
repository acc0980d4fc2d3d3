# SPDX-License-Identifier: Apache-2.0
"""What REDbot says of answers: files, a folder, a redirect, compressed ones, ones with a lifetime, and ones that the cache stored.
REDBOT names its program; REDBOT_LIBRARIES a folder with its modules, where Python has not got them."""
import os
import re
import shutil
import subprocess
import sys

import pytest

import support  # noqa: F401 pylint: disable=unused-import
from support import brigade

REDBOT = os.environ.get("REDBOT") or shutil.which("redbot")
LIBRARIES = os.environ.get("REDBOT_LIBRARIES", "")
PYTHON = os.environ.get("REDBOT_PYTHON", sys.executable)
SITE = """AddOutputFilterByType DEFLATE text/html text/css
<Location /lifetime>
    ExpiresActive On
    ExpiresDefault "access plus 1 hour"
</Location>
ProxyPass /cached/ http://127.0.0.1:@PORT@/lifetime/
CacheEnable memory /cached
"""
FILES = {"index.html": "<p>hello</p>" * 400, "a.css": "p{color:red}" * 300, "a.txt": "text" * 1000, "lifetime/x.html": "<p>x</p>" * 500, "a.png": b"\x89PNG\r\n\x1a\n" + bytes(300), "dir/a": "a"}
PATHS = ["/", "/a.css", "/a.txt", "/lifetime/x.html", "/a.png", "/dir/", "/dir", "/missing", "/cached/x.html", "/cached/x.html"]
# Notes that say what is so, or that the answer is as it should be.
FINE = re.compile(r"clock is correct|resource last changed|Content-Length header is correct|compression is supported|allows all caches|allows caches to assign|is fresh for|"
                  r"max-age and Expires are both present|can serve this response stale|conditional requests are supported|returned the correct partial content|"
                  r"could not be found|cannot be stored by caches|served from a cache|This response has already been cached")


@pytest.mark.slow
@pytest.mark.only("brigade")
@pytest.mark.skipif(not REDBOT, reason="REDBOT names no program, and none is installed")
def test_notes():
    env = {**os.environ, "PYTHONPATH": LIBRARIES} if LIBRARIES else dict(os.environ)
    wrong = []
    with brigade.Server(SITE, FILES) as server:
        for path in PATHS:
            done = subprocess.run([PYTHON, REDBOT, "-o", "text", f"http://127.0.0.1:{server.port}{path}"], env=env, capture_output=True, text=True, timeout=60, check=False)
            notes = re.findall(r"^  \* (.*)", done.stdout, re.M)
            assert notes, done.stdout + done.stderr
            wrong += [f"{path}: {note}" for note in notes if not FINE.search(note)]
    assert not wrong, "\n".join(wrong)
