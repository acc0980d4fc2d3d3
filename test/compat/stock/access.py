# SPDX-License-Identifier: Apache-2.0
"""Who may: authentication, authorization, sessions."""
import base64
import hashlib
import re
import subprocess

from .driver import Case, Step

GROUP = "access"
# user:secret, other:word
PASSWORDS = "user:$apr1$sM.SOUf2$m7/nkVG1.dpy.idg9OcF41\nother:{SHA}" + base64.b64encode(hashlib.sha1(b"word").digest()).decode() + "\n"
A = {"a.txt": "text of a\n", "/passwords": PASSWORDS}
BASIC = "AuthType Basic\nAuthName \"the realm\"\nAuthBasicProvider file\nAuthUserFile @ROOT@/htdocs/passwords\n"
NEEDS = ["authn_core", "authn_file", "authz_user", "auth_basic"]


def user(name, password, **more):
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode(), **more}


GOOD, OTHER, BAD, UNKNOWN = user("user", "secret"), user("other", "word"), user("user", "wrong"), user("nobody", "secret")
ALL = ["a.txt", Step("a.txt", GOOD), Step("a.txt", OTHER), Step("a.txt", BAD), Step("a.txt", UNKNOWN), Step("a.txt", {"Authorization": "Basic !!!"}),
       Step("a.txt", {"Authorization": "Bearer x"}), Step("HEAD a.txt", GOOD), Step("POST a.txt", GOOD, "body"), Step("POST a.txt", {}, "body"), Step("none", GOOD), "none"]


def dbm(kind, entries):
    """A function that writes a DBM file with htdbm or, for groups, httxt2dbm."""
    def write(path):
        for name, value in entries:
            if kind == "users":
                subprocess.run(["htdbm", "-bcm" if (name, value) == entries[0] else "-bm", path, name, value], check=True, capture_output=True)
        if kind == "groups":
            with open(path + ".src", "w") as f:
                f.writelines(f"{n} {v}\n" for n, v in entries)
            subprocess.run(["httxt2dbm", "-f", "SDBM", "-i", path + ".src", "-o", path], check=True, capture_output=True)
        import glob
        import os
        for name in glob.glob(path + "*"):
            os.chmod(name, 0o644)
        if not os.path.exists(path):
            open(path, "w").close()
    return write


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()


def digest(name, password, method="GET", nc=1, uri=None, stale=False):
    def headers(before):
        challenge = next(r for r in before if r["WWW-Authenticate"])["WWW-Authenticate"]
        found = dict(re.findall(r'(\w+)="?([^",]+)', challenge))
        target = uri or "/auth_digest/a.txt"
        nonce, realm = "x" * 52 if stale else found["nonce"], found["realm"]
        secret, asked = md5(f"{name}:{realm}:{password}"), md5(f"{method}:{target}")
        response = md5(f"{secret}:{nonce}:{nc:08x}:cn:auth:{asked}")
        return {"Authorization": f'Digest username="{name}", realm="{realm}", nonce="{nonce}", uri="{target}", qop=auth, nc={nc:08x}, '
                f'cnonce="cn", response="{response}", algorithm=MD5'}
    return headers


def cookie(before):
    """The cookies that were set so far."""
    jar = {}
    for r in before:
        for value in r.all("Set-Cookie") if hasattr(r, "all") else ():
            name, _, rest = value.partition("=")
            jar[name] = rest.split(";")[0]
    return {"Cookie": "; ".join(f"{n}={v}" for n, v in jar.items())}


FORM = {"Content-Type": "application/x-www-form-urlencoded"}
COOKIES = [(r"(\w+)=[^;]*(?=;.*[Pp]ath|;Max-Age|;HttpOnly)", r"\1=V"), (r"([Ee]xpires|[Mm]ax-[Aa]ge)=[^;]*", "T"), (r'nonce="[^"]*"', 'nonce="N"'),
           (r'rspauth="\w+"', "R")]


def where(rules, more=""):
    return f"<Location /@>\n{BASIC}{rules}\n</Location>\n{more}"


def named(module, rules, **more):
    return Case(module, where(rules).replace("/@", f"/{module}"), ALL, dict(A), needs=[m for m in NEEDS if m != module], **more)


