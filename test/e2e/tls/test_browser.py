# SPDX-License-Identifier: Apache-2.0
"""A real browser loads the sample site: it trusts an authority of the test's, and meets no error."""
import json
import os
import re
import shutil
import subprocess

import pytest

import brigade
import browser_pipe
from tls_site import TLSAuthority

BROWSER = next((path for path in map(shutil.which, ("chromium-headless-shell", "chromium")) if path), None)
NEEDED = ("openssl", "certutil")
SITE = os.path.join(os.path.dirname(__file__), "..", "..", "site")
NAME = "site.test"

pytestmark = [pytest.mark.skipif(not BROWSER, reason="neither chromium-headless-shell nor chromium is installed"),
              pytest.mark.skipif(not all(map(shutil.which, NEEDED)), reason=f"not all of {', '.join(NEEDED)} are installed"),
              pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="the built-in modules"),
              pytest.mark.slow]

CONFIG = """
BuiltinModule ssl_module On
BuiltinModule http2_module On
LoadModule ssl_module @MODULES@/mod_ssl.so
LoadModule http2_module @MODULES@/mod_http2.so
Listen 127.0.0.1:@TLS@ https
DirectoryIndex index.html
AddOutputFilter INCLUDES .shtml
ErrorDocument 404 /errors/404.html
LogFormat "%H %{SSL_PROTOCOL}x %>s %U" browser
CustomLog @ROOT@/logs/browser.log browser
<Directory @ROOT@/htdocs>
Options +Includes
<FilesMatch "^(head|nav|foot)\\.html$">
SetOutputFilter INCLUDES
</FilesMatch>
</Directory>
<VirtualHost *:@TLS@>
ServerName site.test
Protocols @PROTOCOLS@
SSLEngine on
SSLCertificateFile @CERT@
SSLCertificateKeyFile @KEY@
</VirtualHost>
"""


def tree(folder):
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(at, name), "rb") as f:
                found[os.path.relpath(os.path.join(at, name), folder)] = f.read()
    return found


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return TLSAuthority(str(tmp_path_factory.mktemp("authority") / "ca"))


@pytest.fixture(scope="module")
def home(tmp_path_factory, authority):
    """A home folder whose list of authorities has that of the test."""
    folder = tmp_path_factory.mktemp("home")
    database = folder / ".pki" / "nssdb"
    database.mkdir(parents=True)
    for arguments in (["-N", "--empty-password"], ["-A", "-t", "C,,", "-n", "test", "-i", os.path.join(authority.folder, "ca.pem")]):
        subprocess.run(["certutil", "-d", f"sql:{database}", *arguments], check=True, capture_output=True)
    return folder


def site(serve, made, protocols):
    """A server, and its port for TLS."""
    port, config = brigade.free_port(), CONFIG
    for name, value in {"TLS": port, "PROTOCOLS": protocols, "CERT": made["cert"], "KEY": made["key"]}.items():
        config = config.replace(f"@{name}@", str(value))
    return serve(config, tree(SITE), modules=()), port


# Hosts that Chromium asks by itself, whatever page it shows.
OF_THE_BROWSER = re.compile(r"\b(google|googleapis|gstatic)\.com\b")


def browse(home, port, path):
    """What the page became, and the errors that the browser met with it: of this server, and of all that was asked for it. Whether there is a
    network, and what it has to say of the browser's own hosts, is no error of the page."""
    log = home / "net.json"
    answer = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
                             "--disable-component-update", "--disable-sync", "--no-first-run", "--no-pings", "--disable-features=OptimizationHints,MediaRouter",
                             f"--user-data-dir={home}/profile", f"--host-resolver-rules=MAP {NAME} 127.0.0.1, MAP * ~NOTFOUND", f"--log-net-log={log}",
                             "--dump-dom", f"https://{NAME}:{port}{path}"],
                            env={**os.environ, "HOME": str(home)}, capture_output=True, text=True, timeout=brigade.PATIENCE * 3, check=False)
    events = json.loads(log.read_text())
    codes = {code: name for name, code in events["constants"]["netError"].items()}
    kinds = events["constants"]["logSourceType"]
    told = {}  # all that was said of each source of events
    for event in events["events"]:
        told.setdefault((event["source"]["id"], event["source"]["type"]), []).append(json.dumps(event.get("params", {})))
    ours = {number for (number, kind), texts in told.items()
            if kind in (kinds["URL_REQUEST"], kinds["HTTP2_SESSION"]) and not OF_THE_BROWSER.search("".join(texts))}
    errors = {codes.get(code, code) for code in (event.get("params", {}).get("net_error", 0) for event in events["events"]
                                                 if event["source"]["id"] in ours) if code < 0}
    return answer.stdout, errors - {"ERR_IO_PENDING", "ERR_ABORTED"}


