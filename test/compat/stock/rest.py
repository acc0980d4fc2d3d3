# SPDX-License-Identifier: Apache-2.0
"""Proxies, caches, TLS, HTTP/2, Lua, WebDAV, databases."""
import re
import socket
import ssl
import subprocess
import time

from http_client import split_responses

from .driver import Case, Step

GROUP = "proxy, cache, tls and the rest"
A = {"a.txt": "text of a\n"}
LONG = "".join(f"line {i} of a text that is longer than one buffer\n" for i in range(8000))
GATEWAY = ["p/x?q=1", "p/path/more", Step("POST p/x", {"X-In": "in"}, "body"), "p/status", "p/long", "HEAD p/x", Step("POST p/x", {"Transfer-Encoding": "chunked"}, b"3\r\nabc\r\n0\r\n\r\n"),
           Step("POST p/x", {}, "x" * 200000)]
SELF = "http://127.0.0.1:@PORT@"
AGES = [(r"(?m)^Age: \d+", "Age: N"), (r"^\d+$", "N")]


def proxied(name, more=""):
    return f"ProxyPass /{name}/p/ {SELF}/{name}/b/\nProxyPassReverse /{name}/p/ {SELF}/{name}/b/\n{more}"


BACK = {"b/a.txt": "behind\n", "b/long.txt": LONG, "b/dir/index.html": "dir\n", "b/empty.txt": ""}
PROXY_STEPS = ["p/a.txt", "HEAD p/a.txt", "p/long.txt", "p/none", "p/dir", "p/dir/", "p/empty.txt", Step("p/a.txt", {"Range": "bytes=1-2"}), Step("p/long.txt", {"Range": "bytes=100-90000"}),
               Step("p/a.txt", lambda rs: {"If-None-Match": rs[0]["ETag"]}), Step("POST p/a.txt", {}, "b" * 100000), Step("p/a.txt", version="1.0"),
               Step("POST p/a.txt", {"Transfer-Encoding": "chunked"}, b"3\r\nabc\r\n0\r\n\r\n"), "OPTIONS p/a.txt",
               # Brigade behind it answers for a file without asking for the body, and closes: see differences.py, malformed/body.
               Step("POST p/a.txt", {"Expect": "100-continue"}, "abc", skip=["connection"])]


def certificate(path):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2", "-keyout", path, "-out", path + ".crt"],
                   check=True, capture_output=True)
    with open(path, "ab") as key, open(path + ".crt", "rb") as crt:
        key.write(crt.read())


def plain(data):
    """Responses without what differs in any two runs."""
    def settled(r):
        if not hasattr(r, "headers"):
            return r
        return r.status, sorted((n.lower(), v) for n, v in r.headers if n.lower() not in ("date", "server")), r.body
    return [settled(r) for r in split_responses(data)]


class Tls:
    """A TLS connection that keeps every byte."""

    def __init__(self, server, **more):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        for name, value in more.items():
            setattr(context, name, value)
        self.socket = context.wrap_socket(socket.create_connection(("127.0.0.1", server.tls), timeout=10), server_hostname="localhost")

    def ask(self, data):
        self.socket.sendall(data)
        found = b""
        try:
            while more := self.socket.recv(65536):
                found += more
        except (TimeoutError, ConnectionError, ssl.SSLError) as e:
            found += repr(type(e)).encode()
        self.socket.close()
        return found


def tls_probe(server):
    get = "GET /ssl/{} HTTP/1.1\r\nHost: localhost\r\n{}\r\n"
    close = "Connection: close\r\n"
    name = "/ssl/"
    seen = []
    seen.append(plain(Tls(server).ask(get.format("a.txt", close).encode())))
    seen.append(plain(Tls(server).ask((get.format("a.txt", "") * 5 + get.format("long.txt", "") + get.format("none", close)).encode())))  # pipelined
    seen.append(plain(Tls(server).ask(f"POST {name}a.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n{close}\r\n".encode() + b"x" * 100000)))
    seen.append(plain(Tls(server, maximum_version=ssl.TLSVersion.TLSv1_2).ask(get.format("a.txt", close).encode())))
    connection = Tls(server)  # one after the other
    for _ in range(3):
        connection.socket.sendall(get.format("a.txt", "").encode())
        data = b""
        while not data.endswith(b"text of a\n"):
            data += connection.socket.recv(65536)
        seen.append(plain(data))
    seen.append(plain(connection.ask(get.format("env", close).encode())))
    with socket.create_connection(("127.0.0.1", server.tls), timeout=10) as s:  # HTTP where TLS is spoken
        s.sendall(get.format("a.txt", close).encode())
        data = b""
        while more := s.recv(65536):
            data += more
        seen.append(data.split(b"\r\n")[0])
    return str(seen)


