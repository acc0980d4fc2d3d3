# SPDX-License-Identifier: Apache-2.0
"""The guide for writers of modules, include/README.md: its commands are carried out one after the other, as a reader would."""
import os
import re
import shutil
import subprocess
import tempfile

import pytest

import brigade
from module_source import run

pytestmark = pytest.mark.only("brigade")


@pytest.fixture
def installed():
    """A tree that the server's user can enter."""
    build = os.path.dirname(brigade.BINARY)
    if not os.path.exists(os.path.join(build, "cmake_install.cmake")):
        pytest.skip("not a build folder of CMake")
    path = tempfile.mkdtemp(prefix="brigade-guide-")
    os.chmod(path, 0o755)
    run("cmake", "--install", build, "--prefix", path)
    yield path
    brigade.wait_until(lambda: not os.path.exists(os.path.join(path, "logs", "httpd.pid")), "the server to end")
    shutil.rmtree(path, ignore_errors=True)


def test_the_first_filter(installed, tmp_path):
    prefix = installed
    for program in ("patch", "curl", "make"):
        if subprocess.run(["which", program], capture_output=True).returncode:
            pytest.skip(f"{program} is not installed")
    text = open(os.path.join(brigade.REPOSITORY, "include", "README.md")).read()
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M)
    port = str(brigade.free_port())
    conf = os.path.join(prefix, "conf", "httpd.conf")
    settings = open(conf).read().replace("Listen 8080", f"Listen 127.0.0.1:{port}")
    with open(conf, "w") as f:
        f.write(settings)
    script = "".join(f"echo '=== {i}'\n{block}" for i, block in enumerate(blocks))
    script = script.replace("P=/opt/brigade", f"P={prefix}").replace("localhost:8080", f"127.0.0.1:{port}")
    # A restart takes a moment: ask until the new module answers.
    script = re.sub(r"^(curl .*small.txt)$", r'for i in $(seq 1000); do \1 | grep -q Small && break; sleep 0.05; done; \1', script, flags=re.M)
    p = subprocess.run(["bash"], input=script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       timeout=brigade.PATIENCE * 6, env=dict(os.environ, TMPDIR=str(tmp_path), CC="cc"))
    parts = re.split(r"^=== \d+\n", p.stdout, flags=re.M)[1:]
    assert len(parts) == len(blocks) == 8, p.stdout
    shown = re.findall(r"^```text\n(.*?)^```", text, re.S | re.M)
    assert "Creating [FILE] first/mod_first.c" in parts[0]
    assert parts[1].replace(" \n", "\n") == shown[0]
    assert parts[2].endswith("PASSED\n")
    assert "SMALL LETTERS, AND MORE OF THEM\n" in parts[3] and "The sample page from mod_first.c\n" in parts[3]
    assert shown[1] in parts[4], parts[4]
    assert "PASSED\n" in parts[5] and "Small Letters, And More Of Them\n" in parts[5], parts[5]
    assert "runs on event loops: it declares that it does not wait" in parts[6], parts[6]
    assert "first_module" not in open(conf).read()
