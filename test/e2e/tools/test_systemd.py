# SPDX-License-Identifier: Apache-2.0
"""The Debian package under a systemd that runs: TEST_LONG=packages asks for it (minutes). It is the first process of a space of its own, in
a file system that is thrown away, with a network of its own."""
import os
import shutil
import subprocess
import tempfile

import pytest

import effort
from debian_packages import MINUTES, build

pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(not effort.everything("packages"), reason="TEST_LONG=packages asks for it"),
              pytest.mark.skipif(not os.path.exists("/lib/systemd/systemd"), reason="systemd is not installed"),
              pytest.mark.skipif(not os.path.exists("/usr/lib/apache2/modules/mod_cgid.so"), reason="apache2 is not installed"),
              pytest.mark.skipif(not os.path.exists("/usr/sbin/logrotate"), reason="logrotate is not installed")]

BOOT = r"""set -e
dir=$1
mount -t tmpfs tmpfs "$dir/over"
mkdir "$dir/over/up" "$dir/over/work" "$dir/over/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/over/up,workdir=$dir/over/work" "$dir/over/root"
root=$dir/over/root
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mkdir "$root/trial"
mount --bind "$dir/trial" "$root/trial"
echo 0123456789abcdef0123456789abcdef > "$root/etc/machine-id"
rm -rf "$root"/etc/systemd/system/*.wants
cat > "$root/etc/systemd/system/trial.service" <<'U'
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/bin/sh /trial/use
StandardOutput=append:/trial/out
StandardError=append:/trial/out
ExecStopPost=/bin/systemctl --force --force poweroff
U
exec chroot "$root" env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=trial.service
"""

