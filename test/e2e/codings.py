# SPDX-License-Identifier: Apache-2.0
"""Bodies in the codings that the server makes."""
import ctypes
import gzip
import shutil
import subprocess

import pytest

import brigade


def decoded(answer):
    coding = answer["Content-Encoding"]
    if coding == "gzip":
        return gzip.decompress(answer.body)
    if coding == "zstd":
        return subprocess.run(["zstd", "-dc"], input=answer.body, stdout=subprocess.PIPE, check=True).stdout
    if coding == "br":
        return unbrotli(answer.body)
    assert coding is None
    return answer.body


def unbrotli(data):
    """By libbrotlidec, which libbrotli-dev brings."""
    lib = ctypes.CDLL("libbrotlidec.so.1")
    room = ctypes.create_string_buffer(1 << 22)
    length = ctypes.c_size_t(len(room))
    assert lib.BrotliDecoderDecompress(ctypes.c_size_t(len(data)), data, ctypes.byref(length), room) == 1
    return room.raw[:length.value]


def builtin(name):
    listed = subprocess.run([brigade.BINARY, "-l"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return f"mod_{name}.c" in listed


needs_all = pytest.mark.skipif(not all(map(builtin, ("deflate", "brotli", "zstd"))) or not shutil.which("zstd"), reason="built without a library, or no zstd")
