# SPDX-License-Identifier: Apache-2.0
"""Macros: what Apache and Brigade make of them, and what they say."""
import os
import re
import subprocess
import tempfile

import pytest

import brigade
from stock import driver

pytestmark = [
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK), reason=f"the peer is absent: {driver.APACHE} is not installed"),
    pytest.mark.skipif(not os.access(brigade.BINARY, os.X_OK), reason=f"{brigade.BINARY} is not built"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]
LOADS = "".join(f"LoadModule {m}_module {driver.MODULES}/mod_{m}.so\n" for m in ("mpm_event", "authz_core", "macro", "headers", "env", "setenvif", "info"))
SET = "Header set X "


def macro(head, body):
    return f"<Macro {head}>\n{body}\n</Macro>\n"


def used(name, length, value):
    """A line of that many bytes, of which the argument is replaced."""
    return macro(f"a {name}", SET + "z" * 100 + name) + f"Use a {value * (length - 113)}\n"


CASES = [
    '<Macro>\n</Macro>\n',
    '<Macro a\n</Macro>\n',
    '<Macro a>\n</Macro>\n',
    '<Macro a > junk\n</Macro>\n',
    '<Macro a> junk\n</Macro>\n',
    '<Macro a $x>\nHeader set X y\n</Macro>\n',
    '<Macro a $x>\nHeader set X $x\n</Macro>\n<Macro a $x>\nHeader set X $x\n</Macro>\n',
    '<Macro a $x>\nHeader set X $x\n</Macro>\n<Macro A $x>\nHeader set X $x\n</Macro>\n',
    '<Macro a $x $x>\nHeader set X $x\n</Macro>\n',
    '<Macro a $x $X>\nHeader set X $x$X\n</Macro>\n',
    '<Macro a $x $xy>\nHeader set X $x$xy\n</Macro>\n',
    '<Macro a $xy $x>\nHeader set X $x$xy\n</Macro>\n',
    '<Macro a x>\nHeader set X x\n</Macro>\nUse a 1\n',
    "<Macro a $x %y @z &w>\nHeader set X '$x %y @z &w'\n</Macro>\nUse a 1 2 3 4\n",
    '<Macro a "">\nHeader set X x\n</Macro>\nUse a 1\n',
    '<Macro "">\nHeader set X x\n</Macro>\nUse "" 1\n',
    '<Macro a $x-y>\nHeader set X $x-y\n</Macro>\nUse a 1\n',
    '<Macro $a>\nHeader set X y\n</Macro>\nUse $a\n',
    '<Macro a $>\nHeader set X $\n</Macro>\nUse a 1\n',
    '<Macro a>\nHeader set X y\n</Macro>\nUse a 1\n',
    '<Macro a $x $y>\nHeader set X $x $y\n</Macro>\nUse a 1\n',
    'Use nope\n',
    'Use\n',
    'Use ""\n',
    '<Macro a $x>\nHeader set X y$x\n</Macro>\nUse a ""\n',
    '<Macro a $x>\nHeader set X y$x\n</Macro>\nUse a $x\n',
    '<Macro a $x $y>\nHeader set X y$x$y\n</Macro>\nUse a b$y $y\n',
    '<Macro a $x $y>\nHeader set X y$x$y\n</Macro>\nUse a b @z%w\n',
    '<Macro a $x>\nHeader set X y$x\n</Macro>\nUse a $\n',
    '<Macro a>\nUse a\n</Macro>\nUse a\n',
    '<Macro a>\nUse b\n</Macro>\n<Macro b>\nUse a\n</Macro>\nUse a\n',
    '<Macro a>\nUse A\n</Macro>\nUse a\n',
    '<Macro a>\n<Macro b>\nHeader set X y\n</Macro>\nUse b\n</Macro>\nUse a\nUse b\n',
    '<Macro a $n>\n<Macro b$n>\nHeader set X y\n</Macro>\nUse b$n\n</Macro>\nUse a 1\nUse a 2\n',
    '<Macro a>\nHeader set X y\n',
    '<Macro a>\n<Macro b>\nHeader set X y\n</Macro>\n',
    '<Macro a>\nHeader set X\n\nNope\n</Macro>\n\nUse a\n',
    '<Macro a $x>\n\nServerName ok\nNope $x\n</Macro>\n<Macro b>\nUse a 5\n</Macro>\nUse b\n',
    '<Macro a>\n<Directory /x>\n</Macro>\nUse a\n',
    '<Macro a>\n</Directory>\n</Macro>\nUse a\n',
    '<Macro a>\n<Directory /x>\n</Location>\n</Directory>\n</Macro>\nUse a\n',
    '<Macro a>\n<Location /x>\n<Directory /y>\n</Location>\n</Directory>\n</Macro>\nUse a\n',
    'UndefMacro nope\n',
    'UndefMacro\n',
    'UndefMacro a b\n',
    'UndefMacro ""\n',
    '<Macro a>\nHeader set X y\n</Macro>\nUndefMacro A\nUse a\n',
    '<Macro a>\n</Macro>\nUse a\n',
    '<Macro a>\n# x\n\n</Macro>\nUse a\n',
    '<Macro a $x>\nHeader set X \\\n $x\n</Macro>\nUse a 1\n',
    '<Directory /x>\n<Macro a $x>\nHeader set X $x\n</Macro>\nUse a 1\n</Directory>\nUse a 2\n',
    '<Macro a>\nListen 99\n</Macro>\n<Directory /x>\nUse a\n</Directory>\n',
    '<Macro "a b" "$x y">\nHeader set X "$x y"\n</Macro>\nUse "a b" "q r"\n',
    '<Macro a>\nHeader set X y\n</macro>\nUse a\n',
    '<Macro a>\nHeader set X y\n</Macro  >\nUse a\n',
    '<Macro a>\nHeader set X y\n</Macro x>\nUse a\n',
    '<Macro a>\nHeader set X y\n</Macro\nUse a\n',
    '<Macro a>\n<MacroFoo>\nHeader set X y\n</Macro>\nUse a\n',
    "<Macro a $a $ab>\nHeader set X '$a $ab $abc'\n</Macro>\nUse a 1 2\n",
    "<Macro a $a>\nHeader set X '$a'\n# $b %c\n</Macro>\nUse a 1\n",
    "<Macro a $a $b>\nHeader set X '$a'\n</Macro>\nUse a 1 2\n",
    '<Macro a $x>\nHeader set X $X$x\n</Macro>\nUse a $X\n',
    '<Macro a>\nHeader set X 1\n</Macro>\nUndefMacro a\n<Macro a>\nHeader set X 2\n</Macro>\nUse a\nUndefMacro a\nUndefMacro a\n',
    '<Macro a $x>\nHeader set X$x 1\n</Macro>\nUse a 1\nUse a 2\n<VirtualHost *:80>\nUse a 3\n</VirtualHost>\n',
    '<Macro a $x $y>\nHeader set X $x-$y\n</Macro>\nUse a $y $x\n',
    '<Macro a $x $xy>\nHeader set X $xy-$x-$xyz\n</Macro>\nUse a 1 2\n',
    '<Macro a $a ab>\nHeader set X $ab-$a-ab\n</Macro>\nUse a 1 2\n',
    'Define V val\n<Macro a $x>\nHeader set X ${V}$x\n</Macro>\nDefine V other\nUse a 1\n',
    '<Macro a $x>\nHeader set X ${$x}\n</Macro>\nDefine V other\nUse a V\n',
    'Define V other\n<Macro $V ${V}>\nHeader set X ${V}\n</Macro>\nUse ${V} V\nUse $V 2',
    '<Macro a $x $y>\nHeader set X "$x" \'$y\'\n</Macro>\nUse a \'q "r\' "s\\"t"\n',
    '<Macro a>\nNope\n</Macro>\n<Directory /x>\nUse a\n</Directory>\n',
    '<Macro a>\n<IfModule mod_headers.c>\nHeader set X 1\n</IfModule>\n</Macro>\nUse a\n',
    '<Macro a>\nInclude nope.conf\n</Macro>\nUse a\n',
    '<Macro b $x>\nHeader set X $x\n</Macro>\n<Macro a $m $x>\nUse $m $x\n</Macro>\nUse a b 7\n',
    '<Macro a $x>\n$x\n</Macro>\nUse a "Header set X y"\n',
    '<Macro a $x $y>\nHeader set X 1$x$y\n</Macro>\nUse a "" ""\n',
    '<Macro a>\nHeader set X 1\n</Macro>\nUse b\n',
    '<Macro a>\nHeader set X 1\n</Macro>\nUse\n',
    '<Macro a>\nHeader set X 1\n</Macro>\nUse ""\n',
    '<Macro a>\nHeader set X 1\n</Macro>\nUndefMacro b\n',
    "<Macro a>\nHeader set X 1\n</Macro>\nUndefMacro ''\n",
    '<Macro %a>\nHeader set X y\n</Macro>\nUse %a\n',
    '<Macro a>\n<Macro b $x>\nHeader set X $x\n</Macro>\n</Macro>\nUse a\nUse b 3\n',
    'Use a b\n',
    '<Macro a/IgnoreEmptyArgs $x>\nHeader set X y$x\n</Macro>\nUse a ""\n',
    '<Macro a /IgnoreEmptyArgs $x>\nHeader set X y$x\n</Macro>\nUse a ""\n',
    '<Macro /IgnoreEmptyArgs a $x>\nHeader set X y$x\n</Macro>\nUse a ""\n',
    '<Macro /IgnoreEmptyArgs/IgnoreBadNesting a $x>\nHeader set X y$x\n</Macro>\nUse a ""\n',
    '<Macro /IgnoreEmptyArgs /IgnoreBadNesting a $x>\n<Directory /x>\nHeader set X y$x\n</Macro>\n',
    '<Macro /x a $x>\nHeader set X y$x\n</Macro>\nUse a ""\n',
    '<Macro a/x $x>\nHeader set X y$x\n</Macro>\nUse a/x ""\n',
    '<Macro a/ $x>\nHeader set X y$x\n</Macro>\nUse a/ ""\n',
    '<Macro a/ignoreemptyargs $x>\nHeader set X y$x\n</Macro>\nUse a ""\n',
    '<Macro a/IgnoreEmptyArgs/IgnoreBadNesting $x>\n<Directory /x>\nHeader set X y$x\n</Macro>\nUse a ""\n',
    '<Macro a/IgnoreBadNesting/Foo/IgnoreEmptyArgs $x>\n<Directory /x>\nHeader set X y$x\n</Macro>\n',
    'MacroIgnoreEmptyArgs\n<Macro a $x>\nHeader set X y$x\n</Macro>\nUse a ""\n',
    'MacroIgnoreEmptyArgs on\n<Macro a $x>\nHeader set X y$x\n</Macro>\nUse a ""\n',
    '<Macro a $x>\nHeader set X y$x\n</Macro>\nMacroIgnoreEmptyArgs\nUse a ""\n',
    'MacroIgnoreBadNesting\n<Macro a $x>\n<Directory>\nHeader set X y$x\n</Macro>\n',
    'MacroIgnoreBadNesting on\n<Macro a $x>\n<Directory>\nHeader set X y$x\n</Macro>\n',
    'MacroIgnoreBadNesting\n<Macro a $x>\n</Directory>\nHeader set X y$x\n</Macro>\n',
    '<Directory /x>\nMacroIgnoreBadNesting\nMacroIgnoreEmptyArgs\n</Directory>\n<Macro a $x>\n</Directory>\nHeader set X y$x\n</Macro>\n',
    '<Macro\ta\t$x>\n\tHeader\tset\tX\t$x\n</Macro>\nUse\ta\t1\n',
    '<Macro a "$x>" >\nHeader set X $x>\n</Macro>\nUse a 1\n',
    '<Macro a $x>>\nHeader set X $x\n</Macro>\nUse a 1\n',
    '<Macro a "$x>\nHeader set X $x\n</Macro>\nUse a 1\n',
    '<Macro a $x $y>\nHeader set X 1\n</Macro>\nUse a 1 2\n',
    '<Macro a>\n<Directory /x>\n<Location /y>\n</Macro>\n',
    '<Macro a>\n</Directory>\n</Location>\n<Directory>\n</Macro>\n',
    '<Macro a>\n<Macro>\n</macro>\n</Macro>\nHeader set Y 1\n',
    '<Macro a>\n<MacroFoo>\n</Macro>\n</MacroFoo>\n</Macro>\nHeader set Y 1\n',
    '<Macro a>\n <Macro b>\n </MACRO> \n\t</Macro>\nHeader set Y 1\n',
    '<Macro a>\n<Macro b>\n</MACRO> x\n</Macro>\nHeader set Y 1\n',
    '<Macro a>\n</Macro>x\nHeader set Y 1\n',
    "<Macro a $a>\nHeader set X '$a $b %{x}e @z'\n</Macro>\nUse a 1\n",
    '<Macro a $y /IgnoreEmptyArgs $x>\nHeader set X $y$x\n</Macro>\nUse a "" ""\n',
    '<Macro a /ignoreemptyargs $x>\nHeader set X y$x\n</Macro>\nUse a ""\n',
    '<Macro a /IgnoreEmptyArgs /IgnoreBadNesting $x>\n<D>\nHeader set X y$x\n</Macro>\n',
    '<Macro a /IgnoreEmptyArgs/IgnoreBadNesting $x>\n<D>\nHeader set X y$x\n</Macro>\n',
    '<Macro a /x $x>\nHeader set X y$x\n</Macro>\nUse a ""\n',
    '<Macro a / $x>\nHeader set X y$x\n</Macro>\nUse a ""\n',
    '<Macro a /IgnoreBadNesting $x>\n<D>\nHeader set X y$x\n</Macro>\n',
    '<Macro a $x /IgnoreBadNesting>\n<D>\nHeader set X y$x\n</Macro>\n',
    '<Macro a /IgnoreEmptyArgsX $x>\nHeader set X y$x\n</Macro>\nUse a ""\n',
    '<Macro a /IgnoreEmptyArgs,x $x>\nHeader set X y$x\n</Macro>\nUse a ""\n',
    '<Macro /IgnoreEmptyArgs $x>\nHeader set X y$x\n</Macro>\nUse /IgnoreEmptyArgs ""\n',
    '<Macro a>\n</A>\n</B>\n</C>\n</D>\n<E>\n<F>\n</Macro>\n',
    '<Macro a>\n\n#\n</A>\n\n</B>\n</C>\n</D>\n<E>\n<F>\n</Macro>\n',
    '<Macro a>\n<A>\nx\\\ny\n</A>\n</A>\n</B>\n</Macro>\n',
    '<Macro a>\n<Macro b>\n</Macro>\n</B>\n</Macro>\n',
    '<Macro a>\n<Macro b>\n</C>\n</Macro>\n\n</Macro>\n',
    '<Macro a>\nHeader set X y\n</Macro> x\nHeader set Y 1\nUse a\n',
    '<Macro a>\n<Macro b> x\nHeader set X y\n</Macro>\n</Macro>\n',
    '<Macro a>\n<Directory /x> x\n</Directory> y\n\n</Macro>\n',
    '<Macro a $x>\n# $x\n</Macro>\nUse a 1\n',
    '<Macro a ${x}>\nHeader set X ${x}\n</Macro>\nUse a 1\n',
    '<Macro a ${x>\nHeader set X ${x\n</Macro>\nUse a 1\n',
    '<Macro a $(x)>\nHeader set X $(x)\n</Macro>\nUse a 1\n',
    '<Macro a $x${y>\nHeader set X $x${y\n</Macro>\nUse a 1\n',
    '<Macro a \\${x}>\nHeader set X ${x}\n</Macro>\nUse a 1\n',
    '<Macro a $x>\nHeader set X $x\n\nHeader set X2 $x\n#\nNope $x\n</Macro>\nUse a 1\n',
    '<Macro a>\n<Macro b>\nUse a\n</Macro>\n\n</Macro>\nUse a\nUse b\n',
    '<Macro ab>\nUse a\n</Macro>\n<Macro a>\nHeader set X 1\n</Macro>\nUse ab\n',
    '<Macro x>\nUse a\n</Macro>\n<Macro a>\n<Macro c>\nUse x\n</Macro>\n\n</Macro>\nUse a\nUse c\n',
    '<Macro ABC $X>\nHeader set X $X\n</Macro>\nUse aBc 1\nUse aBc\n',
    '<Macro a $x>\nHeader set X $x \\\n yes \\\n no\nNope\n</Macro>\nUse a 1\n',
    '<Macro $a $x x $y "">\nHeader set X\n</Macro>\n',
    '<Macro $a $x x $xy ${z $x>\nHeader set X\n</Macro>\n',
    '<Macro a $x $y $x $xz>\nHeader set X\n</Macro>\n',
    '<Macro a>\n</Macro>\n<Macro a>\n</Macro>\n',
    '<Macro a>\nHeader set X 1\n</Macro>\nUndefMacro A\nUndefMacro A\n',
    'Use  b\n',
    "<Macro a $x>\nHeader set X $x\n</Macro>\nUse a 'b\n",
    '<Macro a $x>\nHeader set X $x\n</Macro>\nUse a b c\nUse a\n',
    'MacroIgnoreEmptyArgs on off x\nMacroIgnoreBadNesting a b\n',
    '<Macro a $x>\nHeader set X $x\n</Macro>\nUse a b>\n',
    '<Macro a>\n<Directory /x>\nHeader set X 1\nAllowOverride None\n</Directory>\n</Macro>\nUse a\n<Directory /y>\nUse a\n</Directory>\n',
    '<Macro a>\n<Directory /x>\nHeader set X\n</Directory>\n</Macro>\nUse a\n<Directory /y>\nUse a\n</Directory>\n',
    '<Macro a $x>\nHeader set X "$x"\n</Macro>\nUse a "q\\"r\\\\s"\n',
    '<Macro a $x>\nHeader set X 1\n\n</Macro>\nUse a ""\n',
    '<Macro a @x $y>\nSetEnvIf @x $y z\n</Macro>\nUse a "b" "b"\n',
    '<Macro a @x $y>\nSetEnvIf @x $y z\n</Macro>\nUse a "b c" "b c"\n',
    '<Macro a @x>\nHeader set X a@x@x\n</Macro>\nUse a b\n',
    '<Macro a @x $y>\nSetEnvIf @x $y z\n</Macro>\nUse a "a\\\\b" "a\\\\b"\n',
    '<Macro a @x $y>\nSetEnvIf @x $y z\n</Macro>\nUse a "a\'b" "a\'b"\n',
    '<Macro a @x $y>\nSetEnvIf @x $y z\n</Macro>\nUse a "" ""\n',
    '<Macro a @x $y>\nSetEnvIf @x $y z\n</Macro>\nUse a "a\\\\\\"b" "a\\\\\\"b"\n',
    '<Macro a @x $y>\nSetEnvIf @x $y z\n</Macro>\nUse a "@x" "@x"\n',
    '<Macro a @x $y>\nSetEnvIf @x $y z\n</Macro>\nUse a "$y" "$y"\n',
    '<Macro a @x $y>\nSetEnvIf @x $y z\n</Macro>\nUse a "\\"" "\\""\n',
    '<Macro a @x $y>\nSetEnvIf @x $y z\n</Macro>\nUse a \'a"b\' \'a"b\'\n',
    "<Macro a @x $y>\nSetEnvIf @x $y z\n</Macro>\nUse a 'a\\b' 'a\\b'\n",
    "<Macro a @x $y>\nSetEnvIf @x $y z\n</Macro>\nUse a 'a\\'b' 'a\\'b'\n",
    '<Macro a @x $y>\nSetEnvIf @x $y z\n</Macro>\nUse a \'a\\"b\' \'a\\"b\'\n',
    '<Macro a @x>\nHeader set X "@x"\n</Macro>\nUse a b\n',
    '<Macro @a>\nHeader set X 1\n</Macro>\nUse @a\n',
    '<Macro a @x>\nHeader set X @x\n</Macro>\nUse a @z\n',
    '<Macro a @x @y>\nHeader set X @x\nHeader set X @y\n</Macro>\nUse a @y @x\n',
    '<Macro a @x>\nHeader set X @x\n</Macro>\nUse a @xx\n',
    '<Macro a @x @y>\nHeader set X @x@y\n</Macro>\nUse a @x @x\n',
    *(macro("a", SET + "z" * n) + "Use a\n" for n in (8176, 8177, 8178, 9000)),
    *(used("$x", n, "y") for n in (8189, 8190, 8191, 8192)),
    *(macro("a @x", SET + "@x") + "Use a " + "y" * n + "\n" for n in (8174, 8175, 8176)),
    macro("a $x $yyyyyyyyyy", SET + "$x$yyyyyyyyyy") + "Use a " + "y" * 8170 + " z\n",
    macro("a $x $yyyyyyyyyy", SET + "$yyyyyyyyyy$x") + "Use a " + "y" * 8170 + " z\n",
    macro("a @x", SET + "@x" * 4088) + "Use a y\n",
    macro("a $x", SET + "$x" * 4000) + "Use a y\n",
    macro("a $x", SET + "$x" * 3000) + "Use a " + "y" * 1000 + "\n",
]


