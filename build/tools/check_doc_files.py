#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the documents name files that exist?

    build/tools/check_doc_files.py [DOCUMENT...]      default: the documents of this repository

Looks at what stands between back-ticks or in a fenced block: a word that ends like a source file or a document
(`loop/loop.c`, `supervisor*.c`, `test/e2e/config/`). It is looked for from the top of the repository, from the folders
in BASES and from the document's own; a bare file name may be anywhere. A name that cannot be found fails, with its line.
"""
import contextlib
import fnmatch
import glob
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCUMENTS = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md", "include/README.md", "test/README.md",
             *sorted(glob.glob("docs/*.md", root_dir=TOP) + glob.glob("docs/internals/*.md", root_dir=TOP))]
BASES = ["", "server", "memory", "test", "test/e2e", "test/campaign", "test/faults", "include", "filters"]
ENDINGS = "c|h|py|md|cmake|in|txt|json|supp"
FILE = re.compile(r"(?<![\w/.*<>${}~:-])[\w*][\w.*/-]*\.(?:%s)(?![\w/.]\w|\w)" % ENDINGS)
FOLDER = re.compile(r"(?<![\w/.*<>${}~:!-])[a-z][\w-]*(?:/[\w-]+)*/(?![\w*<])")

# Names that a reader chooses, headers of other projects, folders that a build or an installation makes.
NOT_OURS = re.compile(r"^(share/doc/.*|_private\.h|apr\w*\.h|out/.*|mod_x\.c|modules/mod_x\.c|mod_(first|upper)\.c|other\.c|de/|.*/small\.txt)$")


def names(path):
    """(line number, name) of what a document says is a file or folder."""
    fenced = False
    with open(path, encoding="utf-8") as document:
        for number, line in enumerate(document, 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
                continue
            spans = [line] if fenced else re.findall(r"`([^`]+)`", line)
            for span in spans:
                for match in FILE.finditer(span):
                    yield number, match.group(0)
                for match in FOLDER.finditer(span):
                    yield number, match.group(0)


def tracked():
    """Names of files that the repository has; where there is no git, or a tree without its history, of all that lie there."""
    with contextlib.suppress(OSError):
        listed = subprocess.run(["git", "-C", TOP, "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True)
        if listed.returncode == 0:
            return [os.path.basename(name) for name in listed.stdout.splitlines()]
    return [name for _, _, files in os.walk(TOP) for name in files]


def is_there(name, document, everywhere):
    if any(glob.glob(os.path.join(TOP, base, name)) for base in [*BASES, os.path.dirname(document)]):
        return True
    return "/" not in name and bool(fnmatch.filter(everywhere, name))


def main():
    everywhere, seen, findings = tracked(), 0, []
    for document in sys.argv[1:] or DOCUMENTS:
        for number, name in names(os.path.join(TOP, document)):
            if NOT_OURS.match(name):
                continue
            seen += 1
            if not is_there(name, document, everywhere):
                findings.append(f"{document}:{number}: there is no {name}")
    for finding in findings:
        print(finding)
    print(f"{seen} names of files and folders, {len(findings)} of them wrong")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
