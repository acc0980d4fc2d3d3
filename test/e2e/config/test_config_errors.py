# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the configuration: a message with file and line, exit status 1, nothing started."""
import re
import socket

import pytest

from brigade import free_port

# configuration, line of it that is at fault (0: not said), pattern of the message
MISTAKES = [
    ("Nonsense on\n", 1, r"Invalid command 'Nonsense'"),
    ("\n\nNonsense on\n", 3, r"Invalid command 'Nonsense'"),
    ("# comment \\\ngoes on\nNonsense\n", 3, r"Invalid command 'Nonsense'"),
    ("ServerAdmin a \\\n  b\nNonsense\n", None, r"ServerAdmin takes one argument"),
    ("Timeout\n", 1, r"Timeout takes one argument"),
    ("Timeout 1 2\n", 1, r"Timeout takes one argument"),
    ("Listen 127.0.0.1:65111\nListen 127.0.0.1:65111\n", 2, r"Cannot define multiple Listeners on the same IP:port"),
    ("KeepAlive perhaps\n", 1, r"KeepAlive must be On or Off"),
    ("<Directory>\n</Directory>\n", 1, r"<Directory> directive requires additional arguments|<Directory > missing path"),
    ("<Directory /x>\n", 1, r"</Directory> without matching|was not closed|Expected </Directory>"),
    ("</Directory>\n", 1, r"</Directory> without matching <Directory> section"),
    ("<Directory /x>\n</Location>\n", 2, r"Expected </Directory> before|but saw </Location>|Expected </Directory> but saw"),
    ("<Files ~ \"(\">\n</Files>\n", 1, r"Regex could not be compiled|Regular expression could not be compiled"),
    ("<Directory /x>\nListen 1\n</Directory>\n", 2, r"Listen not allowed in <Directory>|Listen cannot occur within"),
    ("<VirtualHost *:1>\nListen 1\n</VirtualHost>\n", 2, r"Listen cannot occur within <VirtualHost>"),
    ("<VirtualHost *:1>\n<VirtualHost *:2>\n</VirtualHost>\n</VirtualHost>\n", 2, r"cannot occur within|nested"),
    ("<VirtualHost>\n</VirtualHost>\n", 1, r"<VirtualHost> directive requires additional arguments"),
    ("Listen\n", 1, r"Listen requires|takes"),
    ("Listen 99999\n", 1, r"Port must be between 1 and 65535|Port must be specified|Invalid address or port"),
    ("ListenCoresBucketsRatio 0\n", 1, r"ListenCoresBucketsRatio must be > 0"),
    ("Listen localhost:port\n", 1, r"Port must be (specified|between)|Invalid address or port"),
    ("Options Foo\n", 1, r"Illegal option Foo"),
    ("<Directory />\nOptions Indexes +FollowSymLinks\n</Directory>\n", 2, r"Either all Options must start with \+ or -"),
    ("<Directory />\nAllowOverride Foo\n</Directory>\n", 2, r"Illegal override option Foo"),
    ("LogLevel loud\n", 1, r"[Ll]og ?[Ll]evel (requires level )?keyword"),
    ("ErrorDocument 999 x\n", 1, r"Unsupported HTTP response code 999"),
    ("ErrorDocument 404\n", 1, r"ErrorDocument takes two arguments"),
    ("Include nowhere.conf\n", 1, r"Could not open configuration file .*nowhere\.conf|nowhere\.conf.*No such file"),
    ("Include nowhere/*.conf\n", 1, r"Could not open config directory|nowhere"),
    ("LoadModule x_module nowhere.so\n", 1, r"Cannot load nowhere\.so into server"),
    ("LoadModule x_module\n", 1, r"LoadModule takes two arguments"),
    ("<IfModule>\n</IfModule>\n", 1, r"<IfModule> directive requires additional arguments"),
    ("<IfDefine X>\n", 1, r"IfDefine"),
    ("DocumentRoot /nowhere/at/all\n", 1, r"DocumentRoot '/nowhere/at/all' is not a directory, or is not readable"),
    ("AddType\n", 1, r"AddType requires at least two arguments"),
    ("SetHandler\n", 1, r"SetHandler takes one argument"),
    ("Alias /x\n", 1, r"Alias must have two arguments"),
    ("Redirect 999 / /\n", 1, r"status|Redirect|code"),
    ("AliasMatch ( /x\n", 1, r"Regular expression could not be compiled"),
    ("SetEnvIf Host ( x\n", 1, r"SetEnvIf regex could not be compiled"),
    ("Header bogus X y\n", 1, r"first argument must be"),
    ("Header set X\n", 1, r"header requires|requires.*value|Header"),
    ("Header set X \"%{a\"\n", 1, r"format|missing"),
    ("ExpiresDefault \"soon\"\n", 1, r"ExpiresDefault|bad expires code"),
    ("<If \"%{X\">\n</If>\n", 1, r"Cannot parse condition clause"),
    ("<If \"1 ==\">\n</If>\n", 1, r"Cannot parse condition clause"),
    ("<Else>\n</Else>\n", 1, r"<Else>.*requires|without|<Else>"),
    ("Require\n", 1, r"Require|takes|requires"),
    ("<Directory />\nRequire bogus\n</Directory>\n", 2, r"Unknown Authz provider: bogus"),
    ("<Directory />\nRequire ip 1.2.3.x\n</Directory>\n", 2, r"ip address '1\.2\.3\.x' appears to be invalid"),
    ("<Directory />\n<RequireAll>\nRequire all granted\n</Directory>\n", None, r"Expected </RequireAll>|</RequireAll>"),
    ("<Directory />\nOrder sideways\n</Directory>\n", 2, r"unknown order"),
    ("<Directory />\nAllow maybe you\n</Directory>\n", 2, r"allow and deny must be followed by 'from'"),
    ("<Directory />\nDeny from 1.2.3.4/99\n</Directory>\n", 2, r"[Ii]nvalid|appears to be"),
    ("RequestReadTimeout header=x\n", 1, r"RequestReadTimeout"),
    ("LimitRequestLine -1\n", 1, r"LimitRequestLine \"-1\" must be a non-negative integer"),
    ("FileETag Foo\n", 1, r"Unknown keyword 'Foo' for FileETag"),
    ("HttpProtocolOptions Loose\n", 1, r"HttpProtocolOptions accepts"),
    ("TraceEnable maybe\n", 1, r"TraceEnable must be one of"),
    ("UseCanonicalName maybe\n", 1, r"parameter must be 'on', 'off', or 'dns'"),
    ("MaxRanges x\n", 1, r"MaxRanges"),
    ("DirectorySlash maybe\n", 1, r"DirectorySlash must be On or Off"),
    ("IndexOptions Bogus\n", 1, r"Invalid directory indexing option"),
    ("CustomLog\n", 1, r"CustomLog takes"),
    ("LogFormat \"%{x\"\n", 1, r"LogFormat|Unrecognized"),
    ("LogFormat \"%&\"\n", 1, r"Unrecognized LogFormat directive %&"),
    ("Define\n", 1, r"Define takes"),
    ("ServerAdmin ${NOT_DEFINED_ANYWHERE}\nNonsense\n", 2, r"Invalid command 'Nonsense'"),
    ("<Limit>\n</Limit>\n", 1, r"<Limit> directive requires additional arguments|Limit"),
    ("AddOutputFilterByType\n", 1, r"AddOutputFilterByType"),
]


