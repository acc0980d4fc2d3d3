# SPDX-License-Identifier: Apache-2.0
"""The site whose files change: its plan, its configuration, and which requests look at which part of it."""
import os
import shutil
import subprocess
import tempfile

OLD = 1_000_000_000
TEXT = "the quick brown fox jumps over the lazy dog\n" * 20
DENY, GRANT = "Require all denied\n", "Require all granted\n"

CONFIG = """
ServerLimit 1
KeepAliveTimeout 60
MaxKeepAliveRequests 0
Timeout 20
AccessFileName .htaccess .conf/acl
DirectoryIndex index.shtml index.html index.txt
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
AddLanguage en .en
AddLanguage de .de
AddEncoding x-gzip .gz
DocumentRoot "SITE/htdocs"
Alias "/alias" "SITE/outside"
Alias "/single" "SITE/outside/o.html"
ErrorDocument 404 /err.html
IndexOptions FancyIndexing NameWidth=*
HeaderName HEADER.html
ReadmeName README.html
<Directory "SITE">
Options Indexes FollowSymLinks Includes
AllowOverride All
Require all granted
</Directory>
<Directory "SITE/htdocs/owner">
Options Indexes SymLinksIfOwnerMatch
</Directory>
<Directory "SITE/htdocs/nolinks">
Options Indexes
</Directory>
<Directory "SITE/htdocs/fixed">
AllowOverride None
</Directory>
<Directory "SITE/htdocs/neg">
Options +MultiViews
</Directory>
<Directory "SITE/htdocs/fall">
FallbackResource /b.txt
</Directory>
<Directory "SITE/htdocs/rw">
RewriteEngine On
RewriteCond %{REQUEST_FILENAME} !-f
RewriteRule ^(.*)\\.htm$ $1.html [L]
RewriteCond SITE/htdocs/rw/maintenance -f
RewriteRule ^ /err.html [L]
</Directory>
"""
MODULES = ("include", "negotiation", "rewrite")

# path -> content, "-> target" for a symbolic link, None for a folder
PLAN = {
    "htdocs/index.html": "index", "htdocs/a.html": "a", "htdocs/b.txt": "b", "htdocs/err.html": "no such thing", "htdocs/large.bin": "L" * 300_000, "htdocs/empty": "",
    "htdocs/sub/index.html": "sub index", "htdocs/sub/x.html": "x", "htdocs/sub/deep/y.html": "y", "htdocs/sub/deep/.htaccess": "Header set X-Deep one\n",
    "htdocs/list/one.txt": "1", "htdocs/list/two.txt": "22", "htdocs/list/in/three.txt": "333", "htdocs/list/README.html": "readme", "htdocs/list/HEADER.html": "header",
    "htdocs/pages/p.shtml": '<!--#include virtual="part.html" -->|<!--#include file="f.html" -->|<!--#fsize virtual="/a.html" -->|<!--#flastmod virtual="part.html" -->|\n',
    "htdocs/pages/q.shtml": '<!--#include virtual="/sub/" -->|<!--#fsize virtual="/idx/" -->|<!--#flastmod virtual="/idx/" -->\n', "htdocs/pages/part.html": "part", "htdocs/pages/f.html": "file",
    "htdocs/pages/r.shtml": '<!--#if expr="-f \'/etc/hostname\'" -->h<!--#endif --><!--#include virtual="l.html" --><!--#include virtual="/nolinks/l.html" -->\n', "htdocs/pages/l.html": "-> part.html",
    "htdocs/neg/n.html.en": "english", "htdocs/neg/n.html.de": "deutsch",
    "htdocs/owner/f.html": "owned", "htdocs/owner/l.html": "-> f.html", "htdocs/owner/ld": "-> real", "htdocs/owner/real/g.html": "g", "htdocs/owner/out.html": "-> ../../outside/o.html",
    "htdocs/nolinks/f.html": "no links", "htdocs/nolinks/l.html": "-> f.html", "htdocs/nolinks/real/g.html": "g",
    "htdocs/fixed/f.html": "fixed", "htdocs/fixed/in/g.html": "g", "htdocs/fixed/l.html": "-> f.html", "htdocs/fixed/index.html": "fixed index",
    "htdocs/l.html": "-> a.html", "htdocs/chain": "-> mid", "htdocs/mid": "-> end", "htdocs/end": "-> sub/x.html", "htdocs/ld": "-> sub", "htdocs/lchain": "-> lmid", "htdocs/lmid": "-> ld", "htdocs/dangling.html": "-> later/here.html", "htdocs/up.html": "-> ../outside/o.html",
    "htdocs/through.html": "-> ld/x.html", "htdocs/lout": "-> ../outside/in", "htdocs/loop": "-> loop",
    "htdocs/acl/z.html": "z", "htdocs/acl/.conf/acl": "Header set X-Acl one\n", "htdocs/lacl/z.html": "z", "htdocs/lacl/.conf": "-> ../../acls/cur", "htdocs/noacl/z.html": "z",
    "htdocs/ht/z.html": "z", "htdocs/ht/.htaccess": "Header set X-Ht one\n", "htdocs/ht/in/y.html": "y", "htdocs/noht/z.html": "z", "htdocs/noht/in/y.html": "y", "htdocs/lht/z.html": "z", "htdocs/lht/.htaccess": "-> ../../acls/cur/acl", "htdocs/dht/z.html": "z", "htdocs/dht/.htaccess": "-> ../../acls/none/acl",
    "acls/cur": "-> v1", "acls/v1/acl": "Header set X-Acl v1\n", "acls/v2/acl": DENY,
    "htdocs/idx/index.html": "index of idx", "htdocs/idxl/index.shtml": "-> ../later/index.shtml", "htdocs/idxl/index.html": "index of idxl", "htdocs/idxt/index.txt": "last",
    "htdocs/rw/a.html": "rw a", "htdocs/rw/c.htm": "c", "htdocs/fall/f.html": "fall",
    "htdocs/exec/e.html": "e", "htdocs/modes/f.html": "modes", "htdocs/modes/in/g.html": "modes g", "htdocs/m/f.html": "below a mount", "htdocs/gz/a.html.gz": "no gzip", "htdocs/later.txt": "later",
    "outside/o.html": "outside", "outside/in/o.html": "outside in", "outside/h.html": "hard", "other/o.html": "other", "other/index.html": "other index", "other/x.html": "other x", "other/g.html": "other g", "other/z.html": "other z", "other/acl": DENY, "other/.htaccess": "Header set X-Other one\n",
}

