# SPDX-License-Identifier: Apache-2.0
"""The page that draws the last hour: behind a status page, and behind figures."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from brigade import free_port, wait_until

pytestmark = pytest.mark.only("brigade")

CONFIG = """<Location /status>
SetHandler server-status
</Location>
<Location /metrics>
SetHandler metrics
</Location>
"""


def data(server, start=0, path="/status"):
    response = server.get(f"{path}/live?data={start}")
    assert response.status == 200 and response["Content-Type"] == "application/json"
    return json.loads(response.body)


@pytest.mark.parametrize("path", ["/status", "/metrics"])
def test_one_document_without_outside_parts(serve, path):
    server = serve(CONFIG)
    first, second = (server.get(path + "/live") for _ in range(2))
    assert first["Content-Type"] == "text/html; charset=utf-8"
    page, policy = first.body.decode(), first["Content-Security-Policy"]
    nonce = re.search(r"script-src 'nonce-([0-9a-f]{32})'", policy)[1]
    assert page.count(f'nonce="{nonce}"') == 2 == page.count("<script") + page.count("<style")
    assert nonce not in second["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert not re.search(r"\b(src|href)=\"(?!data:)", page) and not re.search(r"\son\w+=\"", page) and ' style="' not in page
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert server.request("POST", path + "/live").status == 405


def test_samples_and_targets(serve):
    server = serve("ServerProcesses 2\n" + CONFIG, {"hot.txt": "A", "weird\"<\u00e9.txt": "B"})
    for name in os.listdir(server.path("htdocs")):
        os.utime(server.path("htdocs", name), (time.time() - 3600,) * 2)
    with server.connect() as connection:
        for _ in range(40):
            connection.request("GET", "/hot.txt?secret=1")
            connection.request("GET", "/weird%22%3C%C3%A9.txt")

    def busiest():
        return {t["name"]: t["count"] for t in data(server)["busiest"]}
    assert wait_until(lambda: busiest().get("localhost/hot.txt", 0) >= 20, "a second to pass")
    said = data(server, path="/metrics")
    assert len(said["samples"]) >= 1 and said["next"] == len(said["samples"])
    sample = said["samples"][-1]
    assert len(sample["class"]) == 5 and len(sample["held"]) == len(said["scopes"]) == 6
    assert [len(h) for h in sample["took"]] == [len(said["bounds"])] * 4
    assert abs(sample["at"] / 1000 - time.time()) < 60
    assert "secret" not in json.dumps(said)
    assert data(server, said["next"])["samples"] == [] or data(server)["next"] > said["next"]
    assert len(data(server, 10 ** 6)["samples"]) >= 1


def test_the_server_tells_of_itself(serve):
    """How long it runs, where its manual is, and its certificates with days left; none of the latter where there is none."""
    server = serve(CONFIG, {"docs/index.html": "not the manual"})
    said = data(server)
    assert 0 <= said["up"] < 60 and "manual" not in said and said["certificates"] == [] and "Brigade/" in said["version"]
    server = serve('Alias "/docs/" "@ROOT@/htdocs/brigade/html/"\n' + CONFIG, {"brigade/html/index.html": "the manual"})
    assert data(server)["manual"] == "/docs/"
    for path in ("/status", "/metrics"):
        page = server.get(f"{path}/live").body
        assert b'id="certificates"' in page and b'id="links"' in page and b'id="up"' in page


def test_certificates_with_days_left(serve):
    tls = free_port()
    server = serve.unstarted(CONFIG + f"""Listen 127.0.0.1:{tls}
