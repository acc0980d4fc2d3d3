# SPDX-License-Identifier: Apache-2.0
"""The Debian packages: built, installed beside what is there, used, and purged. The unit is looked at by systemd itself.
The packages take minutes: TEST_LONG=packages asks for them. They are installed in a file system that is thrown away."""
import os
import re
import shutil
import subprocess

import pytest

import effort
import brigade
from debian_packages import MINUTES, TOP, build

pytestmark = pytest.mark.only("brigade")

INSTALL = r"""set -e
mount -t tmpfs tmpfs "$1/over"
mkdir "$1/over/up" "$1/over/work" "$1/over/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/over/up,workdir=$1/over/work" "$1/over/root"
root=$1/over/root
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mkdir "$root/packages"
cp "$1"/*.deb "$root/packages/"
printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
sed "s/@PORT@/$2/" "$1/use" > "$root/packages/use"
exec chroot "$root" sh -e /packages/use
"""
USE = r"""dpkg -i /packages/brigade_*.deb /packages/brigade-dev_*.deb /packages/brigade-doc_*.deb
sed -i 's/^Listen .*/Listen 127.0.0.1:@PORT@/' /etc/brigade/httpd.conf
brigade -t
cd /tmp
cp /usr/share/doc/brigade/examples/mod_sample_echo.c .
brigade-apxs -i -c mod_sample_echo.c
echo 'LoadModule sample_echo_module modules/mod_sample_echo.so' > /etc/brigade/conf.d/echo.conf
brigade -t
mkdir -p /run/brigade
brigade -k start
curl -sSf --retry 20 --retry-connrefused -D - -o /dev/null http://127.0.0.1:@PORT@/
test "$(stat -c %U /var/log/brigade/access.log)" = root
ps -o user= --ppid "$(cat /run/brigade/brigade.pid)" | grep www-data
logrotate -f /etc/logrotate.d/brigade || true
brigade -k stop
man -P cat brigade > /dev/null || true
pkg-config --cflags brigade
apt-get purge -y brigade brigade-dev brigade-doc
for left in /etc/brigade/httpd.conf /usr/lib/brigade/bin /var/log/brigade /usr/sbin/brigade; do
    test ! -e $left || { echo "left behind: $left"; exit 1; }
done
echo ALL DONE
"""


def exposure(*units):
    """What systemd-analyze says, as a number; 10 is the worst."""
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", *units], capture_output=True, text=True, timeout=MINUTES)
    found = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
    assert found, done.stdout + done.stderr
    return float(found[1])


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
@pytest.mark.parametrize("dropin, most", [(None, 1.7), ("unprivileged.conf", 1.6), ("root.conf", 2.3)])
def test_the_unit_is_hardened(tmp_path, dropin, most):
    unit = shutil.copy(f"{TOP}/debian/brigade.service", tmp_path)
    if dropin:
        os.mkdir(f"{unit}.d")
        shutil.copy(f"{TOP}/debian/{dropin}", f"{unit}.d")
    assert exposure(unit) <= most


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
@pytest.mark.parametrize("name", ["brigade.service", "brigade.socket"])
def test_the_units_are_well_formed(tmp_path, name):
    for unit in ("brigade.service", "brigade.socket"):
        with open(f"{TOP}/debian/{unit}", encoding="utf-8") as f:
            text = f.read().replace("/usr/sbin/brigade", os.path.abspath(brigade.BINARY))
        (tmp_path / unit).write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(tmp_path / name)], capture_output=True, text=True, timeout=MINUTES)
    assert done.returncode == 0 and "brigade" not in done.stderr, done.stderr


@pytest.mark.skipif(not effort.everything("packages"), reason="TEST_LONG=packages asks for it")
def test_the_packages(tmp_path):
    """As the maintainer, then the administrator, does it; needs root and the packages debhelper and dpkg-dev."""
    (tmp_path / "over").mkdir()
    build(tmp_path)
    (tmp_path / "use").write_text(USE)
    done = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", INSTALL, "sh", str(tmp_path), str(brigade.free_port())], capture_output=True, text=True, timeout=5 * MINUTES)
    assert done.returncode == 0 and done.stdout.endswith("ALL DONE\n"), done.stdout[-3000:] + done.stderr[-3000:]
