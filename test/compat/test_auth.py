# SPDX-License-Identifier: Apache-2.0
"""Who are you: the built-in modules beside Apache's binaries, by schemes, hashes, rules and errors."""
import base64
import hashlib
import os
import re
import subprocess
import time

import pytest

import auth_digest
import brigade
from test_compare import APACHE, normal, pytestmark  # noqa: F401

MODULES = ["authn_core", "authn_file", "authn_dbm", "authn_anon", "authz_user", "authz_groupfile", "authz_dbm", "authz_owner",
           "auth_basic", "auth_digest", "include"]
# Of crypt(3)'s kinds: traditional, MD5, SHA-256, SHA-512.
CRYPT = {"des": "rqXexS6ZhobKA", "five": "$5$saltsalt$JkkGIk7i3yFTKULvRt6RzhGDNSqdYQvW9WA7TkRxn53"}
FILES = {f"{d}/{f}": "hello\n" for d in
         ("b", "user", "group", "dbm", "anon", "two", "lax", "fake", "alias", "owner", "none", "bad", "nofile", "nomodule", "noname",
          "doc", "expr", "limit", "any", "digestpw", "d", "n0", "nc", "nm", "unread", "ht") for f in ("a.txt", "index.html")}
FILES["page.shtml"] = '<!--#include virtual="/b/a.txt" --><!--#include virtual="/user/a.txt" -->[<!--#echo var="REMOTE_USER" -->]\n'
FILES["b/page.shtml"] = '<!--#include virtual="/b/a.txt" -->[<!--#echo var="REMOTE_USER" -->]\n'
FILES["401.html"] = "who are you?\n"
FILES["ht/.htaccess"] = 'AuthType Basic\nAuthName ht\nAuthUserFile @ROOT@/conf/users\nRequire user ann\n'
BASIC = 'AuthType Basic\nAuthName "the realm"\nAuthUserFile @ROOT@/conf/users\n'
DIGEST = 'AuthType Digest\nAuthName "the realm"\nAuthUserFile @ROOT@/conf/digest\nRequire valid-user\n'
FOLDERS = {
    "b": BASIC + "Require valid-user\nOptions +Includes\nAddOutputFilter INCLUDES .shtml",
    "user": BASIC + "Require user ann zoe",
    "group": BASIC + "AuthGroupFile @ROOT@/conf/groups\n<RequireAny>\nRequire group staff\nRequire user zoe\n</RequireAny>",
    "dbm": 'AuthType Basic\nAuthName "the realm"\nAuthBasicProvider dbm\nAuthDBMUserFile @ROOT@/conf/users.dbm\nAuthDBMType SDBM\n'
           "AuthzDBMType SDBM\nAuthDBMGroupFile @ROOT@/conf/groups.dbm\nRequire dbm-group staff",
    "anon": "AuthType Basic\nAuthName anon\nAuthBasicProvider anon\nAnonymous guest Visitor\nAnonymous_VerifyEmail On\nRequire valid-user",
    "two": BASIC + "AuthBasicProvider second file\nRequire valid-user",
    "lax": BASIC + "AuthBasicAuthoritative Off\nRequire valid-user",
    "fake": BASIC + 'AuthBasicFake "x%{REMOTE_USER}" pw\nRequire valid-user',
    "alias": 'AuthType Basic\nAuthName "a \\"quoted\\" realm"\nAuthBasicProvider second\nRequire valid-user',
    "owner": BASIC + "AuthGroupFile @ROOT@/conf/groups\n<RequireAny>\nRequire file-owner\nRequire file-group\n</RequireAny>",
    "none": BASIC + "AuthType None\nRequire all granted",
    "bad": BASIC + "AuthUserFile @ROOT@/conf/absent\nRequire valid-user",
    "nofile": "AuthType Basic\nAuthName nofile\nRequire valid-user",
    "nomodule": "AuthType Form\nAuthName form\nRequire valid-user",
    "noname": "AuthType Basic\nAuthUserFile @ROOT@/conf/users\nRequire valid-user",
    "doc": BASIC + "ErrorDocument 401 /401.html\nRequire user ann",
    "expr": BASIC + 'Require expr %{REMOTE_USER} == "joe"',
    "limit": BASIC + "<Limit POST>\nRequire valid-user\n</Limit>\n<RequireAll>\nRequire valid-user\nRequire not user ann\n</RequireAll>",
    "any": BASIC + "Require ip 127.0.0.1\nRequire valid-user",
    "digestpw": BASIC + "AuthUserFile @ROOT@/conf/digest\nAuthBasicUseDigestAlgorithm MD5\nRequire valid-user",
    "unread": BASIC + "AuthUserFile @ROOT@/conf/unread\nRequire valid-user",
    "d": DIGEST, "n0": DIGEST + "AuthDigestNonceLifetime 0", "nc": DIGEST + "AuthDigestNcCheck On", "nm": DIGEST + "AuthDigestNonceLifetime -1",
}
CONFIG = """LogLevel info
AuthDigestShmemSize 100K
AddOutputFilter INCLUDES .shtml
<Directory @ROOT@/htdocs>
Options +Includes
</Directory>
<AuthnProviderAlias file second>
AuthUserFile @ROOT@/conf/second
</AuthnProviderAlias>
""" + "".join(f"<Directory @ROOT@/htdocs/{name}>\n{lines}\n</Directory>\n" for name, lines in FOLDERS.items())


