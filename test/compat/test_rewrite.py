# SPDX-License-Identifier: Apache-2.0
"""Rules beside Apache's: answers and the trace of every step, for rules of a server, of sections and of .htaccess files.

A table of rules and requests, the rule sets of well-known applications, and random combinations from a fixed seed.
TEST_COUNT=N tries N combinations; TEST_SEED another seed.
"""
import itertools
import random
import re

import pytest

import effort
import brigade
from test_cases import Result, differences_of
from test_compare import APACHE, pytestmark  # noqa: F401

TRACE = "LogLevel warn rewrite:trace8"
# Addresses of objects, which are in each line of the trace.
IDS = r"\b(sid|rid)#[0-9a-f]+|(?<=brigade-test-)\w+"

FILES = {
    "index.html": "index\n", "a.txt": "a\n", "b.txt": "b\n", "empty.txt": "", "dir/index.html": "dir\n", "dir/a.txt": "dir a\n",
    "dir/x y.txt": "blank\n", "front.html": "front\n", "dir/front.html": "dir front\n", "dir/sub/index.html": "sub\n",
    "dir/sub/a.txt": "sub a\n", "prog.sh": {"script": "#!/bin/sh\n"}, "link.txt": {"link": "a.txt"}, "dir/q?x.txt": "mark\n",
    "map.txt": "# comment\nkey value\nkey second\nfile a.txt\n  indented no\nnovalue\ntwo words here\nnum 7 \npath dir/a.txt\nMixed Case\n",
    "rnd.txt": "one a.txt\nsame b.txt|b.txt|b.txt\n", "long.txt": "k" * 1500 + " v\nshort " + "w" * 1200 + "\n",
}
MAPS = ["RewriteMap m txt:${SITE}/map.txt", "RewriteMap plain ${SITE}/map.txt", "RewriteMap r rnd:${SITE}/rnd.txt",
        "RewriteMap low int:tolower", "RewriteMap up int:toupper", "RewriteMap esc int:escape", "RewriteMap un int:unescape",
        "RewriteMap long txt:${SITE}/long.txt"]
SHOW = "Header always set X-Env \"%{A}e|%{B}e|%{C}e|%{SCRIPT_URL}e|%{SCRIPT_URI}e\""