# What looks at what: parts of the site, and targets that depend on them.
TARGETS = {
    "htdocs/index.html": ["/", "/index.html"], "htdocs/a.html": ["/a.html", "/l.html", "/pages/p.shtml"], "htdocs/b.txt": ["/b.txt", "/fall/none"], "htdocs/err.html": ["/nothing", "/err.html"], "htdocs/large.bin": ["/large.bin"], "htdocs/empty": ["/empty"],
    "htdocs/sub": ["/sub/", "/sub/x.html", "/sub", "/ld/x.html", "/lchain/x.html", "/chain", "/sub/deep/y.html", "/through.html", "/pages/q.shtml", "/lchain/deep/y.html"], "htdocs/list": ["/list/", "/list/one.txt", "/list/?C=S;O=D", "/list/in/"],
    "htdocs/pages": ["/pages/p.shtml", "/pages/q.shtml", "/pages/r.shtml", "/pages/part.html"], "htdocs/neg": ["/neg/n", "/neg/n.html", "/neg/"], "htdocs/owner": ["/owner/f.html", "/owner/l.html", "/owner/ld/g.html", "/owner/out.html", "/owner/"],
    "htdocs/nolinks": ["/nolinks/f.html", "/nolinks/l.html", "/nolinks/real/g.html", "/pages/r.shtml"], "htdocs/fixed": ["/fixed/f.html", "/fixed/in/g.html", "/fixed/l.html", "/fixed/"], "htdocs/l.html": ["/l.html"], "htdocs/chain": ["/chain"], "htdocs/mid": ["/chain", "/mid"],
    "htdocs/end": ["/chain", "/end"], "htdocs/ld": ["/ld/x.html", "/ld/", "/lchain/x.html", "/through.html", "/lchain/"], "htdocs/lchain": ["/lchain/x.html"], "htdocs/lmid": ["/lchain/x.html", "/lchain/"], "htdocs/dangling.html": ["/dangling.html"], "htdocs/later": ["/dangling.html", "/idxl/", "/later/here.html"],
    "htdocs/up.html": ["/up.html"], "htdocs/through.html": ["/through.html"], "htdocs/lout": ["/lout/o.html"], "htdocs/loop": ["/loop"], "htdocs/acl": ["/acl/z.html", "/acl/"], "htdocs/lacl": ["/lacl/z.html"], "htdocs/noacl": ["/noacl/z.html"],
    "htdocs/ht": ["/ht/z.html", "/ht/in/y.html", "/ht/"], "htdocs/noht": ["/noht/z.html", "/noht/in/y.html"], "htdocs/lht": ["/lht/z.html"], "htdocs/dht": ["/dht/z.html"], "acls": ["/lht/z.html", "/lacl/z.html", "/dht/z.html"], "htdocs/idx": ["/idx/", "/idx", "/pages/q.shtml"],
    "htdocs/idxl": ["/idxl/"], "htdocs/idxt": ["/idxt/"], "htdocs/rw": ["/rw/a.html", "/rw/a.htm", "/rw/c.htm"], "htdocs/fall": ["/fall/f.html", "/fall/none"], "htdocs/exec": ["/exec/e.html"], "htdocs/modes": ["/modes/f.html", "/modes/in/g.html", "/modes/"], "htdocs/m": ["/m/f.html", "/m/o.html", "/m/"],
    "htdocs/gz": ["/gz/a.html.gz"], "outside": ["/up.html", "/alias/o.html", "/alias/in/o.html", "/single", "/lout/o.html", "/owner/out.html", "/alias/h.html", "/alias/"], "other": [], "htdocs/later.txt": ["/later.txt"], "htdocs": ["/", "/a.html", "/sub/x.html"],
}
for folder, more in {"sub": ["/sub/none", "/sub/deep/none/x", "/ld/none", "/lchain/deep/none/x"], "ht": ["/ht/none", "/ht/none/2026/page/", "/ht/in/none"], "noht": ["/noht/none", "/noht/in/none/x"],
                     "acl": ["/acl/none", "/acl/none/x/"], "fixed": ["/fixed/none"], "lht": ["/lht/none"], "modes": ["/modes/in/none"], "rw": ["/rw/none.htm"]}.items():
    TARGETS[f"htdocs/{folder}"] += more