USE = r"""set -e
fail() { echo "FAILED: $*"; systemctl status brigade --no-pager -l || true; cat /var/log/brigade/error.log || true; exit 1; }
get() { curl -sSf --max-time 20 --retry 50 --retry-connrefused --retry-delay 1 -o /dev/null "$@" || fail "$@"; }
main() { systemctl show -p MainPID --value brigade; }
until_true() { for try in $(seq 200); do "$@" && return; sleep 0.1; done; fail "$@"; }
is_new() { test "$(stat -Lc %i /proc/$(main)/exe)" = "$(stat -Lc %i /usr/lib/brigade/bin/brigade)"; }
logged() { test "$(grep -c "$1" /var/log/brigade/error.log)" -ge "$2"; }
restarted() { test "$(systemctl show -p NRestarts --value brigade)" -ge 1 && systemctl -q is-active brigade; }
user() { test "$(ps -o user= -p "$(main)")" = "$1" || fail "it does not run as $1"; }
powerless() { for process in $(pgrep -P "$(main)" brigade); do grep -q "^CapPrm:.0*$" "/proc/$process/status" || fail "capabilities of $process"; done; }
sandboxed() { for process in $(pgrep -P "$(main)" brigade); do grep -q "^Seccomp_filters:.[2-9]" "/proc/$process/status" || fail "no sandbox around $process"; done; }
ip link set lo up

# The packages start it. Then a site on ports below 1024, a key that root alone may read, a piped log and a script.
dpkg -i /trial/brigade_*.deb > /dev/null
systemctl -q is-active brigade || fail start
systemctl stop brigade
cd /etc/brigade
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out cert.pem 2> /dev/null
chmod 0600 key.pem
mkdir -p /srv/cgi
printf '#!/bin/sh\nprintf "Content-Type: text/plain\n\nscript of $(id -u)\n"\n' > /srv/cgi/hello
chmod 0755 /srv/cgi /srv/cgi/hello
cat > conf.d/trial.conf <<'C'
Listen 80
Listen 443
LoadModule cgi_module /usr/lib/apache2/modules/mod_cgi.so
SandboxAllow exec /srv/cgi /bin /usr/bin
ScriptAlias /cgi/ /srv/cgi/
<Directory /srv/cgi>
Require all granted
</Directory>
CustomLog "|/usr/bin/tee -a /var/log/brigade/piped" "%r"
<VirtualHost *:443>
SSLEngine On
SSLCertificateFile /etc/brigade/cert.pem
SSLCertificateKeyFile /etc/brigade/key.pem
</VirtualHost>
C
systemctl start brigade || fail start
get http://127.0.0.1/
get -k https://127.0.0.1/
user www-data
powerless
sandboxed
test "$(curl -sS --max-time 20 http://127.0.0.1/cgi/hello)" = "script of $(id -u www-data)" || fail script
until_true grep -q "GET / HTTP" /var/log/brigade/piped
test "$(systemctl show -p StatusText --value brigade)" != "" || fail StatusText
echo START DONE

pid=$(main)
systemctl reload brigade
until_true logged "resuming normal operations" 2
get http://127.0.0.1/
test "$pid" = "$(main)" || fail "reload: another process"
echo RELOAD DONE

# The same package again: postinst has the new program take over, while somebody asks.
touch /trial/asking
(while test -e /trial/asking; do curl -sSf --max-time 20 -o /dev/null http://127.0.0.1/ || echo failed >> /trial/failed; done) &
dpkg -i /trial/brigade_*.deb > /dev/null
until_true is_new
systemctl -q is-active brigade || fail upgrade
rm /trial/asking; wait
test ! -e /trial/failed || fail "requests failed"
test "$pid" = "$(main)" || fail "upgrade: another process"
get -k https://127.0.0.1/
echo UPGRADE DONE

mkdir -p /etc/systemd/system/brigade.service.d
printf '[Service]\nWatchdogSec=2\n' > /etc/systemd/system/brigade.service.d/watchdog.conf
systemctl daemon-reload
systemctl restart brigade
pid=$(main)
sleep 3 # it tells systemd in time
test "$pid" = "$(main)" || fail "watchdog: it was ended"
kill -STOP "$pid"
until_true restarted
get http://127.0.0.1/
echo WATCHDOG DONE

systemctl stop brigade
test "$(systemctl show -p Result --value brigade)" = success || fail stop
echo STOP DONE

# The daemon of mod_cgid, which is outside of the sandbox; and no sandbox at all.
sed -i 's|^LoadModule cgi.*|LoadModule cgid_module /usr/lib/apache2/modules/mod_cgid.so\nScriptSock /run/brigade/cgisock|; /^SandboxAllow/d' conf.d/trial.conf
for sandbox in On Off; do
    echo "Sandbox $sandbox" > conf.d/sandbox.conf
    systemctl start brigade || fail cgid
    get http://127.0.0.1/
    test "$(curl -sS --max-time 20 http://127.0.0.1/cgi/hello)" = "script of $(id -u www-data)" || fail cgid
    powerless
    systemctl stop brigade
done
rm conf.d/sandbox.conf
echo CGID DONE

# Root reads the logs' folder, the group adm the logs.
systemctl start brigade || fail rotate
get http://127.0.0.1/
logrotate -f /etc/logrotate.d/brigade || fail logrotate
logged_anew() { curl -sS -o /dev/null http://127.0.0.1/anew; grep -q anew /var/log/brigade/access.log; }
until_true logged_anew
test "$(stat -c '%U %G %a' /var/log/brigade/access.log)" = "www-data adm 640" || fail "access.log: $(stat -c '%U %G %a' /var/log/brigade/access.log)"
systemctl stop brigade
echo ROTATE DONE

# It reads what www-data may.
rm /etc/systemd/system/brigade.service.d/watchdog.conf
cp /usr/share/doc/brigade/examples/unprivileged.conf /etc/systemd/system/brigade.service.d/
systemctl daemon-reload
systemctl start brigade && fail "it read a key of root's"
systemctl reset-failed brigade
chgrp ssl-cert key.pem
chmod 0640 key.pem
systemctl start brigade || fail unprivileged
get http://127.0.0.1/
get -k https://127.0.0.1/
systemctl stop brigade
rm /etc/systemd/system/brigade.service.d/unprivileged.conf
chgrp root key.pem
chmod 0600 key.pem
echo UNPRIVILEGED DONE

# Its supervisor is root, and User counts.
cp /usr/share/brigade/root.conf /etc/systemd/system/brigade.service.d/
systemctl daemon-reload
printf 'User nobody\nGroup nogroup\n' > conf.d/user.conf
systemctl start brigade || fail root
get -k https://127.0.0.1/
user root
powerless
test "$(curl -sS --max-time 20 http://127.0.0.1/cgi/hello)" = "script of $(id -u nobody)" || fail "script as root"
systemctl stop brigade
rm /etc/systemd/system/brigade.service.d/root.conf
echo ROOT DONE

# An installation whose unit starts as root: it is upgraded as it runs, and is no longer root after a restart, but where User says
# that it needs it.
old_unit() {
    sed -i -e '/^User=/d; /^Group=/d; /^AmbientCapabilities=/d; s/^SystemCallFilter=capset /&@setuid @chown /' \
        -e 's/^CapabilityBoundingSet=.*/CapabilityBoundingSet=CAP_NET_BIND_SERVICE CAP_SETUID CAP_SETGID CAP_KILL CAP_CHOWN/' /lib/systemd/system/brigade.service
    systemctl daemon-reload
    chown -R root /var/log/brigade
    systemctl restart brigade || fail "old unit"
    user root
}
old_unit
dpkg -i /trial/brigade_*.deb > /dev/null
until_true is_new
user root
systemctl restart brigade
user root
get -k https://127.0.0.1/
rm -r conf.d/user.conf /etc/systemd/system/brigade.service.d/00-root.conf
old_unit
pid=$(main)
dpkg -i /trial/brigade_*.deb > /dev/null
until_true is_new
test "$pid" = "$(main)" || fail "old unit: another process"
systemctl restart brigade || fail "new unit"
user www-data
get -k https://127.0.0.1/
systemctl stop brigade
echo OLD DONE

# systemd opens the port.
rm conf.d/trial.conf
systemctl start brigade.socket
get http://127.0.0.1:8080/
systemctl -q is-active brigade || fail socket
systemctl stop brigade.socket brigade.service
echo SOCKET DONE

# What the how-to "Move a Debian Apache site" says, and back.
systemctl enable --now apache2 2> /dev/null || fail apache2
echo moved > /var/www/html/moved.txt
get http://127.0.0.1/moved.txt
brigade-migrate --unit /etc/systemd/system > /trial/migrate 2>&1 || fail "brigade-migrate: $(tail -n 3 /trial/migrate)"
systemctl daemon-reload
{ systemctl disable --now apache2 && systemctl enable --now brigade; } 2> /dev/null || fail "change over"
get http://127.0.0.1/moved.txt
user root
powerless
curl -sS --max-time 20 -o /dev/null -D /trial/head http://127.0.0.1/moved.txt
grep -qi "^server: brigade" /trial/head || fail "who answers: $(cat /trial/head)"
until_true grep -q moved.txt /var/log/apache2/access.log
systemctl reload brigade
get http://127.0.0.1/moved.txt
{ systemctl disable --now brigade && systemctl enable --now apache2; } 2> /dev/null || fail "change back"
curl -sS --max-time 20 -o /dev/null -D /trial/head http://127.0.0.1/moved.txt
grep -qi "^server: apache" /trial/head || fail "who answers: $(cat /trial/head)"
echo MIGRATE DONE
echo ALL DONE
"""

