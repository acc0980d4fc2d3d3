# SPDX-License-Identifier: Apache-2.0
"""What tests send and receive as files."""
import hashlib


def content(size):
    """Bytes that differ everywhere, so that a misplaced one shows."""
    block = b"".join(hashlib.sha256(str(i).encode()).digest() for i in range(min(size, 65536) // 32 + 1))
    return (block * (size // len(block) + 1))[:size]