@pytest.mark.parametrize("config,line,pattern", [pytest.param(*case, id=repr(case[0][:60])) for case in MISTAKES])
def test_mistake(serve, config, line, pattern):
    server = serve.unstarted("Include conf/part.conf\n")
    server.write("part.conf", config, base="conf")
    done = server.run("-t")
    message = (done.stderr + done.stdout).decode()
    assert done.returncode == 1, f"accepted: {message}"
    assert re.search(pattern, message), message
    assert "Syntax OK" not in message
    if line:
        assert re.search(rf"line {line} of {re.escape(server.path('conf/part.conf'))}", message), message


@pytest.mark.only("brigade")
@pytest.mark.parametrize("config,warning", [
    ("Timeout soon\n", 'Timeout: "soon" is no whole number, it is read as 0'),
    ("LimitRequestFields 50x\n", 'LimitRequestFields: "50x" is no whole number, it is read as 50'),
    ("ThreadsPerChild 0\n", "ThreadsPerChild of 0 is not possible, increasing to 1"),
    ("H2MaxSessionStreams 1000000000\n", "H2MaxSessionStreams of 1000000000 is not possible, decreasing to"),
])
def test_number_that_apache_takes(serve, config, warning):
    """Apache takes the number that a word begins with, or 0, and some that are out of bounds: so the server starts, and says what it made of them."""
    done = serve.unstarted(config).run("-t")
    assert done.returncode == 0 and warning in done.stderr.decode(), done.stderr.decode()