CASES = [
    named("auth_basic", "Require valid-user"),
    named("authn_core", "AuthName \"other realm\"\nRequire valid-user"),
    named("authn_file", "Require user user"),
    named("authz_user", "Require user other third"),
    Case("auth_basic", """
        <Location /basic2>
            AuthType Basic
            AuthName fake
            AuthBasicFake "%{REQUEST_METHOD}" word
            AuthBasicProvider file
            AuthUserFile @ROOT@/htdocs/passwords
            Require all granted
            Header set X-User "expr=%{REMOTE_USER}"
        </Location>
        <Location /basic2/none>
            AuthType None
            Require all granted
        </Location>
        <Location /basic2/any>
            Satisfy any
            Order deny,allow
            Deny from all
            Require valid-user
        </Location>
        <Location /basic2/digestalgo>
            AuthBasicUseDigestAlgorithm MD5
        </Location>
        """, ["a.txt", Step("none/a.txt", GOOD), "any/a.txt", Step("any/a.txt", OTHER)], {**A, "none/a.txt": "n\n", "any/a.txt": "y\n"}, needs=NEEDS[:3], name="basic2"),
    Case("authn_anon", """
        <Location /authn_anon>
            AuthType Basic
            AuthName anon
            AuthBasicProvider anon file
            AuthUserFile @ROOT@/htdocs/passwords
            Anonymous guest anon*
            Anonymous_MustGiveEmail On
            Anonymous_VerifyEmail On
            Require valid-user
        </Location>
        """, ["a.txt", Step("a.txt", user("guest", "me@x.example")), Step("a.txt", user("guest", "nothing")), Step("a.txt", user("guest", "")), Step("a.txt", GOOD), Step("a.txt", BAD)], A, needs=NEEDS),
    Case("authn_dbm", "<Location /authn_dbm>\nAuthType Basic\nAuthName dbm\nAuthBasicProvider dbm\nAuthDBMType SDBM\nAuthDBMUserFile @D@/users\nRequire valid-user\n</Location>\n",
         ["a.txt", Step("a.txt", GOOD), Step("a.txt", BAD), Step("a.txt", UNKNOWN)], {**A, "users": dbm("users", [("user", "secret"), ("other", "word")])},
         needs=["authn_core", "authz_user", "auth_basic"], programs=["/usr/bin/htdbm"]),
    Case("authn_socache", """
        AuthnCacheSOCache shmcb
        AuthnCacheEnable
        <Location /authn_socache>
            AuthType Basic
            AuthName cached
            AuthBasicProvider socache file
            AuthnCacheProvideFor file
            AuthUserFile @ROOT@/htdocs/passwords
            Require valid-user
        </Location>
        """, ALL + ALL, A, needs=["socache_shmcb", *NEEDS]),
    Case("authz_owner", "<Location /authz_owner>\n" + BASIC + "Require file-owner\n</Location>\n", ["a.txt", Step("a.txt", GOOD), Step("a.txt", user("root", "rootpw"))],
         {**A, "/passwords": PASSWORDS + "root:{SHA}" + base64.b64encode(hashlib.sha1(b"rootpw").digest()).decode() + "\n"}, needs=NEEDS),
    Case("authz_groupfile", "<Location /authz_groupfile>\n" + BASIC + "AuthGroupFile @D@/groups\nRequire group staff\n</Location>\n", ALL, {**A, "groups": "staff: user third\nrest: other\n"},
         needs=["authz_owner", *NEEDS]),
    Case("authz_dbm", "<Location /authz_dbm>\n" + BASIC + "AuthzDBMType SDBM\nAuthDBMGroupFile @D@/groups\nRequire dbm-group staff\n</Location>\n", ALL,
         {**A, "groups": dbm("groups", [("user", "staff,more"), ("other", "rest")])}, needs=["authz_owner", *NEEDS], programs=["/usr/sbin/httxt2dbm"]),
    Case("auth_digest", """
        <Location /auth_digest>
            AuthType Digest
            AuthName digest
            AuthDigestProvider file
            AuthUserFile @D@/digests
            AuthDigestDomain /auth_digest/
            Require valid-user
        </Location>
        """, ["a.txt", Step("a.txt", digest("user", "secret")), Step("a.txt", digest("user", "secret", nc=2)), Step("a.txt", digest("user", "wrong")), Step("a.txt", digest("user", "secret", uri="/other")),
              Step("a.txt", digest("user", "secret", stale=True)), Step("a.txt", GOOD), Step("POST a.txt", digest("user", "secret", "POST", 3), "body"), Step("a.txt", digest("none", "x"))],
         {**A, "digests": "user:digest:" + hashlib.md5(b"user:digest:secret").hexdigest() + "\n"}, needs=["authn_core", "authn_file", "authz_user"], unify=COOKIES),
    Case("auth_form", """
        <Location /auth_form>
            AuthFormProvider file
            AuthType form
            AuthName form
            AuthUserFile @ROOT@/htdocs/passwords
            AuthFormLoginRequiredLocation /login.html
            AuthFormFakeBasicAuth On
            Session On
            SessionCookieName session path=/
            Require valid-user
        </Location>
        <Location /auth_form/login>
            SetHandler form-login-handler
            AuthFormLoginRequiredLocation /login.html?failed
            AuthFormLoginSuccessLocation /auth_form/a.txt
        </Location>
        <Location /auth_form/logout>
            SetHandler form-logout-handler
            AuthFormLogoutLocation /bye.html
            SessionMaxAge 1
        </Location>
        """, ["a.txt", Step("POST login", FORM, "httpd_username=user&httpd_password=secret"), Step("a.txt", cookie), Step("POST login", FORM, "httpd_username=user&httpd_password=wrong"),
              Step("POST a.txt", FORM, "httpd_username=user&httpd_password=secret"), Step("logout", cookie), "login"], A,
         needs=["request", "session", "session_cookie", "authn_core", "authn_file", "authz_user"], unify=COOKIES),
    Case("session", "<Location /session>\nSession On\nSessionEnv On\nSessionHeader X-Replace\nSessionCookieName sess path=/\nHeader set X-Replace \"key=value\"\nHeader set X-Env \"%{HTTP_SESSION}e\"\n</Location>\n",
         ["a.txt", Step("a.txt", cookie), Step("a.txt", {"Cookie": "sess=key=value&x=y"})], A, needs=["session", "session_cookie"], unify=COOKIES),
    Case("session_cookie", "<Location /session_cookie>\nSession On\nSessionCookieName2 two path=/;version=1\nSessionCookieRemove On\nSessionMaxAge 60\nSessionHeader X-R\nHeader set X-R a=b\n</Location>\n",
         ["a.txt", Step("a.txt", {"Cookie": "two=a=b"})], A, needs=["session"], unify=COOKIES + [("expiry=\\d+", "E")]),
    Case("session_crypto", "<Location /session_crypto>\nSession On\nSessionEnv On\nSessionCookieName crypt path=/\nSessionCryptoPassphrase word\nSessionHeader X-R\nHeader set X-R a=b\nHeader set X-Env \"%{HTTP_SESSION}e\"\n</Location>\n",
         ["a.txt", Step("a.txt", cookie), Step("a.txt", {"Cookie": "crypt=rubbish"})], A, needs=["session", "session_cookie"], unify=COOKIES),
    Case("socache_shmcb", "AuthnCacheSOCache shmcb:@ROOT@/work/cache(65536)\nAuthnCacheEnable\n<Location /socache_shmcb>\n" + BASIC.replace("file\n", "socache file\n", 1)
         + "AuthnCacheProvideFor file\nRequire valid-user\n</Location>\n", ALL + ALL, A, needs=["authn_socache", *NEEDS], alone=True),
    Case("socache_dbm", "AuthnCacheSOCache dbm:@ROOT@/work/cachedbm\nAuthnCacheEnable\n<Location /socache_dbm>\n" + BASIC.replace("file\n", "socache file\n", 1)
         + "AuthnCacheProvideFor file\nRequire valid-user\n</Location>\n", ALL + ALL, A, needs=["authn_socache", *NEEDS], alone=True),
    Case("authz_core", "<Location /authz_core>\n" + BASIC + "<RequireAll>\nRequire valid-user\nRequire not user other\n</RequireAll>\n</Location>\n"
         "<AuthzProviderAlias user named \"user\">\n</AuthzProviderAlias>\n<Location /authz_core/alias>\nRequire named\n</Location>\n<Location /authz_core/m>\nRequire method POST\n</Location>\n",
         ALL + ["alias/a.txt", Step("alias/a.txt", GOOD), Step("alias/a.txt", OTHER), "m/a.txt"], {**A, "alias/a.txt": "x\n", "m/a.txt": "m\n"}, needs=NEEDS, replaces=True),
    Case("authz_host", "<Location /authz_host>\nRequire ip 127.0.0.0/8\n</Location>\n<Location /authz_host/no>\nRequire not ip 127.0.0.1\nRequire ip 10\n</Location>\n".replace("Require not ip 127.0.0.1\n", "")
         + "<Location /authz_host/local>\nRequire local\n</Location>\n", ["a.txt", "no/a.txt", "local/a.txt"], {**A, "no/a.txt": "n\n", "local/a.txt": "l\n"}, replaces=True),
    Case("access_compat", "<Location /access_compat>\nOrder deny,allow\nDeny from 127.0.0.1\n</Location>\n<Location /access_compat/any>\n" + BASIC + "Require valid-user\nSatisfy any\nOrder allow,deny\n</Location>\n",
         ["a.txt", "any/a.txt", Step("any/a.txt", GOOD)], {**A, "any/a.txt": "any\n"}, needs=NEEDS, replaces=True),
]
