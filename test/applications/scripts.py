# SPDX-License-Identifier: Apache-2.0
"""What visitors do in each application: install it or find it installed, log in, edit, save, search, log out."""
import hashlib
import json
import re

PASSWORD = "a-long-passphrase-1"
DATABASE = f"GRANT ALL ON *.* TO 'admin'@'localhost' IDENTIFIED BY '{PASSWORD}' WITH GRANT OPTION; CREATE DATABASE IF NOT EXISTS wordpress"
CONFIG = """<IfFile /etc/apache2/conf-available/adminer.conf>
Include /etc/apache2/conf-available/adminer.conf
</IfFile>
<IfFile /etc/phpmyadmin/apache.conf>
Include /etc/phpmyadmin/apache.conf
</IfFile>
Alias /roundcube /var/lib/roundcube/public_html
Alias /blog/wp-content /var/lib/wordpress/wp-content
Alias /blog /usr/share/wordpress
<Directory /usr/share/wordpress>
    Options FollowSymLinks
    AllowOverride Limit Options FileInfo
    DirectoryIndex index.php
    Require all granted
</Directory>
<Directory /var/lib/wordpress/wp-content>
    Options FollowSymLinks
    Require all granted
</Directory>
"""
TEXT = "A **brigade** is a ring of //buckets//.\n\n==== Links ====\n[[start]] été & <nowiki><b></nowiki>\n" * 3
IMAGE = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000"
                      "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082")


def has(browser, text, status=200):
    assert browser.answer.status == status and text in browser.answer.body.decode("utf-8", "replace"), (text, browser.at, browser.answer.status, browser.answer.body[:4000])


def dokuwiki_prepare(machine):
    # The package's password is random: MD5 of ours, as the package writes it.
    machine.must("sed", "-i", f"s/^admin:[^:]*:/admin:{hashlib.md5(PASSWORD.encode()).hexdigest()}:/", "/var/lib/dokuwiki/acl/users.auth.php")


def dokuwiki(b):
    at = "/dokuwiki/"
    for target in ("", "doku.php?id=start", "doku.php?do=recent", "doku.php?do=index", "data/pages/wiki/welcome.txt", "inc/init.php", "VERSION", ".htaccess", "conf/local.php", "bin/plugin.php", "none.php", "lib/", "doku.php?do=login"):
        b.get(at + target)
    b.submit({"u": "admin", "p": "wrong"}, has=["u", "p"])
    b.submit({"u": "admin", "p": PASSWORD}, has=["u", "p"])
    has(b, "Logged in as")
    for page, text in (("brigade", TEXT), ("long", "word " * 30000), ("brigade", "changed: café\n"), ("wiki:ns:deep", "deep " + TEXT)):
        b.get(f"{at}doku.php?id={page}&do=edit")
        b.submit({"wikitext": text, "summary": "by a script", "do[save]": "Save"}, has=["wikitext"], without=["do[preview]", "do[cancel]"])
        b.next_second()  # a change within a second of the last one is part of that
        b.get(f"{at}doku.php?id={page}")
        b.get(f"{at}doku.php?id={page}&do=export_raw")
        b.get(f"{at}doku.php?id={page}&do=export_xhtml")
    b.get(f"{at}doku.php?id=brigade")
    has(b, "changed: café")
    b.get(f"{at}doku.php?id=brigade&do=revisions")
    b.get(f"{at}doku.php?id=brigade&do=edit")
    b.submit({"wikitext": TEXT, "do[preview]": "Preview"}, has=["wikitext"])
    b.get(f"{at}doku.php?id=brigade&do=edit")
    b.submit({"do[cancel]": "Cancel"}, has=["wikitext"])
    for page in ("brigade", "long", "start"):
        b.get(f"{at}lib/exe/taskrunner.php?id={page}")
    b.get(f"{at}doku.php?do=search&id=start&q=changed")
    b.get(f"{at}doku.php?do=search&id=start&q=caf%C3%A9")
    b.get(f"{at}feed.php")
    b.get(f"{at}feed.php?type=rss2")
    b.get(f"{at}doku.php?id=start&do=media")
    b.get(f"{at}lib/exe/fetch.php?media=wiki:dokuwiki-128.png")
    b.get(f"{at}lib/exe/fetch.php?media=wiki:dokuwiki-128.png", [("Range", "bytes=10-29")])
    b.get(f"{at}lib/exe/fetch.php?media=wiki:dokuwiki-128.png&w=40")
    b.get(f"{at}lib/exe/detail.php?media=wiki:dokuwiki-128.png")
    b.get(f"{at}doku.php?do=admin&page=config&id=start")
    b.get(f"{at}doku.php?do=admin&page=usermanager&id=start")
    b.get(f"{at}doku.php?id=start&do=profile")
    b.get(f"{at}doku.php?id=start")
    b.get(b.link("do=logout"))
    b.get(f"{at}doku.php?id=brigade&do=edit")
    b.get(f"{at}doku.php?id=none_such")
    has(b, "does not exist")