@pytest.mark.only("brigade")
@pytest.mark.parametrize("config,meant", [
    ("DocumentRot /x\n", "'DocumentRoot'"), ("<Directry />\n</Directry>\n", "'<Directory'"),
    ("<Directory />\nOptions Indexs\n</Directory>\n", "'Indexes'"), ("<Directory />\nAllowOverride FileInf\n</Directory>\n", "'FileInfo'"),
    ("LogLevel heaers:debug\n", "'headers'"), ("IndexOptions FancyIndexin\n", "'FancyIndexing'"), ("FileETag MTim\n", "'MTime'"),
    ("<Location />\nRequire alll granted\n</Location>\n", "'all'"), ("AddOutputFilterByType DEFLTE text/html\n", "'deflate'"),
])
def test_the_nearest_name_is_asked_for(serve, config, meant):
    done = serve.unstarted(config).run("-t")
    assert done.returncode == 1 and f"did you mean {meant}?" in done.stderr.decode(), done.stderr.decode()


HELP = [
    ("LimitRequestBody 10M\n", "write LimitRequestBody 10485760: a number of bytes"), ("KeepAliveTimeout 5m\n", "write KeepAliveTimeout 5mi for minutes"),
    ("RewriteEngine On\nRewriteRule ^a /b [R=301 L]\n", "write [R=301,L]: flags are one word"), ("<Directory />\nOptions -Index\n</Directory>\n", "did you mean 'Indexes'?"),
    ("SSLProtocol TLS1.2\n", "write TLSv1.2"), ("AddOutputFilterByType GZIP text/html\n", "write DEFLATE"),
    ('<If "%{HTTP_HOST} = example.org">\n</If>\n', "write texts in quotes, and == to compare"), ('Header set Cache-Control = "no-cache"\n', 'write Header set FIELD "VALUE", without ='),
    ("Redirect /new /old permanent\n", "write Redirect permanent /new /old: the status comes first"),
    ("MemorySystem request jemalloc\n", "write LoadModule sms_jemalloc_module modules/sms_jemalloc.so"),
    ("ProxyPass / localhost:3000\n", "write http:// in front of it"), ("location / {\n", 'write <Location "/path">'), ("try_files $uri /index.html;\n", "write FallbackResource"),
    ("AllowOverride All\n", "write it into a section <Directory>"), ("php_value a b\n", ".user.ini"),
]


@pytest.mark.only("brigade")
@pytest.mark.parametrize("config,help", HELP)
def test_words_that_help(serve, config, help):
    done = serve.unstarted(config).run("-t")
    message = done.stderr.decode()
    if "SSL" in config and "built without" in message:
        pytest.skip("built without TLS")
    assert done.returncode == 1 and help in message and re.search(r"line \d+ of ", message), message


@pytest.mark.only("brigade")
@pytest.mark.parametrize("line,said", [("Nonsense on", "Invalid command 'Nonsense'"), ("RewriteRule ^a b [R=301 L]", "bad flag delimiters; write [R=301,L]"), ("php_value a b", ".user.ini"),
                                       ("Options -Index", "did you mean 'Indexes'?")])
def test_mistakes_of_access_files(serve, line, said):
    """File and line, and the same words."""
    server = serve("", files={"d/a.txt": "a", "d/.htaccess": f"# a note\n\n{line}\n"})
    assert server.get("/d/a.txt").status == 500
    server.wait_for_log(r"htdocs/d/\.htaccess:3: .*" + re.escape(said))


