# SPDX-License-Identifier: Apache-2.0
"""The manual as pages: one per module, one per how-to, some tables, a list of all directives, and a
search that needs no server and knows what people type (docs/manual/html/synonyms.txt)."""
import html
import json
import re
import shutil


def inline(text, links):
    """Text of an entry or how-to: `code`, **strong**, [text](address), <Section>, guide "Title"; names of directives become links."""
    out = []
    for part in re.split(r"(`[^`]+`|guide \"[^\"]+\"|<\w+>|\[[^\]]+\]\([^)]+\)|\*\*[^*]+\*\*)", text):
        if part.startswith("`") and len(part) > 1:
            out.append(f"<code>{linked(part[1:-1], links)}</code>")
        elif re.fullmatch(r"<\w+>", part):
            target = links.get(part[1:-1].lower())
            out.append(f'<a href="{target}">{html.escape(part)}</a>' if target else html.escape(part))
        elif part.startswith("["):
            name, address = re.match(r"\[([^\]]+)\]\(([^)]+)\)", part).groups()
            out.append(f'<a href="{html.escape(address)}">{html.escape(name)}</a>')
        elif part.startswith("**"):
            out.append(f"<strong>{html.escape(part[2:-2])}</strong>")
        elif part.startswith('guide "'):
            target = links.get(part)
            out.append(f'guide <a href="{target}">{html.escape(part[7:-1])}</a>' if target else html.escape(part))
        else:
            out.append(linked(part, links))
    return "".join(out)


def linked(text, links):
    """Escaped text, in which each name of a directive leads to its entry. Short plain words are no names."""
    def one(match):
        target = links.get(match[0].lower()) if re.search(r"[a-z][A-Z]|[A-Z]{2}", match[0]) else None
        return f'<a href="{target}">{match[0]}</a>' if target else html.escape(match[0])
    return "".join(re.sub(r"[A-Za-z]\w+", one, part) if re.match(r"\w", part) else html.escape(part)
                   for part in re.split(r"(\w+)", text))


def page(title, body, contents="", before=None, after=None):
    """contents: links of the table of contents; before, after: (address, title) of the neighbours."""
    relations = "".join(f'\n<link rel="{rel}" href="{to[0]}">' for rel, to in (("prev", before), ("next", after)) if to)
    steps = "".join(f'<a rel="{rel}" href="{to[0]}"><span>{word}</span> {html.escape(to[1])}</a>'
                    for rel, word, to in (("prev", "Previous:", before), ("next", "Next:", after)) if to)
    aside = f'<nav class="toc" aria-label="On this page">{contents}</nav>\n' if contents else ""
    foot = f'\n<nav class="steps" aria-label="Neighbours">{steps}</nav>' if steps else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)} - Brigade</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="style.css">{relations}
