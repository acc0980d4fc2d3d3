# SPDX-License-Identifier: Apache-2.0
"""Conditions: nesting and errors, both expression languages, captures."""
from .page import pages

SETS = ('<!--#set var="a" value="apple" --><!--#set var="b" value="100" --><!--#set var="c" value="20" -->'
        '<!--#set var="e" value="" --><!--#set var="q" value="it\'s" -->')


def when(expr, quote='"'):
    """yes or no."""
    return f"<!--#if expr={quote}{expr}{quote} -->yes<!--#else -->no<!--#endif -->\n"


def truths(*expressions):
    return SETS + "".join(f"{i}: {when(e)}" for i, e in enumerate(expressions))


BLOCKS = pages("if", [
    ("true", when("true")),
    ("false", when("false")),
    ("no-else", 'a<!--#if expr="false" -->b<!--#endif -->c'),
    ("elif", '<!--#if expr="false" -->1<!--#elif expr="true" -->2<!--#else -->3<!--#endif -->'),
    ("elif-first-wins", '<!--#if expr="true" -->1<!--#elif expr="true" -->2<!--#else -->3<!--#endif -->'),
    ("elif-many", '<!--#if expr="false" -->1<!--#elif expr="false" -->2<!--#elif expr="true" -->3<!--#elif expr="true" -->4'
                  '<!--#else -->5<!--#endif -->6'),
    ("elif-none", '<!--#if expr="false" -->1<!--#elif expr="false" -->2<!--#endif -->3'),
    ("elif-after-true-bad", '<!--#if expr="true" -->1<!--#elif expr="((" -->2<!--#endif -->3'),
    ("nested", '<!--#if expr="true" -->1<!--#if expr="false" -->2<!--#else -->3<!--#endif -->4<!--#else -->5<!--#endif -->6'),
    ("nested-hidden", '<!--#if expr="false" -->1<!--#if expr="true" -->2<!--#else -->3<!--#endif -->4<!--#else -->5'
                      '<!--#endif -->6'),
    ("nested-hidden-elif", '<!--#if expr="false" --><!--#if expr="true" -->1<!--#elif expr="true" -->2<!--#endif -->'
                           '<!--#elif expr="true" -->3<!--#if expr="true" -->4<!--#endif --><!--#endif -->5'),
    ("deep", "".join(f'<!--#if expr="true" -->{i}' for i in range(60)) + "<!--#endif -->" * 60 + "end"),
    ("deep-hidden", '<!--#if expr="false" -->' + "".join(f'<!--#if expr="true" -->{i}' for i in range(60))
     + "<!--#endif -->" * 60 + '<!--#endif -->end'),
    ("hidden-errors", '<!--#if expr="false" --><!--#if expr="((" -->x<!--#elif expr="))" -->y<!--#endif --><!--#endif -->end'),
    ("hidden-lexing", '<!--#if expr="false" --><!--#echo "x" --><!--#echo var="a"b" --><!--#endif -->end'),
    ("no-endif", 'a<!--#if expr="true" -->b'),
    ("no-endif-hidden", 'a<!--#if expr="false" -->b'),
    ("endif-alone", "a<!--#endif -->b"),
    ("else-alone", "a<!--#else -->b<!--#endif -->c"),
    ("elif-alone", 'a<!--#elif expr="true" -->b<!--#endif -->c'),
    ("endif-twice", 'a<!--#if expr="true" -->b<!--#endif --><!--#endif -->c'),
    ("else-twice", 'a<!--#if expr="false" -->b<!--#else -->c<!--#else -->d<!--#endif -->e'),
    ("elif-after-else", 'a<!--#if expr="false" -->b<!--#else -->c<!--#elif expr="true" -->d<!--#endif -->e'),
    ("endif-argument", 'a<!--#if expr="true" -->b<!--#endif x="y" -->c'),
    ("else-argument", 'a<!--#if expr="false" -->b<!--#else x="y" -->c<!--#endif -->d'),
    ("no-expr", "a<!--#if -->b<!--#endif -->c"),
    ("null-expr", "a<!--#if expr -->b<!--#endif -->c"),
    ("other-attribute", 'a<!--#if nothing="true" -->b<!--#endif -->c'),
    ("expr-twice", 'a<!--#if expr="true" expr="true" -->b<!--#endif -->c'),
    ("expr-and-other", 'a<!--#if expr="true" x="y" -->b<!--#endif -->c'),
    ("elif-no-expr", 'a<!--#if expr="false" -->b<!--#elif -->c<!--#endif -->d'),
    ("elif-expr-twice", 'a<!--#if expr="false" -->b<!--#elif expr="true" expr="true" -->c<!--#endif -->d'),
    ("empty-expr", 'a<!--#if expr="" -->b<!--#else -->c<!--#endif -->d'),
    ("bad-expr", 'a<!--#if expr="((" -->b<!--#else -->c<!--#endif -->d'),
    ("bad-expr-nested", 'a<!--#if expr="((" -->b<!--#if expr="true" -->x<!--#endif --><!--#else -->c<!--#endif -->d'),
    ("bad-elif", 'a<!--#if expr="false" -->b<!--#elif expr="((" -->c<!--#else -->d<!--#endif -->e'),
    ("case", '<!--#IF EXPR="true" -->yes<!--#ELSE -->no<!--#ENDIF -->'),
])

