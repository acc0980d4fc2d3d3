# SPDX-License-Identifier: Apache-2.0
"""What tests of caches share."""
import os
import re

import brigade


def one_loop(serve, config, **more):
    """Each loop has its own cache: with one of them the second request meets what the first left."""
    return serve("EventLoops 1\n" + config, **more)


def settle(path):
    """Files as they are after a while: what was just written is not remembered yet."""
    for folder, _, names in os.walk(path):
        for name in names:
            if os.path.exists(os.path.join(folder, name)):  # no link that leads nowhere
                os.utime(os.path.join(folder, name), (1.7e9, 1.7e9))


def warm(server, target, body=None, status=200, **headers):
    """Ask often enough for the answer to be remembered."""
    with server.connect() as c:
        for _ in range(4):
            answer = c.get(target, headers)
            assert answer.status == status
            if body is not None:
                assert answer.body == body


def hits(server):
    """Answers from the response cache, as /metrics (SetHandler metrics) tells; it is brought up to date once a second."""
    return int(re.search(r"^brigade_cache_hits_total (\d+)$", server.get("/metrics").body.decode(), re.M)[1])


def await_hits(server, least):
    brigade.wait_until(lambda: hits(server) >= least, f"{least} answers from the response cache")
