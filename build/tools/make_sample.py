# SPDX-License-Identifier: Apache-2.0
"""Write the sample download: 3 MiB that look random and are the same every time.

    python3 build/tools/make_sample.py FILE
"""
import hashlib
import os
import sys

SIZE = 3 * 1024 * 1024


def sample():
    return b"".join(hashlib.sha256(b"brigade %d" % i).digest() for i in range(SIZE // 32))


if __name__ == "__main__":
    os.makedirs(os.path.dirname(os.path.abspath(sys.argv[1])), exist_ok=True)
    with open(sys.argv[1], "wb") as f:
        f.write(sample())
