# SPDX-License-Identifier: Apache-2.0
"""An APR that binds its calls to itself: the build takes the archives, or refuses; a program that was linked with
another one refuses to begin."""
import os
import struct
import subprocess
from pathlib import Path

import pytest

from brigade import REPOSITORY
from memory_site import is_stock

ROOT = Path(REPOSITORY)
BRIGADE = os.environ.get("BRIGADE", str(ROOT / "out/dev/brigade"))

DYNAMIC, RELACOUNT, SYMBOLIC = 2, 0x6FFFFFF9, 16


def pkg_config(*arguments):
    return subprocess.run(["pkg-config", *arguments], capture_output=True, text=True, check=True).stdout.strip()


def bind_to_itself(library):
    """As the linker's -Bsymbolic does: an entry that only saves the loader time becomes DT_SYMBOLIC."""
    at = struct.unpack_from("<Q", library, 32)[0]
    for header in range(struct.unpack_from("<H", library, 56)[0]):
        kind, _, offset, _, _, size, _, _ = struct.unpack_from("<IIQQQQQQ", library, at + 56 * header)
        for entry in range(offset, offset + size, 16) if kind == DYNAMIC else []:
            if struct.unpack_from("<Q", library, entry)[0] == RELACOUNT:
                struct.pack_into("<QQ", library, entry, SYMBOLIC, 0)
                return
    pytest.skip("this libapr has no entry to change")


@pytest.fixture(scope="module")
def bound(tmp_path_factory):
    """A directory with such a libapr, and a description for pkg-config."""
    where = tmp_path_factory.mktemp("bound")
    libdir = Path(pkg_config("--variable=libdir", "apr-1"))
    library = bytearray((libdir / "libapr-1.so").read_bytes())
    if library[:6] != b"\x7fELF\x02\x01":
        pytest.skip("no 64-bit little-endian ELF")
    bind_to_itself(library)
    (where / "libapr-1.so.0").write_bytes(library)
    (where / "libapr-1.so").symlink_to("libapr-1.so.0")
    text = (Path(pkg_config("--variable=pcfiledir", "apr-1")) / "apr-1.pc").read_text()
    lines = [f"libdir={where}" if line.startswith("libdir=") else line for line in text.splitlines()]
    (where / "apr-1.pc").write_text("\n".join(lines) + "\n")
    return where


def configure(bound, build, *options):
    env = dict(os.environ, PKG_CONFIG_PATH=str(bound), LD_LIBRARY_PATH=str(bound))
    done = subprocess.run(["cmake", "-S", str(ROOT), "-B", str(build), "-G", "Ninja", "-DBRIGADE_TESTS=OFF",
                           "-DBRIGADE_JEMALLOC=OFF", "-DBRIGADE_MIMALLOC=OFF", *options],
                          env=env, capture_output=True, text=True, timeout=120)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.mark.slow
def test_archives_take_its_place(bound, tmp_path):
    status, said = configure(bound, tmp_path)
    if not (Path(pkg_config("--variable=libdir", "apr-util-1")) / "libaprutil-1.a").exists():
        pytest.skip("no archives here")
    assert status == 0, said
    assert "archives, with this program's pools: libapr does not call the program's functions" in said
    copy = tmp_path / "apr/libapr-1.a"
    assert "apr_pools.o" not in subprocess.run(["ar", "t", copy], capture_output=True, text=True).stdout.split()
    symbols = subprocess.run(["nm", copy], capture_output=True, text=True).stdout
    assert " W apr_socket_close" in symbols and " T stock_apr_socket_close" in symbols


@pytest.mark.parametrize("options, reason", [
    (["-DBRIGADE_APR=shared"], "Archives: not asked for"),
    (["-DBRIGADE_APR_ARCHIVE="], "Archives: there are no archives"),
])
@pytest.mark.slow
def test_refusal_names_both_reasons(bound, tmp_path, options, reason):
    status, said = configure(bound, tmp_path, *options)
    assert status != 0
    assert "Shared libraries: libapr does not call the program's functions" in said
    assert reason in said and "-DBRIGADE_MEMORY=OFF" in said


def test_program_refuses_to_begin(bound):
    needed = subprocess.run(["readelf", "-d", BRIGADE], capture_output=True, text=True, check=True).stdout
    if "libapr-1.so" not in needed:
        pytest.skip("linked with the archives")
    if b"apr_palloc" not in subprocess.run(["nm", "-D", "--defined-only", BRIGADE], capture_output=True).stdout:
        pytest.skip("built with stock pools")
    done = subprocess.run([BRIGADE, "-v"], env=dict(os.environ, LD_LIBRARY_PATH=str(bound)), capture_output=True,
                          text=True, timeout=30)
    assert done.returncode == 1
    assert "-Bsymbolic" in done.stderr and "-DBRIGADE_APR=static" in done.stderr


@pytest.mark.only("brigade")
@pytest.mark.skipif(not is_stock(), reason="built with memory systems")
@pytest.mark.parametrize("line", ["MemorySystem request arena", "MemorySystem log guard", "MemoryTrace logs/trace",
                                  "MemoryReport On"])
def test_stock_pools_have_no_systems(serve, line):
    result = serve.unstarted(line + "\n").run("-t")
    assert result.returncode != 0 and b"BRIGADE_MEMORY=OFF" in result.stderr
