#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Size and processor time of each level of gzip, brotli and zstd, for the source text of this tree in pieces of 10 KB, 100 KB and 1 MB.

    test/bench/compression_levels.py

Prints the table of docs/benchmarks.md: per cent of the size, microseconds (least of five). Libraries that are not there are left out.
"""
import ctypes
import ctypes.util
import glob
import os
import time
import zlib

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SIZES = (10_000, 100_000, 1_000_000)
ROUNDS = 5
LEVELS = {"gzip": (4, 6, 9), "br": (4, 5, 8, 9, 11), "zstd": (3, 9, 12, 19)}


def gzip(text, level):
    made = zlib.compressobj(level, zlib.DEFLATED, 31, 9)
    return len(made.compress(text) + made.flush())


def brotli(library, text, level):
    size = ctypes.c_size_t(library.BrotliEncoderMaxCompressedSize(ctypes.c_size_t(len(text))))
    out = ctypes.create_string_buffer(size.value)
    assert library.BrotliEncoderCompress(level, 22, 0, ctypes.c_size_t(len(text)), text, ctypes.byref(size), out)
    return size.value


def zstd(library, text, level):
    room = library.ZSTD_compressBound(ctypes.c_size_t(len(text)))
    return library.ZSTD_compress(ctypes.create_string_buffer(room), ctypes.c_size_t(room), text, ctypes.c_size_t(len(text)), level)


def coders():
    found = {"gzip": gzip}
    for name, library, how in (("br", "brotlienc", brotli), ("zstd", "zstd", zstd)):
        path = ctypes.util.find_library(library)
        if path:
            loaded = ctypes.CDLL(path)
            for function in ("BrotliEncoderMaxCompressedSize",) if name == "br" else ("ZSTD_compressBound", "ZSTD_compress"):
                getattr(loaded, function).restype = ctypes.c_size_t
            found[name] = lambda text, level, loaded=loaded, how=how: how(loaded, text, level)
    return found


def source_text():
    text = b""
    for path in sorted(glob.glob(f"{TOP}/server/*/*.c")):
        with open(path, "rb") as f:
            text += f.read()
    return text


def cell(coder, text, level):
    best = None
    for _ in range(ROUNDS):
        began = time.process_time_ns()
        size = coder(text, level)
        spent = (time.process_time_ns() - began) // 1000
        best = spent if best is None else min(best, spent)
    return f"{100 * size / len(text):.1f}, {best}"


def main():
    text = source_text()
    print("| | 10 KB | 100 KB | 1 MB |\n|---|---|---|---|")
    for name, coder in coders().items():
        for level in LEVELS[name]:
            print(f"| {name} {level} | " + " | ".join(cell(coder, text[:size], level) for size in SIZES) + " |")


if __name__ == "__main__":
    main()