# Lines of rules, and the targets that are asked for. In a server, a target's first slash is in what is matched.
SERVER = {
    "plain": (["RewriteRule ^/x/(.*)$ /$1"], "/x/a.txt /x/dir/ /x/dir /x/none /a.txt /x/%61.txt /x/../a.txt //x//a.txt"),
    "no slash": (["RewriteRule ^/x/(.*)$ $1", "RewriteRule ^/y a.txt?b", "RewriteRule ^/z a.txt?b [R]"], "/x/a.txt /x/ /x/dir/a.txt /y /z"),
    "query": (["RewriteRule ^/q1$ /a.txt?x=1", "RewriteRule ^/q2$ /a.txt?x=1 [QSA]", "RewriteRule ^/q3$ /a.txt?", "RewriteRule ^/q4$ /a.txt? [QSA]",
               "RewriteRule ^/q5$ /a.txt [QSD]", "RewriteRule ^/q6$ /a.txt?b?c [QSL]", "RewriteRule ^/q7$ /a.txt?b?c", "RewriteRule ^/q8$ /a.txt?b& [QSA]",
               "RewriteRule ^/q9$ /a.txt?b [QSA,R]", "RewriteRule ^/q10$ /a.txt [R]", "RewriteRule ^/q11$ /a.txt? [R]", "RewriteRule ^/q12$ /a.txt [QSD,R]",
               "RewriteRule ^/q13$ /a.txt\\? [R]", "RewriteRule ^/q14$ /a.txt?%{QUERY_STRING}&z [R]", "RewriteRule ^/q15 /a.txt?& [R]"],
              " ".join(f"/q{n} /q{n}?y=2 /q{n}?%20%26" for n in range(1, 16))),
    "redirects": (["RewriteRule ^/r1 /a.txt [R]", "RewriteRule ^/r2 /a.txt [R=301]", "RewriteRule ^/r3 /a.txt [R=permanent]", "RewriteRule ^/r4 /a.txt [R=seeother]",
                   "RewriteRule ^/r5 /a.txt [R=temp]", "RewriteRule ^/r6 /a.txt [R=404]", "RewriteRule ^/r7 - [R=402]", "RewriteRule ^/r8 /a.txt [R=304]",
                   "RewriteRule ^/r9 http://else.example/x%20y [R]", "RewriteRule ^/r10 \"http://else.example/x y\" [R]", "RewriteRule ^/r11 \"http://else.example/x y\" [R,NE]",
                   "RewriteRule ^/r12(.*) https://else.example$1", "RewriteRule ^/r13 http://localhost/a.txt", "RewriteRule ^/r14 http://localhost:${PORT}/a.txt",
                   "RewriteRule ^/r15 http://localhost:${PORT}", "RewriteRule ^/r16 mailto:a@b", "RewriteRule ^/r17 foo://bar/x", "RewriteRule ^/r18 foo://bar/x [R]",
                   "RewriteRule ^/r19 //else.example/x [R]", "RewriteRule ^/r20 ldap://h/dn?attr?scope?f?e?g", "RewriteRule ^/r21(.*) a.txt$1 [R]",
                   "RewriteRule ^/r22 unix:/x", "RewriteRule ^/r23 WSS://h/x?y", "RewriteRule ^/r24 ftp://h/x?y", "RewriteRule ^/r25 https://localhost:${PORT}/x",
                   "RewriteRule ^/r26 ws://h/x", "RewriteRule ^/r27 news:x", "RewriteRule ^/r28 uwsgi://h/x", "RewriteRule ^/r29 ldaps://h/x?y", "RewriteRule ^/r30 h2://h/x",
                   "RewriteRule ^/r31 http://else.example#a?b", "RewriteRule ^/r32 /a#b [R]", "RewriteRule ^/r33 /a#b [R,NE]", "RewriteRule ^/r34 - [R]", "RewriteRule ^/r35 - [R=301]",
                   "RewriteRule ^/r36 nntp://h/x?y", "RewriteRule ^/r37 gopher://h/x?y", "RewriteRule ^/r38 news:x?y", "RewriteRule ^/r39 mailto:x?y"],
                  " ".join(f"/r{n} /r{n}?b%20c" for n in range(1, 40)) + " /r12/%20%3f /r21/%41%2b?x"),
    "answers": (["RewriteRule ^/f1 - [F]", "RewriteRule ^/f2 /x [F]", "RewriteRule ^/f3 - [G]", "RewriteRule ^/f4 - [G,L]", "RewriteRule ^/f5 http://x/ [F,R]", "RewriteRule ^/f6 - [R=500]",
                 "RewriteRule ^/f7 - [R=403,E=A:1]", "RewriteRule ^/f8 /b.txt [R=200]"], " ".join(f"/f{n}" for n in range(1, 9))),
    "flow": (["RewriteRule ^/c1 - [C]", "RewriteRule ^/never - [C]", "RewriteRule ^/c - [F]", "RewriteRule ^/s1 - [S=1]", "RewriteRule ^/s - [F]", "RewriteRule ^/s1 - [G]",
              "RewriteRule ^/n(.*)x(.*)$ /n$1y$2 [N]", "RewriteRule ^/l$ /a.txt [L]", "RewriteRule ^/a.txt$ /b.txt [C]", "RewriteRule ^/b.txt$ /c.txt", "RewriteRule ^/e$ /front.html [END]",
              "RewriteRule ^/front.html$ - [F]", "RewriteRule ^/loop$ /loop [N=5]", "RewriteRule ^/grow(.*) /grow$1$1 [N]", "RewriteRule ^/neg - [S=-1]", "RewriteRule ^/neg - [G]"],
             "/c1 /c2 /s1 /s2 /nxxx /l /a.txt /b.txt /e /loop /neg"),
    "growth": (["LogLevel warn", "RewriteRule ^/grow(.*) /grow$1$1 [N]", "RewriteRule ^/more(.*) /more/$1$1$1$1$1$1$1$1$1$1"], "/growabc /more/" + "x" * 2000),
    "one word": (["RewriteCond \"/q\"", "RewriteRule ^/q /a.txt", "RewriteCond '%{REQUEST_URI}'", "RewriteRule ^/u$ /b.txt", "RewriteRule \"^/w$\"", "RewriteRule '^/v$'"], "/q /u /w /v /a.txt"),
    "not": (["RewriteRule !^/(a|b).txt$ /b.txt$0"], "/a.txt /x"),
    "nocase": (["RewriteRule ^/AbC$ /a.txt [NC]"], "/abc /ABC /abd"),
    "env": (["RewriteRule ^/e1 /a.txt [E=A:1,E=B:%{REQUEST_URI},E=C]", "RewriteRule ^/e2 /a.txt [E=A]", "RewriteRule ^/e3 - [E=A:1]", "RewriteRule ^/e3 /a.txt [E=!A]",
             "RewriteRule ^/e4(.*) /a.txt [E=A:$1:x,E=B:%{ENV:A}]", "RewriteCond %{QUERY_STRING} (.+)", "RewriteRule ^/e5 /a.txt [E=\"A:%1\",env=B:x]", "RewriteRule ^/e6 /a.txt [E]"],
            "/e1 /e2 /e3 /e4/x?y /e5?foo /e5 /e6"),
    "cookies": (["RewriteRule ^/k1 /a.txt [CO=n:v:d]", "RewriteRule ^/k2 /a.txt [CO=n:v:d:0:/p:secure:httponly:Strict]", "RewriteRule ^/k3 /a.txt [CO=n:v]",
                 "RewriteRule ^/k4 /a.txt [CO=;n;v:w;d;0;/;true;1;false]", "RewriteRule ^/k5 /a.txt [CO=n:v:d:x:/:0:0:0]", "RewriteRule ^/k6 - [CO=n:v:d]", "RewriteRule ^/k6 /a.txt [CO=n:w:d,CO=m:%{REQUEST_URI}:d]",
                 "RewriteRule ^/k7 - [F,CO=n:v:d]", "RewriteRule ^/k8 /b.txt [CO=n:v:d:0:/:secure:HttpOnly:lax]", "RewriteRule ^/k9 /x [R,CO=a:b:c]", "RewriteRule ^/k10 /x [CO]"], " ".join(f"/k{n}" for n in range(1, 11))),
    "types": (["RewriteRule ^/t1 /a.txt [T=Text/X-Foo]", "RewriteRule ^/t2 - [T=text/html;charset=utf-8]", "RewriteRule ^/t3 /a.txt [H=Default-Handler]", "RewriteRule ^/(a).txt - [T=x/$1]",
               "RewriteRule ^/t4 /b.txt [T=,H=]", "RewriteRule ^/b.txt - [T=a/b,T=c/d]"], "/t1 /t2 /a.txt /t3 /t4 /b.txt"),
    "escape": (["RewriteRule ^/b1/(.*) /a.txt?x=$1 [B,R]", "RewriteRule ^/b2/(.*) /a.txt?x=$1 [B=aeiou\\ ,R]", "RewriteRule ^/b3/(.*) /a.txt?x=$1 [B,BNP,R]", "RewriteRule ^/b4/(.*) /a.txt?x=$1 [BCTLS,R]",
                "RewriteRule ^/b5/(.*) /a.txt?x=$1 [B,BNE=/-,R]", "RewriteRule ^/b6/(.*) /a.txt?x=$1 [BNP,R]", "RewriteRule ^/b7/(.*) /a.txt?x=$1 [BNE=/,R]", "RewriteRule ^/b8/(.*) /a.txt?x=$1 [B,NE,R]",
                "RewriteRule ^/b9/(.*) /a.txt?x=$1", "RewriteRule ^/b10/(.*) /a.txt?x=$1 [B]", "RewriteRule ^/b11/(.*) /a.txt?x=$1 [BCTLS]", "RewriteRule ^/b12/(.*) /dir/$1", "RewriteRule ^/b13/(.*) /dir/$1 [UnsafeAllow3F]",
                "RewriteRule ^/b14/(.*) /dir/$1?z", "RewriteRule ^/b15/(.*) /dir/$1 [B]", "RewriteRule ^/b16/(.*) /x/$1 [R]", "RewriteRule ^/b17/(.*) /x/$1 [R,NE]", "RewriteRule ^/b18/(.*) /a.txt?x=$1 [BCTLS,B=/,R]",
                "RewriteRule ^/b19/(.*) /a.txt?x=$1 [BCTLS,BNP,R]", "RewriteRule ^/b20/(.*) /a.txt?x=$1 [B,BNE=?\\ ,R]", "RewriteRule ^/b21/(.*) /a.txt?x=${low:$1} [B,R]", "RewriteRule ^/b22/(.*) http://x/$1?y [R,NE]",
                "RewriteRule ^/b23/(.*) - [E=A:$1,B]", "RewriteRule ^/b24/(.*)/(.*) /x/$2/$1 [R,UnsafeAllow3F]", "RewriteCond %{REQUEST_URI} ^/b25/(.*)", "RewriteRule ^ /x/%1 [B,R]", "RewriteRule ^/b26/(.*) /a.txt?$1 [NE]",
                "RewriteRule ^/b27 /x%{REQUEST_URI} [R]", "RewriteRule ^/b28/(.*) /x${low:$1} [R]", "RewriteRule ^/b29/(.*) /x/${m:none|$1} [R]", "RewriteRule ^/b30/(.*) /x\\?$1 [R]",
                "RewriteRule ^/b31/(.*) - [E=A:$1]", "RewriteCond $1 (.*)", "RewriteRule ^/b32/(.*) /x/%1 [R]", "RewriteRule ^/b33/(.*) /x/%{REQUEST_URI}$1 [R]"],
               " ".join(f"/b{n}/a%20b%3fc%26d%2be /b{n}/%c3%a4-_.~/%25%22%3c" for n in range(1, 34)) + " /b9/%0a /b11/%09%0d /b24/a%3fb/c /b24/a/c%3fd /b12/x%20y.txt /b12/q%3Fx.txt /b13/q%3Fx.txt /b15/q%3fx.txt /b16/%00 /b16/%2f /b26/a%20b"),
    "expand": (["RewriteRule ^/v1/(.*)$ /x?\\$1\\%%{REQUEST_URI}$$1$9%1$ [R]", "RewriteRule ^/v2 /x?%{FOO}%{ENV:NONE}%{HTTP:X-A}%{X [R]", "RewriteRule ^/v3 /x?${m:key}|${m:none}|${m:none|def}|${none:x|y}|${m}|${m:num} [R]",
                "RewriteRule ^/v4/(.*) /x?${m:${low:$1}|no-${up:$1}} [R]", "RewriteRule ^/v5/(.*) /x?${esc:$1}-${un:%41%20}-${low:ABC}-${up:abc} [R,NE]", "RewriteRule ^/v6 /x?${plain:file}${m:two}${m:novalue}${m:indented}${m:\\#}${m:#} [R]",
                "RewriteRule ^/v7/(.*) /${m:$1|b.txt}", "RewriteRule ^/v8 /${r:same}?${r:none|d} ", "RewriteRule ^/v9 /x?%{HTTP_HOST}%{HTTP_USER_AGENT}%{HTTP:Accept}%{HTTP_COOKIE} [R]",
                "RewriteRule ^/v10 /x?%{SERVER_NAME}%{SERVER_PORT}%{REQUEST_METHOD}%{SERVER_PROTOCOL}%{THE_REQUEST}%{HTTPS}%{REQUEST_SCHEME}%{IS_SUBREQ} [R]",
                "RewriteRule ^/v11 /x?%{REMOTE_ADDR}%{REMOTE_USER}%{AUTH_TYPE}%{PATH_INFO}%{SCRIPT_FILENAME}%{REQUEST_FILENAME}%{DOCUMENT_ROOT}%{SERVER_ADMIN}%{SERVER_ADDR} [R]",
                "RewriteRule ^/v12 /x?%{CONTEXT_PREFIX}%{CONTEXT_DOCUMENT_ROOT}%{IPV6}%{CONN_REMOTE_ADDR}%{SCRIPT_USER}%{SCRIPT_GROUP}%{REMOTE_IDENT}%{REMOTE_HOST}%{HTTP_FORWARDED}%{HTTP_PROXY_CONNECTION} [R]",
                "RewriteRule ^/v13 /x?%{request_uri}%{http:x-a}%{SSL:FOO}%{env:PATH}%{HANDLER} [R]", "RewriteRule ^/v14 /x?%{LA-U:REQUEST_FILENAME}|%{LA-F:REMOTE_USER}|%{LA-U:HTTP:X-A}|%{LA-U:ENV:A} [R]",
                "RewriteRule ^/v15(.*) /x?${m:{a}}${m:a\\}b|c}%{ENV:a:b}${m:a|b|c}\\ \\\\ [R]", "RewriteRule ^/v16 /x?${long:short}${long:k} [R]", "RewriteRule ^/v17/(.*)/(.*)/(.*) /$3/$2/$1/$0 [R]",
                "RewriteRule ^/v18 /x?${m:Mixed}${m:mixed|n} [R]", "RewriteRule ^/v19 \\/a\\.txt\\", "RewriteRule ^/v20 /x?%{TIME_YEA}%{TIMES}%{} [R]"],
               "/v1/abc /v2 /v3 /v4/KEY /v4/zzz /v5/a%20b /v6 /v7/file /v7/path /v7/none /v8 /v9 /v10?a /v11 /v12 /v13 /v14 /v15 /v16 /v17/a/b/c /v18 /v19 /v20"),
    "prefix": (["RewriteRule ^/p1/(.*) ${SITE}/$1", "RewriteRule ^/p2/(.*) /usr/share/$1", "RewriteRule ^/p3/(.*) $1", "RewriteRule ^/p4(/.*) $1", "RewriteRule ^/p5(/.*) $1 [UnsafePrefixStat]",
                "RewriteRule ^/p6/(.*) /$1 [UnsafePrefixStat]", "RewriteRule ^/p7/(.*) /~root/$1", "RewriteRule ^/p8/(.*) /~nosuchuser/$1", "RewriteRule ^/p9 /", "RewriteRule ^/p10 /dir/../a.txt", "RewriteRule ^/p11 \"\"", "RewriteRule ^/p12 /tmp",
                "RewriteRule ^/p13(.*) http://localhost:${PORT}/tmp$1", "RewriteRule ^/p14 //a.txt", "RewriteRule ^/p15 //a.txt [UNC]", "RewriteRule ^/p16 /dir//a.txt"],
               "/p1/a.txt /p2/x /p3/usr/bin /p3/a.txt /p4/usr/bin /p4/a.txt /p5/usr/bin /p5/etc/hostname /p6/usr /p6/a.txt /p7/x /p8/x /p9 /p10 /p11 /p12 /p13 /p13/x /p14 /p15 /p16 /p3/proxy:x /p3/http://x/ /p3/passthrough:/x"),
    "pass": (["Alias /al ${SITE}/dir", "RewriteRule ^/t1/(.*) /al/$1 [PT]", "RewriteRule ^/t2/(.*) /al/$1", "RewriteRule ^/al/z - [PT]", "RewriteRule ^/t3 /al/a.txt?x [PT,QSA]", "RewriteRule ^/t4 http://localhost:${PORT}/al/a.txt [PT]",
              "RewriteRule ^/t5 /x [PT,R]", "RewriteRule ^/t6 http://e.example/ [PT]"], "/t1/a.txt /t2/a.txt /al/a.txt /al/z /t3?y /t4 /t5 /t6 /t1/sub /t1/"),
    "proxy": (["RewriteRule ^/p1 http://localhost:1/ [P]", "RewriteRule ^/p2(.*) /x$1 [P]", "RewriteRule ^/p3 - [P]", "RewriteRule ^/p4 balancer://x/y?z [P,NE]"], "/p1 /p2/a%20b?c /p3 /p4"),
    "odd": (["RewriteRule ^(.*)$ /a.txt?$1"], "/ /x http://localhost/y http://other.example/y * /%2e%2e/x /a%2fb"),
    "dirindex": (["RewriteRule ^/d$ /dir", "RewriteRule ^/d2$ /dir/", "RewriteRule ^/$ /front.html", "RewriteRule ^/dir/index.html$ - [E=A:index]", "RewriteRule ^/dir2/$ /dir/ [PT]"], "/d /d2 / /dir/ /dir /dir2/"),
    "location": (["<Location /lo>", "RewriteEngine Off", "</Location>", "RewriteRule ^/l(.*) /a.txt"], "/lo/x /lx"),
}