<script src="index.js" defer></script>
<script src="search.js" defer></script>
<script src="page.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<nav aria-label="The manual"><a href="index.html">Brigade</a> <a href="index.html#guides">Guides</a> <a href="directives.html">Directives</a> <a href="index.html#modules">Modules</a></nav>
<form role="search"><label for="q">Search</label> <input id="q" type="search" autocomplete="off" aria-controls="found"></form>
</header>
<div id="found" role="status" hidden></div>
<div class="{"beside" if contents else "alone"}">
{aside}<main id="content" tabindex="-1">
{body}{foot}
</main>
</div>
</body>
</html>
"""


def entry_html(e, links):
    rows = [("Syntax", "<br>".join(f"<code>{html.escape(s)}</code>" for s in e.syntax)), ("Default", f"<code>{html.escape(e.default)}</code>"),
            ("Context", html.escape(e.context))]
    if e.override:
        rows.append(("Override", html.escape(e.override)))
    out = [f'<section id="{e.anchor}"><h2><a href="#{e.anchor}">{html.escape(e.name)}</a></h2>', "<dl>"]
    out += [f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows] + ["</dl>"]
    for kind, body in e.blocks:
        if kind == "text":
            out.append(f"<p>{inline(body, links)}</p>")
        else:
            out.append("<pre><code>" + html.escape("\n".join(x for x in body if not x.startswith("(in "))) + "</code></pre>")
    if e.apache:
        out.append(f'<p class="apache"><strong>Apache</strong> {inline(e.apache, links)}</p>')
    return "\n".join(out) + "</section>"


def table(lines, links):
    rows = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip("|"))] for line in lines]
    head = "".join(f"<th>{inline(c, links)}</th>" for c in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{inline(c, links)}</td>" for c in row) + "</tr>" for row in rows[2:])
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def markdown(text, links):
    """Headings, paragraphs, lists, tables and fenced code: what the how-tos are written in."""
    out, blocks = [], re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    for block in blocks:
        if block.startswith("```"):
            out.append("<pre><code>" + html.escape("\n".join(block.splitlines()[1:-1])) + "</code></pre>")
            continue
        for part in re.split(r"\n\s*\n", block.strip()):
            lines = part.splitlines()
            heading = re.match(r"(#+) (.*)", part)
            if not lines:
                continue
            if heading:
                level = len(heading[1])
                text_of_it = inline(heading[2], links)
                if level > 1 and "<a " not in text_of_it:
                    text_of_it = f'<a href="#{anchor_of(heading[2])}">{text_of_it}</a>'
                out.append(f'<h{level} id="{anchor_of(heading[2])}">{text_of_it}</h{level}>')
            elif lines[0].startswith("|"):
                out.append(table(lines, links))
            elif re.match(r"(-|\d+\.) ", lines[0]):
                kind = "ul" if lines[0].startswith("-") else "ol"
                items = re.split(r"\n(?=(?:-|\d+\.) )", part)
                out.append(f"<{kind}>" + "".join("<li>" + inline(re.sub(r"^(-|\d+\.) ", "", " ".join(i.split())), links) + "</li>" for i in items)
                           + f"</{kind}>")
            else:
                out.append(f"<p>{inline(' '.join(lines), links)}</p>")
    return "\n".join(out)


def page_of(path):
    """The address of a how-to, by its file."""
    return re.sub(r"^\d+-", "", path.removesuffix(".md")) + ".html"


def howto_lists(groups, howtos):
    """Headings, and lists of all how-tos with a word about each."""
    titles = {name: title for name, title, _ in howtos}
    out = []
    for heading, guides in groups:
        for address, title, _ in guides:
            if titles.pop(address, None) != title:
                raise SystemExit(f"docs/guides/README.md: {address} is not there, or has another title")
        out += [f'<h3 id="guides-{anchor_of(heading)}">{html.escape(heading)}</h3>', *described(guides)]
    if titles:
        raise SystemExit(f"docs/guides/README.md does not have {' '.join(titles.values())}")
    return out


def described(pages):
    """A list of pages with a word about each."""
    return ['<ul class="howto">', *(f'<li><a href="{address}">{html.escape(title)}</a> <span>{inline(about, {})}</span></li>' for address, title, about in pages), "</ul>"]


def start_page(modules, howtos, groups, tables):
    out = ["<h1>The manual of Brigade</h1>",
           "<p>Brigade reads the configuration of the Apache HTTP Server 2.4. Here is what each directive does, and how common tasks are "
           "done. In a terminal, <code>brigade -L NAME</code> prints the entry of a directive or a guide, and <code>brigade -L WORDS</code> finds "
           "them. Here <kbd>/</kbd> leads to the search.</p>", '<h2 id="guides">Guides</h2>']
    out += [*howto_lists(groups, howtos), '<h2 id="tables">Tables</h2>', *described((name, title, about) for name, title, _, about in tables),
            '<h2 id="modules">Modules</h2>', '<ul class="modules">']
    for m in modules:
        out.append(f'<li><a href="{m.page}">{m.title}</a> <span>{html.escape(" ".join(m.intro).strip().replace("`", ""))}</span></li>')
    return page("Manual", "\n".join(out) + "</ul>")


def all_directives(modules):
    entries = sorted((e for m in modules for e in m.entries), key=lambda e: e.key)
    out = ["<h1>All directives</h1>", f'<p class="filter"><label for="only">Only those with</label> <input id="only" type="search" autocomplete="off" '
           f'placeholder="name or module"> <span id="count" role="status">{len(entries)}</span></p>', '<ul class="all">']
    out += [f'<li><a href="{e.page}#{e.anchor}">{html.escape(e.name)}</a> <span>{e.module.title}</span></li>' for e in entries]
    return page("Directives", "\n".join(out) + "</ul>")


def anchor_of(heading):
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def sections(text):
    """[(heading, text)] of a how-to; what stands before the first heading of its own has none. A # in fenced code is no heading."""
    parts = [("", [])]
    fenced = False
    for line in text.splitlines()[1:]:
        fenced ^= line.startswith("```")
        if line.startswith("## ") and not fenced:
            parts.append((line[3:], []))
        else:
            parts[-1][1].append(line)
    return [(heading, "\n".join(lines)) for heading, lines in parts]


def plain(text):
    """Text of a how-to for the search: without marks and addresses."""
    text = re.sub(r"^```.*$|^#+ |^\|[-| ]+\|$", "", text, flags=re.M)
    return " ".join(re.sub(r"[`*\[]|\]\([^)]*\)", "", text).replace("|", " ").split())


def read_synonyms(path):
    """{target: [[words, rank], ...]}; rank 0 is the best answer to these words."""
    known = {}
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        words, targets = line.rsplit(": ", 1)
        for rank, target in enumerate(targets.split()):
            known.setdefault(target.strip("<>").lower(), []).extend([w.strip(), rank] for w in words.split(","))
    return known