MEDIAWIKI = """#!/bin/sh -e
mkdir -p /var/lib/mediawiki/data
chown www-data /var/lib/mediawiki/data
php /usr/share/mediawiki/maintenance/install.php --dbtype sqlite --dbname wiki --dbpath /var/lib/mediawiki/data --confpath /etc/mediawiki \\
    --server http://localhost --scriptpath /mediawiki --pass PASSWORD Wiki Admin
cat >> /etc/mediawiki/LocalSettings.php <<'END'
$wgJobRunRate = 0;
END
chown -R www-data /var/lib/mediawiki/data /etc/mediawiki/LocalSettings.php
"""


def mediawiki_prepare(machine):
    machine.must("sh", "-c", MEDIAWIKI.replace("PASSWORD", PASSWORD))


def mediawiki(b):
    at = "/mediawiki/"
    for target in ("", "index.php/Main_Page", "index.php?title=Main_Page&action=edit", "index.php/Special:RecentChanges", "index.php/Special:Version", "load.php?lang=en&modules=site.styles&only=styles&skin=vector",
                   "resources/assets/licenses/cc-by.png", "images/README", "includes/Setup.php", "data/wiki.sqlite", "api.php?action=query&meta=siteinfo&format=json", "rest.php/v1/page/Main_Page", "images/", "index.php?title=Special:UserLogin"):
        b.get(at + target)
    b.submit({"wpName": "Admin", "wpPassword": "wrong"}, has=["wpPassword"])
    b.submit({"wpName": "Admin", "wpPassword": PASSWORD}, has=["wpPassword"])
    b.get(f"{at}index.php/Main_Page")
    has(b, '"wgUserName":"Admin"')
    for title, text in (("Brigade", TEXT), ("Long", "word " * 30000), ("Brigade", "changed: café\n")):
        b.get(f"{at}index.php?title={title}&action=edit")
        b.submit({"wpTextbox1": text, "wpSummary": "by a script", "wpSave": "Save"}, has=["wpTextbox1"])
        b.next_second()  # changes of the same second have no order
        b.get(f"{at}index.php/{title}")
        b.get(f"{at}index.php?title={title}&action=raw")
    b.get(f"{at}index.php/Brigade")
    has(b, "changed: café")
    b.get(f"{at}index.php?title=Brigade&action=edit")
    b.submit({"wpTextbox1": TEXT, "wpPreview": "Preview"}, has=["wpTextbox1"])
    b.get(f"{at}index.php?title=Brigade&action=history")
    b.get(f"{at}index.php?search=changed&fulltext=1")
    b.get(f"{at}index.php?search=Brigade&go=Go")
    b.get(f"{at}index.php/None_such_page")
    b.get(f"{at}index.php/Special:AllPages")
    b.get(f"{at}index.php?title=Special:RecentChanges&feed=atom")
    b.get(f"{at}index.php/Special:Preferences")
    b.get(f"{at}index.php?title=Special:UserLogout")
    b.submit({}, has=["wpEditToken"])
    b.get(f"{at}index.php/Main_Page")
    has(b, '"wgUserName":null')


