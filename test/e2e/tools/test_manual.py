# SPDX-License-Identifier: Apache-2.0
"""The manual (docs/manual): entries of directives, their examples, `brigade -L NAME`, the pages."""
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from brigade import BINARY

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "build/tools"))
import manual  # noqa: E402

MODULES = manual.read_all()
README = re.findall(r"```apache\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
# Files that an example names and that a reader has.
FILES_OF_A_READER = re.compile("not readable|No such file|cannot be opened|cannot be read|does not exist|needs OpenSSL|is no folder")
pytestmark = pytest.mark.only("brigade")


def example_lines(example):
    """A configuration's part with this example, or None if it cannot be tried alone."""
    lines, kind = example, "server"
    if lines[0].startswith("(in "):
        kind, lines = lines[0][4:-1], lines[1:]
    assert kind in ("server", "vhost", "directory", "off"), lines
    if kind == "off":
        return None
    text = "\n".join(lines)
    return {"server": text, "vhost": f"<VirtualHost *:1>\n{text}\n</VirtualHost>",
            "directory": f"<Directory /nowhere>\n{text}\n</Directory>"}[kind]


def run(tmp_path, parts):
    conf = tmp_path / "m.conf"
    (tmp_path / "logs").mkdir(exist_ok=True)
    head = f"ServerRoot {tmp_path}\nErrorLog /dev/null\nTypesConfig /dev/null\nPidFile none\nBuiltinModules all\nListen 127.0.0.1:1\nServerName m\n"
    conf.write_text(head + "\n".join(parts) + "\n")
    return subprocess.run([BINARY, "-d", tmp_path, "-t", "-f", conf], capture_output=True, text=True, timeout=60)


def module_names():
    text = subprocess.run([BINARY, "-l"], capture_output=True, text=True, timeout=60).stdout
    return re.findall(r"^\s+(\S+\.c)\b", text, re.M)


@pytest.mark.parametrize("module", [m for m in MODULES], ids=lambda m: m.title)
def test_examples_are_taken(tmp_path, module):
    if module.name not in module_names():
        pytest.skip(f"{module.name} is not built in")
    parts = [(e.name, part) for e in module.entries for part in map(example_lines, e.examples()) if part]
    if run(tmp_path, [part for _, part in parts]).returncode == 0:
        return
    alone = [(name, run(tmp_path, [part])) for name, part in parts]
    wrong = [(name, done.stderr[-300:]) for name, done in alone if done.returncode != 0]
    assert not wrong, "\n".join(f"{name}: {error}" for name, error in wrong)


@pytest.mark.parametrize("n", range(len(README)))
def test_examples_of_the_readme(tmp_path, n):
    """They can be copied as they stand; files and modules that they name may be missing here."""
    text = README[n].replace("/opt/brigade", str(tmp_path))
    head = "" if "Listen" in text else "Listen 127.0.0.1:1\n"
    (tmp_path / "logs").mkdir()
    conf = tmp_path / "r.conf"
    conf.write_text(f"ServerRoot {tmp_path}\nTypesConfig /dev/null\nServerName r\n{head}{text}")
    done = subprocess.run([BINARY, "-d", tmp_path, "-t", "-D", "LENIENT", "-f", conf], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 or FILES_OF_A_READER.search(done.stderr), done.stderr


def test_entries_in_the_terminal():
    """-L NAME prints each entry as the source has it; what there is none of is said."""
    for name in ("Alias", "alias", "<If>", "ssietag"):
        entry = next(e for m in MODULES for e in m.entries if e.key == name.strip("<>").lower())
        done = subprocess.run([BINARY, "-L", name], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"{entry.name} ({entry.module.name})\nSyntax: {entry.syntax[0]}\n")
        assert f"\nContext: {entry.context}\n" in done.stdout and "\n= " not in done.stdout
    for name in ("mod_alias", "mod_alias.c"):
        done = subprocess.run([BINARY, "-L", name], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and re.findall(r"^(\S+) \(mod_alias\.c\)$", done.stdout, re.M) == \
            [e.name for m in MODULES if m.title == "mod_alias" for e in m.entries]
    done = subprocess.run([BINARY, "-L", "LuaRoot"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "mod_lua" in done.stderr


def terminal(*words):
    return subprocess.run([BINARY, "-L", *words], capture_output=True, text=True, timeout=60)


def test_questions_in_the_terminal():
    """-L WORDS: the answer is among the first three directives or guides that it names. What it names, -L prints."""
    asked, wrong, named = dict(questions()), {}, set()
    for question, targets in asked.items():
        said = terminal(question).stdout  # the text of a guide, where words are its name
        lists = [re.findall(r"^  (\S+)", part, re.M) for part in said.split("Guides:\n")] if "Guides:\n" in said or said.startswith("Directives") else [[]]
        named |= {name for names in lists for name in names}
        if not targets & {name.lower() for names in lists for name in names[:3]}:
            wrong[question] = lists
    assert len(wrong) <= (1 - ENOUGH) * len(asked), json.dumps(wrong, indent=1)
    for name in sorted(named)[::9]:
        assert terminal(name).returncode == 0, name


def test_guides_and_near_names_in_the_terminal():
    guide = ROOT / "docs/guides/32-maintenance.md"
    assert terminal("maintenance").stdout == guide.read_text()
    done = terminal("redirect", "www")
    assert done.returncode == 0 and "static-site" in done.stdout and not done.stderr
    done = terminal("Redirct")
    assert done.returncode == 1 and "did you mean 'Redirect'?" in done.stderr
    done = terminal("etag")
    assert done.returncode == 1 and "FileETag" in done.stdout
    assert terminal("nosuchwordanywhere").stdout == ""


def test_pages_have_no_dead_links(tmp_path):
    """Pages, style, script, index and anchors that a page or the search leads to are there. What leads outside is https."""
    subprocess.run([sys.executable, "-B", ROOT / "build/tools/manual.py", "--html", tmp_path / "html", "--man", tmp_path / "man5"],
                   check=True, timeout=60)
    pages = {p.name: p.read_text() for p in (tmp_path / "html").iterdir()}
    anchors = {name: set(re.findall(r' id="([^"]+)"', text)) for name, text in pages.items()}
    dead = []
    targets = [(row[1], "index.js") for row in json.loads(pages["index.js"].removeprefix("const manualIndex = ").rstrip(";\n"))]
    targets += [(html.unescape(to), name) for name, text in pages.items() if name.endswith(".html")
                for to in re.findall(r'(?:href|src)="([^"]+)"', text)]
    for to, name in targets:
        if to.startswith(("https://", "data:")):
            continue
        file, _, anchor = to.partition("#")
        if (file or name) not in pages or (anchor and anchor not in anchors[file or name]):
            dead.append((name, to))
    assert not dead and len(targets) > 1000
    assert (tmp_path / "man5").read_text().count("\n.SS ") == sum(len(m.entries) for m in MODULES)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("manual") / "html"
    subprocess.run([sys.executable, "-B", ROOT / "build/tools/manual.py", "--html", folder], check=True, timeout=60)
    return folder


ASK = """const fs = require("fs"), vm = require("vm"), folder = process.argv[1] + "/";
vm.runInThisContext(fs.readFileSync(folder + "index.js") + "\\n" + fs.readFileSync(folder + "search.js") + `
  globalThis.answers = query => searchManual(query).map(row => [row[0], row[1], excerpt(row[3], plainWords(query)), row[3]]);`);
console.log(JSON.stringify(JSON.parse(process.argv[2]).map(answers)));"""


def ask(pages, *queries):
    """What the search of the pages finds: for each query rows of name, address, excerpt and text."""
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    done = subprocess.run(["node", "-e", ASK, pages, json.dumps(queries)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return dict(zip(queries, json.loads(done.stdout)))


FIRST = {"hsts": "https.html", "cors": "Header", "rewrite": "RewriteRule", "cache headers": "static-site.html", "gzip": "compression.html",
         "http2": "http2.html", "redirect": "Redirect", "password": "passwords.html", "php": "php-fpm.html", "proxy": "ProxyPass",
         "load balancer": "load-balancer.html", "HTTP/2": "http2.html", "https": "https.html", "load bal": "load-balancer.html",
         "ssietag": "SSIETag", "<VirtualHost>": "<VirtualHost>", "proxy_pass": "ProxyPass", "benchmark": "benchmarking.html"}


def test_the_search_knows_what_people_type(pages):
    found = ask(pages, *FIRST)
    assert {query: rows[0][:2] for query, rows in found.items() if not rows or FIRST[query] not in rows[0][:2]} == {}


def test_the_search_knows_each_synonym(pages):
    """The first three that a phrase leads to are among the first six of the answer."""
    lines = [line.rsplit(": ", 1) for line in (ROOT / "docs/manual/html/synonyms.txt").read_text().splitlines() if line and line[0] != "#"]
    wanted = {}
    for phrases, targets in lines:
        for phrase in phrases.split(","):
            wanted.setdefault(phrase.strip(), [t.strip("<>").lower() for t in targets.split()][:3])
    assert len(wanted) > 200
    for phrase, rows in ask(pages, *wanted).items():
        names = {row[0].strip("<>").lower() for row in rows[:6]} | {row[1].removesuffix(".html") for row in rows[:6]}
        assert set(wanted[phrase]) <= names, (phrase, names)


def questions():
    """(question, targets) of questions.txt."""
    for line in (ROOT / "test/e2e/tools/questions.txt").read_text().splitlines():
        if line and line[0] != "#":
            question, targets = line.rsplit(": ", 1)
            yield question, {target.strip("<>").lower() for target in targets.split()}


ENOUGH = 55 / 60  # of the questions


def test_the_search_answers_questions(pages):
    """The answer is what is found first."""
    asked = dict(questions())
    wrong = {question: [row[0] for row in rows[:3]] for question, rows in ask(pages, *asked).items()
             if not rows or not asked[question] & {rows[0][0].strip("<>").lower(), rows[0][1].partition("#")[0].removesuffix(".html")}}
    assert len(asked) >= 60 and len(wrong) <= (1 - ENOUGH) * len(asked), json.dumps(wrong, indent=1)


def test_the_search_goes_on_without_a_word(pages):
    """Where nothing has all words, what has most of them is found."""
    rows = ask(pages, "redirect zyxwvu www")["redirect zyxwvu www"]
    assert rows and {"Redirect", "A static site, complete"} <= {row[0] for row in rows}


def test_excerpts_have_whole_words(pages):
    rows = [row for rows in ask(pages, "timeout", "certificate", "memory", "cache", "slash", "reads").values() for row in rows]
    assert len(rows) > 40
    for name, _, excerpt, text in rows:
        part = excerpt.removeprefix("\u2026 ").removesuffix(" \u2026")
        assert len(part) <= 160 and f" {part} " in f" {text} ", (name, excerpt)
    assert [row[0] for row in ask(pages, "nosuchwordanywhere")["nosuchwordanywhere"]] == []


def test_pages_lead_on(pages):
    """A skip link, a table of contents, anchors at entries, neighbours; each module has one page."""
    seen, name = [], MODULES[0].page
    while name:
        text = (pages / name).read_text()
        seen.append(name)
        entries = re.findall(r'<section id="([^"]+)"', text)
        assert text.index('href="#content"') < text.index("<header>")
        contents = re.search(r'(?s)<nav class="toc" aria-label="[^"]+">(.*?)</nav>', text)
        assert re.findall(r'href="#([^"]+)"', contents[1] if contents else "") == entries
        assert all(f'<a href="#{e}">' in text.split("<main")[1] for e in entries)
        following = re.search(r'<a rel="next" href="([^"]+)">', text)
        name = following and following[1]
        assert not following or f'<a rel="prev" href="{seen[-1]}">' in (pages / name).read_text()
    assert seen == [m.page for m in MODULES]
    assert 'rel="next"' in (pages / "https.html").read_text()


def test_guides_stand_beside_a_guide(pages):
    text = (pages / "maintenance.html").read_text()
    beside = re.search(r'(?s)<nav class="toc".*?</nav>', text)[0]
    assert 'href="maintenance.html" aria-current=page' in beside and 'href="single-page-application.html"' in beside
    assert 'href="index.html#guides"' in text.split("</header>")[0]


def test_tables_are_pages(pages):
    """What guides send readers to is a page, not a file of the source."""
    start = (pages / "index.html").read_text()
    for name in ("metrics", "differences-from-apache", "limits", "modules", "benchmarks", "mistakes"):
        assert f'href="{name}.html"' in start and "<table>" in (pages / f"{name}.html").read_text()
        assert not any(f"docs/{name}.md" in path.read_text() for path in (ROOT / "docs/guides").glob("[0-9]*.md"))


def complete(program, *words):
    """What bash offers for the last of these words."""
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); $(complete -p "${1##*/}" | sed "s/.*-F //; s/ .*//"); echo "${COMPREPLY[@]}"'
    run = subprocess.run(["bash", "-c", script, "bash", ROOT / "build/completion" / pathlib.Path(program).name, program, *words],
                         capture_output=True, text=True, timeout=60)
    return set(run.stdout.split())


def test_completion(tmp_path):
    program = tmp_path / "brigade"
    program.symlink_to(pathlib.Path(BINARY).resolve())
    assert complete(program, "-k", "gr") == {"graceful", "graceful-stop"}
    assert {"start", "stop", "status", "reload", "restart", "upgrade"} <= complete(program, "-k", "")
    assert complete(program, "-L", "ssilast") == {"SSILastModified"}
    assert "mod_alias" in complete(program, "-L", "mod_")
    assert {"DUMP_VHOSTS", "DUMP_CACHE"} <= complete(program, "-D", "DUMP")
    assert "--advice" in complete(program, "--a")
    assert {"--serve", "--explain"} <= complete(program, "--")
    assert complete(ROOT / "build/tools/brigade-migrate", "--tr") == {"--try"}
    assert complete(ROOT / "build/tools/brigade-site", "--w") == {"--wordpress"}


def howto_blocks():
    for path in sorted((ROOT / "docs/guides").glob("[0-9]*.md")):
        for i, text in enumerate(re.findall(r"^```apache(?: \((?!not tried|complete)[^)]*\))?\n(.*?)^```$", path.read_text(), re.M | re.S)):
            yield pytest.param(text, id=f"{path.stem}-{i}")


@pytest.mark.parametrize("text", howto_blocks())
def test_howto_configurations(tmp_path, text):
    """What the how-tos put into a configuration is taken. Certificates are made where they are named. Those that are complete
    are in test_howto_sites.py."""
    for module in re.findall(r"^LoadModule \S+\s+(/\S+)", text, re.M):
        if not pathlib.Path(module).exists():
            pytest.skip(f"{module} is not installed")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    if "SSLEngine" in text:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                        "-subj", "/CN=www.example.org", "-keyout", key, "-out", cert], check=True, capture_output=True, timeout=60)
    text = re.sub(r"/etc/letsencrypt/\S+fullchain.pem", str(cert), re.sub(r"/etc/letsencrypt/\S+privkey.pem", str(key), text))
    done = run(tmp_path, [text.replace("/tmp/requests.trace", str(tmp_path / "trace"))])
    assert done.returncode == 0 or FILES_OF_A_READER.search(done.stderr), done.stderr
