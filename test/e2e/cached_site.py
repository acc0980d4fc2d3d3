# SPDX-License-Identifier: Apache-2.0
"""What tests of stored answers share: a site in front of one backend, and what its answers say of the cache."""

import os
import pwd
import re

from brigade import unprivileged_user

DATE = "Mon, 02 Nov 2026 10:00:00 GMT"


def config(backend, more="", loops=1):
    return f"""
EventLoops {loops}
ProxyPass /p/ http://127.0.0.1:{backend.port}/
CacheEnable memory /p/
CacheHeader On
CacheDetailHeader On
CustomLog @ROOT@/logs/access.log "%m %U%q %{{cache-status}}e %{{cache-result}}e"
{more}
"""


def fields(*more, age=100):
    return [("Cache-Control", f"max-age={age}"), *more]


def kind(got):
    return (got["X-Cache"] or "-").split(" ")[0]


def kinds(server, *requests):
    return [kind(server.get(path, headers=headers)) for path, headers in requests]


def start_with_disk(serve, backend, tmp_path, more="", program=False):
    tmp_path.chmod(0o755)
    root = tmp_path / "root"
    if not root.exists():
        root.mkdir()
        if os.geteuid() == 0:
            user = pwd.getpwnam(unprivileged_user())
            os.chown(root, user.pw_uid, user.pw_gid)
    for folder in tmp_path.parents:
        if folder != folder.parent and os.stat(folder).st_uid == os.geteuid() and str(folder).startswith("/tmp/pytest"):
            folder.chmod(0o755)
    server = serve(f"""
EventLoops 2
ProxyPass /p/ http://127.0.0.1:{backend.port}/
CacheEnable disk /
CacheRoot {root}
CacheMaxSize 64M
CacheMaxFileSize 4000000
CacheHeader On
<Location /metrics>
SetHandler metrics
</Location>
{more}
""")
    return server, root


def is_written(server, least=1):
    """Records are whole: their bytes are seen in the files before."""
    return int(re.search(rb"^brigade_shared_cache_disk_written_bytes_total (\d+)", server.get("/metrics").body, re.M)[1]) >= least