@pytest.mark.only("brigade")
def test_an_address_of_another_program(serve):
    server = serve.unstarted()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        server.port = other.getsockname()[1]
        done = server.run("-t", port=server.port)
        assert done.returncode == 0 and re.search(rf"httpd\.conf:\d+: Listen 127\.0\.0\.1:{server.port}: another program listens there", done.stderr.decode()), done.stderr
        # A Listen without an address takes IPv4 and IPv6: one of them is enough.
        taken = server.port
        done = server.run("-c", f"Listen {taken}", "-t", port=free_port())
        assert f"Listen {taken}: another program listens there" in done.stderr.decode(), done.stderr
    server.start()
    assert b"another program" not in server.run("-t").stderr


@pytest.mark.only("brigade")
@pytest.mark.parametrize("config", ["Xyzzy on\n", "LogLevel nope:debug\n", "<Directory />\nOptions Everything\n</Directory>\n"])
def test_no_name_is_near(serve, config):
    done = serve.unstarted(config).run("-t")
    assert done.returncode == 1 and "did you mean" not in done.stderr.decode(), done.stderr.decode()


HOST = "<VirtualHost {}>\nServerName {}\n{}\n</VirtualHost>\n"
DOUBTS = [
    (HOST.format("*:8081", "a.test", "ServerAlias b.test") + HOST.format("*:8081", "c.test", "ServerAlias B.test"), "the name B.test is already that of"),
    (HOST.format("127.0.0.1:8081", "a.test", "") + HOST.format("127.0.0.1:8081", "A.TEST", ""), "the name A.TEST is already that of"),
    ("Listen 127.0.0.1:8443 https\n" + HOST.format("*:8443", "a.test", ""), "port 8443 is one of https, and SSLEngine is not on"),
    ("ErrorDocument 404 /none.html\n", "ErrorDocument 404: there is no /none.html"),
    ("<Location />\nSetOutputFilter DEFLTE\n</Location>\n", "no module here has a filter DEFLTE; did you mean 'deflate'?"),
    ("AddInputFilter nope .x\n", "no module here has a filter nope"),
    ("Listen 127.0.0.1:8081\n<VirtualHost *:8082>\n</VirtualHost>\n", "no request comes to this virtual host: no Listen has port 8082; write Listen 8082"),
    ("<Location /s>\nSetHandler server-staus\n</Location>\n", "no module here has a handler server-staus; did you mean 'server-status'?"),
    ("CustomLog logs/a combind\n", "no LogFormat has the name combind, so each line is that word; did you mean 'combined'?"),
    ("RewriteRule ^/a /b\n", "RewriteRule: it does nothing, since no RewriteEngine On is in force here; write that line above it"),
    ("<VirtualHost *:@PORT@>\nRewriteEngine off\nRewriteRule ^/a /b\n</VirtualHost>\nRewriteEngine On\n", "RewriteRule: it does nothing"),
    ("<Directory /srv>\nRewriteEngine On\nRewriteRule ^/a /b\n</Directory>\n", "RewriteRule: ^/a matches nothing in a directory"),
    ("<Proxy balancer://app>\nBalancerMember http://127.0.0.1:1\n</Proxy>\nProxyPass /x/ balancer://ap/\n", "balancer://ap has no member: no section <Proxy \"balancer://ap\"> names one by BalancerMember, so requests get 503; did you mean 'app'?"),
    ("<Proxy balancer://app>\n</Proxy>\nProxyPass /x/ balancer://app/\n", "balancer://app has no member: no section"),
    ("<Location /p>\nAuthType Basic\nAuthName x\nAuthUserFile /none/users\nRequire valid-user\n</Location>\n", "AuthUserFile: /none/users is not there, so nobody is let in"),
    ("<Location /p>\nAuthType Basic\nAuthUserFile /dev/null\nRequire valid-user\n</Location>\n", "AuthType Basic without AuthName"),
    ("<Location /p>\nAuthType Basic\nAuthName x\nRequire valid-user\n</Location>\n", "AuthType Basic without AuthUserFile"),
    ("Protocols http2\n", "Protocols: no module here speaks http2; write h3 for HTTP/3, h2"), ('Header set X "abc\n', 'Header: a quote does not end: set X "abc'),
    ("Redirect / /en/\n", "Redirect: a loop: /en/ begins with what / matches"), ("Redirect permanent /a /a/b\n", "Redirect: a loop"),
    ("RedirectPermanent /a /a/b\n", "RedirectPermanent: a loop"), ("RedirectTemp / /en/\n", "RedirectTemp: a loop"),
    ("Redirect / http://localhost/\n", "Redirect: a loop"), ("RedirectMatch ^/(.*)$ /en/$1\n", "RedirectMatch: a loop"),
    ("<Directory /srv>\nOrder deny,allow\nDeny from all\nRequire all granted\n</Directory>\n", "Order beside Require (line"),
    ("ProxyPass /app/ http://127.0.0.1:3000/x\n", "/app/ ends with a slash and http://127.0.0.1:3000/x does not"),
    ("ProxyPass /app/ http://127.0.0.1:3000\n", "such requests get 400; write a slash behind it"),
    ("ProxyPass /app http://127.0.0.1:3000/\n", "http://127.0.0.1:3000/ ends with a slash and /app does not"),
    ("CacheEnable mem /\n", "CacheEnable: there is no kind of cache mem; write memory"), ("ServerName http://a.test/\n", "ServerName: http://a.test/ is a URL; write a.test"),
    ("AddType .x text/x\n", "AddType: .x is no media type"),
    ("AddEncoding gzpi .gz\n", "gzpi is no coding that clients know; did you mean 'gzip'?"),
]
NO_DOUBTS = [
    "Listen 127.0.0.1:8081\nListen 127.0.0.1:8082\n" + HOST.format("127.0.0.1:8081", "a.test", "") + HOST.format("127.0.0.2:8081", "a.test", "") + HOST.format("*:8082", "a.test", ""),
    "Listen 127.0.0.1:8081\n" + "<VirtualHost *:8081>\n</VirtualHost>\n" * 2 + HOST.format("*:8081", "a.test", "ServerAlias a.test b.test b.test"),
    "Listen 127.0.0.1:8443 http\nListen 127.0.0.1:8444 https\n" + HOST.format("*:8443", "a.test", ""),
    'ErrorDocument 404 /there.html\nErrorDocument 403 "/none text"\nErrorDocument 500 default\nErrorDocument 401 /e%{REQUEST_STATUS}.html\n',
    "Alias /errors /tmp\nErrorDocument 404 /errors/none.html\n", "FallbackResource /there.html\nErrorDocument 404 /none.html\n",
    "<VirtualHost *:@PORT@>\nServerName a.test\n</VirtualHost>\n<VirtualHost *:*>\nServerName b.test\n</VirtualHost>\n",
    "<Location /s>\nSetHandler server-status\n</Location>\n<FilesMatch x>\nSetHandler \"proxy:fcgi://127.0.0.1:1/\"\n</FilesMatch>\nAddHandler cgi-script .cgi\nAddHandler my-own .own\n",
    'LogFormat "%h" mine\nCustomLog logs/a mine\nCustomLog logs/b "%h"\nCustomLog logs/c json\nCustomLog logs/d combined env=x\n',
    "RewriteEngine On\nRewriteRule ^/a /b\n<VirtualHost *:@PORT@>\nRewriteRule ^/a /b\n</VirtualHost>\n<Directory /srv>\nRewriteEngine On\nRewriteRule ^a /b\n</Directory>\n",
    "<Proxy balancer://app>\nBalancerMember http://127.0.0.1:1\n</Proxy>\nProxyPass /x/ balancer://app/\nProxyPass /y/ !\n",
    "<Location /p>\nAuthType Basic\nAuthName x\nAuthUserFile /dev/null\nRequire valid-user\n</Location>\n",
    "<Directory /srv>\nAuthName x\nAuthUserFile /dev/null\n</Directory>\n<Directory /srv/a>\nAuthType Basic\nRequire valid-user\n</Directory>\n",
    "Protocols h2 h2c http/1.1\nHeader set X \"a 'b c\"\nHeader set Y 'a \"b'\nHeader set Z it's\nErrorDocument 404 \"Not there\n",
    "Redirect /a /b\nRedirect permanent /old.html /old\nRedirect 410 /gone\nRedirect / https://localhost/\nRedirectMatch ^/$ /en/\nRedirectMatch 404 /[.]\nRedirect /x //b.test/x\n",
    "<VirtualHost *:@PORT@>\nServerName a.test\nServerAlias www.a.test\nRedirectMatch ^/x http://a.test/x/\n</VirtualHost>\n",
    "<Directory /srv>\nOrder deny,allow\nDeny from all\n</Directory>\n<Directory /srv/a>\nRequire all granted\n</Directory>\n",
    "ProxyPass /app http://127.0.0.1:3000/app\nProxyPass /b/ http://127.0.0.1:3000/\nProxyPass /c/ unix:/run/x|http://a/\n", "<Proxy balancer://app>\nProxySet growth=5\n</Proxy>\nProxyPass /x/ balancer://app/\n", "CacheEnable socache /a\nCacheEnable disk /b\nCacheEnable memory /c\n<Location /d>\nCacheEnable memory\n</Location>\n",
    "ErrorDocument 404 /hidden/none.html\n", "SetOutputFilter DEFLATE;INCLUDES\nAddEncoding x-own .own\nAddEncoding x-gzip .gz\n",
]