def adminer(b):
    at = "/adminer/"
    b.get("/adminer")
    b.submit({"auth[username]": "admin", "auth[password]": "wrong"}, has=["auth[username]"])
    b.get(at)
    b.submit({"auth[username]": "admin", "auth[password]": PASSWORD}, has=["auth[username]"])
    where = f"{at}?username=admin&db="
    b.get(f"{at}?username=admin&database=")
    b.submit({"name": "shelf", "collation": ""}, has=["name"])
    sql = "CREATE TABLE book (id INT PRIMARY KEY AUTO_INCREMENT, title VARCHAR(200), text LONGTEXT); INSERT INTO book (title, text) VALUES ('été', 'a ring of buckets'), ('x', REPEAT('word ', 30000));"
    b.get(f"{where}shelf&sql=")
    b.submit({"query": sql}, has=["query"])
    b.get(f"{where}shelf")
    b.get(f"{where}shelf&table=book")
    b.get(f"{where}shelf&edit=book")
    b.submit({"fields[title]": "added: café", "fields[text]": TEXT}, has=["fields[title]"])
    b.get(f"{where}shelf&select=book")
    has(b, "added: café")
    b.get(f"{where}shelf&select=book&where%5B0%5D%5Bcol%5D=title&where%5B0%5D%5Bop%5D=LIKE+%25%25&where%5B0%5D%5Bval%5D=caf")
    b.get(f"{where}shelf&edit=book&where%5Bid%5D=3")
    b.submit({"fields[title]": "changed: café"}, has=["fields[title]"])
    b.get(f"{where}shelf&dump=book")
    b.submit({"output": "text", "format": "sql", "tables[]": "book", "data[]": "book"}, has=["output"])
    b.get(f"{where}shelf&create=book")
    b.get(f"{where}shelf&schema=")
    b.get(f"{at}?username=admin&variables=")
    b.get(f"{where}shelf&select=none_such")
    b.get(f"{where}shelf")
    b.submit({"logout": "Logout"}, has=["logout"]) if any("logout" in f for _, f in b.page.forms) else b.submit({"logout": "Logout"}, has=["token"])
    b.get(f"{where}shelf&select=book")


def phpmyadmin_prepare(machine):
    machine.write("/etc/phpmyadmin/conf.d/test.php", "<?php $cfg['Servers'][1] = ['auth_type' => 'cookie', 'host' => 'localhost'];\n$cfg['VersionCheck'] = false;\n")


def phpmyadmin(b):
    at = "/phpmyadmin/"
    for target in ("", "libraries/vendor_config.php", "templates/", "index.php?route=/none", "doc/html/index.html", "themes/pmahomme/css/theme.css"):
        b.get(at + target)
    b.get(at)
    b.submit({"pma_username": "admin", "pma_password": "wrong"}, has=["pma_password"])
    b.submit({"pma_username": "admin", "pma_password": PASSWORD}, has=["pma_password"])
    token = {"token": b.form("token")[1]["token"]}
    ajax = {"ajax_request": "true", "ajax_page_request": "true"}
    b.get(f"{at}index.php?route=/server/databases")
    b.post(f"{at}index.php?route=/server/databases/create", {**token, "new_db": "library", "db_collation": "utf8mb4_general_ci", "ajax_request": "true"})
    sql = "CREATE TABLE book (id INT PRIMARY KEY AUTO_INCREMENT, title VARCHAR(200), text LONGTEXT); INSERT INTO book (title, text) VALUES ('été', 'a ring of buckets'), ('x', REPEAT('word ', 30000));"
    b.get(f"{at}index.php?route=/database/sql&db=library")
    b.post(f"{at}index.php?route=/import", {**token, "db": "library", "is_js_confirmed": "0", "pos": "0", "goto": "index.php?route=/database/sql", "sql_query": sql, "sql_delimiter": ";", "show_query": "1", "SQL": "Go", "ajax_request": "true"})
    b.get(f"{at}index.php?route=/database/structure&db=library")
    b.get(f"{at}index.php?route=/table/change&db=library&table=book")
    b.get(f"{at}index.php?route=/sql&db=library&table=book&pos=0")
    has(b, "a ring of buckets")
    b.get(f"{at}index.php?route=/table/structure&db=library&table=book")
    b.get(f"{at}index.php?route=/table/search&db=library&table=book")
    b.post(f"{at}index.php?route=/database/search", {**token, "db": "library", "criteriaSearchString": "ring", "criteriaSearchType": "1", "criteriaTables[]": "book", "submit_search": "Go", **ajax})
    b.post(f"{at}index.php?route=/sql", {**token, "db": "library", "table": "book", "sql_query": "UPDATE book SET title = 'changed: café' WHERE id = 1", "ajax_request": "true"})
    b.get(f"{at}index.php?route=/sql&db=library&table=book&pos=0")
    has(b, "changed: café")
    b.get(f"{at}index.php?route=/table/export&db=library&table=book")
    b.get(f"{at}index.php?route=/server/variables")
    b.get(f"{at}index.php?route=/preferences/manage")
    b.post(f"{at}index.php?route=/logout", token)
    b.get(f"{at}index.php?route=/database/structure&db=library")


