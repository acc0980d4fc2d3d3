# SPDX-License-Identifier: Apache-2.0
"""Minimal roots of Debian's releases with some packages, made by mmdebstrap where this machine has its own packages from, and programs that
run in one of them. They are kept in out/test/roots."""
import os
import shutil
import subprocess

import pytest

import brigade

ROOTS = os.path.join(brigade.REPOSITORY, "out", "test", "roots")
INSIDE = """root=$0
mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" || exit 1
while [ "$1" != -- ]; do
    mkdir -p "$root$1" && mount --bind "$1" "$root$1" || exit 1
    shift
done
shift
exec chroot "$root" "$@"
"""


def sources(release):
    """Lines for apt: this machine's sources of Debian, of another release."""
    own = dict(line.strip().split("=", 1) for line in open("/etc/os-release", encoding="utf-8") if "=" in line)["VERSION_CODENAME"]
    done = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"], capture_output=True, text=True, check=True)
    wanted = [line.split() for line in sorted(set(done.stdout.splitlines()))]
    return "".join(f"deb {uri} {suite.replace(own, release)} {part}\n" for uri, suite, part in wanted if part == "main" and suite in (own, f"{own}-updates", f"{own}-security"))


class DebianRoot:
    """A root of that release; skips the test where none can be made."""

    def __init__(self, release, packages):
        if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
            pytest.skip("a root of Debian needs root and mmdebstrap")
        self.path = os.path.join(ROOTS, release)
        if os.path.isdir(self.path):
            return
        os.makedirs(ROOTS, exist_ok=True)
        begun = f"{self.path}.begun-{os.getpid()}"
        try:
            subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "--mode=root", f"--include={','.join(packages)}", release, begun, "-"],
                           input=sources(release), check=True, capture_output=True, text=True, timeout=1500)
            os.rename(begun, self.path)
        except (OSError, subprocess.SubprocessError) as e:
            shutil.rmtree(begun, ignore_errors=True)
            pytest.skip(f"no root of {release} can be made: {(getattr(e, 'stderr', None) or str(e))[-300:]}")

    def words(self, folders):
        """The words in front of a command that run it inside, where these folders of ours are at their places, too."""
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", INSIDE, self.path, *folders, "--"]

    def output(self, *command):
        return subprocess.run([*self.words([]), *command], capture_output=True, text=True, check=True, timeout=brigade.PATIENCE).stdout

    def glob(self, pattern):
        import glob
        return [p[len(self.path):] for p in sorted(glob.glob(self.path + pattern))]
