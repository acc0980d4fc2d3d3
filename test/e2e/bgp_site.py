# SPDX-License-Identifier: Apache-2.0
"""A site whose server has a session with a router of AS 64512, and says what it knows of a client in a field."""
from brigade import wait_until

CONFIG = """ASTable bgp 127.0.0.1 asn=65000 peer-asn=64512 retry=1 {}
    RemoteIPHeader X-Forwarded-For
    RemoteIPInternalProxy 127.0.0.1
    MaxKeepAliveRequests 0
    Header set X-Net "expr=%{{CLIENT_ASN}} %{{CLIENT_PREFIX}} %{{CLIENT_AS_PATH}} %{{CLIENT_COMMUNITIES}}"
    <Directory @ROOT@/htdocs/in>
        Require asn 64999
    </Directory>
    """


def start(serve, options, lines=""):
    server = serve.unstarted(CONFIG.format(options) + lines, {"a.txt": "A", "in/x.txt": "X"})
    server.start()
    return server


def net(server, address):
    return server.get("/a.txt", [("X-Forwarded-For", address)])["X-Net"]


def becomes(server, address, text):
    wait_until(lambda: net(server, address) == text, f"{address} to be {text}: {net(server, address)}")


def says(server, text, times=1):
    wait_until(lambda: server.error_log().count(text.encode()) >= times, text)