CONDS = {
    "files": "%{REQUEST_FILENAME} -f|%{REQUEST_FILENAME} !-f|%{DOCUMENT_ROOT}%{REQUEST_URI} -f|%{DOCUMENT_ROOT}%{REQUEST_URI} -d|%{DOCUMENT_ROOT}/empty.txt -s|%{DOCUMENT_ROOT}/a.txt -s|"
             "%{DOCUMENT_ROOT}/link.txt -l|%{DOCUMENT_ROOT}/link.txt -h|%{DOCUMENT_ROOT}/link.txt -L|%{DOCUMENT_ROOT}/a.txt -l|%{DOCUMENT_ROOT}/link.txt -f|%{DOCUMENT_ROOT}/prog.sh -x|%{DOCUMENT_ROOT}/a.txt -x|"
             "%{DOCUMENT_ROOT}/a.txt -H|a -f|\"\" -f|/ -d|%{DOCUMENT_ROOT}/dir -x",
    # One for each, since a look ahead runs all rules again, ten deep: with several, Apache writes gigabytes.
    **{f"ahead{n}": cond for n, cond in enumerate(["%{REQUEST_URI} -U", "/none -U", "/dir/ -U", "%{REQUEST_FILENAME} -F", "%{DOCUMENT_ROOT}/a.txt -F",
                                                   "%{DOCUMENT_ROOT}/none -F", "a.txt !-F"])},
    "text": "a <b|a >b|a =a|a =A [NC]|a <=a|a >=a|aa <b|b >aa|%{REQUEST_URI} =/x|\"\" =\"\"|%{QUERY_STRING} =\"\"|a !=a|a !<b|Ab <aC [NC]|a <A [NC]",
    "numbers": "5 -eq5|5 -lt6|5 -gt4|5 -le5|5 -ge6|5 -ne5|5 -ne4|5 !-eq5|5x \"-eq 5\"|x -eq0|-3 -lt-2|5 -e5|5 -eq|5 -ltx|5 !-ne5|5 \"-lt  6\"",
    "regex": "%{REQUEST_URI} ^/x|%{REQUEST_URI} !^/x|%{REQUEST_URI} ^/X [NC]|%{HTTP_USER_AGENT} test|%{HTTP_USER_AGENT} ^$|%{HTTP:X-A} one|%{HTTP:X-A} !one|%{HTTP:X-A} (o)(n) [NV]|%{HTTP_HOST} localhost|"
             "$1 ^a|$0 x|%{QUERY_STRING} (^|&)a=([^&]*)|%{THE_REQUEST} ^GET|%{REQUEST_METHOD} ^(GET|POST)$|%{HTTP_REFERER}%{HTTP_COOKIE} a|%{HTTP_ACCEPT} !x [NV]|%{HTTPS} off|%{ENV:A} ^1|%{HTTP:X-A}|%{ENV:REDIRECT_STATUS} ^$",
    "expr": "expr \"%{REQUEST_URI} =~ m#^/x/(.)#\"|expr \"! %{REQUEST_URI} =~ m#^/x#\"|expr true|expr !true|expr \"%{HTTP:X-A} == 'one'\"|EXPR \"-f '%{REQUEST_FILENAME}'\"|expr \"!%{QUERY_STRING} -eq 1\"",
    "maps": "${m:key} value|${m:none|d} ^d$|${m:key} =value|${low:ABC} abc|${m:num} -eq7",
}