def search_index(modules, howtos, tables, synonyms):
    """Rows of name, address, kind, text and the words that lead here. Of a how-to, each part has a row."""
    left = dict(synonyms)
    rows = [[e.name, f"{e.page}#{e.anchor}", e.module.title, " ".join(e.text()).replace("`", ""), left.pop(e.key, [])]
            for m in modules for e in m.entries]
    rows += [[m.title, m.page, "module", " ".join(m.intro).strip().replace("`", ""), left.pop(m.title.lower(), [])] for m in modules]
    for name, title, text in howtos:
        for heading, part in sections(text):
            address = name + (f"#{anchor_of(heading)}" if heading else "")
            rows.append([f"{title}: {plain(heading)}" if heading else title, address, "how to", plain(part) or plain(text),
                         [] if heading else left.pop(name.removesuffix(".html"), [])])
    for name, title, text, _ in tables:
        rows += [[f"{title}: {plain(heading)}" if heading else title, name + (f"#{anchor_of(heading)}" if heading else ""), "table", plain(part), []]
                 for heading, part in sections(text)]
    if left:
        raise SystemExit(f"synonyms.txt: there is nothing of these names: {' '.join(sorted(left))}")
    return "const manualIndex = " + json.dumps(rows, separators=(",", ":")).replace("</", "<\\/") + ";\n"


HOWTOS_OF_A_MODULE = 4


def howtos_of(module, howtos):
    """Links to the how-tos that have most of its directives: two of them, or one of a small module's."""
    names = [e.key.strip("<>") for e in module.entries]
    found = []
    for address, title, text in howtos:
        words = {word.lower() for word in re.findall(r"\w*[a-z][A-Z]\w*", text)}
        if sum(name in words for name in names) >= (1 if len(names) <= 4 else 2):
            found.append((-sum(name in words for name in names), f'<a href="{address}">{html.escape(title)}</a>'))
    found = [link for _, link in sorted(found)[:HOWTOS_OF_A_MODULE]]
    return f'<p class="howtos">How to: {", ".join(found)}</p>' if found else ""


def module_page(module, links, howtos):
    """(name, title, body, contents) of a module."""
    body = f'<h1>{module.title}</h1><p>{inline(" ".join(module.intro).strip(), links)}</p>{howtos_of(module, howtos)}'
    contents = "\n".join(f'<a href="#{e.anchor}">{html.escape(e.name)}</a>' for e in module.entries)
    return module.page, module.title, body + "\n".join(entry_html(e, links) for e in module.entries), contents


def groups_of(overview):
    """[(heading, [(address, title, about)])] of docs/guides/README.md."""
    return [(heading, [(page_of(path), title, about) for title, path, about in re.findall(r"^- \[(.*)\]\((.*)\): (.*)$", text, re.M)])
            for heading, text in sections(overview)[1:]]


def siblings(name, groups):
    """Links to the guides of its group."""
    for heading, guides in groups:
        if any(address == name for address, _, _ in guides):
            links = [f'<a href="{address}"{" aria-current=page" if address == name else ""}>{html.escape(title)}</a>' for address, title, _ in guides]
            return [f'<a class="part" href="index.html#guides-{anchor_of(heading)}">Guides: {html.escape(heading)}</a>', *links]
    return []


def howto_pages(howtos, links, groups):
    for name, title, text in howtos:
        headings = [heading for heading, _ in sections(text) if heading]
        contents = [f'<a href="#{anchor_of(h)}">{html.escape(plain(h))}</a>' for h in headings] if len(headings) > 1 else []
        yield name, title, markdown(text, links), "\n".join(contents + siblings(name, groups))


def write_in_order(folder, pages):
    """Each leads to the one before and the one after it."""
    for i, (name, title, body, contents) in enumerate(pages):
        before, after = (pages[n][:2] if 0 <= n < len(pages) else None for n in (i - 1, i + 1))
        (folder / name).write_text(page(title, body, contents, before, after))


# Documents that are pages, too: what they are called in the list of pages.
TABLES = {"differences-from-apache": "what Apache 2.4 does otherwise, and why", "modules": "which of Apache's modules run here", "metrics": "all figures of SetHandler metrics",
          "limits": "all that a client or a site can make grow, with its bound", "mistakes": "forty mistakes, and what four servers say of them",
          "benchmarks": "measurements, and the programs that make them"}


def read_tables(folder):
    """[(address, title, text, about)]"""
    texts = [(name, (folder / f"{name}.md").read_text(), about) for name, about in TABLES.items()]
    return [(f"{name}.html", plain(re.search(r"^# (.*)", text, re.M)[1]), text, about) for name, text, about in texts]


def write(modules, howto_files, static, folder):
    links = {e.key: f"{e.page}#{e.anchor}" for m in modules for e in m.entries}
    howtos = []
    for path in howto_files:
        text = path.read_text()
        howtos.append((page_of(path.name), re.match(r"# (.*)", text)[1], text))
    links |= {f'guide "{title}"': address for address, title, _ in howtos}
    groups, tables = groups_of((howto_files[0].parent / "README.md").read_text()), read_tables(howto_files[0].parent.parent)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_in_order(folder, list(howto_pages(howtos, links, groups)))
    write_in_order(folder, [module_page(m, links, howtos) for m in modules])
    write_in_order(folder, list(howto_pages([table[:3] for table in tables], links, [])))
    (folder / "directives.html").write_text(all_directives(modules))
    (folder / "index.js").write_text(search_index(modules, howtos, tables, read_synonyms(static / "synonyms.txt")))
    for name in ("style.css", "search.js", "page.js"):
        shutil.copyfile(static / name, folder / name)
    (folder / "index.html").write_text(start_page(modules, howtos, groups, tables))