STEPS = "START RELOAD UPGRADE WATCHDOG STOP CGID ROTATE UNPRIVILEGED ROOT OLD SOCKET MIGRATE ALL".split()


@pytest.fixture
def cgroup():
    """A group of processes that systemd is at the root of."""
    for top in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
        if os.path.exists(f"{top}/cgroup.procs"):
            path = tempfile.mkdtemp(prefix="brigade-test-", dir=top)
            yield path
            for folder, _, _ in os.walk(path, topdown=False):
                os.rmdir(folder)
            return
    pytest.skip("no cgroup2 file system")


def test_the_unit_at_work(tmp_path, cgroup):
    (tmp_path / "over").mkdir()
    trial = tmp_path / "trial"
    trial.mkdir()
    for package in build(tmp_path):
        shutil.copy(package, trial)
    (trial / "use").write_text(USE)
    (tmp_path / "boot").write_text(BOOT)
    space = ["unshare", "--pid", "--mount", "--uts", "--ipc", "--net", "--cgroup", "--fork", "--kill-child", "--propagation", "private"]
    done = subprocess.run(["sh", "-c", 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"', "sh", cgroup, *space, "sh", str(tmp_path / "boot"), str(tmp_path)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=5 * MINUTES)
    said = (trial / "out").read_text() if (trial / "out").exists() else done.stdout + done.stderr
    assert [line.split()[0] for line in said.splitlines() if line.endswith(" DONE")] == STEPS, said
