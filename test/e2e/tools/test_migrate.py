# SPDX-License-Identifier: Apache-2.0
"""brigade-migrate, with a copy of this machine's /etc/apache2 and the Apache that serves it."""
import os
import shutil
import socket
import subprocess
import urllib.request

import pytest

import brigade
import debian_tree

APACHE = "/usr/sbin/apache2"
TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
PROGRAM = os.path.join(TOP, "build/tools/brigade-migrate")

pytestmark = [
    pytest.mark.only("brigade"),
    pytest.mark.skipif(not os.access(APACHE, os.X_OK), reason=f"the peer is absent: {APACHE} is not installed"),
    pytest.mark.skipif(not os.path.isdir(debian_tree.ETC + "/mods-available"), reason="this is no Debian"),
    pytest.mark.skipif(not shutil.which("perl"), reason="perl is not installed"),
    pytest.mark.skipif(os.geteuid() != 0, reason="its User and Group ask for root"),
]
PAGES = {
    "index.html": "<h1>Start</h1><a href='sub/'>sub</a> <a href='/a.txt#x'>a</a> <img src=\"b.png\"> <a href='https://elsewhere.example/'>no</a>\n",
    "a.txt": "text\n" * 50, "b.png": b"\x89PNG\r\n\x1a\n", "sub/index.html": "<a href='../a.txt'>up</a> <a href='page.html?x=1&amp;y=2'>p</a>\n",
    "sub/page.html": "page\n", "list/x.txt": "x\n",
}


class DebianApache(brigade.Server):
    """Apache itself, with that tree."""

    def __init__(self, conf="", tls=0, modules=()):
        super().__init__(binary=APACHE)
        self.more, self.tls, self.modules = conf, tls, modules

    def write_config(self, config=None):
        for name in ("etc", "www", "run", "lock", "log"):
            shutil.rmtree(self.path(name), ignore_errors=True)
        environment = debian_tree.copy(self.root, self.port, self.modules, self.more, tls=self.tls)
        self.env.update(environment)
        with open(self.path("etc/envvars"), "w") as f:
            f.writelines(f"export {name}={value}\n" for name, value in environment.items())
        for name, content in PAGES.items():
            self.write(name, content, base="www/html")

    def command(self, *args):
        return [self.binary, "-d", self.path("etc"), "-f", self.path("etc/apache2.conf"), *args]

    def error_log(self):
        return self.read("log/error.log") + self.read("logs/stderr")


def migrate(*arguments, env=None):
    done = subprocess.run(["perl", PROGRAM, "--brigade", brigade.BINARY, *arguments], capture_output=True, text=True, timeout=100,
                          env=env or {"PATH": os.environ["PATH"]})
    return done.returncode, done.stdout, done.stderr


def two_free_ports():
    for _ in range(50):
        port = brigade.free_port()
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port + 1))
                return port
            except OSError:
                continue
    raise AssertionError("no two free ports beside each other")


def test_lines_and_trial():
    """All of Debian's configuration is told line by line; a trial beside the running Apache finds equal answers, and ends."""
    with DebianApache() as apache:
        port = two_free_ports()
        status, out, err = migrate("--all", "--try", str(port), "--path", "/list/", apache.path("etc"))
        assert status == 0
        assert f"ok   {apache.path('etc/apache2.conf')}:" in out and "map  " in out and "NO  " not in out
        asked = [line for line in out.splitlines() if line.endswith("pages were asked of both, 0 differ.")]
        assert asked and int(asked[0].split()[0]) >= 10, out
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=5)


def test_differences_are_found():
    """Apache serves what the files said when it started; they say something else now."""
    with DebianApache() as apache:
        with urllib.request.urlopen(f"http://127.0.0.1:{apache.port}/", timeout=20): # its configuration is read to the end
            pass
        with open(apache.path("etc/conf-enabled/zz-test.conf"), "a") as f:
            f.write('<Files a.txt>\nForceType text/x-other\n</Files>\nRedirect gone /sub/page.html\n')
        status, out, err = migrate("--try", str(two_free_ports()), apache.path("etc"))
        assert status == 1, out[-1500:] + err
        assert 'content-type: "text/plain" of Apache, "text/x-other" of Brigade' in out
        assert "status 200 of Apache, 410 of Brigade" in out
        assert out.splitlines()[-1].endswith(" 2 differ.")


