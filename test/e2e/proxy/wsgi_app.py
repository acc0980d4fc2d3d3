# SPDX-License-Identifier: Apache-2.0
"""A small WSGI application: what it was asked, bodies that come back, and answers in pieces."""
import hashlib
import json


def application(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/echo":
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start_response("200 OK", [("Content-Type", "application/octet-stream"), ("X-Digest", hashlib.sha256(body).hexdigest())])
        return [body[i:i + 7000] for i in range(0, len(body), 7000)]
    if path == "/pieces":
        start_response("200 OK", [("Content-Type", "text/plain")])
        return (f"{n}\n".encode() for n in range(1000))
    if path == "/gone":
        start_response("410 Gone", [("Content-Type", "text/plain"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])
        return [b"gone\n"]
    asked = {name: environ.get(name) for name in ("REQUEST_METHOD", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING", "HTTP_X_A", "REMOTE_ADDR")}
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(asked).encode()]
