# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the configuration: a message with file and line, exit status 1, nothing started."""
import re

import pytest

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

# Apache takes the number that these begin with, or 0.
MISTAKES_HERE = [("Timeout soon\n", 1, r"Timeout"), ("LimitRequestFields x\n", 1, r"LimitRequestFields")]


def cases():
    for case in MISTAKES:
        yield pytest.param(*case, id=repr(case[0][:60]))
    for case in MISTAKES_HERE:
        yield pytest.param(*case, id=repr(case[0][:60]), marks=pytest.mark.only("brigade"))


@pytest.mark.parametrize("config,line,pattern", cases())
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


@pytest.mark.parametrize("config", ["Nonsense\n", "<Directory />\n", "Listen 99999\n"])
def test_nothing_is_started(serve, config):
    server = serve.unstarted(config)
    done = server.run("-DFOREGROUND")
    assert done.returncode == 1
    assert server.read("logs/httpd.pid") == b""


@pytest.mark.only("brigade")
@pytest.mark.parametrize("config,pattern", [
    ("RewriteEngine On\n", r"RewriteEngine.*mod_rewrite"),
    ("ProxyPass / http://localhost/\n", r"ProxyPass.*mod_proxy"),
    ("<Proxy *>\n</Proxy>\n", r"<?Proxy.*mod_proxy"),
    ("MDBaseServer On\n", r"MDBaseServer.*mod_md"),
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