<VirtualHost *:{tls}>
ServerName secure.example
SSLEngine On
SSLCertificateFile @ROOT@/cert.pem
SSLCertificateKeyFile @ROOT@/key.pem
</VirtualHost>
""")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj",
                    "/CN=secure.example", "-keyout", server.path("key.pem"), "-out", server.path("cert.pem")], check=True, capture_output=True, timeout=60)
    server.start()
    (found,) = data(server)["certificates"]
    assert found["days_left"] == 29 and "secure.example" in found["server"] and "secure.example" in found["names"]


def test_slow_requests_are_named(serve):
    server = serve("AddOutputFilter INCLUDES .shtml\n<Directory @ROOT@/htdocs>\nOptions +Includes\n</Directory>\n" + CONFIG,
                   {"slow.shtml": '<!--#exec cmd="sleep 0.2" -->done\n', "fast.txt": "A"})
    server.get("/fast.txt")
    before = time.monotonic()
    assert server.get("/slow.shtml?x=y").body == b"done\n"
    assert time.monotonic() - before > 0.15

    def slow():
        return [t for t in data(server)["slowest"] if t["us"] > 150000]
    found = wait_until(slow, "the end of the request")
    assert ("localhost/slow.shtml", 200) in [(t["name"], t["status"]) for t in found]


@pytest.mark.parametrize("path", ["/status", "/status/"])
def test_the_status_page_leads_to_it(serve, path):
    """Where pages need not be Apache's to the byte: a page of ours, which names its tables; `?notable` and Apache's pages are as they were."""
    server = serve(CONFIG + "BuiltinPages modern\n")
    answer = server.get(path)
    page = answer.body.decode()
    link = re.search(r'<a href="(/status/live)">', page)[1]
    assert server.get(link).status == 200 and answer["Content-Type"] == "text/html; charset=utf-8"
    assert page.startswith("<!doctype html>\n<html lang=\"en\">") and "Apache" not in page.split("Version</dt>")[0]
    for name in re.findall(r'aria-labelledby="(\w+)"', page):
        assert f'<h2 id="{name}">' in page
    assert page.count('<div class="scroll" tabindex="0"') == page.count("<table>") == page.count("</table>") == 3
    assert '<div class="parts" tabindex="0" role="region" aria-label="Reports of modules">' in page
    assert b"<title>Apache Status</title>" in server.get(path + "?notable").body
    apache = serve(CONFIG).get(path).body
    assert b"<style>" not in apache and b"<title>Apache Status</title>" in apache


def test_virtual_hosts_have_rows(serve):
    """As many as had requests, with classes and protocols."""
    port = free_port()
    server = serve(CONFIG + f"Listen 127.0.0.1:{port}\n<VirtualHost *:{port}>\nServerName second.example\n</VirtualHost>\n", {"a.txt": "A"})
    for _ in range(3):
        assert server.get("/a.txt").status == 200
    assert server.get("/none").status == 404

    def rows():
        return {h["name"]: h for h in data(server)["hosts"]}
    found = wait_until(lambda: rows() if sum(sum(h["class"]) for h in rows().values()) >= 5 else None, "the requests to be counted")
    assert not any("second.example" in name for name in found)
    (first,) = [h for name, h in found.items() if name.startswith("localhost")]
    assert first["class"][3] == 1 and first["class"][1] >= 3 and sum(first["protocol"]) == sum(first["class"])
    assert first["bytes"] >= 3


def test_the_day_has_samples_of_its_own(serve):
    server = serve(CONFIG)
    assert wait_until(lambda: data(server)["samples"], "the first sample")
    said = json.loads(server.get("/status/live?day=0").body)
    assert said["seconds"] == 300 and len(said["samples"]) == 1 == said["next"]


CHROMIUM = shutil.which("chromium")


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
@pytest.mark.parametrize("forced", ["", "--force-high-contrast"])
def test_a_browser_draws_it(serve, tmp_path, forced):
    """Its script runs to the end: tiles, a row for the virtual host, lines that differ by more than colour, controls for three spans."""
    server = serve(CONFIG, {"a.txt": "A"})
    server.get("/a.txt")
    assert wait_until(lambda: len(data(server)["samples"]) > 1, "two samples", 60)
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", *filter(None, [forced]), f"--user-data-dir={tmp_path}", "--window-size=390,800",
                           "--virtual-time-budget=8000", "--dump-dom", f"http://127.0.0.1:{server.port}/status/live"], capture_output=True, text=True, timeout=120)
    page = done.stdout
    assert 'id="state" role="status" class="">as of ' in page, page[-2000:] + done.stderr[-1000:]
    assert re.search(r'id="hosts">.*?<td class="t">localhost', page, re.S)
    assert page.count('type="radio"') == 3 and page.count('class="chart"') == 10
    assert re.search(r'<path class="line s0" d="M\d', page)


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_a_browser_shows_the_tree_of_pools(serve, tmp_path):
    """By its button, or at once behind #pools."""
    server = serve("MemoryReport On\nMemorySystem connection tracking(quiet) arena\n" + CONFIG)
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--window-size=390,800",
                           "--virtual-time-budget=8000", "--dump-dom", f"http://127.0.0.1:{server.port}/status/live#pools"], capture_output=True, text=True, timeout=120)
    page = done.stdout
    assert re.search(r'id="pools">.*?<td class="t">apr_global_pool</td>.*?\u2014\u2014 pconf</td>', page, re.S), page[-2000:] + done.stderr[-1000:]
    assert re.search(r'id="sites">.*?<td class="t">[^<]+</td><td class="t">libapr-1', page, re.S)
    assert re.search(r'id="looked" role="status">process \d+, ', page)


MAP = """
Alias "/pictures/" "@ROOT@/pictures/"
ProxyPass "/app/none/" "!"
ProxyPass "/app/" "http://user:secret@127.0.0.1:1/" retry=0
Redirect permanent "/old" "/new"
<Location "/own">
ProxyPass "http://127.0.0.1:2/"
</Location>
<VirtualHost 192.0.2.1:80>
ServerName site.example
DocumentRoot "@ROOT@/site"
RewriteEngine On
RewriteRule "^/a/(.*)$" "/b/$1" [L]
<Directory "@ROOT@/site">
FallbackResource /index.html
</Directory>
<Location "/figures">
SetHandler metrics
</Location>
</VirtualHost>
"""


def test_the_map(serve):
    """Each line that leads somewhere, with its host, path, kind, file and line; no passwords."""
    server = serve(CONFIG + MAP)
    said = json.dumps(data(server)["map"])
    rows = [(row["host"], row["path"], row["kind"], row["to"]) for row in data(server)["map"]]
    site = "site.example (192.0.2.1:80)"
    for row in [("all others", "/pictures/", "folder", server.path("pictures/")), ("all others", "/app/none/", "rule", "stays here"),
                ("all others", "/app/", "backend", "http://127.0.0.1:1/"), ("all others", "/old", "redirect", "/new"),
                ("all others", "/own", "backend", "http://127.0.0.1:2/"), (site, "/", "folder", server.path("site")),
                (site, "^/a/(.*)$", "rule", "/b/$1"), (site, f"files in {server.path('site')}", "rule", "/index.html"),
                (site, "/figures", "handler", "metrics")]:
        assert row in rows, (row, rows)
    assert "secret" not in said
    for row in data(server)["map"]:
        name, _, number = row["line"].rpartition(":")
        line = pathlib.Path(name).read_text().splitlines()[int(number) - 1]
        assert row["kind"] == "rule" or row["to"].split("://")[-1] in line.replace("user:secret@", ""), row
