# SPDX-License-Identifier: Apache-2.0
"""What a release says of itself: docs/supply.md against the build, the SBOM, version numbers, man pages of what is installed."""
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import brigade

ROOT = pathlib.Path(brigade.REPOSITORY)
sys.path.insert(0, str(ROOT / "build/tools"))
import sbom  # noqa: E402

SUPPLY = sbom.read_supply()
VERSION = re.search(r"^project\(brigade VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
LINKED = {name for name, row in SUPPLY.items() if row[4] == "DYNAMIC_LINK"}
# What Debian's control file wants for the build: the compat level and Python's variant have notes.
CONTROL = re.search(r"(?s)^Build-Depends: (.*?)\nStandards", (ROOT / "debian/control").read_text(), re.M)[1]
pytestmark = pytest.mark.only("brigade")


def cmake_text():
    return "".join(path.read_text() for path in sorted((ROOT / "build/cmake").glob("*.cmake")))


def test_each_library_of_cmake_is_told():
    text = cmake_text()
    used = {re.split(r"[ \">]", name)[0] for name in re.findall(r"pkg_check_modules\(\w+(?: REQUIRED)?(?: QUIET)? IMPORTED_TARGET \"?([^)]+)\)", text)}
    used = {name for name in used if not name.startswith("$")}
    used |= set(re.findall(r"^brigade_coding\(\w+ (\S+)", text, re.M)) | set(re.findall(r"^\s*brigade_optional\(\w+ ([a-z]\S+)", text, re.M))
    used |= set(re.findall(r"^brigade_sms_module\((\w+)", text, re.M))
    assert len(used) >= 11 and used - set(SUPPLY) == set()
    assert LINKED - used == {"libcrypt"}  # by name: it has no .pc file everywhere
    for option in re.findall(r"-D(BRIGADE_\w+)=OFF", (ROOT / "docs/supply.md").read_text()):
        assert re.search(rf"(set|option)\({option}\b", text), option


def test_each_package_of_debian_is_told():
    wanted = {re.split(r"[ :(<]", name.strip())[0] for name in CONTROL.split(",")}
    told = {row[0] for row in SUPPLY.values()}
    assert wanted == told, wanted ^ told


def test_each_linked_library_is_told():
    """Those that the program names itself; the C library and the compiler's are told in the text."""
    shown = subprocess.run(["readelf", "-d", brigade.BINARY], capture_output=True, text=True, timeout=60).stdout
    needed = {re.sub(r"\.so.*", "", name) for name in re.findall(r"\(NEEDED\).*\[(\S+)\]", shown)}
    needed -= {"libc", "libm", "libgcc_s", "ld-linux-x86-64", "ld-linux-aarch64", "libasan", "libubsan", "libtsan"}
    known = {"libapr-1": "apr-1", "libaprutil-1": "apr-util-1", "libssl": "openssl", "libcrypto": "openssl", "libz": "zlib"}
    assert {known.get(name, name) for name in needed} - LINKED == set()


@pytest.fixture(scope="module")
def document():
    path = pathlib.Path(brigade.BINARY).parent / "sbom.spdx.json"
    if not path.exists():
        pytest.skip("the SBOM is not built")
    return json.loads(path.read_text())


def test_sbom_is_spdx(document):
    """The fields that SPDX 2.3 wants, identifiers that are there and unique, licences of the list."""
    assert document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0" and document["SPDXID"] == "SPDXRef-DOCUMENT"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["creationInfo"]["created"])
    assert re.fullmatch(r"https://[^#\s]+", document["documentNamespace"])
    ids = [p["SPDXID"] for p in document["packages"]]
    assert len(ids) == len(set(ids)) and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", one) for one in ids)
    for relation in document["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= {*ids, "SPDXRef-DOCUMENT"}
    licences = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "MIT", "Zlib", "LGPL-2.1-or-later", "BSD-3-Clause OR GPL-2.0-only"}
    assert {p["licenseDeclared"] for p in document["packages"]} <= licences
    assert all(p["downloadLocation"] and p["name"] for p in document["packages"])


def test_sbom_and_version_tell_the_same(document):
    """`brigade -V` names each library of the SBOM that is linked, with its version."""
    shown = subprocess.run([brigade.BINARY, "-V"], capture_output=True, text=True, timeout=60).stdout
    packages = {p["name"]: p.get("versionInfo") for p in document["packages"]}
    assert packages["brigade"] == VERSION and f"Brigade/{VERSION} " in shown
    for name in LINKED & set(packages) - {"libcrypt"}:
        said = {"apr-1": "APR", "apr-util-1": "APR-UTIL", "libpcre2-8": "PCRE"}.get(name, name)
        assert f"{said} {packages[name]}" in shown, (name, shown)
    assert re.search(r"^Built as: +\S+, TLS=O\w+ MEMORY=O\w+ ASN=", shown, re.M)


def test_sbom_is_reproducible(tmp_path):
    made = []
    for name in ("a", "b"):
        subprocess.run([sys.executable, "-B", ROOT / "build/tools/sbom.py", "--version", VERSION, "--out", tmp_path / name, "apr-1=1.7.2", "zlib=1.3"],
                       check=True, timeout=60, env={key: value for key, value in os.environ.items() if key != "SOURCE_DATE_EPOCH"})
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1] and b"1970" not in made[0]
    done = subprocess.run([sys.executable, "-B", ROOT / "build/tools/sbom.py", "--version", VERSION, "--out", tmp_path / "c", "nothing=1"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode and "docs/supply.md does not have nothing" in done.stderr


def test_one_version():
    """CMake, the changelogs and the man pages have the same version."""
    assert re.search(r"^## (\d\S+) \(\d{4}-\d\d-\d\d\)$", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == VERSION
    assert (ROOT / "debian/changelog").read_text().startswith(f"brigade ({VERSION}) ")
    for page in (ROOT / "docs/manual").glob("*.[18]"):
        assert f'"Brigade {VERSION}"' in page.read_text(), page.name
    assert ".".join(VERSION.split(".")[:2]) + ".x" in (ROOT / "SECURITY.md").read_text()


def test_each_installed_program_tells_its_version(prefix):
    for name in sorted(os.listdir(os.path.join(prefix, "bin"))):
        done = subprocess.run([os.path.join(prefix, "bin", name), "--version"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and VERSION in done.stdout.splitlines()[0] and not done.stderr, (name, done)


def test_each_installed_program_has_a_man_page(prefix):
    programs = os.listdir(os.path.join(prefix, "bin"))
    pages = {name.rsplit(".", 1)[0] for folder in ("man1", "man8") for name in os.listdir(os.path.join(prefix, "share/man", folder))}
    assert len(programs) >= 4 and set(programs) - pages == set()
    assert os.path.exists(os.path.join(prefix, "share/doc/brigade/sbom.spdx.json"))