ALL_TARGETS = sorted({t for ts in TARGETS.values() for t in ts})


def targets_of(path):
    """Targets that may change with a path: those of it and of the folders above."""
    found, at = [], path
    while at:
        found += TARGETS.get(at, [])
        at = os.path.dirname(at)
    return found or ALL_TARGETS


class Site:
    """Files that servers share; their times lie in the past, as those of files that have been there for a while."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="brigade-tree-")
        os.chmod(self.root, 0o755)
        self.clock, self.version, self.mounts = OLD, 0, []
        self.visible = False  # what is written to access files shows in every answer
        for name in PLAN:
            self.restore(name)

    def path(self, name):
        return os.path.join(self.root, name)

    def config(self):
        return CONFIG.replace("SITE", self.root)

    def settle(self, path):
        self.clock += 1
        try:
            os.utime(path, (self.clock, self.clock), follow_symlinks=False)
        except OSError:
            pass

    def restore(self, name):
        """Put back what the plan has there."""
        path = self.path(name)
        self.remove(path)
        folder = os.path.dirname(path)
        while not os.path.isdir(folder):  # a link or a file may stand there
            top = folder
            while not os.path.lexists(os.path.dirname(top)):
                top = os.path.dirname(top)
            if os.path.lexists(top):
                os.unlink(top)
            os.mkdir(top)
            os.chmod(top, 0o755)
        content = PLAN[name]
        if content.startswith("-> "):
            os.symlink(content[3:], path)
        else:
            with open(path, "w") as f:
                f.write(content + ("" if name.endswith(("acl", ".htaccess", "empty")) else "\n" + TEXT[:44 * (len(name) % 9)]))
            os.chmod(path, 0o644)
            self.settle(path)

    @staticmethod
    def remove(path):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)

    def text(self):
        self.version += 1
        return f"version {self.version}\n" + TEXT[:44 * (self.version % 9)]

    def mount(self, *arguments, at):
        subprocess.run(["mount", *arguments, at], check=True, capture_output=True)
        self.mounts.append(at)

    def unmount(self, at=None):
        for path in [at] if at else list(reversed(self.mounts)):
            subprocess.run(["umount", "-l", path], check=False, capture_output=True)
            if path in self.mounts:
                self.mounts.remove(path)

    def remove_all(self):
        self.unmount()
        with open("/proc/self/mountinfo", encoding="utf-8") as f:  # those that were moved with the folder that they are in
            left = [line.split()[4] for line in f]
        for path in reversed([p for p in left if p.startswith(self.root + "/")]):
            subprocess.run(["umount", "-l", path], check=False, capture_output=True)
        shutil.rmtree(self.root, ignore_errors=True)
