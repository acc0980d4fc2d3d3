# SPDX-License-Identifier: Apache-2.0
"""All cases, by group."""
from . import access, filters, policy, rest

GROUPS = {m.GROUP: m.CASES for m in (filters, policy, access, rest)}


def cases():
    for group in GROUPS.values():
        yield from group