def doubts(serve, config):
    server = serve.unstarted(config, files={"there.html": "there", "hidden/.htaccess": ""})
    done = server.run("-t")
    assert done.returncode == 0, done.stderr.decode()
    return re.sub(r".*: another program listens there .*\n", "", done.stderr.decode())  # the ports are other ones on each machine


@pytest.mark.only("brigade")
@pytest.mark.parametrize("config,doubt", DOUBTS)
def test_doubtful(serve, config, doubt):
    assert re.search(r"httpd\.conf:\d+: .*" + re.escape(doubt), doubts(serve, config))


@pytest.mark.only("brigade")
@pytest.mark.parametrize("config", NO_DOUBTS)
def test_not_doubtful(serve, config):
    assert not re.search(r"httpd\.conf:\d+: ", doubts(serve, config))


@pytest.mark.only("brigade")
def test_doubts_are_told_once(serve):
    server = serve("ErrorDocument 404 /none.html\n")
    server.get("/")
    assert server.error_log().count(b"there is no /none.html") == 1


def test_nothing_is_said_twice(serve):
    done = serve.unstarted("NameVirtualHost *:80\nNameVirtualHost *:443\nErrorLog none/error_log\n").run("-t")
    assert done.stderr.count(b"AH00548") == 1
    assert b"AH02291: Cannot access directory" in done.stderr and b"for main error log" in done.stderr


