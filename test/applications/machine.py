# SPDX-License-Identifier: Apache-2.0
"""A Debian beside this one: mount namespaces with layers over /usr, /etc, /var and /run. Packages are installed there as anywhere,
and nothing of it is seen outside or left behind.

    debian = Machine()
    debian.run("apt-get", "install", ...)
    copy = Machine(debian)        # what is written in the copy does not change the original
    with copy:                    # this thread, and what it starts, is inside
        ...
"""
import ctypes
import os
import subprocess
import tempfile

import brigade

CLONE_FS, CLONE_NEWNS = 0x200, 0x20000
LIBC = ctypes.CDLL(None, use_errno=True)
# $0 is a folder to mount on. The layers go with the last process inside; cat ends when its input does.
MOUNTS = """mount -t tmpfs -o size=4g,mode=755 none "$0"
for d in usr etc var; do
    mkdir "$0/$d" "$0/$d/upper" "$0/$d/work"
    mount -t overlay -o "lowerdir=/$d,upperdir=$0/$d/upper,workdir=$0/$d/work" overlay "/$d"
done
mount -t tmpfs -o mode=755 none /run
mkdir -m 1777 /run/lock
mkdir -m 777 /run/php /run/mysqld
printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
echo ready
exec cat
"""


def enter(descriptor):
    """This thread goes to another mount namespace, and keeps its folder."""
    folder = os.getcwd()
    if LIBC.unshare(CLONE_FS) or LIBC.setns(descriptor, CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "setns")
    os.chdir(folder)


class Machine:
    def __init__(self, parent=None):
        self.started = []
        self.folder = tempfile.mkdtemp(prefix="brigade-machine-")
        inside = ["nsenter", "-t", str(parent.holder.pid), "-m"] if parent else []
        self.holder = subprocess.Popen([*inside, "unshare", "-m", "--propagation", "private", "sh", "-ec", MOUNTS, self.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if self.holder.stdout.readline() != b"ready\n":
            message = self.holder.stderr.read().decode()
            self.close()
            raise OSError(f"no mount namespaces with overlays here: {message}")
        self.inside = os.open(f"/proc/{self.holder.pid}/ns/mnt", os.O_RDONLY)

    def __enter__(self):
        self.outside = os.open("/proc/thread-self/ns/mnt", os.O_RDONLY)
        enter(self.inside)
        return self

    def __exit__(self, *_):
        enter(self.outside)
        os.close(self.outside)

    def run(self, *command, timeout=600):
        with self:
            return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"})

    def must(self, *command):
        done = self.run(*command)
        assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout

    def write(self, path, text, mode=0o644):
        with self:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(path, mode)

    def start(self, *command, ready):
        """Starts a service, and waits until ready() is true."""
        with self:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.started.append(process)
        brigade.wait_until(lambda: process.poll() is not None or ready(), command[0], 60)
        assert process.poll() is None, f"{command[0]} ended"

    def exists(self, path):
        with self:
            return os.path.exists(path)

    def close(self):
        for process in reversed(self.started):
            process.terminate()
            process.wait()
        if hasattr(self, "inside"):
            os.close(self.inside)
        self.holder.stdin.close()
        self.holder.wait()
        os.rmdir(self.folder)