def test_https_is_tried():
    with DebianApache(tls=brigade.free_port(), modules=("ssl", "socache_shmcb")) as apache:
        status, out, err = migrate("--try", str(two_free_ports()), apache.path("etc"))
        assert status == 0
        assert f"port {apache.tls}: " in out and f"port {apache.port}: " in out


def test_files_beside_an_included_file():
    """mod_security2 looks for a file beside the one that the directive stands in. The logs of the running server are left alone."""
    if not os.path.exists("/etc/modsecurity/modsecurity.conf-recommended"):
        pytest.skip("libapache2-mod-security2 is not installed")
    rules = 'SecRule ARGS "@pmFromFile words.data" "id:100,phase:2,deny,status:418"\nSecAuditLog @ROOT@/log/audit.log\nSecAuditEngine On\n'

    class Guarded(DebianApache):
        def write_config(self, config=None):
            super().write_config(config)
            shutil.rmtree(self.path("security"), ignore_errors=True)
            shutil.copytree("/etc/modsecurity", self.path("security"))
            os.rename(self.path("security/modsecurity.conf-recommended"), self.path("security/a.conf"))
            self.write("z.conf", rules.replace("@ROOT@", self.root), base="security")
            self.write("words.data", "forbidden\n", base="security")
            debian_tree.change(self.path("etc/conf-enabled/zz-test.conf"), "@SECURITY@", f"IncludeOptional {self.path('security')}/*.conf")
    with Guarded("@SECURITY@\nSecRuleEngine On\n", modules=("unique_id", "security2")) as apache:
        status, out, err = migrate("--try", str(two_free_ports()), "--path", "/a.txt?x=forbidden", "--path", "/a.txt?x=not", apache.path("etc"))
        assert status == 0, out[-1500:] + err
        assert out.splitlines()[-1].endswith(" 0 differ.")
        log = apache.read("log/audit.log")
        assert log.count(b"418") and b"Brigade" not in log


def test_what_is_no_difference():
    """A port of the PROXY protocol, the product's name out of a filter, and the text of a macro that is no host."""
    extra = brigade.free_port()
    lines = (f"Listen 0.0.0.0:{extra}\n<VirtualHost *:{extra}>\nServerName behind.test\nRemoteIPProxyProtocol On\n</VirtualHost>\n"
             "<Macro Site $name $where>\n<VirtualHost *:@PORT@>\nServerName $name.test\nRedirect $where /a.txt\n</VirtualHost>\n</Macro>\nUse Site one gone\nUse Site \"two\" 404\n"
             "ExtFilterDefine large mode=output cmd=\"/usr/bin/tr a-z A-Z\"\nServerSignature On\nServerTokens Full\n<Location /brigade-migrate>\nSetOutputFilter large\n</Location>\n")

    class Apache(DebianApache):
        def write_config(self, config=None):
            self.more = lines.replace("@PORT@", str(self.port))
            super().write_config(config)

    with Apache(modules=("remoteip", "macro", "ext_filter")) as apache:
        status, out, err = migrate("--try", str(two_free_ports()), "--path", "/a.txt", "--max", "4", apache.path("etc"))
        assert status == 0, out[-2500:] + err
        assert f"behind.test, port {extra}: 4 pages, 0 differ\n" in out
        assert f"one.test, port {apache.port}: " in out and f"two.test, port {apache.port}: " in out and "$name" not in out.partition("Brigade serves on")[2]


def test_virtual_hosts_of_an_address():
    """Behind a Listen for all addresses, each is asked where Apache has it."""
    extra = brigade.free_port()
    site = "<VirtualHost {0}:{1}>\nServerName {2}\nRedirect {3} /a.txt\n</VirtualHost>\n"
    with DebianApache(f"Listen 0.0.0.0:{extra}\n" + site.format("*", extra, "all.test", "gone")
                      + site.format("127.0.0.2", extra, "one.test", "404")) as apache:
        status, out, err = migrate("--try", str(two_free_ports()), "--path", "/a.txt", "--max", "2", apache.path("etc"))
        assert status == 0, out[-1500:] + err
        assert f"all.test, port {extra}: 2 pages, 0 differ\n" in out and f"one.test, port {extra}: 2 pages, 0 differ\n" in out


