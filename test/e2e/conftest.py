# SPDX-License-Identifier: Apache-2.0
"""Fixtures for end-to-end tests: servers that end with their test, and are checked for trouble."""
import os
import zlib

import pytest

import brigade
from module_source import prefix  # noqa: F401


def pytest_collection_modifyitems(items):
    kind = "apache" if brigade.is_apache(brigade.BINARY) else "brigade"
    for item in items:
        marker = item.get_closest_marker("only")
        if marker and marker.args[0] != kind:
            item.add_marker(pytest.mark.skip(reason=f"behaviour of {marker.args[0]}, and {brigade.BINARY} is {kind}"))
        if brigade.MEMORY and item.get_closest_marker("default_memory"):
            item.add_marker(pytest.mark.skip(reason="TEST_MEMORY asks for another memory system"))
        if not os.access(brigade.BINARY, os.X_OK):
            item.add_marker(pytest.mark.skip(reason=f"{brigade.BINARY} is not built"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call":
        item.call_failed = outcome.get_result().failed


class Servers:
    """Makes servers, and ends them all."""

    def __init__(self):
        self.running = []

    def __call__(self, config="", files=None, **more):
        server = brigade.Server(config, files, **more)
        self.running.append(server)
        return server.start()

    def unstarted(self, config="", files=None, **more):
        """One to run with other arguments."""
        server = brigade.Server(config, files, **more)
        self.running.append(server)
        return server

    def end(self, failed):
        errors = []
        for server in self.running:
            try:
                server.close(failed)
            except AssertionError as e:
                errors.append(str(e))
        assert not errors, "\n".join(errors)


def pytest_make_parametrize_id(config, val, argname):
    """Short names for long values: they are part of the environment of every program that a test starts."""
    if isinstance(val, (bytes, str)) and len(val) > 100:
        data = val if isinstance(val, bytes) else val.encode()
        return f"{argname}-{len(val)}-{zlib.crc32(data):08x}"
    return None


@pytest.fixture
def serve(request):
    servers = Servers()
    yield servers
    servers.end(getattr(request.node, "call_failed", False))


@pytest.fixture(scope="module")
def serve_module(request):
    """For servers that all tests of a file share."""
    servers = Servers()
    yield servers
    servers.end(request.session.testsfailed > 0)
