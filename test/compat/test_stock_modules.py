# SPDX-License-Identifier: Apache-2.0
"""Debian's binaries of Apache's modules on Brigade: each does what it does on Apache, alone and beside the others of
its group. What does not work, or differs, is in stock/known.py with its reason; an entry that is out of date fails."""
import os

import pytest

import brigade
from stock import driver, table

pytestmark = [
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK), reason=f"the peer is absent: {driver.APACHE} is not installed"),
    pytest.mark.skipif(not os.access(brigade.BINARY, os.X_OK), reason=f"{brigade.BINARY} is not built"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]


def there(case):
    missing = [m for m in [*case.needs, case.module] if m != "watchdog" and not os.path.exists(f"{driver.MODULES}/mod_{m}.so")]
    missing += [m for m in case.programs if not os.access(m, os.X_OK)]
    if missing:
        pytest.skip(f"not installed: {missing}")


@pytest.mark.parametrize("case", [pytest.param(c, id=f"{c.module}-{c.name}" if c.name != c.module else c.module) for c in table.cases()])
def test_alone(case):
    there(case)
    differences = driver.compare([case]).get(case.name)
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("group", table.GROUPS)
def test_together(group):
    cases = [c for c in table.GROUPS[group] if not c.alone and all(
        os.path.exists(f"{driver.MODULES}/mod_{m}.so") for m in [*c.needs, c.module] if m != "watchdog")]
    found = driver.compare(cases)
    differences = [f"{name}: {d}" for name, list_ in found.items() for d in list_]
    assert not differences, "\n".join(differences)
