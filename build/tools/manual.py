#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manual, from one source: docs/manual/directives/*.txt (one file per module) and docs/guides/*.md.

    manual.py --check BRIGADE            entries and the program's tables (brigade -L) tell the same; exit status 1 if not
    manual.py --renew BRIGADE            write the Context and Override lines of all entries as the program has them
    manual.py --man FILE                 make brigade.conf(5)
    manual.py --html FOLDER              make the pages with their search

The form of a file of entries:

    # mod_alias.c                        the module, as brigade -l names it; what it is for in the lines below
    = Alias                              a directive; "= <If>" a section
    Syntax: Alias [PATH] DIRECTORY
    Default: none
    Context: server, virtual host, directory, .htaccess
    Override: FileInfo                   with .htaccess: the groups of AllowOverride
    What it does, in paragraphs.
        an example, indented by four spaces
    Apache: what differs there; left out where nothing does

`brigade -L NAME` prints an entry as it stands. The example is tested (test/e2e/tools/test_manual.py); a first line "(in KIND)"
in it, with KIND one of directory, vhost or off, says where it stands, or that it cannot be tried alone.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

MAN = pathlib.Path(__file__).resolve().parents[2] / "docs/manual"
SANDBOX = MAN.parent.parent / "server/sandbox/sandbox_paths.c"
OUTSIDE = "only outside <Directory>"
INSIDE = "only inside <Directory>"


class Entry:
    """A directive: its fields, its text (paragraphs), its examples (lists of lines)."""

    def __init__(self, name, module):
        self.name, self.module = name, module
        self.page = module.page
        self.syntax = []
        self.default = self.context = self.override = self.apache = ""
        self.blocks = []  # ("text", str) and ("code", [lines])

    @property
    def key(self):
        return self.name.strip("<>").lower()

    @property
    def anchor(self):
        return re.sub(r"[^a-z0-9]", "", self.key)

    def examples(self):
        return [lines for kind, lines in self.blocks if kind == "code"]

    def text(self):
        return [text for kind, text in self.blocks if kind == "text"]


class Module:
    def __init__(self, name):
        self.name, self.intro, self.entries = name, [], []

    @property
    def title(self):
        return self.name.removesuffix(".c")

    @property
    def page(self):
        return self.title + ".html"


def add_line(entry, line):
    """One line of an entry, which is no field of one line."""
    if line.startswith("    "):
        if not entry.blocks or entry.blocks[-1][0] != "code":
            entry.blocks.append(("code", []))
        entry.blocks[-1][1].append(line[4:].rstrip())
    elif not line.strip():
        if entry.blocks and entry.blocks[-1][0] == "code":
            return
        entry.blocks.append(("text", ""))
    elif line.startswith("Apache: "):
        entry.apache = line[8:].strip()
        entry.blocks.append(("apache", ""))
    elif entry.blocks and entry.blocks[-1][0] == "apache":
        entry.apache += " " + line.strip()
    elif entry.blocks and entry.blocks[-1][0] == "text":
        entry.blocks[-1] = ("text", (entry.blocks[-1][1] + " " + line.strip()).strip())
    else:
        entry.blocks.append(("text", line.strip()))


def read_file(path):
    modules, entry = [], None
    for line in path.read_text().splitlines():
        field = re.match(r"(Syntax|Default|Context|Override): (.*)", line)
        if line.startswith("# "):
            modules.append(Module(line[2:].strip()))
            entry = None
        elif line.startswith("= "):
            entry = Entry(line[2:].strip(), modules[-1])
            modules[-1].entries.append(entry)
        elif entry is None:
            modules[-1].intro.append(line.strip())
        elif field and field[1] == "Syntax":
            entry.syntax.append(field[2].strip())
        elif field:
            setattr(entry, field[1].lower(), field[2].strip())
        else:
            add_line(entry, line)
    for module in modules:
        for entry in module.entries:
            entry.blocks = [b for b in entry.blocks if b[0] != "apache" and b[1]]
    return modules


def read_all():
    return [module for path in sorted((MAN / "directives").glob("*.txt")) for module in read_file(path)]


# ---- the program's tables ----

def program_tables(brigade):
    """{key: (name, module, context, override, whether it is not offered)} of `brigade -L`. context says where the table allows it; whether a virtual
    host may have a directive that is for servers only the program cannot tell: it is tried."""
    text = subprocess.run([brigade, "-L"], capture_output=True, text=True, check=True, timeout=60).stdout
    tables = {}
    for block in re.split(r"\n(?=\S)", text):
        head = re.match(r"(\S+) \((\S+)\)", block)
        if not head:
            continue
        where = [] if INSIDE in block else ["server", "virtual host"]
        if OUTSIDE not in block:
            where.append("directory")
        override = ""
        if "in .htaccess" in block:
            where.append(".htaccess")
            groups = re.search(r"when AllowOverride includes (.*)", block)
            override = groups[1] if groups else "any"
        name = head[1] + (">" if head[1].startswith("<") else "")
        gone = "not offered" in block.split("\n")[1]
        tables.setdefault(name.strip("<>").lower(), (name, head[2], ", ".join(where), override, gone))
    return tables


