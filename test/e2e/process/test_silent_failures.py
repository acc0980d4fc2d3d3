# SPDX-License-Identifier: Apache-2.0
"""No start, reload or -t fails without a word; modules that contradict each other about their order do not stop a start."""
import glob
import os
import re
import signal
import subprocess

import pytest

import brigade
from trouble import compiled

pytestmark = pytest.mark.only("brigade")

PLACES = [("pre_config", 1), ("check_config", 1), ("open_logs", 1), ("post_config", 1), ("post_config", 2), ("pre_mpm", 1), ("drop_privileges", 1),
          ("child_init", 1), ("child_init_at_once", 1), ("directive", 1), ("register_hooks", 1)]
AT_START = ("pre_mpm", "drop_privileges", "child_init", "child_init_at_once")  # -t does not come to these
NOTICES = rb"(?m)^.*(started as root|resuming normal operations|Command line|Server built|\[\w+:(info|notice)\]).*\n|^\n"


def words(done, server):
    return re.sub(NOTICES, b"", done.stdout + done.stderr + server.error_log())


def config(place, time):
    return f"LoadModule silent_module {compiled('mod_silent', f'-DSILENT_AT={place}', f'-DSILENT_TIME={time}')}\nSilent x\n"


@pytest.mark.parametrize("place, time", PLACES)
def test_a_module_that_fails_without_a_word(serve, place, time):
    server = serve.unstarted(config(place, time))
    if place not in AT_START:
        done = server.run("-t")
        assert done.returncode != 0 and re.search(rb"silent|onfiguration|error on line \d+|LoadModule on line \d+", words(done, server)), done
        assert b"Syntax OK" not in done.stderr
    done = server.run("-DFOREGROUND")
    assert done.returncode != 0 and len(words(done, server)) > 20, done
    server.expect_trouble = True


@pytest.mark.parametrize("place, time", [p for p in PLACES if p[0] not in AT_START])
def test_a_reload(serve, place, time):
    server = serve("", {"a.txt": "a"})
    server.write_config(config(place, time))
    before = len(server.error_log())
    server.signal(signal.SIGUSR1)
    brigade.wait_until(lambda: re.search(rb"\[\w+:(error|crit|alert|emerg)\]", server.error_log()[before:]), "a word")
    assert server.get("/a.txt").body == b"a"
    server.expect_trouble = True


def modules():
    """Of Apache's files that have a built-in twin: name of the module, file."""
    found = []
    done = subprocess.run([brigade.BINARY, "-l"], capture_output=True, check=False).stdout.decode()
    for path in sorted(glob.glob(f"{brigade.APACHE_MODULES}/mod_*.so")):
        if os.path.basename(path)[:-3] + ".c" in done.split():
            symbols = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, check=True).stdout.decode()
            name = re.search(r" [DB] (\w+_module)$", symbols, re.M)
            if name:
                found.append((name[1], path))
    return found


@pytest.mark.slow
def test_files_in_place_of_their_twins(serve):
    """Each comes to an end, with a word if it fails."""
    tried = modules()
    if not tried:
        pytest.skip("Apache's modules are not installed")
    for name, path in tried:
        server = serve.unstarted(f"BuiltinModule {name} Off\nLoadModule {name} {path}\n")
        done = server.run("-t")
        assert done.returncode == 0 or re.search(rb"(?m)^(?!started as root).*\w", done.stderr), (name, done)


def test_a_circle_is_named(serve):
    server = serve(f"LoadModule circle_module {compiled('mod_circle')}\nRewriteEngine On\nRewriteRule ^/b$ /a.txt\n", {"a.txt": "a"})
    assert server.get("/b").body == b"a"
    said = server.error_log() + server.read("logs/stderr")
    found = re.search(rb"hook fixups: by what these modules say each comes before the next.*: (.*)\. What mod_proxy\.c says of mod_rewrite\.c does not count", said)
    assert found and sorted(found[1].split(b", ")) == [b"mod_circle.c", b"mod_proxy.c", b"mod_rewrite.c"], said


@pytest.mark.parametrize("name", ["rewrite", "proxy"])
def test_one_of_a_pair_is_apaches(serve, name):
    """Rules come before the proxy, of whichever origin the two are."""
    path = f"{brigade.APACHE_MODULES}/mod_{name}.so"
    if not os.path.exists(path):
        pytest.skip(f"there is no mod_{name}")
    server = serve(f"BuiltinModule {name}_module Off\nLoadModule {name}_module {path}\nRewriteEngine On\nRewriteRule ^/b$ /a.txt\n", {"a.txt": "a"})
    assert server.get("/b").body == b"a"
    assert b"each comes before the next" not in server.error_log() + server.read("logs/stderr")


@pytest.mark.parametrize("name", ["heartmonitor", "lbmethod_byrequests"])
def test_modules_that_lack_another(serve, name):
    path = f"{brigade.APACHE_MODULES}/mod_{name}.so"
    if not os.path.exists(path):
        pytest.skip(f"there is no mod_{name}")
    off = "BuiltinModule lbmethod_byrequests_module Off\n" if name.startswith("lb") else ""
    listens = "HeartbeatListen 239.0.0.1:27999\n" if name == "heartmonitor" else ""
    server = serve.unstarted(f"{off}LoadModule {name}_module {path}\n{listens}")
    for args in ("-t",), ("-DFOREGROUND",):
        done = server.run(*args)
        assert done.returncode == 1 and re.search(rb"a start would fail: .*\w|does not start: .*\w", done.stderr), done
    server.expect_trouble = True