def curl(*args):
    for _ in range(8):  # curl fails with 92 if the end of the stream overtakes the answer, which both servers let happen
        done = subprocess.run(["curl", "-sSik", "--max-time", "10", *args], capture_output=True)
        if done.returncode != 92:
            break
    unlike = b"date|server|upgrade|connection" + (b"|content-length" if "cgi" in args[-1] else b"")
    text = re.sub(rb"(?mi)^(" + unlike + rb"): .*\r\n", b"", done.stdout)
    heads, _, body = text.rpartition(b"\r\n\r\n")
    return done.returncode, sorted(heads.split(b"\r\n")), body


def h2_probe(server):
    tls, clear = f"https://127.0.0.1:{server.tls}/http2/", f"http://127.0.0.1:{server.port}/http2/"
    return str([curl("--http2", tls + "a.txt"), curl("--http2", tls + "long.txt"), curl("--http2", "-I", tls + "a.txt"), curl("--http2", "-d", "x" * 50, tls + "a.txt"),
                curl("--http2", tls + "none"), curl("--http2", tls + "a.txt", tls + "long.txt", tls + "a.txt"), curl("--http2-prior-knowledge", clear + "a.txt"),
                curl("--http2", clear + "a.txt"), curl("--http2-prior-knowledge", clear + "a.cgi?x")])


