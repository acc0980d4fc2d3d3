# SPDX-License-Identifier: Apache-2.0
"""Write the sample download: 3 MiB of numbered records of 32 bytes, the same every time. A range shows where it was taken from.

    python3 build/tools/make_sample.py FILE
"""
import os
import sys

SIZE = 3 * 1024 * 1024


def sample():
    return b"".join(b"record %08d at byte %07d\n" % (i, 32 * i) for i in range(SIZE // 32))


if __name__ == "__main__":
    os.makedirs(os.path.dirname(os.path.abspath(sys.argv[1])), exist_ok=True)
    with open(sys.argv[1], "wb") as f:
        f.write(sample())