SECTION = {
    "plain": (["RewriteRule ^x/(.*)$ $1"], "/dir/x/a.txt /dir/x/ /dir/x /dir/a.txt /dir /dir/"),
    "absolute": (["RewriteRule ^y$ /a.txt", "RewriteRule ^z$ /dir/a.txt", "RewriteRule ^w$ ${SITE}/dir/a.txt"], "/dir/y /dir/z /dir/w"),
    "base": (["RewriteBase /dir/", "RewriteRule ^x/(.*)$ $1", "RewriteRule ^r$ a.txt [R]", "RewriteRule ^s$ /a.txt [R]", "RewriteRule ^t$ http://e.example${SITE}/dir/x [R]", "RewriteRule ^p$ a.txt [PT]"], "/dir/x/a.txt /dir/r /dir/s /dir/t /dir/p?x"),
    "other base": (["RewriteBase /other", "RewriteRule ^x/(.*)$ $1", "RewriteRule ^r$ a.txt [R]"], "/dir/x/a.txt /dir/r"),
    "redirect": (["RewriteRule ^r1$ a.txt [R]", "RewriteRule ^r2$ /a.txt [R=301]", "RewriteRule ^r3$ http://e.example/x?y [R,QSA]", "RewriteRule ^r4(.*)$ a.txt$1 [R,NE]", "RewriteRule ^r5$ - [R=404]", "RewriteRule ^r6$ http://e.example/"],
                 "/dir/r1 /dir/r1?q /dir/r2 /dir/r3?z%20 /dir/r4/%20%3fa /dir/r5 /dir/r6"),
    "loops": (["RewriteRule ^l$ l?x [QSA]", "RewriteRule ^(.*)m$ $1mm", "RewriteRule ^same$ same", "RewriteRule ^q$ a.txt?x", "RewriteRule ^a.txt$ a.txt?z=1 [QSA]"], "/dir/l /dir/m /dir/same /dir/q?y /dir/a.txt /dir/a.txt?z=1"),
    "end": (["RewriteRule ^e$ f [END]", "RewriteRule ^f$ a.txt", "RewriteRule ^g$ f [L]", "RewriteRule ^a.txt$ - [E=A:1,L]"], "/dir/e /dir/f /dir/g"),
    "path info": (["AcceptPathInfo On", "RewriteRule ^a.txt/(.*)$ a.txt?p=$1 [QSA]", "RewriteRule ^b/(.*)$ a.txt", "RewriteRule ^c/(.*)$ a.txt [DPI]", "RewriteRule ^front.html/(.*)$ front.html [DPI]", "RewriteRule ^sub/a.txt/y z"], "/dir/a.txt/x /dir/b/x /dir/c/x /dir/front.html/x /dir/sub/a.txt/y"),
    "types": (["RewriteRule ^a.txt$ - [T=x/y]", "RewriteRule ^b$ a.txt [T=x/z]", "RewriteRule ^c$ - [H=Default-Handler]", "RewriteRule ^front.html$ - [F]", "RewriteRule ^sub/(.*)$ - [G]"], "/dir/a.txt /dir/b /dir/c /dir/front.html /dir/sub/a.txt"),
    "env": (["RewriteRule ^a.txt$ - [E=A:$0]", "RewriteRule ^b$ a.txt [E=B:1,CO=n:v:d]"], "/dir/a.txt /dir/b"),
    "maps": (["RewriteRule ^m/(.*)$ /${m:$1|b.txt}", "RewriteRule ^u/(.*)$ ${low:$1}"], "/dir/m/file /dir/m/path /dir/m/x /dir/u/A.TXT"),
    "ahead": (["RewriteCond %{LA-U:REQUEST_FILENAME} (.*)", "RewriteRule ^x$ - [E=A:%1]", "RewriteCond %{LA-F:REQUEST_URI} (.*)", "RewriteRule ^a.txt$ - [E=B:%1]", "RewriteCond /dir/a.txt -U", "RewriteRule ^y$ a.txt"], "/dir/x /dir/a.txt /dir/y"),
    "proxy": (["RewriteRule ^p1$ http://localhost:1/ [P]", "RewriteRule ^p2$ x [P]"], "/dir/p1 /dir/p2"),
    "escape": (["RewriteRule ^b1/(.*)$ a.txt?x=$1 [B]", "RewriteRule ^b2/(.*)$ a.txt?x=$1", "RewriteRule ^b3/(.*)$ $1", "RewriteRule ^b4/(.*)$ $1 [UnsafeAllow3F]", "RewriteRule ^b5/(.*)$ $1 [NE,R]"],
               " ".join(f"/dir/b{n}/x%20y.txt /dir/b{n}/q%3fx.txt /dir/b{n}/a%26b" for n in range(1, 6))),
    "no links": (["Options -FollowSymLinks", "RewriteRule ^x$ a.txt"], "/dir/x /dir/a.txt"),
    "noslash": (["RewriteOptions AllowNoSlash", "RewriteRule ^$ a.txt", "RewriteRule ^/?$ front.html"], "/dir /dir/ /dir/sub"),
    "index": (["RewriteRule ^$ a.txt", "RewriteRule ^index.html$ front.html"], "/dir/ /dir /dir/index.html /dir/sub/"),
    "passthrough": (["RewriteRule ^x$ /b.txt [PT]", "RewriteRule ^y$ passthrough:/a.txt", "RewriteRule ^z$ proxy:http://x/", "RewriteRule ^w$ redirect:/a.txt"], "/dir/x /dir/y /dir/z /dir/w"),
    "off": (["RewriteRule ^x$ a.txt", "RewriteEngine Off"], "/dir/x"),
    "rounds": (["RewriteRule ^(.*)x(.*)$ $1y$2 [N]", "RewriteRule ^yyy$ a.txt", "RewriteRule ^loop$ loop [N=3]"], "/dir/xxx /dir/loop"),
}

