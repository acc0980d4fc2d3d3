# SPDX-License-Identifier: Apache-2.0
"""Cases of packages.py: PHP, and Python by mod_wsgi and mod_fcgid."""
import re

from .package_parts import FORM, LINE, MULTIPART, UPLOAD, Case, Step, available, basic, chunked, cookie_of, sha

PHP_NAME = next((n for n in reversed(available()) if re.fullmatch(r"php[\d.]+", n)), "php8.2")
PHP = [
    Case("php", """
<Directory @D@>
    AllowOverride All
    DirectoryIndex index.php
</Directory>
<Directory @D@/secret>
    AuthType Basic
    AuthName php
    AuthBasicProvider file
    AuthUserFile @D@/users
    Require valid-user
</Directory>
ErrorDocument 404 /php/error.php
""", ["t.php", "t.php?a=1&b[]=2&b[]=3", "t.php/path/info?x", "HEAD t.php", "/php/", "none.php", "none.txt",
      Step("POST t.php", FORM, b"a=1&c=d+e%21"), Step("POST t.php", MULTIPART, UPLOAD),
      Step("POST input.php", {"Content-Type": "text/x", "Transfer-Encoding": "chunked"}, chunked(LINE * 100, b"end")),
      Step("PUT input.php", {}, b"put " * 20000), Step("POST input.php", {"Expect": "100-continue"}, LINE * 10),
      "headers.php", Step("headers.php", version="1.0"), "status.php?404", "status.php?204", "status.php?304", "status.php?500",
      "redirect.php", "session.php", Step("session.php", cookie_of), Step("session.php", cookie_of),
      "stream.php", "large.php", Step("large.php", {"Range": "bytes=0-9"}), "conf/value.php", "fatal.php", "exit.php",
      "parse-error.php", "apache.php", "virtual.php", "secret/who.php", Step("secret/who.php", basic("u", "pw")),
      Step("GET t.php", {"Accept-Encoding": "gzip"}), Step("TRACE t.php"), Step("OPTIONS t.php"), "source.phps", ".php",
      "readfile.php", "timeout.php", "putenv.php?one", "putenv.php", "chdir.php", "include.php", "shutdown.php", "ob.php"],
        {"t.php": "<?php print_r($_GET); print_r($_POST); print_r(array_map(fn($f) => [$f['name'], $f['size'], $f['error'], "
                  "crc32(file_get_contents($f['tmp_name']))], $_FILES)); foreach (['REQUEST_METHOD','PATH_INFO','QUERY_STRING',"
                  "'SCRIPT_NAME','PHP_SELF','REQUEST_URI','SCRIPT_FILENAME','DOCUMENT_ROOT','GATEWAY_INTERFACE','SERVER_PORT',"
                  "'CONTENT_TYPE','CONTENT_LENGTH','PATH_TRANSLATED','SERVER_PROTOCOL','REQUEST_SCHEME'] as $n) "
                  "echo $n, '=', $_SERVER[$n] ?? '', \"\\n\";",
         "index.php": "<?php echo 'index ', php_sapi_name(), ' ', PHP_ZTS;", "error.php": "<?php echo $_SERVER['REDIRECT_STATUS'], ' ', $_SERVER['REDIRECT_URL'];",
         "input.php": "<?php $b = file_get_contents('php://input'); echo $_SERVER['REQUEST_METHOD'], strlen($b), md5($b);",
         "headers.php": "<?php header('X-A: 1'); header('X-A: 2', false); header('Content-Type: text/x-own'); setcookie('c', 'v'); "
                        "header_remove('X-Powered-By'); echo isset($_SERVER['HTTP_HOST']);",
         "status.php": "<?php http_response_code((int)$_SERVER['QUERY_STRING']); echo 'body of ', $_SERVER['QUERY_STRING'];",
         "redirect.php": "<?php header('Location: /elsewhere'); exit;",
         "session.php": "<?php session_save_path('@ROOT@/work'); session_start(); $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1; echo $_SESSION['n'];",
         "stream.php": "<?php for ($i = 0; $i < 50; $i++) { echo \"part $i\\n\"; ob_flush(); flush(); }",
         "large.php": "<?php echo str_repeat(str_repeat('x', 1000) . \"\\n\", 3000);",
         "conf/.htaccess": "php_value memory_limit 77M\nphp_flag display_errors on\nphp_value auto_prepend_file none.inc\nphp_value auto_prepend_file none\n",
         "conf/value.php": "<?php echo ini_get('memory_limit'), ini_get('display_errors'), ini_get('auto_prepend_file');",
         "fatal.php": "<?php echo 'before'; none();", "exit.php": "<?php echo 'x'; exit(3);", "parse-error.php": "<?php if (",
         "apache.php": "<?php apache_setenv('V', 'w'); echo apache_getenv('V'), apache_note('n', 'o'), apache_note('n'); $h = apache_request_headers(); "
                       "ksort($h); print_r($h); $u = apache_lookup_uri('/php/t.php'); echo $u->status, $u->the_request, $u->content_type; "
                       "print_r(apache_response_headers());",
         "virtual.php": "<?php echo 'a'; virtual('/php/plain.txt'); echo 'b';", "plain.txt": "plain\n",
         "secret/who.php": "<?php echo $_SERVER['PHP_AUTH_USER'], $_SERVER['REMOTE_USER'], $_SERVER['AUTH_TYPE'];",
         "users": f"u:{sha('pw')}\n",
         "source.phps": "<?php 1;", ".php": "<?php 2;", "readfile.php": "<?php header('Content-Type: text/plain'); readfile(__DIR__ . '/plain.txt');",
         "timeout.php": "<?php set_time_limit(1); ini_set('display_errors', '1'); while (1) { $i = 1; }",
         "putenv.php": "<?php if ($_SERVER['QUERY_STRING'] == 'one') putenv('LEFT=behind'); echo getenv('LEFT');",
         "chdir.php": "<?php echo basename(getcwd());", "include.php": "<?php include 'inc/part.inc'; echo part();", "inc/part.inc": "<?php function part() { return 'part'; }",
         "shutdown.php": "<?php register_shutdown_function(function () { echo 'at the end'; }); echo 'first ';",
         "ob.php": "<?php ob_start(fn($b) => strtoupper($b)); echo 'shout';"},
        needs=["auth_basic", "authn_core", "authn_file", "authz_user"], packaged=[PHP_NAME], prefork=True,
        unify=[(r"PHPSESSID=\w+", "PHPSESSID=@"), (r"on line (\d+)", r"line \1"), (r"Apache/2\S+ \(Debian\)|Brigade/\S+ \(Unix\)", "@SERVER@")]),
]

