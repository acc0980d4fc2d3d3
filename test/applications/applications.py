# SPDX-License-Identifier: Apache-2.0
"""Packages of Debian, unpacked into a folder of their own: nothing is installed. `build/test applications`."""
import glob
import os
import subprocess

import pytest

import brigade

PACKAGES = os.path.join(brigade.REPOSITORY, "out", "test", "packages")


def unpack(*names):
    """The folder with the files of these packages; skips the test where they cannot be had."""
    os.makedirs(PACKAGES, exist_ok=True)
    for name in names:
        root = f"{PACKAGES}/{name}"
        if os.path.isdir(root):
            continue
        try:
            if not glob.glob(f"{PACKAGES}/{name}_*.deb"):
                subprocess.run(["apt-get", "download", name], cwd=PACKAGES, check=True, capture_output=True, timeout=300)
            subprocess.run(["dpkg-deb", "-x", glob.glob(f"{PACKAGES}/{name}_*.deb")[0], root], check=True, capture_output=True)
        except (OSError, subprocess.SubprocessError, IndexError):
            pytest.skip(f"the package {name} cannot be had")
    return [f"{PACKAGES}/{name}" for name in names]