APPLICATIONS = {
    "wordpress": "RewriteEngine On\nRewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]\nRewriteBase /dir/\nRewriteRule ^index\\.html$ - [L]\nRewriteCond %{REQUEST_FILENAME} !-f\n"
                 "RewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule . /dir/index.html [L]\n",
    "drupal": "RewriteEngine on\nRewriteRule ^ - [E=protossl]\nRewriteCond %{HTTPS} on\nRewriteRule ^ - [E=protossl:s]\nRewriteRule \"/\\.|^\\.(?!well-known/)\" - [F]\n"
              "RewriteCond %{REQUEST_URI} ^(.*)?/(install\\.php) [OR]\nRewriteCond %{REQUEST_URI} ^(.*)?/(rebuild\\.php)\nRewriteCond %{REQUEST_URI} !core\nRewriteRule ^ %1/core/%2 [L,QSA,R=301]\n"
              "RewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteCond %{REQUEST_URI} !=/favicon.ico\nRewriteRule ^ index.html [L]\n"
              "RewriteCond %{HTTP:Accept-encoding} gzip\nRewriteCond %{REQUEST_FILENAME}\\.gz -s\nRewriteRule ^(.*css_[a-zA-Z0-9-_]+)\\.css$ $1\\.css\\.gz [QSA]\nRewriteRule \\.css\\.gz$ - [T=text/css,E=no-gzip:1,E=no-brotli:1]\n",
    "laravel": "RewriteEngine On\nRewriteCond %{HTTP:Authorization} .\nRewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]\nRewriteCond %{HTTP:x-xsrf-token} .\n"
               "RewriteRule .* - [E=HTTP_X_XSRF_TOKEN:%{HTTP:X-XSRF-Token}]\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteCond %{REQUEST_URI} (.+)/$\nRewriteRule ^ %1 [L,R=301]\n"
               "RewriteCond %{REQUEST_FILENAME} !-d\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^ index.html [L]\n",
    "joomla": "RewriteEngine On\nRewriteCond %{QUERY_STRING} base64_encode[^(]*\\([^)]*\\) [OR]\nRewriteCond %{QUERY_STRING} (<|%3C)([^s]*s)+cript.*(>|%3E) [NC,OR]\n"
              "RewriteCond %{QUERY_STRING} GLOBALS(=|\\[|\\%[0-9A-Z]{0,2}) [OR]\nRewriteCond %{QUERY_STRING} _REQUEST(=|\\[|\\%[0-9A-Z]{0,2})\nRewriteRule .* index.html [F]\n"
              "RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]\nRewriteCond %{REQUEST_URI} !^/index\\.html\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule .* index.html [L]\n",
    "hosts": "RewriteEngine On\nRewriteCond %{HTTP_HOST} !^www\\. [NC]\nRewriteCond %{HTTP_HOST} ^(.+)$\nRewriteRule ^(.*)$ http://www.%1/$1 [R=301,L]\n",
    "hotlinks": "RewriteEngine On\nRewriteCond %{HTTP_REFERER} !^$\nRewriteCond %{HTTP_REFERER} !^http://(www\\.)?example\\.com/ [NC]\nRewriteRule \\.txt$ - [F]\n",
}
APPLICATION_TARGETS = "/dir/ /dir /dir/a.txt /dir/none /dir/none/ /dir/none/more?x=y /dir/index.html /dir/sub/ /dir/sub /dir/sub/none /dir/.hidden /dir/a.css /dir/install.php /dir/x?a=GLOBALS[ /dir/a.txt?<script>"

