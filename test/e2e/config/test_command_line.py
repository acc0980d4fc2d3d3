# SPDX-License-Identifier: Apache-2.0
"""The command line: what it shows, and what it refuses."""
import re
import subprocess

import pytest

import brigade


@pytest.mark.parametrize("arguments,code,patterns", [
    (["-v"], 0, [r"^Server version: .*Apache/2\.4\.\d+", r"^Server built:"]),
    (["-V"], 0, [r"Server's Module Magic Number: 20120211:\d+", r"Architecture:", r"Server MPM:\s+event",
                 r' -D HTTPD_ROOT="', r' -D SERVER_CONFIG_FILE="']),
    (["-l"], 0, [r"^Compiled in modules:", r"^  core\.c$", r"^  http_core\.c$", r"^  mod_so\.c$"]),
    (["-t"], 0, [r"^Syntax OK$"]),
    (["-M"], 0, [r"^Loaded Modules:", r"^ core_module \(static\)$"]),
    (["-S"], 0, [r"^VirtualHost configuration:", r'^ServerRoot: "', r"^PidFile:"]),
    (["-L"], 0, [r"^<Directory \(core\.c\)$", r"^DocumentRoot \(core\.c\)$"]),
    (["-h"], None, [r"Usage: "]),
    (["-t", "-D", "DUMP_VHOSTS"], 0, [r"^VirtualHost configuration:"]),
    (["-t", "-D", "DUMP_MODULES"], 0, [r"^Loaded Modules:"]),
    (["-t", "-c", "Nonsense on"], 1, [r"Invalid command 'Nonsense'"]),
    (["-t", "-C", "Define X 1", "-c", "ServerAdmin ${X}@example.com"], 0, [r"^Syntax OK$"]),
    (["-z"], 1, [r"Usage: "]),
])
def test_command_line(serve, arguments, code, patterns):
    done = serve.unstarted().run(*arguments)
    output = (done.stdout + done.stderr).decode()
    if code is not None:
        assert done.returncode == code, output
    for pattern in patterns:
        assert re.search(pattern, output, re.MULTILINE), output


def test_modules_that_are_listed_are_known_to_ifmodule(serve):
    """Scripts ask -l which modules there are: a name that is a line, and is loaded, holds in IfModule. mod_cgid serves for mod_cgi."""
    listed = serve.unstarted().run("-l").stdout.decode()
    names = re.findall(r"^  (\w+\.c)$", listed, re.M)
    assert "mod_cgid.c" in names and "mod_cgi.c" not in names and re.search(r"^  mod_cgi\.c .*mod_cgid\.c", listed, re.M)
    loaded = re.findall(r"^  mod_(\w+)\.c$", listed.split("Compiled in, but")[1], re.M)
    loads = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in ["mpm_event", *loaded])
    server = serve.unstarted("")
    server.write("httpd.conf", loads + "ServerName localhost\nListen 1\nErrorLog logs/error_log\nTypesConfig /dev/null\n"
                 + "".join(f"<IfModule !{name}>\nUnknown {name}\n</IfModule>\n" for name in names), base="conf")
    done = subprocess.run([brigade.BINARY, "-d", server.root, "-f", server.path("conf/httpd.conf"), "-t"], capture_output=True, text=True)
    assert done.returncode == 0 and "Syntax OK" in done.stderr, done.stderr


def test_missing_configuration_file(serve, tmp_path):
    server = serve.unstarted()
    done = subprocess.run([brigade.BINARY, "-d", server.root, "-f", str(tmp_path / "none.conf"), "-t"],
                          capture_output=True, text=True)
    assert done.returncode == 1 and "none.conf" in done.stderr