WORDPRESS = f"""<?php
define('DB_NAME', 'wordpress'); define('DB_USER', 'admin'); define('DB_PASSWORD', '{PASSWORD}'); define('DB_HOST', 'localhost'); define('DB_CHARSET', 'utf8mb4');
define('WP_CONTENT_DIR', '/var/lib/wordpress/wp-content'); define('WP_HTTP_BLOCK_EXTERNAL', true); define('DISABLE_WP_CRON', true); define('WP_SITEURL', 'http://localhost/blog'); define('WP_HOME', 'http://localhost/blog');
foreach (['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT'] as $k) define($k, $k . ' for a test');
"""
PERMALINKS = """<IfModule mod_rewrite.c>
RewriteEngine On
RewriteBase /blog/
RewriteRule ^index\\.php$ - [L]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule . /blog/index.php [L]
</IfModule>
"""


def wordpress_prepare(machine):
    machine.write("/etc/wordpress/config-localhost.php", WORDPRESS)
    machine.write("/etc/wordpress/htaccess", PERMALINKS)
    machine.must("ln", "-sf", "/etc/wordpress/htaccess", "/usr/share/wordpress/.htaccess")


def wordpress(b):
    at = "/blog/"
    b.get("/blog")
    b.get(f"{at}wp-admin/install.php?step=1")
    b.submit({"weblog_title": "Buckets & été", "user_name": "admin", "admin_password": PASSWORD, "admin_password2": PASSWORD, "pw_weak": "on", "admin_email": "admin@example.org", "Submit": "Install WordPress", "language": ""}, has=["weblog_title"])
    has(b, "Success!")
    for target in ("", "?p=1", "wp-admin/", "wp-login.php"):
        b.get(at + target)
    b.submit({"log": "admin", "pwd": "wrong", "wp-submit": "Log In"}, has=["log"])
    b.submit({"log": "admin", "pwd": PASSWORD, "wp-submit": "Log In", "rememberme": "forever"}, has=["log"])
    has(b, "Dashboard")
    b.get(f"{at}wp-admin/options-permalink.php")
    b.submit({"selection": "/%postname%/", "permalink_structure": "/%postname%/", "submit": "Save Changes"}, has=["selection"])
    b.get(f"{at}hello-world/")
    has(b, "Hello world!")
    b.get(f"{at}hello-world")
    b.submit({"comment": "a comment: café\n" * 3, "submit": "Post Comment"}, has=["comment"])
    b.get(f"{at}wp-json/")
    b.get(f"{at}wp-json/wp/v2/posts")
    b.get(f"{at}wp-admin/post-new.php")
    found = re.search(r'createNonceMiddleware\( "([0-9a-f]+)"', b.answer.body.decode())
    for title, text, date in (("Brigade", TEXT, "2025-01-02T03:04:05"), ("Long", "word " * 30000, "2025-02-02T03:04:05")):
        body = json.dumps({"title": title, "content": text, "status": "publish", "date": date}).encode()
        b.visit("POST", f"{at}wp-json/wp/v2/posts", body, "application/json", [("X-WP-Nonce", found.group(1))])
        assert b.answer.status == 201, b.answer
        b.get(f"{at}{title.lower()}/")
        has(b, title)
    b.get(f"{at}wp-admin/media-new.php?browser-uploader")
    b.submit({"html-upload": "Upload"}, {"async-upload": ("dot.png", "image/png", IMAGE)}, has=["post_id"])
    for target in ("?s=buckets", "none-such/", "feed/", "wp-admin/edit.php", "wp-admin/profile.php", "wp-admin/themes.php", "wp-admin/admin-ajax.php?action=none", "wp-content/uploads/", "wp-includes/", "xmlrpc.php", "wp-content/plugins/hello.php", "readme.html", "?author=1", "wp-admin/"):
        b.get(at + target)
    b.get(b.link("action=logout"))
    b.get(f"{at}wp-admin/edit.php")
    has(b, "user_login")


ROUNDCUBE = """<?php
include '/etc/roundcube/config.inc.php.package';
$config['db_dsnw'] = 'sqlite:////var/lib/roundcube/db/sqlite.db?mode=0640';
$config['imap_host'] = 'localhost:1';
$config['des_key'] = 'a-key-of-24-characters..';
"""
ROUNDCUBE_DATABASE = """mkdir -p /var/lib/roundcube/db
mv /etc/roundcube/config.inc.php /etc/roundcube/config.inc.php.package
php -r '$db = new PDO("sqlite:/var/lib/roundcube/db/sqlite.db"); $db->exec(file_get_contents("/usr/share/roundcube/SQL/sqlite.initial.sql"));'
chown -R www-data /var/lib/roundcube/db /etc/roundcube/config.inc.php.package
"""