def made(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def openssl(kind):
    return made("openssl", "passwd", f"-{kind}", "-salt", "saltsalt", "secret")


HASHES = {}


def users():
    if not HASHES:
        HASHES.update({
            "joe": made("htpasswd", "-nbB", "joe", "secret").split(":")[1], "ann": made("htpasswd", "-nbm", "ann", "secret").split(":")[1],
            "sha": made("htpasswd", "-nbs", "sha", "secret").split(":")[1], "five": openssl(5), "six": openssl(6), "one": openssl(1),
            "des": CRYPT["des"], "zoe": openssl("apr1"),
            "plain": "secret", "empty": "", "bad": "$2y$05$short", "more": openssl("apr1") + ":more:parts"})
    lines = [f"{user}:{hash_}" for user, hash_ in HASHES.items()]
    return "# users\n\n  blank:" + HASHES["sha"] + "  \n" + "\n".join(lines) + "\nnocolon\njoe:{SHA}later\nlong\\\n er:" + HASHES["sha"] + "\n"


def prepare(server):
    server.write("users", users(), base="conf")
    server.write("second", "two:" + HASHES["sha"] + "\n", base="conf")
    server.write("groups", "# groups\nstaff: joe two\nstaff : ann\nwww-data: ann\nother:zoe\n", base="conf")
    server.write("digest", "joe:the realm:" + hashlib.md5(b"joe:the realm:secret").hexdigest() + "\n", base="conf")
    server.write("unread", "joe:x\n", base="conf")
    os.chmod(server.path("conf/unread"), 0)
    server.write("ht/.htaccess", FILES["ht/.htaccess"].replace("@ROOT@", server.root))
    for name, lines in {"users.dbm": ["joe", "ann", "zoe"], "groups.dbm": []}.items():
        for user in lines:
            subprocess.run(["htdbm", "-TSDBM", "-bs" if os.path.exists(server.path(f"conf/{name}.pag")) else "-cbs",
                            server.path(f"conf/{name}"), user, "secret"], check=True, capture_output=True)
    # htdbm's comment is what follows the hash: here it is the groups.
    subprocess.run(["htdbm", "-TSDBM", "-cbst", server.path("conf/groups.dbm"), "joe", "x", "staff,more"], check=True, capture_output=True)
    subprocess.run(["htdbm", "-TSDBM", "-bst", server.path("conf/groups.dbm"), "zoe", "x", "other"], check=True, capture_output=True)
    for suffix in (".pag", ".dir"):
        for name in ("users.dbm", "groups.dbm"):
            if os.path.exists(server.path(f"conf/{name}{suffix}")):
                os.chmod(server.path(f"conf/{name}{suffix}"), 0o644)
    for folder, _, names in os.walk(server.path("htdocs")):
        for name in names:
            os.utime(os.path.join(folder, name), (1.7e9, 1.7e9))


def basic(user, password="secret"):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def requests():
    folders = [name for name in FOLDERS if name not in ("d", "n0", "nc", "nm")] + ["ht"]
    for name in folders:
        for who in ({}, basic("joe"), basic("joe", "wrong"), basic("ann"), basic("nobody"), basic("zoe")):
            yield "GET", f"/{name}/a.txt", who
    users()
    for user in [*HASHES, "blank", "nocolon", "longer", "", "two"]:
        yield "GET", "/b/a.txt", basic(user)
        yield "GET", "/b/a.txt", basic(user, "")
        yield "GET", "/two/a.txt", basic(user)
    for name in ("group", "owner"):
        yield "GET", f"/{name}/a.txt", basic("sha")
    for who in (basic("guest", "a@b.c"), basic("visitor", "a@b.c"), basic("guest", "ab"), basic("guest", ""), basic("", "a@b.c")):
        yield "GET", "/anon/a.txt", who
    code = base64.b64encode(b"joe:secret").decode()
    for text in ("Basic", "Basic ", f"basic {code}", f"BASIC   {code}", f"Basic\t{code}", f"Basic {code[:-1]}", f"Basic {code}=", f"Basic !{code}",
                 f"Basic {base64.b64encode(b'joe').decode()}", f"Basic {base64.b64encode(b'joe:secret:x').decode()}", f"Bearer {code}", "", code,
                 f"Basic {code} more", 'Digest username="joe"', f"Basic {base64.b64encode(b'joe:' + 300 * b'x').decode()}"):
        yield "GET", "/b/a.txt", {"Authorization": text}
    for target in ("/b/", "/b", "/page.shtml", "/b/page.shtml", "/b/absent", "/doc/", "/group/", "/limit/a.txt"):
        for who in ({}, basic("joe"), basic("ann")):
            yield "GET", target, who
            yield "HEAD", target, who
            yield "POST", target, who
    yield "GET", "/b/a.txt", {**basic("joe"), "Range": "bytes=1-2"}
    yield "GET", "/any/a.txt", {}


SKIPPED = ("AH01625", "AH01626", "AH01764", "AH01765", "AH01768")  # of mod_authz_core; of which client it is


def numbers(log):
    """Numbers and texts of the modules of this test, without what differs by run."""
    log = re.sub(r"(AH01631: [^\n]*\": )\(\S+:\d+: [^\n]*\)$", r"\1", log, flags=re.M)  # the line that refuses: ours alone tells it
    found = re.findall(r"\[(auth\w*):(\w+)\][^\n]*?\[client [^\]]*\] (AH\d+: [^\n]*)", log)
    return [(m, level, re.sub(r"/tmp/[^/ ]*/", "ROOT/", re.sub(r"[!0-9A-Za-z+/]{10}[=x]=[0-9a-f]{40}|[!0-9A-Za-z+/]{11}=[0-9a-f]{40}|hash is not \w+|client \d+", "X", text)))
            for m, level, text in found if not text.startswith(SKIPPED)]


def answers(binary, ask, level="info"):
    server = brigade.Server(CONFIG.replace("LogLevel info", f"LogLevel {level}"), files=dict(FILES), binary=binary, modules=MODULES)
    prepare(server)
    time.sleep(0.2)  # files that were just written are looked at each time
    with server:
        return ask(server)


def once(server):
    out = []
    for method, target, who in requests():
        for _ in range(4 if who == basic("joe") and method == "GET" else 1):
            before = len(server.read("logs/error_log"))
            answer = list(normal(server.request(method, target, who)))
            if target.endswith(".shtml"):  # pages are framed otherwise
                answer[3] = [(n, v) for n, v in answer[3] if n not in ("content-length", "transfer-encoding")]
            out.append(((method, target, who), answer, numbers(server.read("logs/error_log")[before:].decode(errors="replace"))))
    return out


def same(mine, theirs):
    assert len(mine) == len(theirs)
    wrong = [f"{asked}:\n  Apache  {a if a != b else ''} {a_log}\n  Brigade {b if a != b else ''} {b_log}" for (asked, a, a_log), (_, b, b_log) in zip(theirs, mine)
             if a != b or a_log != b_log]
    assert not wrong, f"{len(wrong)} of {len(mine)} differ\n" + "\n".join(wrong[:25])


@pytest.mark.parametrize("level", ["info", "debug"])  # with debug, all is processed in full
def test_basic_and_rules(level):
    same(answers(brigade.BINARY, once, level), answers(APACHE, once, level))


def digest_once(server):
    out = []
    for name, target, method, text in auth_digest.steps(server):
        before = len(server.read("logs/error_log"))
        answer = server.request(method, target, {"Authorization": text})
        fields = [(n, auth_digest.normal(v)) for n, v in answer.headers if n.lower() in ("www-authenticate", "authentication-info")]
        out.append((name, (answer.status, fields), numbers(server.read("logs/error_log")[before:].decode(errors="replace"))))
    return out


def test_digest():
    same(answers(brigade.BINARY, digest_once), answers(APACHE, digest_once))