AP_EXPR = pages("expr", [
    ("words", truths("true", "false", "! true", "!false", "true && false", "true || false", "(true)", "!(true)", "! ! true")),
    ("precedence", truths("true || false && false", "(true || false) && false", "false && false || true", "!true || true",
                          "!(true || true)")),
    ("variables", truths("v('a') == 'apple'", "v('a') = 'apple'", "v('a') != 'apple'", "v('none') == ''", "-n v('e')",
                         "-z v('e')", "-z v('none')", "reqenv('a') == 'apple'", "v('A') == 'apple'", "env('a') == 'apple'")),
    ("not-expanded", truths("'$a' == 'apple'", "'${a}' == 'apple'", "-n '$none'")),
    ("strings", truths("'a' < 'b'", "'a' > 'b'", "'a' <= 'a'", "'a' >= 'b'", "'100' < '20'", "'a' lt 'b'")),
    ("integers", truths("100 -lt 20", "100 -gt 20", "20 -eq 020", "1 -ne 2", "2 -le 2", "2 -ge 3", "100 lt 20", "100 gt 20",
                        "v('b') -gt v('c')", "v('b') > v('c')", "7 eq 7", "-1 -lt 0")),
    ("concat", truths("'a'.'b' == 'ab'", "v('a').'!' == 'apple!'", "'%{REQUEST_METHOD}!' == 'GET!'")),
    ("regex", truths("v('a') =~ /^app/", "v('a') !~ /^app/", "v('a') =~ /APPLE/", "v('a') =~ /APPLE/i", "v('a') =~ m#le$#",
                     "v('a') =~ m|p{2}|", "'a/b' =~ m,a/b,", "'' =~ /^$/", "v('none') =~ /^$/")),
    ("captures", SETS + '<!--#if expr="v(\'a\') =~ /(a)(p+)(x)?/" -->[<!--#set var="m" value="$0|$1|$2|$3|$4" -->'
                        '<!--#echo var="m" -->]<!--#endif --><!--#set var="m" value="$1" -->[<!--#echo var="m" -->]'),
    ("captures-in-echo", '<!--#if expr="\'x\' =~ /(.)/" --><!--#echo var="$1" --><!--#echo var="1" -->[$1]<!--#endif -->'),
    ("captures-kept", '<!--#if expr="\'xyz\' =~ /(y)/" --><!--#endif --><!--#if expr="\'abc\' =~ /(q)/" --><!--#endif -->'
                      '<!--#set var="m" value="[$0$1]" --><!--#echo var="m" -->',
     {"alone": "Apache ends with a segmentation fault"}),
    ("captures-replaced", '<!--#if expr="\'xyz\' =~ /(y)/" --><!--#endif --><!--#if expr="\'abc\' =~ /(b)(c)/" --><!--#endif -->'
                          '<!--#set var="m" value="[$0$1$2]" --><!--#echo var="m" -->'),
    ("captures-include", '<!--#if expr="\'xyz\' =~ /(y)/" --><!--#endif --><!--#include virtual="captures.shtml" -->'
                         '<!--#set var="m" value="[$1]" --><!--#echo var="m" -->'),
    ("captures-in-expr", truths("'abc' =~ /(b)/ && $1 == 'b'", "'abc' =~ /(b)/ && '$1' == 'b'", "'$1' == 'b'")),
    ("captures-optional", '<!--#if expr="\'ac\' =~ /a(b)?(c)/" --><!--#set var="m" value="[$1|$2]" --><!--#echo var="m" -->'
                          '<!--#endif -->'),
    ("lists", truths("'a' -in { 'a', 'b' }", "'c' -in { 'a', 'b' }", "v('a') in { 'apple' }", "'x' -in { v('a'), 'x' }")),
    ("unary", truths("-n 'x'", "-z 'x'", "-z ''", "-T 'yes'", "-T '0'", "-T 'off'", "-T 'false'", "-T 'no'", "-T ''",
                     "-T 'x'")),
    ("subrequests", truths("-U '/p/inc.txt'", "-U '/denied/secret.txt'", "-U '/p/not-there'", "-A '/p/inc.txt'",
                           "-A '/denied/secret.txt'", "-F '/p/inc.txt'")),
    ("address", truths("-R '127.0.0.1'", "-R '10.0.0.0/8'", "'127.0.0.1' -ipmatch '127.0.0.0/8'", "'::1' -ipmatch '127.0.0.1'")),
    ("restricted", "".join(when(f"-{c} '/etc/passwd'") for c in "defsLhx")),
    ("restricted-functions", when("file('/etc/hostname') == ''") + when("filesize('/etc/hostname') -gt 0")),
    ("match", truths("'abc' -strmatch 'a*c'", "'abc' -strmatch 'A*'", "'abc' -strcmatch 'A*'", "'a/b' -fnmatch 'a*b'",
                     "'a/b' -strmatch 'a*b'")),
    ("functions", truths("tolower('ABC') == 'abc'", "toupper('abc') == 'ABC'", "escape('a b') == 'a%20b'",
                         "unescape('a%20b') == 'a b'", "base64('abc') == 'YWJj'", "unbase64('YWJj') == 'abc'",
                         "md5('a') == '0cc175b9c0f1b6a831c399e269772661'",
                         "sha1('a') == '86f7e437faa5a7fce15d1ddcb9eaeaea377667b8'", "ldap('a*') == 'a\\2a'")),
    ("request", truths("req('X-One') == '1'", "http('X-One') == '1'", "req_novary('X-One') == '1'", "req('none') == ''",
                       "%{HTTP:X-One} == '1'", "%{HTTP_HOST} == 'www.example.test'", "%{REQUEST_METHOD} == 'GET'",
                       "%{REQUEST_URI} =~ m#expr-request#", "%{QUERY_STRING} == 'a=1'", "resp('X-None') == ''",
                       "note('x') == ''", "osenv('PATH') != ''", "%{DOCUMENT_URI} == ''", "%{IS_SUBREQ} == 'false'"),
     {"headers": [("X-One", "1")], "query": "a=1"}),
    ("response", when("resp('Content-Type') == 'text/html'")),
    ("server-variables", truths("%{SERVER_NAME} == 'www.example.test'", "%{TIME_YEAR} -gt 2000", "%{HTTPS} == 'off'",
                                "%{REQUEST_SCHEME} == 'http'", "%{REMOTE_ADDR} == '127.0.0.1'", "%{SCRIPT_FILENAME} =~ /shtml/",
                                "%{THE_REQUEST} =~ /^GET/", "%{REQUEST_FILENAME} =~ /shtml/", "%{HANDLER} == ''",
                                "%{CONTENT_TYPE} == 'text/html'", "%{UNKNOWN_VARIABLE} == ''")),
    ("in-include", '<!--#include virtual="expr-inner.shtml?q=1" -->', {"query": "outer"}),
    ("document-uri", truths("v('DOCUMENT_URI') == '/p/expr-document-uri.shtml'", "v('DOCUMENT_NAME') =~ /^expr-/")),
    ("quotes", when("v('a') == \\\"apple\\\"") + when('v("a") == ""', "'")),
    ("backticks", when("'a' == 'a'", "`")),
    ("errors", "".join(when(e) for e in ("'a' ==", "== 'a'", "'a' 'b'", "'a", "/a/", "'a' =~ 'a'", "'a' =~ /(/", "nofunc('a')",
                                         "-q 'a'", "(true", "true)", "!", "&& true", "'a' -in 'b'", "%{", "v('a'", "1 +"))),
    ("string-alone", truths("'a'", "''", "a", "$a", "v('a')", "0", "1")),
    ("entities", when("'&lt;' == '<'") + when("'&amp;' == '&amp;'")),
    ("spaces", when("  true  ") + when("\n'a'\n==\n'a'\n") + when("'a'=='a'") + when("'a' =='a'")),
    ("long", when(" || ".join(["'a' == 'b'"] * 120 + ["true"]))),
    ("nesting", when("(" * 40 + "true" + ")" * 40)),
    ("end-tag-inside", when("'-->' == '-->'")),
])

