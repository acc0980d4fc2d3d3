# SPDX-License-Identifier: Apache-2.0
"""Modules of other projects as Debian packages them: each that is installed does on Brigade what it does on Apache."""
import os

import pytest

import brigade
from stock import driver, package_parts, packages

pytestmark = [
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK), reason=f"the peer is absent: {driver.APACHE} is not installed"),
    pytest.mark.skipif(not os.access(brigade.BINARY, os.X_OK), reason=f"{brigade.BINARY} is not built"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]


def there(case):
    missing = [p for p in case.packaged if not os.path.exists(f"{driver.AVAILABLE}/{p}.load")]
    missing += [p for p in case.programs if not os.access(p, os.X_OK)]
    missing += [f for f in case.files_needed if not os.path.exists(f)]
    if missing:
        pytest.skip(f"not installed: {missing}")


@pytest.mark.parametrize("case", [pytest.param(c, id=f"{c.module}-{c.name}" if c.name != c.module else c.module) for c in packages.CASES])
def test_packaged(case):
    there(case)
    differences = driver.compare([case]).get(case.name)
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("name", [n for n in package_parts.available() if n not in packages.covered()])
def test_loads(name):
    """One that no case drives: it is loaded as packaged, and pages are served as before."""
    case = driver.Case(name, "", ["a.txt", "none", "HEAD a.txt"], {"a.txt": "A\n"}, packaged=[name], prefork=packages.needs_prefork(name))
    differences = driver.compare([case]).get(name)
    assert not differences, "\n".join(differences)