def said(binary, text):
    """The exit status, and what is said; the configuration is dumped."""
    with tempfile.TemporaryDirectory(prefix="brigade-macro-") as root:
        os.mkdir(f"{root}/htdocs")
        with open(f"{root}/c.conf", "w") as f:
            f.write(f"ServerRoot {root}\nServerName x\nPidFile {root}/pid\nListen 127.0.0.1:8099\nErrorLog {root}/err\nLogLevel warn\n{LOADS}{text}")
        done = subprocess.run([binary, "-f", f"{root}/c.conf", "-t", "-DDUMP_CONFIG"], capture_output=True, text=True, timeout=60)
    out = (done.stdout + done.stderr).replace(root, "@").replace("brigade: ", "apache2: ")
    # Our own lines say which modules are built in, who serves, and what is doubtful; words behind a refusal help.
    return done.returncode, re.sub(r"(?m)^(?:started as root without|.*built in, so the file|@/c\.conf:\d+: ).*\n|\[[^\n]*?pid[^\n]*?\]|; write [^\n]*", "", out)


@pytest.mark.parametrize("begin", range(0, len(CASES), 25))
def test_macros(begin):
    differences = []
    for text in CASES[begin:begin + 25]:
        apache, ours = said(driver.APACHE, text), said(brigade.BINARY, text)
        if apache != ours:
            differences.append(f"{text}Apache: {apache}\nBrigade: {ours}")
    assert not differences, "\n".join(differences)


