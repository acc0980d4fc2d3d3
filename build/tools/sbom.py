#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the SBOM (SPDX 2.3, JSON) of a build.

    build/tools/sbom.py --version 0.2.0 --out FILE NAME=VERSION...

NAME is a library of docs/supply.md, which has its licence and purpose; VERSION is the version that was found. What is named without a
version was found without one. The same input gives the same bytes: the time is $SOURCE_DATE_EPOCH, or the day on which
CHANGELOG.md says that the version was released.
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[2]
KINDS = {"Linked with the server": "DYNAMIC_LINK", "Loaded where the configuration asks for it": "OPTIONAL_DEPENDENCY_OF",
         "For the build alone": "BUILD_TOOL_OF"}


def read_supply(path=TOP / "docs/supply.md"):
    """{name: (Debian package, purpose, licence, without it, relationship)} of the tables."""
    found, kind = {}, None
    for line in path.read_text().splitlines():
        if line.startswith("## "):
            kind = KINDS[line[3:]]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if kind and len(cells) == 5 and cells[0].startswith("`"):
            found[cells[0].strip("`")] = (cells[1].strip("`"), cells[2].replace("`", ""), cells[3], cells[4], kind)
    return found


def created(version):
    if os.environ.get("SOURCE_DATE_EPOCH"):
        return datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    day = re.search(rf"^## {re.escape(version)} \((\d{{4}}-\d\d-\d\d)\)$", (TOP / "CHANGELOG.md").read_text(), re.M)
    return (day[1] if day else "1970-01-01") + "T00:00:00Z"


def identifier(name):
    return "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package(name, version, licence, comment=None):
    out = {"SPDXID": identifier(name), "name": name, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
           "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION", "supplier": "NOASSERTION"}
    if version:
        out["versionInfo"] = version
        out["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                "referenceLocator": f"pkg:generic/{name}@{version}"}]
    if comment:
        out["comment"] = comment
    return out


def relation(name, kind):
    """SPDX reads some of these from the part, some from the whole."""
    if kind == "DYNAMIC_LINK":
        return {"spdxElementId": identifier("brigade"), "relationshipType": kind, "relatedSpdxElement": identifier(name)}
    return {"spdxElementId": identifier(name), "relationshipType": kind, "relatedSpdxElement": identifier("brigade")}


def document(version, used):
    supply = read_supply()
    unknown = sorted(set(used) - set(supply))
    if unknown:
        raise SystemExit(f"sbom.py: docs/supply.md does not have {', '.join(unknown)}")
    packages = [package("brigade", version, "Apache-2.0")]
    packages[0]["primaryPackagePurpose"] = "APPLICATION"
    packages += [package(name, used[name], supply[name][2], supply[name][1]) for name in sorted(used)]
    digest = hashlib.sha256(json.dumps(packages, sort_keys=True).encode()).hexdigest()
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"brigade-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/brigade-{version}-{digest[:32]}",
            "creationInfo": {"created": created(version), "creators": ["Organization: Brigade developers", "Tool: build/tools/sbom.py"]},
            "packages": packages,
            "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": identifier("brigade")}]
            + [relation(name, supply[name][4]) for name in sorted(used)]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("used", nargs="*", metavar="NAME=VERSION")
    args = parser.parse_args()
    used = dict(one.partition("=")[::2] for one in args.used)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(document(args.version, used), indent=1) + "\n")


if __name__ == "__main__":
    main()