HEADERS = [{}, {"User-Agent": "test", "X-A": "one", "Accept": "x", "Cookie": "a=b", "Referer": "http://www.example.com/", "Authorization": "Basic x"}]


def asked(targets):
    return [{"path": path, "headers": headers} for path in targets.split() for headers in HEADERS]


def case(conf, requests, htaccess=None, trace=True, proxy=False):
    return {"name": "", "conf": ([TRACE] if trace else []) + [SHOW] + conf, "files": FILES, "requests": requests, "htaccess": htaccess or {},
            "load": ["rewrite"] + (["proxy", "proxy_http"] if proxy else []), "unload": [] if proxy else ["proxy"]}


class Without(Result):
    """Addresses and repeated look-ups of maps are not the same."""

    def error_lines(self):
        lines = [re.sub(IDS, r"\1#ID", line) for line in super().error_lines()]
        lines = [re.sub(r"cache lookup OK: (map=\w+\[\w+\] key=.*) -> val=(?=$|, referer)", r"map lookup FAILED: \1", line) for line in lines]
        lines = [re.sub(r"cache lookup OK", "map lookup OK", line.replace(self.server.root[1:], "ROOT")) for line in lines]
        return [line for line in lines if "cache lookup FAILED" not in line]


class RulesAlone(Without):
    def error_lines(self):
        return [line for line in super().error_lines() if line.startswith("[rewrite:")]


def compare(what, kind=Without):
    differ = list(differences_of(kind(what, APACHE), kind(what, brigade.BINARY)))
    assert not differ, "\n".join([f"{len(differ)} differences"] + differ[:8])


def server_case(lines, targets, trace=True):
    return case(["RewriteEngine On"] + MAPS + lines, asked(targets), trace=trace)


def section_case(lines, targets, where, trace=True):
    lines = ["RewriteEngine On"] + lines
    if where == "htaccess":
        return case(MAPS, asked(targets), {"dir": "\n".join(lines) + "\n"}, trace)
    return case(MAPS + ["<Directory ${SITE}/dir>"] + lines + ["</Directory>"], asked(targets), trace=trace)


@pytest.mark.parametrize("name", SERVER)
def test_server(name):
    compare(server_case(*SERVER[name]))


@pytest.mark.parametrize("name", SERVER)
def test_server_from_memory(name):
    compare(server_case(*SERVER[name], trace=False))


@pytest.mark.parametrize("where", ["directory", "htaccess"])
@pytest.mark.parametrize("name", SECTION)
def test_section(name, where):
    compare(section_case(*SECTION[name], where))


