# SPDX-License-Identifier: Apache-2.0
"""Files that nobody asked for before: once two of a folder were sent, the next ones have their heads, without the phases. Whole answers
and logs are those of a server that remembers nothing, whatever the configuration says."""
import os
import random
import re

import pytest

from brigade import APACHE_MODULES
from cache_site import await_hits, hits, one_loop

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads, pytest.mark.slow]

CONFIG = f"""MaxKeepAliveRequests 0
LoadModule rewrite_module {APACHE_MODULES}/mod_rewrite.so
<Location /metrics>
SetHandler metrics
</Location>
<Directory "@ROOT@/htdocs">
Options FollowSymLinks
AllowOverride All
</Directory>
<FilesMatch "^secret">
Require all denied
</FilesMatch>
SetEnvIf Request_URI "picture" image
Header set X-Image 1 env=image
LogFormat "%h %u \\"%r\\" %>s %B %b %U %f %{{ETag}}o %{{Last-Modified}}o %{{Content-Type}}o %{{X-Image}}o %m %q %H" wide
CustomLog @ROOT@/access wide
"""
FOLDERS = {"plain": "", "etag": "FileETag INode MTime Size\n", "notag": "FileETag None\n", "digest": "FileETag Digest\n", "access": "ExpiresActive On\nExpiresDefault \"access plus 1 month\"\n",
           "modified": "ExpiresActive On\nExpiresDefault \"modification plus 1 month\"\n", "headers": "Header set X-Set here\nHeader append Vary Cookie\n", "uri": 'Header set X-Path "expr=%{REQUEST_URI}"\n',
           "file": 'Header set X-Size "expr=%{LAST_MODIFIED}"\n', "gzip": "SetOutputFilter DEFLATE\n", "denied": "Require all denied\n", "agents": "<If \"%{HTTP_USER_AGENT} =~ /old/\">\nHeader set X-Old 1\n</If>\n",
           "nolinks": "Options -FollowSymLinks\n", "owner": "Options -FollowSymLinks +SymLinksIfOwnerMatch\n", "rules": "RewriteEngine On\nRewriteRule ^7(.*) /a.txt\n", "type": "ForceType text/x-mine\nAddDefaultCharset utf-8\n",
           "section": "<Files 7.txt>\nHeader set X-Seven 1\n</Files>\n", "exp": "FileETag -Size\n", "client": "Require ip 127.0.0.1\n", "cookies": "SetEnvIf Cookie a image\n",
           "php": "RewriteEngine On\nRewriteBase /php/\nRewriteRule ^7\\.txt$ - [L]\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule . /a.txt [L]\n"
                  "RewriteCond %{HTTP_USER_AGENT} old\nRewriteRule ^8 /a.txt [R,L]\nRewriteCond %{REQUEST_FILENAME} -l\nRewriteRule ^link /a.txt [R=303,L]\nRewriteCond %{REQUEST_FILENAME} -s\nRewriteRule ^9 /b.txt [R=303]\n"}
SAID = ("Content-Type", "Content-Length", "Last-Modified", "ETag", "X-Image", "X-Set", "Vary", "X-Path", "X-Size", "X-Old", "X-Seven", "Accept-Ranges", "Location", "Content-Range", "Content-Encoding", "Cache-Control", "Allow")
N = 40


def fill(server):
    """The same files, inodes apart, for both servers: tags with inodes are compared by their form."""
    rng = random.Random(3)
    for folder, access in FOLDERS.items():
        os.makedirs(server.path("htdocs", folder), exist_ok=True)
        if access:
            server.write(f"{folder}/.htaccess", access)
        for i in range(N):
            for name in (f"{i}.txt", f"{i}.html", f"picture{i}.txt", f"secret{i}.txt", f"bare{i}"):
                path = server.path("htdocs", folder, name)
                with open(path, "wb") as f:
                    f.write(rng.randbytes(rng.choice([0, 1, 50, 300, 5000, 16384, 16385, 40000])))
                os.utime(path, (1.6e9 + rng.randrange(10**7), 1.6e9 + rng.randrange(10**7) + rng.choice([0, 0.25])))
        os.symlink("../a.txt", server.path("htdocs", folder, "link.txt"))
        os.mkdir(server.path("htdocs", folder, "folder.txt"))
        os.mkfifo(server.path("htdocs", folder, "fifo.txt"))
        for name in ("folder.txt", "fifo.txt"):
            os.utime(server.path("htdocs", folder, name), (1.6e9, 1.6e9))
    server.write("a.txt", "text")
    os.utime(server.path("htdocs/a.txt"), (1.6e9, 1.6e9))