def connect_probe(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as s:
        s.sendall(f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += s.recv(1000)
        s.sendall(b"GET /proxy_connect/a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        data = b""
        while more := s.recv(65536):
            data += more
    return str((head.split(b"\r\n")[0], plain(data)))


def echo_probe(server):
    with socket.create_connection(("127.0.0.1", server.tls), timeout=10) as s:
        seen = []
        for line in (b"one line\n", b"another\n" * 1000):
            s.sendall(line)
            data = b""
            while len(data) < len(line):
                data += s.recv(65536)
            seen.append(data)
    return str(seen)


def websocket_probe(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as s:
        s.sendall(b"GET /proxy_wstunnel/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        return str(s.recv(1000).split(b"\r\n")[0])


def hcheck_probe(server):
    """The member that is down is found out, and the other serves."""
    deadline = time.monotonic() + 12
    while time.monotonic() < deadline and b"Health check DISABLING" not in server.error_log():
        time.sleep(0.05)
    return str([server.get("/proxy_hcheck/p/a.txt").status for _ in range(3)])


def vhost_on_tls(name, more):
    return f"Listen 127.0.0.1:@TLS@\n<VirtualHost 127.0.0.1:@TLS@>\nServerName localhost\n{more}\n</VirtualHost>\n"


SSL = "SSLEngine On\nSSLCertificateFile @D@/key.pem\n"
XML = {"Content-Type": "text/xml"}
LOCK = '<?xml version="1.0"?><lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>me</owner></lockinfo>'
PROPS = '<?xml version="1.0"?><propertyupdate xmlns="DAV:" xmlns:o="urn:own"><set><prop><o:colour>red</o:colour></prop></set></propertyupdate>'
TOKEN = [(r' xmlns:\w+="[^"]*"', ""), (r"<(/?)(?:lp|ns)\d:", r"<\1P:"), (r"opaquelocktoken:[0-9a-f-]+", "TOKEN"), (r"<P:creationdate>[^<]*", "T"), (r"<P:getlastmodified>[^<]*", "T"), (r'"?[0-9a-f]+-[0-9a-f]+"?', "ETAG"),
         (r"\w{3}, \d\d \w{3} 20\d\d \d\d:\d\d:\d\d GMT", "T"), (r"Apache/[\d.]+ \(Debian\)|Brigade/[\d.]+ \(Unix\)", "SERVER"), (r"Second-\d+", "S")]


def lock_token(before):
    for r in before:
        if r["Lock-Token"]:
            return {"If": f"({r['Lock-Token']})"}
    return {}


CASES = [
    Case("proxy", f"ProxyPass /proxy/p/ !\nProxyPass /proxy/x/ gopher://127.0.0.1:1/\n<Proxy *>\nRequire all granted\n</Proxy>\n", ["p/a.txt", "b/a.txt", "x/a.txt"], BACK),
    Case("proxy_http", proxied("proxy_http") + "ProxyPass /proxy_http/dead/ http://127.0.0.1:1/\nProxyPass /proxy_http/host/ " + SELF + "/proxy_http/b/\n"
         "<Location /proxy_http/host/>\nProxyPreserveHost On\nProxyAddHeaders Off\n</Location>\n<Location /proxy_http/b>\nHeader set X-Host \"expr=%{HTTP_HOST} %{HTTP:X-Forwarded-For} %{HTTP:Via}\"\n</Location>\nProxyVia Full\n",
         PROXY_STEPS + ["dead/x", "host/a.txt"], BACK, needs=["proxy"], unify=[(r"Apache/[\d.]+ \(Debian\)|Brigade/[\d.]+ \(Unix\)|\((Apache|Brigade)/[\d.]+( \([\w]+\))?\)", "SERVER")]),
    Case("proxy_balancer", f"<Proxy balancer://set>\nBalancerMember {SELF} route=one\nBalancerMember http://127.0.0.1:@PORT@/other route=two\nProxySet stickysession=ROUTE lbmethod=byrequests\n</Proxy>\n"
         "ProxyPass /proxy_balancer/p/ balancer://set/proxy_balancer/b/\n<Location /proxy_balancer/manager>\nSetHandler balancer-manager\n</Location>\n"
         "Header add Set-Cookie \"ROUTE=.%{BALANCER_WORKER_ROUTE}e; path=/\" env=BALANCER_ROUTE_CHANGED\n",
         [Step("p/a.txt", {"Cookie": "ROUTE=x.one"}), Step("p/a.txt", {"Cookie": "ROUTE=x.two"}), "p/a.txt", "p/a.txt", Step("manager", skip_body=True)], BACK,
         needs=["proxy", "proxy_http", "slotmem_shm", "lbmethod_byrequests"]),
    *[Case(f"lbmethod_{method}", f"<Proxy balancer://{method}>\nBalancerMember {SELF} route=one\nProxySet lbmethod={method}\n</Proxy>\nProxyPass /lbmethod_{method}/p/ balancer://{method}/lbmethod_{method}/b/\n",
           ["p/a.txt", "p/a.txt"], BACK, needs=["proxy", "proxy_http", "slotmem_shm", "proxy_balancer"]) for method in ("byrequests", "bytraffic", "bybusyness")],
    Case("slotmem_shm", f"<Proxy balancer://slot>\nBalancerMember {SELF}\n</Proxy>\nProxyPass /slotmem_shm/p/ balancer://slot/slotmem_shm/b/\n", ["p/a.txt"], BACK,
         needs=["proxy", "proxy_http", "proxy_balancer", "lbmethod_byrequests"], alone=True),
    Case("slotmem_plain", "", ["a.txt"], A),
    Case("proxy_fcgi", "ProxyPass /proxy_fcgi/p/ fcgi://127.0.0.1:@FCGI@/srv/\nProxyPass /proxy_fcgi/keep/ fcgi://127.0.0.1:@FCGI@/srv/ enablereuse=on\n<Location /proxy_fcgi/h>\nSetHandler \"proxy:fcgi://127.0.0.1:@FCGI@/\"\n</Location>\n",
         GATEWAY + ["keep/x", "keep/y", "keep/long", "h/script.php/x?y"], {"h/script.php": "x"}, needs=["proxy"], unframed=True),
    Case("proxy_scgi", "ProxyPass /proxy_scgi/p/ scgi://127.0.0.1:@SCGI@/\n", GATEWAY, needs=["proxy"], unframed=True),
    Case("proxy_uwsgi", "ProxyPass /proxy_uwsgi/p/ uwsgi://127.0.0.1:@UWSGI@/\n", GATEWAY, needs=["proxy"], unframed=True),
    Case("proxy_ajp", "ProxyPass /proxy_ajp/p/ ajp://127.0.0.1:1/\n", ["p/x"], needs=["proxy"]),
    Case("proxy_ftp", "ProxyPass /proxy_ftp/p/ ftp://127.0.0.1:1/\n", ["p/x"], needs=["proxy"]),
    Case("proxy_wstunnel", "ProxyPass /proxy_wstunnel/ws ws://127.0.0.1:1/\n", ["ws"], needs=["proxy", "proxy_http"], probe=websocket_probe),
    Case("proxy_connect", "ProxyRequests On\nAllowCONNECT @PORT@\n<Proxy *>\nRequire all granted\n</Proxy>\n", ["a.txt"], A, needs=["proxy"], probe=connect_probe, alone=True),
    Case("proxy_express", "ProxyExpressEnable On\nProxyExpressDBMFile @D@/none\nProxyExpressDBMType SDBM\n", ["a.txt"], A, needs=["proxy"], alone=True),
    Case("proxy_fdpass", "ProxyPass /proxy_fdpass/p/ fd://none/socket\n", ["a.txt"], A, needs=["proxy"]),
    Case("proxy_hcheck", f"LogLevel proxy_hcheck:debug\nProxyHCExpr ok {{%{{REQUEST_STATUS}} =~ /^[234]/}}\n<Proxy balancer://hc>\nBalancerMember {SELF} hcmethod=GET hcuri=/proxy_hcheck/b/a.txt hcinterval=1 hcexpr=ok\n"
         "BalancerMember http://127.0.0.1:1 hcmethod=TCP hcinterval=1\n</Proxy>\nProxyPass /proxy_hcheck/p/ balancer://hc/proxy_hcheck/b/\n", [], BACK,
         needs=["proxy", "proxy_http", "slotmem_shm", "lbmethod_byrequests", "proxy_balancer", "watchdog"], probe=hcheck_probe,
         logs={"logs/error_log": r"proxy_hcheck:(debug|info)\].*(Health check|AH0325\d|AH0330\d)"}, alone=True),
    Case("cache", "CacheRoot @ROOT@/work\nCacheEnable disk /cache/\nCacheHeader On\nCacheDetailHeader On\nCacheQuickHandler On\nCacheDefaultExpire 3600\nCacheIgnoreNoLastMod On\n",
         ["a.txt", "a.txt", "HEAD a.txt", Step("a.txt", lambda rs: {"If-None-Match": rs[0]["ETag"]}), Step("a.txt", {"Cache-Control": "no-cache"}), Step("a.txt", {"Range": "bytes=0-1"}), "a.txt?x", "none", "none", "long.txt", "long.txt"],
         {**A, "long.txt": LONG}, needs=["cache", "cache_disk"], unify=AGES),
    Case("cache_disk", "CacheRoot @ROOT@/work\nCacheHeader On\nCacheQuickHandler Off\nCacheIgnoreNoLastMod On\n<Location /cache_disk/>\nCacheEnable disk\n</Location>\nCacheDirLevels 1\n",
         ["a.txt", "a.txt", "HEAD a.txt", Step("a.txt", lambda rs: {"If-None-Match": rs[0]["ETag"]})], A, needs=["cache"], unify=AGES, alone=True),
    Case("cache_socache", "CacheSocache shmcb\nCacheHeader On\nCacheEnable socache /cache_socache/\nCacheIgnoreNoLastMod On\n", ["a.txt", "a.txt", "HEAD a.txt"], A, needs=["socache_shmcb", "cache"], unify=AGES, alone=True),
    Case("ssl", "SSLSessionCache shmcb:@ROOT@/work/ssl(65536)\n" + vhost_on_tls("ssl", SSL + "<Location /ssl>\nHeader set X-Tls \"%{SSL_PROTOCOL}s %{HTTPS}e\"\nSSLOptions +StdEnvVars\n</Location>\n"
         "RewriteEngine On\nRewriteRule ^/ssl/env$ /ssl/a.txt [E=SEEN:%{SSL:SSL_PROTOCOL}]\n<Location /ssl/strict>\nSSLRequireSSL\n</Location>\n"), ["a.txt", "long.txt"],
         {**A, "long.txt": LONG, "key.pem": certificate}, needs=["socache_shmcb", "rewrite"], probe=tls_probe, programs=["/usr/bin/openssl"], alone=True),
    Case("http2", "Protocols h2c http/1.1\n" + vhost_on_tls("http2", "Protocols h2 http/1.1\n" + SSL) + "<Directory @D@>\nOptions +ExecCGI\nAddHandler cgi-script .cgi\n</Directory>\n", ["a.txt"],
         {**A, "long.txt": LONG, "key.pem": certificate, "a.cgi": "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\necho $SERVER_PROTOCOL $QUERY_STRING\n"}, needs=["socache_shmcb", "ssl", "cgi"], probe=h2_probe,
         programs=["/usr/bin/openssl", "/usr/bin/curl"], alone=True),
    Case("proxy_http2", "Protocols h2c http/1.1\nProxyPass /proxy_http2/p/ h2c://127.0.0.1:@PORT@/proxy_http2/b/\n", ["p/a.txt", "p/long.txt", "p/none", Step("POST p/a.txt", {}, "body")], BACK, needs=["http2", "proxy"],
         unify=[(r"Apache/[\d.]+ \(Debian\)|Brigade/[\d.]+ \(Unix\)", "SERVER")], alone=True),
    Case("lua", """
        <Directory @D@>
            AddHandler lua-script .lua
        </Directory>
        LuaMapHandler ^/lua/mapped/(\\w+)$ @D@/a.lua handle_$1
        LuaHookFixups @D@/hook.lua fixups
        LuaOutputFilter LUAF @D@/hook.lua filter
        LuaInputFilter LUAI @D@/hook.lua input
        LuaAuthzProvider two @D@/rules.lua two_words
        LuaAuthzProvider user @D@/rules.lua by_user
        <Location /lua/filtered>
            SetOutputFilter LUAF
        </Location>
        <Location /lua/upper.lua>
            SetInputFilter LUAI
        </Location>
        <Location /lua/guarded>
            <RequireAny>
                Require two one two
                Require user /lua/guarded/known.txt
            </RequireAny>
        </Location>
        LuaHookTranslateName @D@/rules.lua translate
        LuaHookAccessChecker @D@/rules.lua access
        LuaHookTypeChecker @D@/rules.lua type
        LuaHookMapToStorage @D@/rules.lua storage
        LuaHookLog @D@/rules.lua logged
        """, ["a.lua", "a.lua?x=1&y=2", Step("POST a.lua", {"Content-Type": "application/x-www-form-urlencoded"}, "p=q"), "mapped/one", "mapped/none", "bad.lua", "fixed.txt", "filtered/a.txt", "a.lua?sub", Step("POST upper.lua", {}, "some words\n"), "guarded/a.txt", "guarded/a.txt?right", "guarded/known.txt", "translated.txt", "closed.txt", "typed.xyz", "own.lua"],
         {"a.lua": "function handle(r)\n r.content_type = 'text/plain'\n r:puts('method ', r.method, ' args ', tostring(r.args), '\\n')\n if r.method == 'POST' then for k, v in pairs(r:parsebody()) do r:puts(k, '=', v, '\\n') end end\n"
          " r.headers_out['X-Lua'] = 'yes'\n r:puts(r.uri, ' ', r:escape('a b'), ' ', r:md5('x'), '\\n')\n return apache2.OK\nend\nfunction handle_one(r)\n r:puts('one')\n return apache2.OK\nend\n",
          "hook.lua": "require 'apache2'\nfunction input(r)\n coroutine.yield()\n while bucket do\n coroutine.yield(bucket:upper())\n end\n coroutine.yield()\nend\nfunction fixups(r)\n if r.uri:match('fixed') then r.headers_out['X-Fixed'] = 'yes' end\n return apache2.DECLINED\nend\n"
          "function filter(r)\n coroutine.yield('<')\n while bucket do\n coroutine.yield(bucket:upper())\n end\n coroutine.yield('>')\nend\n",
          "rules.lua": "require 'apache2'\nfunction two_words(r, a, b)\n if r.args == 'right' and a == 'one' and b == 'two' then return apache2.AUTHZ_GRANTED end\n return apache2.AUTHZ_DENIED\nend\n"
          "function by_user(r, path)\n return r.uri == path and apache2.AUTHZ_GRANTED or apache2.AUTHZ_NEUTRAL\nend\n"
          "function translate(r)\n if r.uri == '/lua/translated.txt' then r.filename = r.document_root .. '/lua/fixed.txt' return apache2.OK end\n return apache2.DECLINED\nend\n"
          "function access(r)\n if r.uri == '/lua/closed.txt' then return 403 end\n return apache2.OK\nend\n"
          "function type(r)\n if r.uri == '/lua/typed.xyz' then r.content_type = 'text/x-own' return apache2.OK end\n return apache2.DECLINED\nend\n"
          "function storage(r)\n if r.uri == '/lua/stored' then return apache2.OK end\n return apache2.DECLINED\nend\n"
          "function logged(r)\n r:err('logged ' .. r.uri)\n return apache2.OK\nend\n",
          "upper.lua": "function handle(r)\n r:puts(tostring(r:requestbody()))\n return apache2.OK\nend\n", "guarded/a.txt": "G\n", "guarded/known.txt": "K\n", "closed.txt": "C\n", "typed.xyz": "T\n",
          "own.lua": "function handle(r)\n r.status = 418\n r.err_headers_out['X-Err'] = 'yes'\n r:puts(r.hostname, r.protocol, r.port, tostring(r.is_https), r.server_name, tostring(r:is_initial_req()), r.useragent_ip, r.unparsed_uri)\n return apache2.OK\nend\n",
          "bad.lua": "nonsense here\n", "fixed.txt": "f\n", "filtered/a.txt": "some text\n"},
         logs={"logs/error_log": "logged /lua/a.lua"}, alone=True),
    Case("dav", "DavLockDB @ROOT@/work/davlock\n<Location /dav/w>\nDav On\nDavMinTimeout 60\nDavDepthInfinity On\n</Location>\n",
         ["OPTIONS w/", Step("PUT w/new.txt", {}, "new body\n"), "w/new.txt", Step("PUT w/new.txt", {}, "newer body\n"), "MKCOL w/col", "MKCOL w/col", Step("PROPFIND w/", {"Depth": "1"}), Step("PROPFIND w/new.txt", {"Depth": "0"}),
          Step("PROPPATCH w/new.txt", XML, PROPS), Step("PROPFIND w/new.txt", {"Depth": "0", **XML}, '<?xml version="1.0"?><propfind xmlns="DAV:"><prop><colour xmlns="urn:own"/></prop></propfind>'),
          Step("COPY w/new.txt", lambda rs: {"Destination": "/dav/w/copy.txt"}), "w/copy.txt", Step("MOVE w/copy.txt", {"Destination": "/dav/w/col/moved.txt"}), "w/col/moved.txt", Step("LOCK w/new.txt", XML, LOCK),
          Step("PUT w/new.txt", {}, "not allowed"), Step("PUT w/new.txt", lock_token, "allowed\n"), Step("UNLOCK w/new.txt", lambda rs: {"Lock-Token": lock_token(rs).get("If", "()")[1:-1]}),
          "DELETE w/col", "DELETE w/none", Step("PROPFIND w/", {"Depth": "infinity"}), Step("PUT w/none/x", {}, "x"), Step("PUT w/part", {"Content-Range": "bytes 0-1/*"}, "ab"), Step("PROPFIND w/", XML, "<bad")],
         {"w/index.html": "w\n"}, needs=["dav", "dav_fs"], unify=TOKEN, prepare=lambda server: __import__("os").chmod(server.path("htdocs/dav/w"), 0o777)),
    Case("dav_fs", "DavLockDB @ROOT@/work/davlock\n<Location /dav_fs/w>\nDav filesystem\n</Location>\n", [Step("PUT w/a.txt", {}, "a\n"), "w/a.txt", "DELETE w/a.txt", "w/a.txt"], {"w/index.html": "w\n"},
         needs=["dav"], unify=TOKEN, alone=True, prepare=lambda server: __import__("os").chmod(server.path("htdocs/dav_fs/w"), 0o777)),
    Case("dav_lock", "<Location /dav_lock>\nDavGenericLockDB @ROOT@/work/generic\n</Location>\n", ["a.txt"], A, needs=["dav"], alone=True),
    Case("dbd", "DBDriver sqlite3\nDBDParams @D@/base\nDBDPersist On\nDBDPrepareSQL \"select password from users where name = %s\" get\n", ["a.txt"], {**A, "base": lambda path: database(path)}, alone=True),
    Case("authn_dbd", "DBDriver sqlite3\nDBDParams @D@/base\n<Location /authn_dbd>\nAuthType Basic\nAuthName dbd\nAuthBasicProvider dbd\nAuthDBDUserPWQuery \"select password from users where name = %s\"\nRequire valid-user\n</Location>\n",
         ["a.txt", Step("a.txt", {"Authorization": "Basic dXNlcjpzZWNyZXQ="}), Step("a.txt", {"Authorization": "Basic dXNlcjp3cm9uZw=="})], {**A, "base": lambda path: database(path)},
         needs=["dbd", "authn_core", "authz_user", "auth_basic"], alone=True),
    Case("authz_dbd", "DBDriver sqlite3\nDBDParams @D@/base\n<Location /authz_dbd>\nAuthType Basic\nAuthName dbd\nAuthBasicProvider dbd\nAuthDBDUserPWQuery \"select password from users where name = %s\"\n"
         "AuthzDBDQuery \"select grp from users where name = %s\"\nRequire dbd-group staff\n</Location>\n",
         ["a.txt", Step("a.txt", {"Authorization": "Basic dXNlcjpzZWNyZXQ="}), Step("a.txt", {"Authorization": "Basic b3RoZXI6c2VjcmV0"})], {**A, "base": lambda path: database(path)},
         needs=["dbd", "authn_core", "authn_dbd", "authz_user", "auth_basic"], alone=True),
    Case("session_dbd", "DBDriver sqlite3\nDBDParams @D@/base\n", ["a.txt"], {**A, "base": lambda path: database(path)}, needs=["dbd", "session"], alone=True),
    Case("ldap", "LDAPSharedCacheSize 100000\n<Location /ldap/s>\nSetHandler ldap-status\n</Location>\n", ["a.txt", Step("s", skip_body=True)], A),
    Case("authnz_ldap", "<Location /authnz_ldap>\nAuthType Basic\nAuthName ldap\nAuthBasicProvider ldap\nAuthLDAPURL ldap://127.0.0.1:1/o=x\nRequire valid-user\n</Location>\n",
         ["a.txt", Step("a.txt", {"Authorization": "Basic dXNlcjpzZWNyZXQ="})], A, needs=["ldap", "authn_core", "authz_user", "auth_basic"]),
    Case("authnz_fcgi", "AuthnzFcgiDefineProvider authn fauth fcgi://127.0.0.1:@FCGI@/\n<Location /authnz_fcgi>\nAuthType Basic\nAuthName f\nAuthBasicProvider fauth\nRequire valid-user\n</Location>\n",
         ["a.txt", Step("a.txt", {"Authorization": "Basic dXNlcjpzZWNyZXQ="})], A, needs=["authn_core", "authz_user", "auth_basic"]),
    Case("heartbeat", "HeartbeatAddress 127.0.0.1:27999\n", ["a.txt"], A, needs=["watchdog"], alone=True, logs={"logs/error_log": "resuming normal operations"}),
    Case("heartmonitor", "HeartbeatListen 127.0.0.1:27998\nHeartbeatStorage @ROOT@/work/hb\n", ["a.txt"], A, needs=["watchdog", "slotmem_shm"], alone=True),
    Case("lbmethod_heartbeat", "", ["a.txt"], A, needs=["proxy", "slotmem_shm", "proxy_balancer"]),
    Case("md", "MDStoreDir @ROOT@/work/md\nMDCertificateAgreement accepted\n<Location /md/status>\nSetHandler md-status\n</Location>\n", ["a.txt", "status"], A, needs=["watchdog", "socache_shmcb", "ssl"], alone=True),
    Case("socache_memcache", "AuthnCacheSOCache memcache:127.0.0.1:1\n", ["a.txt"], A, needs=["authn_core", "authn_socache"], alone=True),
    Case("socache_redis", "AuthnCacheSOCache redis:127.0.0.1:1\n", ["a.txt"], A, needs=["authn_core", "authn_socache"], alone=True),
    Case("echo", "Listen 127.0.0.1:@TLS@\n<VirtualHost 127.0.0.1:@TLS@>\nProtocolEcho On\n</VirtualHost>\n", ["a.txt"], A, probe=echo_probe, alone=True),
]


def database(path):
    import os
    import sqlite3
    base = sqlite3.connect(path)
    base.execute("create table users (name text, password text, grp text)")
    hashed = "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="
    base.executemany("insert into users values (?, ?, ?)", [("user", hashed, "staff"), ("other", hashed, "rest")])
    base.commit()
    base.close()
    os.chmod(path, 0o644)