LEGACY_ON = "SSILegacyExprParser on\n"

LEGACY = pages("legacy", [
    ("strings", truths("a", "$a", "$e", "$none", "''", "'a'", "0", "no")),
    ("equal", truths("$a = apple", "$a == apple", "$a != apple", "$a = 'apple'", "'$a' = apple", "$a=apple", "$none = ''",
                     "$a = Apple")),
    ("order", truths("$b < $c", "$b > $c", "a < b", "b <= b", "a >= b", "100 < 20", "$b <= $b")),
    ("joined", truths("a b = 'a b'", "a   b   c = 'a b c'", "$a pie = 'apple pie'", "'a' 'b' = 'a b'", "$q = 'it\\'s'")),
    ("and-or", truths("a && b", "a && ''", "a || ''", "'' || ''", "'' && ''")),
    ("grouping", truths("a && '' || c", "'' && a || c", "a || '' && ''", "'' && '' || a", "'' || a && ''", "a || a && ''",
                        "'' && a || a && a", "a && a || '' && ''", "a || '' && '' || ''", "'' && a && a || a")),
    ("not", truths("!a", "! ''", "!$e", "!$a", "!($a = apple)", "!($a = pear)", "!(a && b)", "!!a", "!(!a)", "!a && b",
                   "!a || b", "!'' && ''")),
    ("not-comparison", when("! $a = b") + when("!$a = apple")),
    ("parentheses", truths("(a)", "((a))", "(a && '') || c", "a && ('' || c)", "(a || '') && ''", "('' && a) || a")),
    ("regex", truths("$a = /^app/", "$a != /^app/", "$a = /APPLE/", "$a = /p{2}/", "$a == /le$/", "$e = /^$/", "$none = /x/",
                     "a/b = /a.b/", "$a = /$a/", "'a b' = /a b/")),
    ("regex-escape", truths("'a/b' = /a\\/b/", "'a.b' = /a\\.b/", "'axb' = /a\\.b/")),
    ("regex-left", when("/a/ = a") + when("/a/") + when("a < /a/") + when("a = /(/")),
    ("captures", SETS + '<!--#if expr="$a = /(a)(p+)(x)?/" -->[<!--#set var="m" value="$0|$1|$2|$3|$4" -->'
                        '<!--#echo var="m" -->]<!--#endif -->'),
    ("captures-short-circuit", SETS + '<!--#if expr="a || $a = /(p+)/" --><!--#set var="m" value="[$1]" --><!--#echo var="m" -->'
                                      '<!--#endif -->'),
    ("captures-and", SETS + '<!--#if expr="\'\' && $a = /(p+)/" -->x<!--#endif --><!--#set var="m" value="[$1]" -->'
                            '<!--#echo var="m" -->'),
    ("captures-two", SETS + '<!--#if expr="$a = /(p+)/ && $b = /(1)(0)/" --><!--#set var="m" value="[$0$1$2]" -->'
                            '<!--#echo var="m" --><!--#endif -->'),
    ("access", truths("-A /p/inc.txt", "-A '/denied/secret.txt'", "-A /p/not-there", "-A inc.txt", "!-A /denied/secret.txt",
                      "-A /p/inc.txt && a", "-A $none")),
    ("access-more", when("-A") + when("a -A") + when("-A a = b") + when("-B a") + when("-A /p/inc.txt -A /p/inc.txt")),
    ("quotes", truths("'a && b' = 'a && b'", "'(' = '('", "\\\"a\\\" = a", "'a\\'b' = 'a\\'b'", "`a` = a")),
    ("backslash", truths("\\a = a", "a\\ b = 'a b'", "\\$a = '$a'", "'\\$a' = '\\$a'", "a\\=b = 'a=b'", "\\( = '('")),
    ("expansion", truths("'${a}s' = apples", "${a}s = apples", "$a$b = apple100", "'$none' = ''", "x$none = x",
                         "'\\${a}' = 'apple'")),
    ("expansion-injection", '<!--#set var="i" value="a || b" --><!--#set var="p" value="(" -->' + when("$i = 'a || b'")
     + when("$p = '('") + when("$i")),
    ("errors", "".join(when(e) for e in ("a =", "= a", "a = = b", "a &&", "&& a", "(a", "a)", "()", "!", "a ! b", "a (b)",
                                         "(a) b", "a = b = c", "a < b < c", "'a", "a = /x", "!&& a", "a || || b", "a & b",
                                         "a | b"))),
    ("empty", when("") + when("   ")),
    ("operators-glued", truths("a=a", "a==a", "a!=b", "a<b", "b>=a", "a&&b", "''||b", "(a)&&(b)", "a!b")),
    ("words", truths("true", "false", "v('a')", "-n x", "a.b", "a-b", "a:b/c", "a,b = 'a,b'")),
    ("elif", SETS + '<!--#if expr="$a = x" -->1<!--#elif expr="$a = apple" -->2<!--#else -->3<!--#endif -->'),
    ("nested", SETS + '<!--#if expr="$a" -->1<!--#if expr="$none" -->2<!--#else -->3<!--#endif --><!--#endif -->'),
    ("spaces", when("\n$none\n=\n''\n") + when("\ta\t")),
    ("tabs-joined", when("a\tb = 'a b'") + when("a\nb = 'a b'")),
    ("long", when(" || ".join(["''"] * 100 + ["a"]))),
    ("nesting", when("(" * 40 + "a" + ")" * 40)),
    ("nots", when("!(" * 21 + "a" + ")" * 21)),
    ("query", when("$QUERY_STRING = 'x=1'") + when("$QUERY_STRING = /^x=(.)/"), {"query": "x=1"}),
], htaccess=LEGACY_ON)

ALL = BLOCKS + AP_EXPR + LEGACY