WSGI_APP = '''
import hashlib, os
def application(environ, start_response):
    path, q = environ.get('PATH_INFO', ''), environ.get('QUERY_STRING', '')
    if path == '/stream':
        start_response('200 OK', [('Content-Type', 'text/plain')])
        return (b'part %d\\n' % i for i in range(30))
    if path == '/write':
        w = start_response('200 Fine', [('Content-Type', 'text/plain'), ('X-A', '1'), ('X-A', '2')])
        w(b'written\\n')
        return [b'returned\\n']
    if path == '/body':
        body = environ['wsgi.input'].read()
        out = b'%d %s\\n' % (len(body), hashlib.md5(body).hexdigest().encode())
    elif path == '/lines':
        out = b'|'.join(l.strip() for l in environ['wsgi.input'])[:200]
    elif path == '/error':
        raise RuntimeError('on purpose')
    elif path == '/length':
        start_response('201 Created', [('Content-Type', 'text/plain'), ('Content-Length', '5')])
        return [b'exact']
    elif path == '/none':
        start_response('204 No Content', [])
        return []
    elif path == '/file':
        start_response('200 OK', [('Content-Type', 'text/plain')])
        return environ['wsgi.file_wrapper'](open(__file__, 'rb'))
    elif path == '/big':
        out = b'0123456789' * 300000
    else:
        names = ['REQUEST_METHOD', 'SCRIPT_NAME', 'PATH_INFO', 'QUERY_STRING', 'SERVER_PROTOCOL', 'HTTP_HOST', 'CONTENT_TYPE',
                 'wsgi.url_scheme', 'mod_wsgi.script_name', 'mod_wsgi.path_info', 'REMOTE_USER', 'mod_wsgi.process_group',
                 'mod_wsgi.application_group', 'mod_wsgi.callable_object']
        out = '\\n'.join('%s=%r' % (n, environ.get(n)) for n in names).encode()
    start_response('200 OK', [('Content-Type', 'text/plain'), ('Content-Length', str(len(out)))])
    return [out]
'''
WSGI_ASKS = ["app", "app/path?x=1", "HEAD app", "app/stream", "app/write", Step("POST app/body", {}, LINE * 3000), "app/error", "app/length",
             Step("POST app/body", {"Transfer-Encoding": "chunked"}, chunked(LINE * 10, b"end")), Step("POST app/lines", {}, LINE * 3),
             Step("POST app/body", {"Expect": "100-continue"}, LINE), "app/none", "app/file", "app/big", Step("app/big", {"Range": "bytes=0-9"}),
             Step("app", basic("u", "p")), Step("app/stream", version="1.0"), Step("DELETE app/x"), Step("POST app/path", FORM, b"unread=1" * 9000)]

