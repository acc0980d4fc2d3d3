# SPDX-License-Identifier: Apache-2.0
"""The Debian packages, as the maintainer makes them; needs debhelper and dpkg-dev."""
import os
import shutil
import subprocess

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MINUTES = 60


def build(folder):
    """Build them in a folder. Returns their files."""
    source = folder / "brigade"
    source.mkdir()
    archive = subprocess.run(["git", "-C", TOP, "archive", "HEAD"], capture_output=True, check=True)
    subprocess.run(["tar", "x", "-C", source], input=archive.stdout, check=True)
    done = subprocess.run(["dpkg-buildpackage", "-us", "-uc", "-b", "-d"], cwd=source, capture_output=True, text=True, timeout=20 * MINUTES, env={**os.environ, "DEB_BUILD_OPTIONS": "nocheck parallel=2"})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    if shutil.which("lintian"):
        changes = [str(f) for f in folder.iterdir() if f.suffix == ".changes"]
        found = subprocess.run(["lintian", "--allow-root", *changes], capture_output=True, text=True, timeout=5 * MINUTES)
        assert "E:" not in found.stdout, found.stdout
    return [str(f) for f in folder.iterdir() if f.suffix == ".deb"]