@pytest.mark.parametrize("arguments,message", [
    (["--try", "70000"], "--try 70000: ports are 1 to 65535\n"), (["--try", "abc"], 'Value "abc" invalid'),
    (["--frob"], "Unknown option: frob\n"), (["x", "y"], "one folder or file at most"),
    (["--try", "9000", "@CONF@"], "no Apache answers on 127.0.0.1, port 1: start it, or tell its address by --peer\n")])
def test_mistakes_are_told(tmp_path, arguments, message):
    (tmp_path / "logs").mkdir()
    conf = tmp_path / "site.conf"
    conf.write_text(f"ServerRoot {tmp_path}\nListen 127.0.0.1:1\nServerName x\nTypesConfig /dev/null\n")
    status, out, err = migrate(*(argument.replace("@CONF@", str(conf)) for argument in arguments))
    assert status == 2 and f"brigade-migrate: {message}" in err


def test_a_configuration_that_cannot_be_read(tmp_path):
    """What stands behind a mistake is not counted as offered."""
    conf = tmp_path / "site.conf"
    conf.write_text(f"ServerRoot {tmp_path}\nListen 127.0.0.1:1\nServerName a b\n")
    status, out, err = migrate("--try", "9000", str(conf))
    assert status == 1 and f"line 3 of {conf}:\nServerName takes one argument" in out, out
    assert out.splitlines()[-1].startswith("Can Brigade take over? Not known: ") and " offered" not in out


def test_lines_that_are_not_offered(tmp_path):
    """A file by its name; a line of a module that is not loaded is named with file and line."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "more.conf").write_text("# one\nLuaRoot \\\n  /srv/lua\n")
    conf = tmp_path / "site.conf"
    conf.write_text(f"ServerRoot {tmp_path}\nListen 127.0.0.1:1\nServerName x\nTypesConfig /dev/null\nInclude more.conf\nStartServers 2\n")
    status, out, err = migrate(str(conf))
    assert status == 1
    assert f"NO   {tmp_path}/more.conf:2: LuaRoot   /srv/lua\n     not offered: it is in mod_lua" in out, out
    assert f"map  {conf}:6: StartServers 2\n" in out
    assert "4 lines offered or in sections that are not read, 1 mapped to something else, 1 not offered" in out
    assert migrate(str(tmp_path / "none.conf"))[0] == 2


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_unit(tmp_path):
    """The drop-in, beside the package's unit: systemd takes both, and the commands in it are those of this configuration."""
    with DebianApache() as apache:
        status, out, err = migrate("--unit", str(tmp_path), apache.path("etc"))
        assert status == 0
        dropin = (tmp_path / "brigade.service.d/apache.conf").read_text()
        assert f'Environment="APACHE_LOG_DIR={apache.path("log")}"\n' in dropin and f"ReadWritePaths=-{apache.path('log')}\n" in dropin
        start = [line for line in dropin.splitlines() if line.startswith("ExecStartPre=/")][0].removeprefix("ExecStartPre=")
        environment = dict(line.removeprefix('Environment="').rstrip('"').split("=", 1) for line in dropin.splitlines()
                           if line.startswith("Environment="))
        checked = subprocess.run(start, shell=True, env={"PATH": os.environ["PATH"], **environment}, capture_output=True, text=True, timeout=60)
        assert checked.returncode == 0, checked.stderr
    with open(os.path.join(TOP, "debian/brigade.service")) as f:
        (tmp_path / "brigade.service").write_text(f.read().replace("/usr/sbin/brigade", os.path.abspath(brigade.BINARY)))
    shown = subprocess.run(["systemd-analyze", "verify", str(tmp_path / "brigade.service")], capture_output=True, text=True, timeout=60,
                           env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"})
    wrong = [line for line in shown.stderr.splitlines() if str(tmp_path) in line or line.startswith("brigade.service:")]
    assert [line for line in wrong if "Command 'man" not in line] == []
