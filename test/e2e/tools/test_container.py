# SPDX-License-Identifier: Apache-2.0
"""The container recipe (build/container). Its configuration runs here as in a container: without root, rights and a pid file. With
TEST_LONG=packages, the steps of the Containerfile are carried out in a file system that is thrown away, and what they make is started on
a root that cannot be written; packages are those of this machine, for it takes no container engine."""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import urllib.request

import pytest

import effort
import brigade

TOP = pathlib.Path(__file__).resolve().parents[3]
RECIPE = TOP / "build/container"
pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(os.geteuid() != 0, reason="gives up root"),
              pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv is not installed")]
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--bounding-set=-all"]


def instructions():
    """[(name, text)] of the Containerfile."""
    text = re.sub(r"\\\n", " ", (RECIPE / "Containerfile").read_text())
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line and not line.startswith("#")]


def one(name):
    return [text for instruction, text in instructions() if instruction == name][-1]


@pytest.fixture
def open_folder():
    """A folder that others may enter, unlike pytest's."""
    with tempfile.TemporaryDirectory(prefix="brigade-test-") as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


def sandboxed(pid):
    """Of each server process: does a list of system calls hold for it?"""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [bool(re.search(r"^Seccomp:\t2$", pathlib.Path(f"/proc/{child}/status").read_text(), re.M)) for child in children]


def test_as_in_a_container(open_folder):
    tmp_path = open_folder
    port = brigade.free_port()
    text = (RECIPE / "brigade.conf").read_text().replace("GracefulDrainDelay 5", "GracefulDrainDelay 0")
    for old, new in (("Listen 8080", f"Listen 127.0.0.1:{port}"), ("/opt/brigade/conf/mime.types", str(tmp_path / "mime.types")),
                     ("/etc/brigade", str(tmp_path)), ("/run/brigade", str(tmp_path / "run")), ("/srv/www", str(tmp_path / "www"))):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "brigade.conf").write_text(text)
    shutil.copy(TOP / "build/conf/mime.types", tmp_path)  # others may not enter the clone
    for name in ("run", "www"):
        (tmp_path / name).mkdir()
    (tmp_path / "www/index.html").write_text("in a container\n")
    shutil.copy(brigade.BINARY, tmp_path / "brigade")
    logs = [tmp_path / "out", tmp_path / "err"]
    for path in (tmp_path / "run", *logs):
        path.touch()
        os.chown(path, 65534, 65534)
    with open(logs[0], "ab") as out, open(logs[1], "ab") as err:
        server = subprocess.Popen([*NOBODY, str(tmp_path / "brigade"), "-d", str(tmp_path), "-f", "brigade.conf", "-DFOREGROUND"], stdout=out, stderr=err)
    try:
        def healthy():
            assert server.poll() is None, logs[1].read_text()
            return subprocess.run([RECIPE / "brigade-health", str(port)], capture_output=True, timeout=20).returncode == 0
        brigade.wait_until(healthy, "the health check")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=20) as answer:
            assert answer.read() == b"in a container\n" and answer.headers["ETag"]
        assert sandboxed(server.pid) == [True]
        stop = subprocess.run([*NOBODY, str(tmp_path / "brigade"), "-d", str(tmp_path), "-f", "brigade.conf", "-k", "stop"], capture_output=True, text=True, timeout=20)
        assert "PidFile none" in stop.stdout and server.poll() is None
        server.send_signal(getattr(signal, one("STOPSIGNAL")))
        assert server.wait(40) == 0
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()
    lines = [json.loads(line) for line in logs[0].read_text().splitlines()]
    assert [line for line in lines if line["path"] == "/index.html" and line["status"] == 200], lines
    assert [line for line in logs[1].read_text().splitlines() if ":notice]" not in line] == []
    left = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*"))
    assert left == ["brigade", "brigade.conf", "err", "mime.types", "out", "run", "www", "www/index.html"]
    assert subprocess.run([RECIPE / "brigade-health", str(port)], capture_output=True, timeout=20).returncode == 1