def test_access_files():
    """Macros of the configuration may be used in .htaccess files; those of a file end with it, which in Apache depends on who serves."""
    config = (f"LoadModule macro_module {driver.MODULES}/mod_macro.so\n<Macro main $x>\nHeader set X-M $x\n</Macro>\n"
              "<Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>\n")
    files = {"a/.htaccess": macro("m $x", "Header set X-M $x") + "Use m 1\nUse M 2\n", "b/.htaccess": "Use main 3\n",
             "a/d/.htaccess": "Use m 9\n", "e/.htaccess": macro("m $x", SET + "$x") * 2 + "Use m 1\n", "g/.htaccess": "UndefMacro main\nUse main 1\n"}
    files |= {f"{folder}/f": "f\n" for folder in ("a", "b", "a/d", "e", "g")}
    found = []
    for binary in (driver.APACHE, brigade.BINARY):
        server = brigade.Server(config, files=files, binary=binary)
        with server:
            found.append([(r.status, r["X-M"]) for r in map(server.get, ("/a/f", "/b/f", "/a/d/f", "/e/f", "/b/f", "/g/f"))])
    assert found[0] == found[1] and found[1][1] == (200, "3") and found[1][-1][0] == 500


def test_a_macro_ends_with_its_access_file():
    config = "BuiltinModule macro On\n<Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>\n"
    files = {"a/.htaccess": macro("m", SET + "1") + "Use m\n", "a/f": "f\n", "c/.htaccess": "Use m\n", "c/f": "f\n"}
    with brigade.Server(config, files=files) as server:
        assert [server.get(p).status for p in ("/a/f", "/c/f", "/a/f")] == [200, 500, 200]
        assert b"no macro defined before Use" in server.error_log()