@pytest.mark.parametrize("protocols, spoken", [("h2 http/1.1", "HTTP/2.0"), ("http/1.1", "HTTP/1.1")])
def test_the_sample_site(serve, authority, home, protocols, spoken):
    server, port = site(serve, authority.make(NAME, spoken.replace("/", "-")), protocols)
    for path in ("/", "/parts.shtml", "/live.shtml"):
        page, errors = browse(home, port, path)
        assert not errors, path
        assert "</html>" in page and ">Brigade</a>" in page, page[:500]
    lines = [line.split(" ", 3) for line in server.read("logs/browser.log").decode().splitlines()]
    assert {(protocol, tls) for protocol, tls, _, _ in lines} == {(spoken, "TLSv1.3")}
    assert {status for _, _, status, _ in lines} <= {"200", "304"}
    assert {"/css/site.css", "/parts.shtml", "/live.shtml"} <= {path for *_, path in lines}


def test_an_unknown_authority_is_noticed(serve, authority, home, tmp_path):
    """That the test above can fail."""
    _, port = site(serve, TLSAuthority(str(tmp_path / "other")).make(NAME, "other"), "h2")
    _, errors = browse(home, port, "/")
    assert "ERR_CERT_AUTHORITY_INVALID" in errors


def test_dictionaries(serve, authority, home, monkeypatch):
    """Chromium comes with the file that it has, and reads the next one by it (RFC 9842)."""
    monkeypatch.setenv("HOME", str(home))
    old = "".join(f"function f{n * 7919 % 100003}(a) {{ return a * {n * n}; }}\n" for n in range(4000))
    files = {"assets/app.1.js": old, "assets/app.2.js": old.replace("return a", "return  a", 5) + "var last = 'read';\n",
             **{f"{n}.html": f"<!doctype html><script src=/assets/app.{n}.js></script>" for n in (1, 2)}}
    made = authority.make(NAME, "dictionaries")
    port = brigade.free_port()
    server = serve(f"""ServerProcesses 1
Listen 127.0.0.1:{port}
ZstdDictionary /assets/app*.js
SetOutputFilter ZSTD_COMPRESS
Header set Cache-Control max-age=3600
<VirtualHost *:{port}>
ServerName {NAME}
SSLEngine On
SSLCertificateFile {made["cert"]}
SSLCertificateKeyFile {made["key"]}
</VirtualHost>
LogFormat "%U %{{Content-Encoding}}o %{{Available-Dictionary}}i" sent
CustomLog @ROOT@/logs/sent sent
""", files)
    # It takes authorities of an administrator's for none that is known, where it looks at this feature.
    with browser_pipe.browser(f"--host-resolver-rules=MAP {NAME} 127.0.0.1", "--disable-features=CompressionDictionaryTransportRequireKnownRootCert",
                              certificates=True) as browser:
        page = browser.page()
        page.show(f"https://{NAME}:{port}/1.html", 800)

        def has_come():
            """The dictionary is kept a moment after the page was loaded."""
            page.show(f"https://{NAME}:{port}/2.html?{len(server.read('logs/sent'))}", 800)
            assert page.run("last") == "read"
            if b"/assets/app.2.js dcz :" in server.read("logs/sent"):
                return True
            page.send("Network.clearBrowserCache")
            page.show(f"https://{NAME}:{port}/1.html", 800)
            return False
        brigade.wait_until(has_come, "the coding by a dictionary")