def test_error_log_of_a_virtual_host(serve):
    done = serve.unstarted(HOST.format("*:8081", "a.test", "ErrorLog none/error_log")).run("-t")
    assert done.returncode == 1 and re.search(rb"AH02291: Cannot access directory '.*none/' for error log of vhost defined at .*:\d+", done.stderr)


def test_two_process_models(serve):
    config = "".join(f"LoadModule mpm_{m}_module @MODULES@/mod_mpm_{m}.so\n" for m in ("event", "prefork"))
    done = serve.unstarted(config).run("-t")
    assert done.returncode == 1 and b"AH00534" in done.stderr and b"More than one MPM loaded" in done.stderr


@pytest.mark.only("brigade")
def test_built_in_module_twice(serve):
    done = serve.unstarted("LoadModule headers_module @MODULES@/mod_headers.so\n" * 2).run("-t")
    assert done.returncode == 0 and b"AH01574: module headers_module is already loaded, skipping" in done.stderr


@pytest.mark.parametrize("config", ["Nonsense\n", "<Directory />\n", "Listen 99999\n"])
def test_nothing_is_started(serve, config):
    server = serve.unstarted(config)
    done = server.run("-DFOREGROUND")
    assert done.returncode == 1
    assert server.read("logs/httpd.pid") == b""


@pytest.mark.only("brigade")
@pytest.mark.parametrize("config,pattern", [
    ("Dav On\n", r"Dav.*mod_dav"),
    ("Session On\n", r"Session.*mod_session"),
    ("AuthLDAPBindDN x\n", r"AuthLDAPBindDN.*mod_authnz_ldap"),
])
def test_directive_of_a_module_that_is_not_here(serve, config, pattern):
    server = serve.unstarted(config)
    done = server.run("-t")
    message = (done.stderr + done.stdout).decode()
    assert done.returncode == 1 and re.search(pattern, message) and "httpd.conf" in message, message
    lenient = server.run("-t", "-D", "LENIENT")
    assert lenient.returncode == 0, lenient.stderr.decode()


