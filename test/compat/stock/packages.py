# SPDX-License-Identifier: Apache-2.0
"""Modules of other projects, as Debian packages them."""
import os
import re
import subprocess

from . import driver
from .package_languages import FCGID, PHP, WSGI
from .package_parts import FORM, LINE, MULTIPART, UPLOAD, Case, Step, basic, chunked, cookie_of, sha

# What cannot be loaded on Apache either, or asks for another program or network at its start.
NOT_ALONE = {"log_sql_dbi", "netcgi_apache", "authn_yubikey", "jk"}


def covered():
    return {p for case in CASES for p in case.packaged} | NOT_ALONE


def needs_prefork(name):
    return any(d == "mpm_prefork" for d in driver.depends(name))


REST = [
    Case("security2", """
SecRuleEngine On
SecRequestBodyAccess On
SecResponseBodyAccess On
SecResponseBodyMimeType text/plain text/html
SecDataDir @ROOT@/work
SecTmpDir @ROOT@/work
SecRequestBodyLimit 20000
SecRequestBodyNoFilesLimit 20000
SecAuditEngine RelevantOnly
SecAuditLog @ROOT@/logs/audit
SecAuditLogParts ABCFHZ
SecDefaultAction "phase:2,deny,log,auditlog,status:403"
SecRule ARGS:x "@contains evil" "id:1,phase:2,deny,status:406"
SecRule REQUEST_HEADERS:X-Bad "@rx ^yes" "id:2,phase:1,deny,status:405"
SecRule REQUEST_BODY "@contains attack" "id:3,phase:2,deny,status:403"
SecRule RESPONSE_BODY "@contains secret" "id:4,phase:4,deny,status:502"
SecRule REQUEST_URI "@contains go-away" "id:5,phase:1,redirect:http://other.example/away"
SecRule REQUEST_URI "@contains dropped" "id:6,phase:1,drop"
SecRule RESPONSE_HEADERS:Content-Type "@contains x-forbidden" "id:7,phase:3,deny,status:500"
SecRule ARGS "@detectSQLi" "id:8,phase:2,deny,status:400"
AddType text/x-forbidden .forbidden
SecRule &REQUEST_HEADERS:X-Note "@eq 1" "id:9,phase:1,pass,nolog,setenv:noted=1"
Header set X-Noted yes env=noted
""", ["a.txt", "a.txt?x=evil", Step("a.txt", {"X-Bad": "yes"}), Step("POST a.txt", FORM, b"x=good"), Step("POST a.txt", FORM, b"x=evil"),
      Step("POST a.txt", FORM, b"y=attack"), "secret.txt", "go-away", "dropped", "a.forbidden", "a.txt?id=1%27%20or%201=1--%20",
      Step("a.txt", {"X-Note": "1"}), Step("POST a.txt", FORM, b"z=" + b"z" * 30000), Step("POST a.txt", MULTIPART, UPLOAD), "none",
      Step("POST a.txt", {"Content-Type": "application/x-www-form-urlencoded", "Transfer-Encoding": "chunked"}, chunked(b"x=", b"evil")), "big.txt", "HEAD secret.txt"],
         {"a.txt": "A\n", "secret.txt": "a secret\n", "a.forbidden": "no\n", "big.txt": "line\n" * 20000}, packaged=["security2"],
         logs={"logs/error_log": r'id "3"', "logs/audit": r"(?s)--\w+-A--.*POST /security2/a.txt.*--\w+-Z--"}),
    Case("qos", """
QS_LocRequestLimit /qos/limited 1
QS_SrvMaxConnPerIP 30
QS_LimitRequestBody 1000
QS_SetEnvIf X-Vip=yes QS_VipRequest=yes
QS_RequestHeaderFilter off
QS_SetReqHeader X-From-Env QS_Own
SetEnv QS_Own 1
<Location /qos/q>
SetHandler qos-viewer
</Location>
<Location /qos>
QS_DenyRequestLine +deny1 deny "^GET /qos/.*bad"
QS_DenyEvent +VPH deny X-Event
</Location>
QS_EventPerSecLimit X-Rate 1000
""", ["a.txt", "a.txt?bad", "limited", Step("POST a.txt", {}, b"x" * 2000), Step("POST a.txt", {}, b"x" * 20), Step("q", skip_body=True, unify=[(r".*", "")])],
         {"a.txt": "A\n"}, packaged=["qos"], first="LoadFile /usr/lib/x86_64-linux-gnu/libpcre.so.3\n"),
    Case("evasive", "DOSHashTableSize 97\nDOSPageCount 3\nDOSSiteCount 500\nDOSPageInterval 60\nDOSSiteInterval 60\nDOSBlockingPeriod 60\nDOSLogDir @ROOT@/work\n",
         ["a.txt"] * 8 + ["b.txt"], {"a.txt": "A\n", "b.txt": "B\n"}, packaged=["evasive"], name="evasive-prefork", prefork=True),
    Case("xsendfile", """
AddHandler cgi-script .cgi
<Directory @D@>
    Options +ExecCGI
    XSendFile On
    XSendFilePath @D@/private
</Directory>
<Directory @D@/private>
    Require all denied
</Directory>
""", ["a.cgi?private/f.txt", Step("a.cgi?private/f.txt", {"Range": "bytes=2-5"}), "a.cgi?private/none", "a.cgi?a.cgi", "HEAD a.cgi?private/f.txt", "private/f.txt",
      Step("a.cgi?private/f.txt", {"If-Modified-Since": "Sat, 01 Jan 2050 00:00:00 GMT"}), "a.cgi?private/big.bin"],
         {"a.cgi": "#!/bin/sh\nprintf 'Content-Type: text/x-own\\r\\nX-Sendfile: %s\\r\\n\\r\\nnot this\\n' \"@ROOT@/htdocs/xsendfile/$QUERY_STRING\"\n"
                  .replace("@ROOT@/htdocs/xsendfile", "$(dirname \"$SCRIPT_FILENAME\")"),
          "private/f.txt": "0123456789\n", "private/big.bin": "x" * 1000000}, needs=["cgi"], packaged=["xsendfile"]),
    Case("auth_tkt", """
TKTAuthSecret "0cb4ccb0-1234-4f7e-9bd5-000000000000"
TKTAuthDigestType SHA256
<Location /auth_tkt/in>
    AuthType mod_auth_tkt
    AuthName tickets
    Require valid-user
    TKTAuthLoginURL http://login.example/
    TKTAuthTimeoutURL http://login.example/timeout
    TKTAuthIgnoreIP on
</Location>
<Location /auth_tkt/guest>
    AuthType mod_auth_tkt
    Require valid-user
    TKTAuthGuestLogin on
</Location>
""", ["in/a.txt", "in/a.txt?q=1", Step("in/a.txt", {"Cookie": "auth_tkt=nonsense"}), "guest/a.txt"], {"in/a.txt": "A\n", "guest/a.txt": "G\n"},
         packaged=["auth_tkt"], needs=["authn_core", "authz_user"]),
    Case("bw", "BandwidthModule On\nForceBandWidthModule On\nBandwidth all 2000000\nMinBandwidth all -1\n<Location /bw/none>\nMaxConnection all 1\n</Location>\n",
         ["a.txt", "big.bin", "HEAD big.bin", "none/a.txt"], {"a.txt": "A\n", "big.bin": "0123456789abcdef" * 20000, "none/a.txt": "N\n"}, packaged=["bw"]),
    Case("authnz_external", """
DefineExternalAuth check pipe @D@/check
DefineExternalGroup group pipe @D@/group
<Location /authnz_external/in>
    AuthType Basic
    AuthName outside
    AuthBasicProvider external
    AuthExternal check
    Require valid-user
</Location>
<Location /authnz_external/in/group>
    AuthExternal check
    GroupExternal group
    Require external-group staff
</Location>
""", ["in/a.txt", Step("in/a.txt", basic("u", "good")), Step("in/a.txt", basic("u", "bad")), Step("in/group/b.txt", basic("u", "good")),
      Step("in/group/b.txt", basic("v", "good"))],
         {"in/a.txt": "A\n", "in/group/b.txt": "B\n", "check": "#!/bin/sh\nread u; read p; test \"$p\" = good\n",
          "group": "#!/bin/sh\nread u; read g; test \"$u\" = u\n"}, needs=["auth_basic", "authn_core", "authz_user"], packaged=["authnz_external"]),
    Case("authz_unixgroup", """
<Location /authz_unixgroup/in>
    AuthType Basic
    AuthName unix
    AuthBasicProvider file
    AuthUserFile @D@/users
    Require unix-group root
</Location>
""", ["in/a.txt", Step("in/a.txt", basic("root", "pw")), Step("in/a.txt", basic("daemon", "pw")), Step("in/a.txt", basic("nosuchuser", "pw"))],
         {"in/a.txt": "A\n", "users": "".join(f"{u}:{sha('pw')}\n" for u in ("root", "daemon", "nosuchuser"))},
         needs=["auth_basic", "authn_core", "authn_file", "authz_user"], packaged=["authz_unixgroup"]),
    Case("auth_plain", """
<Location /auth_plain/in>
    AuthType Basic
    AuthName plain
    AuthBasicProvider plain
    AuthPlainUserFile @D@/users
    Require valid-user
</Location>
""", ["in/a.txt", Step("in/a.txt", basic("u", "pw")), Step("in/a.txt", basic("u", "no"))], {"in/a.txt": "A\n", "users": "u:pw\n"},
         needs=["auth_basic", "authn_core", "authz_user"], packaged=["auth_plain"]),
    Case("authn_yolo", """
<Location /authn_yolo/in>
    AuthType Basic
    AuthName yolo
    AuthBasicProvider yolo
    Require valid-user
</Location>
""", ["in/a.txt", Step("in/a.txt", basic("u", "pw"))], {"in/a.txt": "A\n"}, needs=["auth_basic", "authn_core", "authz_user"], packaged=["authn_yolo"]),
    Case("log_slow", "LogSlowEnabled On\nLogSlowFileName @ROOT@/logs/slow\nLogSlowBufferedLogs Off\nLogSlowLongRequestTime 0\n",
         ["a.txt", "none"], {"a.txt": "A\n"}, packaged=["log_slow"], logs={"logs/slow": r"/log_slow/a.txt"}, prefork=True),
    Case("removeip", "LogFormat \"%h %U\" hosts\nCustomLog @ROOT@/logs/hosts hosts\n", ["a.txt"], {"a.txt": "A\n"}, packaged=["removeip"], logs={"logs/hosts": r"/removeip/a.txt"}),
    Case("rpaf", "RPAFheader X-Forwarded-For\nLogFormat \"%h %{Host}i %U\" hosts\nCustomLog @ROOT@/logs/hosts hosts\n<Location /rpaf/one>\nRequire ip 192.0.2.7\n</Location>\n",
         ["a.txt", Step("one/b.txt", {"X-Forwarded-For": "192.0.2.7"}), Step("one/b.txt", {"X-Forwarded-For": "192.0.2.8"}),
          Step("one/", {"X-Forwarded-For": "1.2.3.4, 192.0.2.7", "X-Forwarded-Host": "other.example"})],
         {"a.txt": "A\n", "one/b.txt": "B\n"}, packaged=["rpaf"], logs={"logs/hosts": r"192\.0\.2\.7 \S+ /rpaf/one/b.txt"}),
    Case("upload_progress", "<Location /upload_progress/up>\nTrackUploads On\n</Location>\n<Location /upload_progress/progress>\nReportUploads On\nSetHandler progress\n</Location>\n",
         ["progress", Step("POST up/a.txt?X-Progress-ID=12345678", {}, b"x" * 50000), Step("progress?X-Progress-ID=12345678"), Step("progress", {"X-Progress-ID": "12345678"}), Step("progress?X-Progress-ID=abcdefgh")],
         {"up/a.txt": "A\n"}, packaged=["upload_progress"]),
    Case("form", "FormGET On\nFormPOST On\n", ["a.txt?a=b", Step("POST a.txt", FORM, b"a=b&c=d")], {"a.txt": "A\n"}, packaged=["form"]),
    Case("uwsgi", "<Location /uwsgi/app>\nSetHandler uwsgi-handler\nuWSGISocket 127.0.0.1:9 2\n</Location>\n", ["app", "a.txt"], {"a.txt": "A\n"}, packaged=["uwsgi"]),
    Case("lisp", "<Location /lisp/app>\nLispServer 127.0.0.1 9 x\nSetHandler lisp-handler\n</Location>\n", ["app", "a.txt"], {"a.txt": "A\n"}, packaged=["lisp"]),
    Case("jk", "JkWorkerProperty worker.list=w\nJkWorkerProperty worker.w.type=ajp13\nJkWorkerProperty worker.w.port=9\nJkMount /jk/app/* w\nJkMount /jk/status s\n"
         "JkWorkerProperty worker.list=w,s\nJkWorkerProperty worker.s.type=status\n",
         ["app/x", "a.txt"], {"a.txt": "A\n"}, packaged=[], files_needed=[f"{driver.MODULES}/mod_jk.so"], first="LoadModule jk_module @MODULES@/mod_jk.so\nJkLogFile @ROOT@/logs/jk\nJkShmFile @ROOT@/logs/jk.shm\n"),
    Case("musicindex", name="music", config="<Directory @D@>\nOptions +Indexes +MultiViews\n</Directory>\n<Directory @D@/m>\nMusicIndex On\nMusicFields title artist\n</Directory>\n",
         requests=["m/a.txt", "m"], files={"m/a.txt": "A\n"}, packaged=["musicindex"]),
    Case("mime-xattr", "<Directory @D@>\nXAttrMimeType On\n</Directory>\n", ["a.bin", "b.bin"], {"a.bin": "A\n", "b.bin": "B\n"}, packaged=["mime-xattr"],
         prepare=lambda s: os.setxattr(s.path("htdocs/mime-xattr/a.bin"), "user.mime_type", b"text/x-attr")),
    Case("xforward", "AddHandler cgi-script .cgi\n<Directory @D@>\nOptions +ExecCGI\nXForward On\nSetEnv OWN_PORT @PORT@\n</Directory>\n", ["a.cgi", "a.txt"],
         {"a.cgi": "#!/bin/sh\nprintf 'Content-Type: text/x-own\\r\\nX-Forward: http://127.0.0.1:%s/xforward/a.txt\\r\\n\\r\\nnot this\\n' $OWN_PORT\n", "a.txt": "A\n"},
         needs=["cgi", "proxy", "proxy_http"], packaged=["xforward"]),
    Case("encoding", "EncodingEngine On\nSetServerEncoding UTF-8\nDefaultClientEncoding JA-AUTO-SJIS-MS SJIS\n", ["a.txt", "%8e%84.txt", "\u00e4.txt".encode().decode("latin-1").replace("\u00c3", "%C3").replace("\u00a4", "%A4")],
         {"a.txt": "A\n", "\u00e4.txt": "U\n"}, packaged=["encoding"]),
    Case("geoip", "GeoIPEnable On\nGeoIPOutput All\nGeoIPDBFile @ROOT@/none\n<Location /geoip>\nHeader set X-Geo %{GEOIP_ADDR}e\n</Location>\n", ["a.txt"], {"a.txt": "A\n"}, packaged=["geoip"]),
    Case("watchcat", "", ["a.txt"], {"a.txt": "A\n"}, packaged=["watchcat"]),
    Case("apparmor", "<Location /apparmor>\nAAHatName none\n</Location>\n", ["a.txt"], {"a.txt": "A\n"}, packaged=["apparmor"]),
    Case("auth_gssapi", "<Location /auth_gssapi/in>\nAuthType GSSAPI\nAuthName krb\nGssapiCredStore keytab:@D@/none\nRequire valid-user\n</Location>\n",
         ["in/a.txt", Step("in/a.txt", {"Authorization": "Negotiate YWJj"}), Step("in/a.txt", basic("u", "p"))], {"in/a.txt": "A\n"}, packaged=["auth_gssapi"], needs=["authn_core", "authz_user"]),
    Case("auth_openidc", """
OIDCProviderIssuer https://op.example
OIDCProviderAuthorizationEndpoint https://op.example/authorize
OIDCProviderTokenEndpoint https://op.example/token
OIDCProviderJwksUri https://op.example/jwks
OIDCClientID me
OIDCClientSecret secret
OIDCRedirectURI http://localhost/auth_openidc/in/redirect
OIDCCryptoPassphrase passphrase
<Location /auth_openidc/in>
    AuthType openid-connect
    Require valid-user
</Location>
""", ["in/a.txt", "in/redirect", "in/redirect?error=x", "in/redirect?jwks=rsa", Step("in/redirect?code=1&state=2", cookie_of), "a.txt"], {"in/a.txt": "A\n", "a.txt": "O\n"},
         packaged=["auth_openidc"], needs=["authn_core", "authz_user"],
         unify=[(r"(state|nonce|code_challenge)=[\w%-]+", r"\1=@"), (r"mod_auth_openidc_state_[\w-]+=[^;]+", "cookie=@")]),
    Case("auth_cas", """
CASLoginURL https://cas.example/login
CASValidateURL https://cas.example/validate
CASCookiePath @ROOT@/work/
<Location /auth_cas/in>
    AuthType CAS
    Require valid-user
</Location>
""", ["in/a.txt", "in/a.txt?q", "a.txt", Step("in/a.txt", {"Cookie": "MOD_AUTH_CAS=0123456789"})], {"in/a.txt": "A\n", "a.txt": "O\n"}, packaged=["auth_cas"],
         needs=["authn_core", "authz_user"]),
    Case("oauth2", "<Location /oauth2/in>\nAuthType oauth2\nOAuth2TokenVerify introspect http://127.0.0.1:9/ introspect.ssl_verify=false\nRequire valid-user\n</Location>\n",
         ["in/a.txt", Step("in/a.txt", {"Authorization": "Bearer x"})], {"in/a.txt": "A\n"}, packaged=["oauth2"], needs=["authn_core", "authz_user"]),
    Case("intercept_form_submit", "<Location /intercept_form_submit/in>\nInterceptFormPAMService none\nInterceptFormLogin user\nInterceptFormPassword pass\n</Location>\n",
         ["in/a.txt", Step("POST in/a.txt", FORM, b"user=u&pass=p&x=y")], {"in/a.txt": "A\n"}, packaged=["intercept_form_submit"]),
    Case("authnz_pam", "<Location /authnz_pam/in>\nAuthType Basic\nAuthName pam\nAuthBasicProvider PAM\nAuthPAMService none\nRequire valid-user\n</Location>\n",
         ["in/a.txt", Step("in/a.txt", basic("u", "p"))], {"in/a.txt": "A\n"}, packaged=["authnz_pam"], needs=["auth_basic", "authn_core", "authz_user"]),
    Case("python", """
<Directory @D@>
    AddHandler mod_python .py
    PythonHandler app
    PythonDebug On
    PythonPath "sys.path+['@D@']"
</Directory>
""", ["a.py", "a.py?x=1", Step("POST a.py", FORM, b"a=b&c=d"), "error.py", "HEAD a.py", Step("POST body.py", {}, LINE * 2000), "stream.py", "declined.txt", "sendfile.py", "cleanup.py",
      "redirect.py"],
         {"app.py": '''
from mod_python import apache, util
def ended(data):
    apache.log_error('cleanup of ' + data)
def handler(req):
    name = req.uri.rsplit('/', 1)[1]
    req.content_type = 'text/plain'
    if name == 'error.py':
        return apache.HTTP_FORBIDDEN
    if name == 'body.py':
        req.write('%d\\n' % len(req.read()))
    elif name == 'stream.py':
        for i in range(20):
            req.write('part %d\\n' % i, 1)
    elif name == 'sendfile.py':
        req.sendfile(req.filename.replace('sendfile.py', 'plain.txt'))
    elif name == 'redirect.py':
        req.internal_redirect('/python/plain.txt')
    elif name == 'cleanup.py':
        req.register_cleanup(ended, 'a request')
        req.write('registered\\n')
    else:
        req.headers_out['X-Own'] = 'yes'
        form = util.FieldStorage(req)
        req.write('%s %s %s %s\\n' % (req.method, req.args, req.the_request, sorted(form.keys())))
    return apache.OK
''', "plain.txt": "plain\n", "declined.txt": "D\n", "a.py": "", "body.py": "", "stream.py": "", "sendfile.py": "", "cleanup.py": "", "error.py": "", "redirect.py": ""},
         packaged=["python"], logs={"logs/error_log": "cleanup of a request"}),
    Case("rivet", "<Directory @D@>\nDirectoryIndex index.rvt\n</Directory>\n", ["a.rvt", "a.rvt?x=1", Step("POST a.rvt", FORM, b"y=2"), "h.rvt", "b.tcl", "error.rvt", "/rivet/", "HEAD a.rvt"],
         {"a.rvt": "<? puts \"args: [var all]\" ?>\n<?= [env REQUEST_METHOD] ?>\n", "h.rvt": "<? headers set X-Own yes\nheaders type text/x-own ?>x", "b.tcl": "puts tcl\n",
          "error.rvt": "<? nonsense ?>", "index.rvt": "index <?= [expr 6*7] ?>"}, packaged=["rivet"], prefork=True),
    Case("parser3", "AddHandler parsed-html .p3\n", ["a.p3", "a.p3?x=1"], {"a.p3": "@main[]\nhello ^eval(6*7) $form:x\n"}, packaged=["parser3"], prefork=True,
         unify=[(r"(?i)parser/[^\s<]+", "parser")]),
    Case("perl", """
PerlSwitches -I@D@/lib
PerlModule Own
<Location /perl/handler>
    SetHandler modperl
    PerlResponseHandler Own
</Location>
<Location /perl/filtered>
    PerlOutputFilterHandler Own::upper
</Location>
<Location /perl/guarded>
    AuthType Basic
    AuthName perl
    PerlAuthenHandler Own::authen
    Require valid-user
</Location>
<Location /perl/logged>
    PerlLogHandler Own::logged
</Location>
<Directory @D@/registry>
    SetHandler perl-script
    PerlResponseHandler ModPerl::Registry
    PerlOptions +ParseHeaders
    Options +ExecCGI
</Directory>
<Perl>
push @PerlConfig, 'Header set X-From-Perl yes';
</Perl>
""", ["handler", "handler?a=b", Step("POST handler", {}, LINE * 100), "HEAD handler", "filtered/a.txt", "guarded/a.txt", Step("guarded/a.txt", basic("u", "good")),
      Step("guarded/a.txt", basic("u", "bad")), "logged/a.txt", "registry/s.pl?x=1", Step("POST registry/s.pl", FORM, b"a=b&c=d"), "registry/die.pl", "registry/none.pl", "handler?clean",
      "handler?flush", "handler?subrequest"],
         {"lib/Own.pm": r'''
package Own;
use strict;
use Apache2::RequestRec (); use Apache2::RequestIO (); use Apache2::RequestUtil (); use Apache2::Access (); use Apache2::Filter (); use Apache2::Log (); use Apache2::SubRequest (); use APR::Table (); use APR::Pool ();
use Apache2::Const -compile => qw(OK HTTP_UNAUTHORIZED);
sub handler {
    my $r = shift;
    $r->content_type('text/plain');
    $r->headers_out->set('X-Own', 'yes');
    my $args = $r->args || '';
    if ($args eq 'clean') { $r->pool->cleanup_register(sub { warn "cleanup ran\n"; 0 }); }
    if ($args eq 'flush') { for (1 .. 20) { $r->print("part $_\n"); $r->rflush; } return Apache2::Const::OK; }
    if ($args eq 'subrequest') { $r->lookup_uri('/perl/plain.txt')->run; return Apache2::Const::OK; }
    my ($body, $buf) = ('', '');
    $body .= $buf while $r->read($buf, 1000);
    $r->print($r->method, ' ', $args, ' ', length($body), "\n");
    return Apache2::Const::OK;
}
sub upper { my $f = shift; while ($f->read(my $b, 1024)) { $f->print(uc $b); } return Apache2::Const::OK; }
sub authen { my $r = shift; my ($status, $pw) = $r->get_basic_auth_pw; return $status if $status != Apache2::Const::OK; return Apache2::Const::OK if $pw eq 'good'; $r->note_basic_auth_failure; return Apache2::Const::HTTP_UNAUTHORIZED; }
sub logged { my $r = shift; $r->log_error('logged ' . $r->uri); return Apache2::Const::OK; }
1;
''', "filtered/a.txt": "a quiet line\n" * 1000, "guarded/a.txt": "G\n", "logged/a.txt": "L\n", "plain.txt": "plain\n",
          "registry/s.pl": "#!/usr/bin/perl\nprint \"Content-Type: text/plain\\r\\nX-S: 1\\r\\n\\r\\n\"; my $b = ''; read(STDIN, $b, $ENV{CONTENT_LENGTH} || 0); print \"$ENV{REQUEST_METHOD} $ENV{QUERY_STRING} $b\\n\";",
          "registry/die.pl": "#!/usr/bin/perl\ndie 'on purpose';"},
         needs=["authn_core", "authz_user"], packaged=["perl"], logs={"logs/error_log": r"(?s)logged /perl/logged/a.txt.*cleanup ran"}),
    Case("neko", "<Directory @D@>\nDirectoryIndex none\n</Directory>\n", ["a.txt", "none.n"], {"a.txt": "A\n"}, packaged=["neko"], prefork=True),
    Case("passenger", """
PassengerInstanceRegistryDir @ROOT@/work
PassengerDisableAnonymousTelemetry On
PassengerPython /usr/bin/python3
PassengerMaxPoolSize 2
PassengerLogFile @ROOT@/logs/passenger
Alias /passenger/app @D@/app/public
<Location /passenger/app>
    PassengerEnabled On
    PassengerBaseURI /passenger/app
    PassengerAppRoot @D@/app
    PassengerAppType wsgi
    PassengerStartupFile passenger_wsgi.py
</Location>
""", ["a.txt", "app/x?y=1", Step("POST app/body", {}, b"x" * 10000), "app/static.txt"],
         {"a.txt": "A\n", "app/public/static.txt": "static\n", "app/passenger_wsgi.py": """
def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain'), ('X-Own', '1')])
    n = len(environ['wsgi.input'].read()) if environ['REQUEST_METHOD'] == 'POST' else 0
    return [('%s %s %s %d\\n' % (environ['REQUEST_METHOD'], environ['SCRIPT_NAME'], environ['PATH_INFO'], n)).encode()]
"""}, packaged=["passenger"]),
    Case("tile", "ModTileRenderdSocketName @ROOT@/none\nModTileTileDir @ROOT@/work\n", ["a.txt"], {"a.txt": "A\n"}, packaged=["tile"]),
    Case("mapcache", "", ["a.txt"], {"a.txt": "A\n"}, packaged=["mapcache"]),
    Case("mod_mono", "MonoServerPath /nonexistent\nMonoAutoApplication disabled\n", ["a.txt"], {"a.txt": "A\n"}, packaged=["mod_mono"]),
    Case("shib", "", ["a.txt", "Shibboleth.sso/Status"], {"a.txt": "A\n"}, packaged=["shib"]),
    Case("dnssd", "DNSSDEnable Off\n", ["a.txt"], {"a.txt": "A\n"}, packaged=["dnssd"]),
    Case("vhost_ldap", "VhostLDAPEnabled off\n", ["a.txt"], {"a.txt": "A\n"}, packaged=["vhost_ldap"], needs=["ldap"]),
    Case("ldap_userdir", "LDAPUserDir disabled\n", ["a.txt", "/~root/x"], {"a.txt": "A\n"}, packaged=["ldap_userdir"]),
    Case("lookup_identity", "", ["a.txt"], {"a.txt": "A\n"}, packaged=["lookup_identity"]),
    Case("authn_sasl", "<Location /authn_sasl/in>\nAuthType Basic\nAuthName sasl\nAuthBasicProvider sasl\nAuthSaslPwcheckMethod auxprop\nRequire valid-user\n</Location>\n",
         ["in/a.txt", Step("in/a.txt", basic("u", "p"))], {"in/a.txt": "A\n"}, packaged=["authn_sasl"], needs=["auth_basic", "authn_core", "authz_user"]),
]


