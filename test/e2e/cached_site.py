# SPDX-License-Identifier: Apache-2.0
"""What tests of stored answers share: a site in front of one backend, and what its answers say of the cache."""

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
