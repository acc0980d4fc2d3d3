# SPDX-License-Identifier: Apache-2.0
"""What tests of memory systems share."""
import os

import brigade

BUILD = os.path.dirname(brigade.BINARY)
FILES = {"a.txt": "hello\n", "big.txt": "0123456789" * 30000, "dir/.htaccess": "", "dir/x.txt": "x"}
STATUS = "MemoryReport On\n<Location /st>\nSetHandler server-status\n</Location>\n"


def is_stock():
    """Built with BRIGADE_MEMORY=OFF: nothing of this is there."""
    cache = os.path.join(BUILD, "CMakeCache.txt")
    return os.path.exists(cache) and "BRIGADE_MEMORY:BOOL=OFF" in open(cache).read()