@pytest.mark.parametrize("name", SECTION)
def test_htaccess_from_memory(name):
    compare(section_case(*SECTION[name], "htaccess", trace=False))


def cond_lines(name, pattern):
    lines = []
    for n, cond in enumerate(CONDS[name].split("|") if name != "regex" else re.split(r"\|(?=[%$])", CONDS[name])):
        lines += [f"RewriteCond {cond}"] * (1 if " " in cond else 0) or [f"RewriteCond {cond} ^"]
        # Behind an expression without a match, what Apache has of the captures before depends on what is on its stack.
        captures = "" if "expr" in cond.lower() and "=~" not in cond else "-%1-%2"
        lines += [f"RewriteRule {pattern} - [E=A:%{{ENV:A}}:{n}{captures}]"]
    return lines


@pytest.mark.parametrize("where", ["server", "directory", "htaccess"])
@pytest.mark.parametrize("name", CONDS)
def test_conditions(name, where):
    targets = "/dir/a.txt /dir/x/abc?a=5 /dir/ /dir/sub"
    if where == "server":
        compare(server_case(cond_lines(name, "^/(.*)"), targets + " /x/abc"))
    else:
        compare(section_case(cond_lines(name, "(.*)"), targets, where))


@pytest.mark.parametrize("lines", ["RewriteRule ^/?(x.*) http://localhost:1/$1 [P]", "RewriteRule ^/?(x.*) http://localhost:1/$1 [P,NE]", "RewriteRule ^/?(x.*) http://localhost:1/$1?a=b%20c [P,QSA]",
                                   "RewriteRule ^/?(x.*) /y/$1 [P]", "RewriteRule ^/?(x.*) unknown://x/ [P]", "RewriteRule ^/?(x.*) - [P]", "RewriteRule ^/?(x.*) \"http://localhost:1/a b\" [P]"])
def test_proxied(lines):
    """Nobody answers there: what would be asked for stands in the trace."""
    targets = asked("/x /x/a%20b?c=d%20e /x/%3f")
    compare(case(["RewriteEngine On", lines], targets, proxy=True), RulesAlone)
    compare(case([], asked("/dir/x /dir/x/ab?c=d%20e"), {"dir": "RewriteEngine On\n" + lines + "\n"}, proxy=True), RulesAlone)


OR = """RewriteCond %{HTTP:X-A} one [OR]
RewriteCond %{HTTP_USER_AGENT} zzz
RewriteRule a - [E=A:1]
RewriteCond %{HTTP:X-A} zzz [OR]
RewriteCond %{HTTP_USER_AGENT} (t)est
RewriteRule a - [E=B:%1]
RewriteCond a b [OR]
RewriteCond b c [OR]
RewriteCond %{HTTP_ACCEPT} x [OR]
RewriteCond %{HTTP_COOKIE} a
RewriteCond %{HTTP_REFERER} e
RewriteRule a - [E=C:1]
RewriteCond a a [OR]
RewriteRule b - [E=C:2]""".split("\n")


@pytest.mark.parametrize("trace", [True, False])
def test_alternatives(trace):
    compare(server_case(OR, "/a.txt /b.txt /dir/a.txt", trace))
    compare(section_case(OR, "/dir/a.txt /dir/sub/a.txt", "htaccess", trace))


@pytest.mark.parametrize("trace", [True, False])
@pytest.mark.parametrize("name", APPLICATIONS)
def test_application(name, trace):
    compare(case(MAPS, asked(APPLICATION_TARGETS), {"dir": APPLICATIONS[name]}, trace))


# Sections and hosts that hand rules down, and take them or not.
OPTIONS = ["", "RewriteOptions Inherit", "RewriteOptions InheritBefore", "RewriteOptions IgnoreInherit", "RewriteOptions MergeBase"]
ABOVE = ["", "RewriteOptions InheritDown", "RewriteOptions InheritDownBefore"]


@pytest.mark.parametrize("above,below", itertools.product(ABOVE, OPTIONS))
def test_inheritance(above, below):
    outer = ["RewriteEngine On", above, "RewriteBase /dir/", "RewriteRule ^(.*)$ - [E=A:%{ENV:A}o]", "RewriteRule ^x$ a.txt", "RewriteCond a a"]
    inner = ["RewriteEngine On", below, "RewriteRule ^(.*)$ - [E=A:%{ENV:A}i]", "RewriteRule ^y$ a.txt"]
    compare(case(["<Directory ${SITE}/dir>"] + outer + ["</Directory>"], asked("/dir/sub/x /dir/sub/y /dir/x /dir/sub/a.txt /dir/sub"), {"dir/sub": "\n".join(inner) + "\n"}))
    rules = ["RewriteEngine On", above, "RewriteMap m txt:${SITE}/map.txt", "RewriteRule ^(.*)$ - [E=A:%{ENV:A}o${m:key}]"]
    host = ["<VirtualHost *:${PORT}>", "RewriteEngine On" if "Merge" not in below else "", below.replace("RewriteOptions MergeBase", ""), "RewriteRule ^(.*)$ - [E=A:%{ENV:A}i${m:key}]", "</VirtualHost>"]
    compare(case(rules + host, asked("/a.txt /b.txt")))


