# SPDX-License-Identifier: Apache-2.0
"""WordPress with the plugin "LiteSpeed Cache", unmodified and installed by itself: visitors, an editor, users who are logged in."""
import html
import os
import re

import pytest

import brigade
import wordpress_site
from wordpress_site import CONFIG, Visitor, wordpress

pytestmark = [pytest.mark.only("brigade"), pytest.mark.slow,
              pytest.mark.skipif(not wordpress_site.IS_THERE, reason="no wordpress, mariadb-server, php8.2-mysql, php-fpm, or not root")]
needs_plugin = pytest.mark.skipif(not wordpress_site.PLUGIN, reason="LSCACHE_WP does not name the plugin's folder")


@pytest.fixture(scope="module")
def site():
    with wordpress() as (root, socket):
        with brigade.Server("CacheStatusHeader On\nLiteSpeedCache On\n" + CONFIG.format(root=root, socket=socket)) as server:
            admin = Visitor(server.port, "admin")
            admin.set_permalinks()
            if wordpress_site.PLUGIN:
                admin.activate_plugin()
            server.admin, server.site, server.socket = admin, root, socket
            server.options = lambda command: wordpress_site.database(root, command)
            yield server


def said(who):
    return who.headers["X-LiteSpeed-Cache"]


@needs_plugin
def test_its_installer_did_its_work(site):
    with open(f"{site.site}/.htaccess") as f:
        text = f.read()
    assert "<IfModule LiteSpeed>\nCacheLookup on\n" in text and "CacheKeyModify -qs:utm*" in text and "RewriteRule . /index.php [L]" in text
    assert not os.path.exists(f"{site.site}/.htaccess.bad")


@needs_plugin
def test_visitors_share_pages(site):
    one, two = Visitor(site.port), Visitor(site.port)
    for path in ("/", "/hello-world/", "/sample-page/"):
        first = one.made(path)
        assert first[1] == "nobody" and two.made(path) == first and said(two) == "hit"
        assert two.made(path + "?utm_source=mail&fbclid=1") == first
        assert not [name for name in two.headers if name.lower().startswith("x-litespeed-") and name.lower() != "x-litespeed-cache"]


@needs_plugin
def test_users_have_their_own(site):
    visitor, anna, bert = Visitor(site.port), Visitor(site.port, "anna"), Visitor(site.port, "bert")
    page = visitor.made("/")
    for who, name in ((anna, "anna"), (bert, "bert"), (site.admin, "admin")):
        own = who.made("/")
        assert own[1] == name and who.made("/") == own and said(who) == "hit,private"
    assert visitor.made("/") == page and visitor.get("/wp-admin/") and "Log In" in visitor.text
    anna.get("/wp-login.php?action=logout")


@needs_plugin
def test_an_edit_is_seen_by_the_next_request(site):
    visitor = Visitor(site.port)
    for number in range(3):
        before = visitor.made("/hello-world/"), visitor.made("/")
        assert (visitor.made("/hello-world/"), visitor.made("/")) == before
        site.admin.edit(1, f"Title {number}")
        for path in ("/hello-world/", "/"):
            visitor.made(path)
            assert f"Title {number}" in visitor.text and said(visitor) == "miss", path


@needs_plugin
def test_a_comment_is_its_authors_until_it_is_approved(site):
    author, other = Visitor(site.port), Visitor(site.port)
    other.made("/hello-world/")
    author.get("/wp-comments-post.php", {"comment": "A remark that waits", "author": "Carl", "email": "c@example.org", "comment_post_ID": "1", "comment_parent": "0", "submit": "Post", "wp-comment-cookies-consent": "yes"})
    assert "A remark that waits" not in other.get("/hello-world/")
    other.made("/hello-world/")
    author.get("/hello-world/")
    assert "A remark that waits" not in Visitor(site.port).get("/hello-world/")


@needs_plugin
def test_the_plugin_purges_all(site):
    visitor = Visitor(site.port)
    before = visitor.made("/sample-page/")
    assert visitor.made("/sample-page/") == before
    text = html.unescape(site.admin.get("/wp-admin/admin.php?page=litespeed-toolbox"))
    link = re.search(r"""["']([^"']*LSCWP_CTRL=[^"']*purge_all(?:&[^"']*)?)["']""", text)[1]
    site.admin.get(link.split(str(site.port), 1)[1] if link.startswith("http") else "/wp-admin/" + link)
    assert visitor.made("/sample-page/") != before


@needs_plugin
def test_blocks_for_users(site):
    """With the plugin's ESI users get the page of their kind, and in it blocks of their own: the bar on top has their name."""
    site.options("update wp_options set option_value = '1' where option_name = 'litespeed.conf.esi'")
    more = f'<Directory "{site.site}">\nOptions +Includes\nSSIEsi On\n</Directory>\n'
    with brigade.Server("CacheStatusHeader On\nLiteSpeedCache On\n" + CONFIG.format(root=site.site, socket=site.socket) + more) as server:
        visitor, anna, bert = Visitor(server.port), Visitor(server.port, "anna"), Visitor(server.port, "bert")
        page = visitor.made("/hello-world/")
        assert visitor.made("/hello-world/") == page and "esi:" not in visitor.text
        for who, name, others in ((anna, "anna", "bert"), (bert, "bert", "anna"), (anna, "anna", "bert"), (bert, "bert", "anna")):
            who.get("/hello-world/")
            assert who.status == 200 and "esi:" not in who.text, who.text[-3000:]
            assert f"Howdy, <span class=\"display-name\">{name}" in who.text and f"display-name\">{others}" not in who.text
        assert said(bert) == "hit" and "display-name" not in visitor.get("/hello-world/") and visitor.made("/hello-world/") == page
    site.options("update wp_options set option_value = '' where option_name = 'litespeed.conf.esi'")