def only_of_the_server(brigade, entry):
    """1 if the program refuses the directive within a virtual host."""
    syntax = entry.examples()[0] if entry.examples() else [entry.name.strip("<>")]
    lines = [line for line in syntax if not line.startswith("(")]
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as conf:
        conf.write("BuiltinModules all\nListen 127.0.0.1:1\n<VirtualHost *:1>\n%s\n</VirtualHost>\n" % "\n".join(lines))
        conf.flush()
        run = subprocess.run([brigade, "-t", "-f", conf.name], capture_output=True, text=True, timeout=60)
    return "cannot occur within" in run.stderr and "VirtualHost" in run.stderr


def sandbox_lacks(entries):
    """Directives that name paths, of which nobody said whether sandboxed server processes need them."""
    known = {name.strip("<").lower() for name in re.findall(r'^    \{"(\S+)", NAMES_', SANDBOX.read_text(), re.M)}
    return [f"{e.name}: its syntax has a path, but it has no row in {SANDBOX.name}: with Sandbox On it would not work, or nobody knows"
            for e in entries if re.search(r"\b(FILE|DIRECTORY|FOLDER|PATH|SOCKET)\b", " ".join(e.syntax)) and e.key not in known]


def misplaced():
    """Text that stands right behind an example: it belongs to another entry. Between the parts of a long one is an empty line."""
    for path in sorted((MAN / "directives").glob("*.txt")):
        lines = path.read_text().splitlines()
        for i, (before, line) in enumerate(zip(lines, lines[1:]), 2):
            if before.startswith("    ") and line and not line.startswith(("    ", "= ", "# ", "Apache: ")):
                yield f"{path.name}, line {i}: text right behind an example"


def check(brigade):
    tables = program_tables(brigade)
    entries = {}
    wrong = []
    for module in read_all():
        for e in module.entries:
            if e.key in entries:
                wrong.append(f"{e.name}: two entries")
            entries[e.key] = e
            for what, is_there in (("Syntax", e.syntax), ("Default", e.default), ("Context", e.context), ("text", e.text())):
                if not is_there:
                    wrong.append(f"{e.name} ({module.name}): its entry has no {what}")
    for key, (name, module, context, override, gone) in tables.items():
        e = entries.get(key)
        if not e:
            wrong.append(f"{name} ({module}): no entry in docs/manual/directives/{module.removesuffix('.c')}.txt; the form is in build/tools/manual.py")
            continue
        if e.module.name != module:
            wrong.append(f"{name}: the program has it in {module}, the manual in {e.module.name}")
        said = e.context if "virtual host" in e.context or "server" not in e.context else \
            e.context.replace("server", "server, virtual host", 1)
        if said != context:
            wrong.append(f"{name}: Context is \"{e.context}\" in the manual, \"{context}\" in the program (manual.py --renew)")
        if gone != any(t.startswith("Is not offered") for t in e.text()):
            wrong.append(f"{name}: the program {'does not offer' if gone else 'offers'} it, the manual says otherwise")
        if e.override != override:
            wrong.append(f"{name}: Override is \"{e.override}\" in the manual, \"{override}\" in the program (manual.py --renew)")
    wrong += sandbox_lacks(entries.values())
    wrong += misplaced()
    listed = subprocess.run([brigade, "-l"], capture_output=True, text=True, check=True, timeout=60).stdout
    entries = {key: e for key, e in entries.items() if re.search(rf"\s{re.escape(e.module.name)}\s", listed)}
    wrong += [f"{e.name}: an entry, but the program has no such directive" for key, e in entries.items() if key not in tables]
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(entries)} entries, {len(tables)} directives, {len(wrong)} mistakes")
    return 1 if wrong else 0


def renew(brigade):
    tables = program_tables(brigade)
    entries = {e.key: e for module in read_all() for e in module.entries}
    for path in sorted((MAN / "directives").glob("*.txt")):
        out, lines = [], path.read_text().splitlines()
        for i, line in enumerate(lines):
            if re.match(r"(Context|Override): ", line):
                continue
            out.append(line)
            last = line.startswith(("Default: ", "Syntax: ")) and not lines[i + 1].startswith(("Default: ", "Syntax: "))
            if not last:
                continue
            key = next(x[2:].strip("<> ").lower() for x in reversed(out) if x.startswith("= "))
            _, _, context, override, _ = tables.get(key, ("", "", "server", "", False))
            if context == "server, virtual host" and only_of_the_server(brigade, entries[key]):
                context = "server"
            out.append("Context: " + context)
            if override:
                out.append("Override: " + override)
        path.write_text("\n".join(out) + "\n")
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", metavar="BRIGADE")
    parser.add_argument("--renew", metavar="BRIGADE")
    parser.add_argument("--man", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--html", metavar="FOLDER", type=pathlib.Path)
    args = parser.parse_args()
    status = 0
    if args.renew:
        status |= renew(args.renew)
    if args.check:
        status |= check(args.check)
    if args.man:
        import manual_page
        args.man.parent.mkdir(parents=True, exist_ok=True)
        args.man.write_text(manual_page.page(read_all()))
    if args.html:
        import manual_html
        manual_html.write(read_all(), sorted((MAN.parent / "guides").glob("[0-9]*.md")), MAN / "html", args.html)
    return status


if __name__ == "__main__":
    sys.exit(main())