WSGI = [
    # Apache takes ten seconds to end interpreters in threaded processes, unless it need not.
    Case("wsgi", "WSGIDestroyInterpreter Off\nWSGIScriptAlias /wsgi/app @D@/app.wsgi\nWSGIChunkedRequest On\nWSGIPassAuthorization On\n", WSGI_ASKS, {"app.wsgi": WSGI_APP},
         packaged=["wsgi"]),
    Case("wsgi", """
WSGISocketPrefix @ROOT@/logs/wsgi
WSGIDaemonProcess two processes=2 threads=3 display-name=%{GROUP} request-timeout=20
WSGIScriptAlias /wsgi-daemon/app @D@/app.wsgi process-group=two application-group=%{GLOBAL}
WSGIChunkedRequest On
""", WSGI_ASKS * 2, {"app.wsgi": WSGI_APP}, packaged=["wsgi"], name="wsgi-daemon"),
    Case("wsgi", "WSGIScriptAlias /wsgi-prefork/app @D@/app.wsgi\nWSGIChunkedRequest On\n", WSGI_ASKS, {"app.wsgi": WSGI_APP}, packaged=["wsgi"],
         name="wsgi-prefork", prefork=True),
]

FCGID_APP = '''#!/usr/bin/python3
# A FastCGI responder in little, on the socket that is descriptor 0.
import hashlib, os, socket, struct
def exactly(c, n):
    data = b''
    while len(data) < n:
        more = c.recv(n - len(data))
        if not more:
            raise EOFError
        data += more
    return data
def pairs(data):
    at, found = 0, {}
    while at < len(data):
        ns = []
        for _ in (0, 1):
            n = data[at]; at += 1
            if n > 127:
                n = (n & 127) << 24 | data[at] << 16 | data[at + 1] << 8 | data[at + 2]; at += 3
            ns.append(n)
        found[data[at:at + ns[0]].decode()] = data[at + ns[0]:at + sum(ns)].decode(); at += sum(ns)
    return found
def answer(env, body):
    q = env.get('QUERY_STRING', '')
    if q == 'status':
        return b'Status: 404 Gone fishing\\r\\nContent-Type: text/plain\\r\\n\\r\\nnot here\\n'
    if q == 'location':
        return b'Location: http://other.example/\\r\\n\\r\\n'
    if q == 'internal':
        return b'Location: /fcgid/plain.txt\\r\\n\\r\\n'
    if q == 'big':
        return b'Content-Type: text/plain\\r\\n\\r\\n' + b'0123456789' * 200000
    if q == 'exit':
        os._exit(1)
    told = ''.join('%s=%s\\n' % (n, env.get(n)) for n in ('REQUEST_METHOD', 'SCRIPT_NAME', 'PATH_INFO', 'QUERY_STRING', 'OWN', 'CONTENT_LENGTH'))
    return ('Content-Type: text/plain\\r\\nX-Own: 1\\r\\n\\r\\n%s%d %s\\n' % (told, len(body), hashlib.md5(body).hexdigest())).encode()
s = socket.socket(fileno=0)
while True:
    c, _ = s.accept()
    try:
        params = body = b''
        while True:
            v, kind, rid, n, pad = struct.unpack('>BBHHBx', exactly(c, 8))
            data = exactly(c, n); exactly(c, pad)
            if kind == 4:
                params += data
            elif kind == 5:
                body += data
                if not n:
                    break
        out = answer(pairs(params), body)
        for at in list(range(0, len(out), 30000)):
            piece = out[at:at + 30000]
            c.sendall(struct.pack('>BBHHBx', 1, 6, rid, len(piece), 0) + piece)
        c.sendall(struct.pack('>BBHHBx', 1, 6, rid, 0, 0) + struct.pack('>BBHHBx', 1, 3, rid, 8, 0) + bytes(8))
    except EOFError:
        pass
    c.close()
'''
FCGID_CONF = """
FcgidIPCDir @ROOT@/work
FcgidProcessTableFile @ROOT@/work/shm
FcgidInitialEnv OWN yes
FcgidMaxRequestLen 1000000
<Directory @D@>
    Options +ExecCGI
</Directory>
"""
FCGID_ASKS = ["a.fcgi", "a.fcgi/info?q=1", "HEAD a.fcgi", Step("POST a.fcgi", FORM, b"a=b" * 5000), "a.fcgi?status", "a.fcgi?location", "a.fcgi?internal",
              "a.fcgi?big", Step("POST a.fcgi", {"Transfer-Encoding": "chunked"}, chunked(LINE, LINE)), "a.fcgi?exit", "a.fcgi", "no.fcgi", "plain.txt",
              Step("POST a.fcgi", {}, b"x" * 1000001)]
FCGID = [Case("fcgid", FCGID_CONF, FCGID_ASKS, {"a.fcgi": FCGID_APP, "plain.txt": "plain\n"}, packaged=["fcgid"], programs=["/usr/bin/python3"])]