@pytest.fixture
def twins(serve):
    servers = [one_loop(serve, more + CONFIG) for more in ("FileCacheEntries 4096\n", "FileCacheEntries 0\n")]
    for server in servers:
        fill(server)
    return servers


def said(answer, folder):
    fields = {n: answer[n] for n in SAID}
    if folder in ("etag", "exp") and fields["ETag"]:  # the inode is another one
        fields["ETag"] = re.sub(r'"[0-9a-f]+-', '"INODE-', fields["ETag"])
    return answer.status, fields, bytes(answer.body)


def order(seed):
    rng = random.Random(seed)
    names = [(folder, name) for folder in FOLDERS for i in range(N) for name in (f"{i}.txt", f"{i}.html", f"picture{i}.txt", f"secret{i}.txt", f"bare{i}")]
    names += [(folder, name) for folder in FOLDERS for name in ("link.txt", "folder.txt", "fifo.txt", "none.txt", "8.txt?x", "9.txt/more", "%38.txt")]
    rng.shuffle(names)
    for folder, name in names:
        yield folder, name, rng.choice([{}, {}, {}, {}, {"If-None-Match": '"x"'}, {"Range": "bytes=0-9"}, {"Accept-Encoding": "gzip"}, {"User-Agent": "old"}, {"Cookie": "a"}, {"If-Modified-Since": "Sun, 06 Nov 2050 08:49:37 GMT"}, {"Cache-Control": "no-cache"}])


def lines(server):
    with open(server.path("access"), encoding="utf-8") as f:
        return [re.sub(r'\\"[0-9a-f]+-', "INODE-", line.replace(server.root, "ROOT")) for line in f if "metrics" not in line]


@pytest.mark.parametrize("seed", [1, 2])
def test_each_is_answered_and_logged_as_by_the_full_way(twins, seed):
    server, plain = twins
    before = hits(server)
    with server.connect() as c, plain.connect() as p:
        for i, (folder, name, fields) in enumerate(order(seed)):
            method = "HEAD" if i % 11 == 0 else "GET"
            one, other = (x.request(method, f"/{folder}/{name}", fields) for x in (c, p))
            assert said(one, folder) == said(other, folder), (i, method, folder, name, fields)
    await_hits(server, before + 100)
    server.stop()
    plain.stop()
    assert lines(server) == lines(plain)


def many(client, folder, first, last):
    for i in range(first, last):
        assert client.get(f"/{folder}/bare{i}").status == 200


def test_they_come_without_phases(twins):
    server, _ = twins
    for i in range(N):
        server.write(f"plain/bare{i}", "x" * (i + 1))
        os.utime(server.path(f"htdocs/plain/bare{i}"), (1.6e9 + i, 1.6e9 + i))
    before = hits(server)
    with server.connect() as c:
        many(c, "plain", 0, N)
    await_hits(server, before + N - 8)


@pytest.mark.parametrize("change,status", [
    (lambda s: s.write("plain/.htaccess", "Require all denied\n"), 403), (lambda s: s.write(".htaccess", "Require all denied\n"), 403),
    (lambda s: os.rename(s.path("htdocs/plain"), s.path("htdocs/plain2")), 404), (lambda s: os.unlink(s.path("htdocs/plain/bare30")), 404),
    (lambda s: s.write("plain/.htaccess", "Redirect gone /plain/bare30\n"), 410)])
def test_changes_count_at_once(twins, change, status):
    server, _ = twins
    with server.connect() as c:
        many(c, "plain", 0, 30)
        change(server)
        assert c.get("/plain/bare30").status == status


def test_a_file_is_read_when_it_is_asked_for(twins):
    """Its length, its times and its content are those of now; one that has just changed has a weak tag."""
    server, plain = twins
    with server.connect() as c, plain.connect() as p:
        many(c, "plain", 0, 30)
        for s in twins:
            s.write("plain/bare30", "new")
        one, other = c.get("/plain/bare30"), p.get("/plain/bare30")
        assert one.body == b"new" and one["Content-Length"] == "3" and re.sub('".*', "", one["ETag"]) == re.sub('".*', "", other["ETag"]) == "W/"