def test_included_files_are_listed_once(serve):
    """The first LoadModule line of a module of Apache makes the configuration be read again."""
    server = serve.unstarted()
    server.write("httpd.conf", "ServerName localhost\nListen 1\nErrorLog logs/error_log\nInclude conf/a.conf\nInclude conf/b.conf\n",
                 base="conf")
    server.write("a.conf", f"LoadModule mpm_event_module {brigade.APACHE_MODULES}/mod_mpm_event.so\n"
                 f"LoadModule authz_core_module {brigade.APACHE_MODULES}/mod_authz_core.so\n", base="conf")
    server.write("b.conf", "ServerAdmin a@b\n", base="conf")
    done = subprocess.run([brigade.BINARY, "-d", server.root, "-f", server.path("conf/httpd.conf"), "-t", "-D", "DUMP_INCLUDES"],
                          capture_output=True)
    output = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    assert [output.count(text) for text in ("Included configuration files:", "(*) ", "a.conf", "b.conf")] == [1] * 4, output


def test_settings_are_shown_without_the_rest_of_the_configuration(serve):
    """-V reads what chooses the process model, and carries out nothing else."""
    done = serve.unstarted("StartServers 3\nNonsense on\n").run("-V")
    output = (done.stdout + done.stderr).decode()
    assert done.returncode == 0 and "Server MPM:     event" in output
    assert "StartServers" not in output and "Nonsense" not in output


def test_mutexes_with_their_own_settings_are_shown(serve):
    server = serve.unstarted(f"LoadModule rewrite_module {brigade.APACHE_MODULES}/mod_rewrite.so\nMutex sem default\n")
    output = server.run("-t", "-D", "DUMP_RUN_CFG").stdout.decode()
    assert "Mutex rewrite-map: using_defaults\n" in output and re.search("^Mutex default: .*mechanism=", output, re.MULTILINE), output


@pytest.mark.parametrize("mechanism", ["file:@ROOT@/logs", "fcntl:@ROOT@/logs", "flock:@ROOT@/logs", "sysvsem", "posixsem", "pthread"])
def test_mutex_mechanisms(serve, mechanism):
    server = serve(f"LoadModule socache_shmcb_module @MODULES@/mod_socache_shmcb.so\nLoadModule auth_digest_module @MODULES@/mod_auth_digest.so\n"
                   f"LoadModule ssl_module @MODULES@/mod_ssl.so\nSSLSessionCache shmcb:@ROOT@/logs/sessions(65536)\nMutex {mechanism} default\n",
                   {"a.txt": "A"})
    assert server.get("/a.txt").body == b"A"


@pytest.mark.only("brigade")
@pytest.mark.parametrize("arguments,code,patterns", [
    (["--help"], 0, [r"^Usage: "]), (["--version"], 0, [r"^Server version: ", r"^Server loaded: +APR ", r"^Built as: .* TLS="]),
    (["--advise"], 1, [r"no option --advise; did you mean --advice\?"]), (["--takeover-chek"], 1, [r"did you mean --takeover-check\?"]),
    (["--cheque-module", "x.so"], 1, [r"did you mean --check-module\?"]), (["-X", "--hlep"], 1, [r"did you mean --help\?"]),
    (["-t", "--check-ssi", "x"], 1, [r"--check-ssi has to be the first argument"])])
def test_options_with_two_dashes(serve, arguments, code, patterns):
    """One that is not known starts no server; what is known is done, whatever the configuration says."""
    server = serve.unstarted()
    for command in ([brigade.BINARY, *arguments], server.command(*arguments)):
        if command[1] != arguments[0] and "first" in patterns[0]:
            continue
        server.port = brigade.free_port()
        server.write_config()
        done = subprocess.run(command, capture_output=True, text=True, timeout=brigade.PATIENCE)
        assert done.returncode == code, done
        assert all(re.search(p, done.stdout + done.stderr, re.MULTILINE) for p in patterns), done
        assert not server.error_log()


@pytest.mark.only("brigade")
def test_a_value_with_two_dashes_is_no_option(serve):
    done = serve.unstarted().run("-t", "-D", "--help")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, b"Syntax OK"), done