PREPARE = r"""set -e
dir=$1
ip link set lo up
mount -t tmpfs tmpfs "$dir/over"
root() {
    mkdir -p "$dir/over/$1/up" "$dir/over/$1/work" "$dir/over/$1/root"
    mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/over/$1/up,workdir=$dir/over/$1/work" "$dir/over/$1/root"
    mount -t proc proc "$dir/over/$1/root/proc"
    mount --rbind /dev "$dir/over/$1/root/dev"
}
"""
USE = r"""
root=$dir/over/image/root
mount -o remount,ro "$root"
mount -t tmpfs -o mode=0700,uid=65534,gid=65534 tmpfs "$root/run/brigade"
mount -t tmpfs tmpfs "$root/var/tmp"
touch "$dir/out" "$dir/err"
chown 65534 "$dir/out" "$dir/err"
as_user() { setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --bounding-set=-all "$@"; }
as_user chroot "$root" true 2> /dev/null && { echo "rights are left"; exit 1; }
chroot "$root" setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --bounding-set=-all @ENTRYPOINT@ >> "$dir/out" 2>> "$dir/err" &
server=$!
for try in $(seq 200); do
    chroot "$root" @HEALTH@ 2> /dev/null && break
    kill -0 $server || { cat "$dir/err"; exit 1; }
    sleep 0.05
done
chroot "$root" @HEALTH@
curl -sSf -D - -o /dev/null http://127.0.0.1:8080/
touch "$root/etc/x" 2> /dev/null && { echo "the root can be written"; exit 1; }
kill -s @STOPSIGNAL@ $server
wait $server
grep -q '"status":200' "$dir/out" || { cat "$dir/out"; exit 1; }
cat "$dir/err"
echo ALL DONE
"""


def script(source):
    """What carries out the Containerfile, stage by stage."""
    out, stage, known = [PREPARE], None, []
    for name, text in instructions():
        if name == "FROM":
            stage = "image" if " AS " not in text else text.split(" AS ")[1]
            out.append(f"root {stage}")
        elif name == "RUN" and text.startswith("apt-get"):
            packages = re.search(r"--no-install-recommends ([^&]+)", text)[1].split()
            out.append("dpkg -s " + " ".join(packages) + " > /dev/null")
        elif name == "RUN":
            out.append(f'chroot "$dir/over/{stage}/root" sh -ec {shlex.quote(text)} >> "$dir/steps" 2>&1 || {{ tail -n 20 "$dir/steps"; exit 1; }}')
        elif name == "COPY":
            words = text.split()
            base = f"$dir/over/{words.pop(0).split('=')[1]}/up" if words[0].startswith("--from=") else str(source)
            target = f"$dir/over/{stage}/root{words[1]}"
            folder = words[0] in (".", "/image") or (source / words[0]).is_dir()
            out.append(f'mkdir -p "{target if folder else os.path.dirname(target)}"')
            out.append(f'cp -a "{base}/{words[0].lstrip("/")}{"/." if folder else ""}" "{target}"')
        else:
            known.append(name)
    assert sorted(known) == ["ENTRYPOINT", "EXPOSE", "HEALTHCHECK", "STOPSIGNAL", "USER"] and one("USER") == "65534:65534"
    health = json.loads(one("HEALTHCHECK").split("CMD ", 1)[1])
    use = USE.replace("@ENTRYPOINT@", shlex.join(json.loads(one("ENTRYPOINT")))).replace("@HEALTH@", shlex.join(health))
    return "\n".join(out) + use.replace("@STOPSIGNAL@", one("STOPSIGNAL").removeprefix("SIG"))


@pytest.mark.skipif(not effort.everything("packages"), reason="TEST_LONG=packages asks for it")
def test_the_steps_of_the_recipe(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (tmp_path / "over").mkdir()
    os.chmod(tmp_path, 0o755)
    archive = subprocess.run(["git", "-C", TOP, "archive", "HEAD"], capture_output=True, check=True)
    subprocess.run(["tar", "x", "-C", source], input=archive.stdout, check=True)
    done = subprocess.run(["unshare", "-m", "-n", "--propagation", "private", "sh", "-c", script(source), "sh", str(tmp_path)],
                          capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0 and done.stdout.endswith("ALL DONE\n"), done.stdout[-3000:] + done.stderr[-3000:]