def svn_talk(server):
    """Check out, change, commit, look back; what the client says."""
    told = []

    def svn(*args):
        done = subprocess.run(["/usr/bin/svn", "--non-interactive", "--config-dir", server.path("work/svn"), "--username", "u", "--no-auth-cache", *args],
                              capture_output=True, text=True, cwd=server.path("work"))
        told.append(re.sub(r"\d{4}-\d\d-\d\d[^|\n]*", "@DATE@", done.stdout + done.stderr))
    base = f"http://127.0.0.1:{server.port}/svn/repo"
    svn("checkout", base, "wc")
    for name, text in (("a.txt", "one\n" * 5000), ("b.bin", "\0\1\2" * 100)):
        server.write(f"wc/{name}", text, base="work")
        svn("add", f"wc/{name}")
    svn("commit", "-m", "first", "wc")
    svn("mkdir", "-m", "folder", base + "/d")
    svn("copy", "-m", "copied", base + "/a.txt", base + "/d/c.txt")
    server.write("wc/a.txt", "two\n" * 5000, base="work")
    svn("commit", "-m", "second", "wc")
    svn("update", "wc")
    svn("propset", "p", "v", "wc/a.txt")
    svn("commit", "-m", "property", "wc")
    svn("log", "-v", base)
    svn("cat", base + "/d/c.txt")
    svn("list", "-R", base)
    svn("lock", "wc/a.txt")
    svn("unlock", "wc/a.txt")
    svn("diff", "-r", "1:3", base + "/a.txt")
    svn("export", base, "exported")
    svn("delete", "-m", "gone", base + "/d")
    svn("cat", base + "/none")
    assert "Committed revision 5." in "".join(told), told
    return "\n----\n".join(told)