@pytest.mark.parametrize("lines", ["<If \"%{HTTP:X-A} == 'one'\">\nRewriteEngine On\nRewriteRule ^ - [E=A:if]\nRewriteRule a.txt /b.txt\n</If>", "<Files a.txt>\nRewriteEngine On\nRewriteRule ^ - [E=A:files]\nRewriteRule a.txt /b.txt\n</Files>",
                                   "<Location /dir>\nRewriteEngine On\nRewriteRule ^ - [E=A:location]\nRewriteRule a.txt$ /b.txt\n</Location>", "<DirectoryMatch dir>\nRewriteEngine On\nRewriteRule (.*) - [E=A:match-$1]\n</DirectoryMatch>",
                                   "<LocationMatch ^/(dir)>\nRewriteEngine On\nRewriteRule (.*) - [E=A:match-$1]\nRewriteRule a.txt$ /b.txt\n</LocationMatch>", "RewriteEngine On\nRewriteOptions AllowAnyURI\nRewriteRule (.*) - [E=A:$1]",
                                   "RewriteEngine On\nRewriteOptions UnsafePrefixStat\nRewriteRule ^/x(.*) $1", "RewriteEngine On\nRewriteOptions LegacyPrefixDocRoot\nRewriteRule ^/x(.*) http://localhost:${PORT}$1",
                                   "Alias /al ${SITE}/dir\n<Directory ${SITE}/dir>\nRewriteEngine On\nRewriteRule ^x a.txt\n</Directory>", "Alias /al ${SITE}/dir\n<Directory ${SITE}/dir>\nRewriteEngine On\nRewriteOptions IgnoreContextInfo\nRewriteRule ^x a.txt\n</Directory>",
                                   "Alias /al /usr/share/doc\n<Directory /usr/share/doc>\nRequire all granted\nOptions FollowSymLinks\nRewriteEngine On\nRewriteRule ^x /a.txt\nRewriteRule ^y z\n</Directory>",
                                   "RewriteEngine On\nFallbackResource /front.html\nRewriteRule ^/x$ /none", "RewriteEngine On\nErrorDocument 404 /front.html\nErrorDocument 403 /missing\nRewriteRule ^/x$ - [F]\nRewriteRule ^/missing - [R=404]"])
def test_places(lines):
    compare(case(lines.split("\n"), asked("/dir/a.txt /a.txt /x /x/usr/bin /x/a.txt /x/tmp /al/x /al/y /al/a.txt * /dir/x /none")))


# ---- random combinations ----

PATTERNS = ["^", "^(.*)$", "^/?([^/]*)/?(.*)$", "a", "(a).txt", "^/?dir/(.*)", "!a", "^/?x/(.+)", "!^/?(a|b)", ".", "^/?$", "\\.txt$", "^/?(.)(.)", "b"]
OUTPUTS = ["-", "-", "/a.txt", "a.txt", "$1", "/$1", "/dir/$1", "dir/$1?x=$2", "/$2/$1", "/front.html?q=%{REQUEST_URI}", "http://e.example/$1", "http://localhost:${PORT}/$1", "/a.txt?", "x%1", "/%1?%2", "${m:$1|b.txt}",
           "/dir/sub/$1", "%{DOCUMENT_ROOT}/$1", "/b.txt?$1&%{QUERY_STRING}", "${low:$1}", "$1.txt", "/x/%{ENV:A}"]
FLAGS = ["L", "R", "R=301", "NC", "QSA", "QSD", "QSL", "NE", "PT", "C", "S=1", "S=2", "E=A:$1", "E=B:%1", "E=!A", "END", "F", "G", "NS", "B", "T=text/plain", "DPI", "N=3", "CO=n:$1:d", "BNP", "UnsafeAllow3F", "R=404", "BCTLS"]
TESTS = ["%{REQUEST_URI} ^/(.)", "%{REQUEST_FILENAME} -f", "%{REQUEST_FILENAME} !-f", "%{REQUEST_FILENAME} -d", "%{QUERY_STRING} (.+)", "%{QUERY_STRING} ^$", "$1 (a)(.*)", "%{HTTP:X-A} (o)ne", "%{HTTP_USER_AGENT} !test", "%{ENV:A} .",
         "%{ENV:REDIRECT_STATUS} ^$", "%1 ^$", "%{REQUEST_METHOD} =GET", "${m:$1} .", "expr \"%{REQUEST_URI} =~ /(t.t)/\"", "%{DOCUMENT_ROOT}/$1 -f", "%{IS_SUBREQ} =false", "%{THE_REQUEST} \\s/(x)"]
TARGETS = ["/", "/a.txt", "/b.txt", "/dir", "/dir/", "/dir/a.txt", "/dir/sub/a.txt", "/x", "/x/a.txt", "/dir/x%20y.txt", "/none?a=b", "/a.txt?c", "/dir/none/x?%20d", "/x/a%3fb", "/A.TXT", "/dir/q%3fx.txt", "/a.txt/info"]


def random_rules(rng):
    lines = []
    for _ in range(rng.randint(1, 4)):
        for _ in range(rng.choice([0, 0, 1, 2])):
            flags = [f for f in ("OR", "NC", "NV") if rng.random() < 0.15]
            lines.append(f"RewriteCond {rng.choice(TESTS)}" + (f" [{','.join(flags)}]" if flags else ""))
        flags = rng.sample(FLAGS, rng.choice([0, 1, 1, 2, 3]))
        lines.append(f"RewriteRule {rng.choice(PATTERNS)} {rng.choice(OUTPUTS)}" + (f" [{','.join(flags)}]" if flags else ""))
    return lines


def random_case(rng):
    requests = asked(" ".join(rng.sample(TARGETS, 9)))
    conf, htaccess = ["AcceptPathInfo On", "LimitInternalRecursion 4"] + MAPS, {}
    if rng.random() < 0.6:
        conf += ["RewriteEngine On"] + random_rules(rng)
    if rng.random() < 0.5:
        conf += ["<Directory ${SITE}/dir>", "RewriteEngine On", rng.choice(["", "RewriteBase /dir", "RewriteBase /", "RewriteBase /dir/"])] + random_rules(rng) + ["</Directory>"]
    for folder in (".", "dir", "dir/sub"):
        if rng.random() < 0.4:
            htaccess[folder] = "\n".join(["RewriteEngine On", rng.choice(["", "", "RewriteOptions Inherit", "RewriteBase /x"])] + random_rules(rng)) + "\n"
    return case(conf, requests, htaccess, rng.random() < 0.7)


@pytest.mark.parametrize("n", range(effort.count(12)))
def test_random_rules(n):
    what = random_case(random.Random(f"{effort.seed(34)}/{n}"))
    try:
        compare(what)
    except AssertionError as error:
        raise AssertionError("\n".join(what["conf"] + [f"{k}: {v}" for k, v in what["htaccess"].items()] + [str(error)])) from None
