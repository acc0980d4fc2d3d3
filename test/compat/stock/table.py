# SPDX-License-Identifier: Apache-2.0
"""All cases, by group."""
from . import filters, policy

GROUPS = {m.GROUP: m.CASES for m in (filters, policy)}


def cases():
    for group in GROUPS.values():
        yield from group