def svn_repository(server):
    subprocess.run(["/usr/bin/svnadmin", "create", server.path("work/repo")], check=True)
    subprocess.run(["/usr/bin/svnadmin", "setuuid", server.path("work/repo"), "11111111-2222-3333-4444-555555555555"], check=True)
    subprocess.run(["chown", "-R", "www-data", server.path("work")] if os.geteuid() == 0 else ["true"], check=True)


REST.append(Case("netcgi", "", ["a.txt"], {"a.txt": "A\n"}, first="LoadModule netcgi_module @MODULES@/mod_netcgi_apache.so\n", prefork=True,
                 files_needed=[f"{driver.MODULES}/mod_netcgi_apache.so"]))
REST.append(Case("log_sql", "LogSQLLoginInfo mysql://u:p@127.0.0.1/db\nLogSQLDBParam socketfile /none\nLogSQLTransferLogTable access\n", ["a.txt", "none"], {"a.txt": "A\n"},
                 packaged=["log_sql", "log_sql_mysql", "log_sql_ssl"]))
REST.append(Case("dav_svn", "<Location /svn/repo>\nDAV svn\nSVNPath @ROOT@/work/repo\nAuthzSVNAccessFile @D@/access\n</Location>\n", ["/svn/repo/", Step("PROPFIND /svn/repo/", {"Depth": "0"}, skip_body=True), Step("OPTIONS /svn/repo/"), Step("PUT /svn/repo/x", {}, b"x")], {"access": "[/]\n* = rw\n[/closed]\n* =\n"},
                 packaged=["dav_svn", "authz_svn"], programs=["/usr/bin/svn", "/usr/bin/svnadmin"], prepare=svn_repository, probe=svn_talk, name="svn"))

CASES = PHP + WSGI + FCGID + REST

# Cases that load a module without its .load file: case -> the .load file that there is.
LOADED_BY_HAND = {"jk": "jk", "netcgi": "netcgi_apache"}