def roundcube_prepare(machine):
    machine.must("sh", "-ec", ROUNDCUBE_DATABASE)
    machine.write("/etc/roundcube/config.inc.php", ROUNDCUBE)


def roundcube(b):
    """Without a mail server: as far as its users get then."""
    at = "/roundcube/"
    b.get("/roundcube")
    for target in ("", "?_task=login", "index.php", "?_task=mail", "skins/elastic/images/logo.svg", "skins/elastic/meta.json", "program/js/app.min.js", "program/resources/blank.gif",
                   "program/lib/", "program/include/iniset.php", "program/", "plugins/", "config/config.inc.php", "logs/errors.log", "temp/", "SQL/sqlite.initial.sql", "composer.json", "bin/update.sh",
                   ".htaccess", "README.md", "installer/", "none", "?_task=utils&_action=none", "?_task=login&_action=plugin.none"):
        b.get(at + target)
    b.get(at, [("If-Modified-Since", "Thu, 01 Jan 2026 00:00:00 GMT")])
    for user, password in (("", ""), ("admin", "wrong"), ("été <b>", PASSWORD), ("a" * 10000, "b" * 100000)):
        b.get(at)
        b.submit({"_user": user, "_pass": password}, has=["_token"])
        has(b, "_token", 401)
    b.post(f"{at}?_task=login", {"_task": "login", "_action": "login", "_token": "stale", "_user": "admin", "_pass": PASSWORD})
    b.get(f"{at}?_task=settings")
    b.get(f"{at}?_task=logout")


SCRIPTS = {"roundcube": roundcube, "dokuwiki": dokuwiki, "mediawiki": mediawiki, "adminer": adminer, "phpmyadmin": phpmyadmin, "wordpress": wordpress}
PREPARE = {"roundcube": roundcube_prepare, "dokuwiki": dokuwiki_prepare, "mediawiki": mediawiki_prepare, "phpmyadmin": phpmyadmin_prepare, "wordpress": wordpress_prepare}
NONCES = {
    "roundcube": [(r"[A-Za-z0-9]{32}", "NONCE")],
    "dokuwiki": [(r"\d+ (?:second|minute)s? ago", "AGO"), (r"(?<![0-9a-f])[0-9a-f]{32}\b", "NONCE"), (r"(?:tseed|tok)=[0-9a-f]+", "TOKEN"), (r"taskrunner\.php\?[^\"]*", "TASK")],
    "mediawiki": [(r"\d+(?:\.\d+)? (?:milli)?seconds", "TOOK"), (r'"wgUserEditCount":\d+', ""), (r"[0-9a-f]{24,40}(?:\+|&#43;|%2B)?(?:\\{1,2}|&#92;|%5C)?", "NONCE"), (r"\b20\d{12}\b", "TIME"), (r"(?s)<!--.*?-->", ""), (r'"(?:cputime|walltime)":"[\d.]+"|"timingprofile":\[[^]]*\]|"(?:timestamp|origin)":"[^"]*"|"(?:transientcontent|ttl)":\d+', ""), (r'"wg(?:RequestId|BackendResponseTime)":[^,}]*', "")],
    "adminer": [(r"(?<=</code><td>)[\d.]{5,}|(?:pseudo_thread_id|rand_seed\d)</code><td>\d+", "NUMBER"), (r"nonce[-=]\"?[A-Za-z0-9+/=]+", "NONCE"), (r"(?<![\d:])\d+:\d+(?![\d:])|\b\d+\.\d{3} s\b", "TOKEN"), (r"\b[0-9a-f]{32}\b", "NONCE")],
    "phpmyadmin": [(r"[0-9a-f]{30,64}", "NONCE"), (r'(?<=name="set_session" value=")[a-z0-9]+|(?<=[A-Za-z_"])\d{5,10}(?=["_])', "NONCE"), (r"(?i)[\d.]+ seconds", "SECONDS"), (r"[A-Za-z0-9+/%]{30,}(?:=|%3D)*", "NONCE")],
    "wordpress": [(r'data-pw="[^"]*"|(?:class="|name=")(?:hh|mn|ss)"(?: value="|>)\d+|\d\.gravatar|overdue by \d+ sec', "NONCE"), (r"nonce[^0-9a-f]{1,30}[0-9a-f]{10}\b", "NONCE"), (r"\b[0-9a-f]{10}\b", "NONCE"), (r"\b[0-9a-f]{32}\b", "NONCE")],
}