VALID = [
    "ServerAdmin \"a b\"\n", "ServerAdmin 'a \"b'\n", "serveradmin x\n", "SERVERADMIN x\n", "  ServerAdmin  x  \n",
    "\tServerAdmin\tx\t\n", "ServerAdmin \\\n    x\n", "ServerAdmin x # no comment\n".replace(" # no comment", ""),
    "ErrorDocument 404 \"one sided\n", "ErrorDocument 404 /x.html\n", "# comment\n#\n\n", "<IfModule nothing>\n<VirtualHost mod_cache>\nNonsense\n</VirtualHost>\n</IfModule>\n",
    "<IfDefine !NOTHING>\nServerAdmin x\n</IfDefine>\n", "<IfDefine NOTHING>\nNonsense\n<IfModule x>\n</IfModule>\n</IfDefine>\n",
    "<IfVersion >= 2.4>\nServerAdmin x\n</IfVersion>\n", "<IfVersion < 2.4>\nNonsense\n</IfVersion>\n",
    "<IfVersion = 2.4.71>\nServerAdmin x\n</IfVersion>\n", "<IfVersion ~ ^2.4>\nServerAdmin x\n</IfVersion>\n",
    "<IfFile /nowhere>\nNonsense\n</IfFile>\n", "<IfFile !/nowhere>\nServerAdmin x\n</IfFile>\n",
    "<IfDirective Nonsense>\nNonsense\n</IfDirective>\n", "<IfDirective ServerAdmin>\nServerAdmin x\n</IfDirective>\n",
    "<IfSection Directory>\nServerAdmin x\n</IfSection>\n",
    "Define NAME value\nServerAdmin ${NAME}\n", "Define NAME\n<IfDefine NAME>\nServerAdmin x\n</IfDefine>\n",
    "Define NAME\nUnDefine NAME\n<IfDefine NAME>\nNonsense\n</IfDefine>\n",
    "IncludeOptional nowhere/*.conf\n", "IncludeOptional nowhere.conf\n",
    "<Directory ~ \"^/x\">\n</Directory>\n", "<DirectoryMatch \"^/x\">\n</DirectoryMatch>\n", "<Files \"*.x\">\n</Files>\n",
    "<FilesMatch \"\\.x$\">\n</FilesMatch>\n", "<Location /x>\n<Limit GET>\nRequire all granted\n</Limit>\n</Location>\n",
    "<LocationMatch \"(?<name>x)\">\n</LocationMatch>\n", "<If \"true\">\n</If>\n<ElseIf \"false\">\n</ElseIf>\n<Else>\n</Else>\n",
    "LogLevel info core:debug mime:trace1\n", "ServerTokens Prod\n", "Timeout 5\n", "Timeout 10x\n", "KeepAliveTimeout 100ms\n",
    "StartServers 3\nMaxRequestWorkers 150\nThreadsPerChild 25\nMinSpareThreads 25\nMaxSpareThreads 75\n",
    "SetHandler nobody-has-this\n", "AddOutputFilter NOBODY .x\n", "ServerName http://example.com:8080\n",
    "<VirtualHost *:8080 [::1]:80>\nServerName x\nServerAlias *.x y\n</VirtualHost>\n",
    "ExtendedStatus On\n", "AcceptFilter http none\n", "ServerRoot @ROOT@\n",
]


@pytest.mark.parametrize("config", VALID, ids=[repr(c[:40]) for c in VALID])
def test_valid(serve, config):
    done = serve.unstarted(config).run("-t")
    assert done.returncode == 0 and b"Syntax OK" in done.stdout + done.stderr, done.stderr.decode()


def test_address_in_use(serve):
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        done = serve.unstarted().run("-DFOREGROUND", port=s.getsockname()[1])
    assert done.returncode == 1 and b"ddress already in use" in done.stderr, done.stderr


def test_very_long_lines(serve):
    server = serve(f"Define LONG {'x' * 100000}\nHeader set X-Length \"ok\"\n"
                   f"SetEnvIf Host nothing{'y' * 20000} LONG\n", {"a.txt": "A"})
    assert server.get("/a.txt")["X-Length"] == "ok"
