# SPDX-License-Identifier: Apache-2.0
"""A server of a test is the one that answers on its port."""
import pytest

import brigade
import ports

pytestmark = pytest.mark.only("brigade")


def test_a_port_that_somebody_else_listens_on_is_given_up(serve, monkeypatch):
    other = serve(files={"a.txt": "other"})
    assert ports.is_heard_by(other.port, other.process.pid)
    given = [other.port, ports.free_port()]
    monkeypatch.setattr(brigade, "free_port", lambda: given.pop(0))
    server = serve(files={"a.txt": "own"})
    assert server.port != other.port and not given
    assert [server.get("/a.txt").body for _ in range(4)] == [b"own"] * 4
