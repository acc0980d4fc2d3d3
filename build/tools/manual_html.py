# SPDX-License-Identifier: Apache-2.0
"""The manual as pages: one per module, one per how-to, a list of all directives, and a search that needs no server."""
import html
import json
import re
import shutil


def inline(text, links):
    """Text of an entry or how-to: `code`, **strong**, [text](address), <Section>; names of directives become links."""
    out = []
    for part in re.split(r"(`[^`]+`|<\w+>|\[[^\]]+\]\([^)]+\)|\*\*[^*]+\*\*)", text):
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


def page(title, body):
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)} - Brigade</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="style.css">
<script src="index.js" defer></script>
<script src="search.js" defer></script>
</head>
<body>
<header>
<nav><a href="index.html">Brigade</a> <a href="directives.html">Directives</a></nav>
<form role="search"><label for="q">Search</label> <input id="q" type="search" autocomplete="off" aria-controls="found"></form>
</header>
<div id="found" role="status" hidden></div>
<main>
{body}
</main>
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
                anchor = re.sub(r"[^a-z0-9]+", "-", heading[2].lower()).strip("-")
                out.append(f'<h{level} id="{anchor}">{inline(heading[2], links)}</h{level}>')
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


def start_page(modules, howtos):
    out = ["<h1>The manual of Brigade</h1>",
           "<p>Brigade reads the configuration of the Apache HTTP Server 2.4. Here is what each directive does, and how common tasks are "
           "done. In a terminal, <code>brigade -L NAME</code> prints the entry of a directive.</p>", "<h2>How to</h2>", '<ul class="howto">']
    out += [f'<li><a href="{name}">{html.escape(title)}</a></li>' for name, title, _ in howtos]
    out += ["</ul>", "<h2>Modules</h2>", '<ul class="modules">']
    for m in modules:
        out.append(f'<li><a href="{m.page}">{m.title}</a> <span>{html.escape(" ".join(m.intro).strip().replace("`", ""))}</span></li>')
    return page("Manual", "\n".join(out) + "</ul>")


def all_directives(modules):
    entries = sorted((e for m in modules for e in m.entries), key=lambda e: e.key)
    out = ["<h1>All directives</h1>", '<ul class="all">']
    out += [f'<li><a href="{e.module.page}#{e.anchor}">{html.escape(e.name)}</a></li>' for e in entries]
    return page("Directives", "\n".join(out) + "</ul>")


def search_index(modules, howtos):
    rows = [[e.name, f"{e.module.page}#{e.anchor}", e.module.title, " ".join(e.text()).replace("`", "")] for m in modules for e in m.entries]
    rows += [[m.title, m.page, "module", " ".join(m.intro).strip().replace("`", "")] for m in modules]
    rows += [[title, name, "how to", re.sub(r"[`*#|]|\]\([^)]*\)|\[", " ", text)] for name, title, text in howtos]
    return "const manualIndex = " + json.dumps(rows, separators=(",", ":")).replace("</", "<\\/") + ";\n"


def write(modules, howto_files, static, folder):
    links = {e.key: f"{e.module.page}#{e.anchor}" for m in modules for e in m.entries}
    howtos = []
    for path in howto_files:
        text = path.read_text()
        howtos.append((re.sub(r"^\d+-", "", path.stem) + ".html", re.match(r"# (.*)", text)[1], text))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, title, text in howtos:
        (folder / name).write_text(page(title, markdown(text, links)))
    for m in modules:
        toc = " ".join(f'<a href="#{e.anchor}">{html.escape(e.name)}</a>' for e in m.entries)
        body = f'<h1>{m.title}</h1><p>{inline(" ".join(m.intro).strip(), links)}</p><p class="toc">{toc}</p>'
        (folder / m.page).write_text(page(m.title, body + "\n".join(entry_html(e, links) for e in m.entries)))
    (folder / "directives.html").write_text(all_directives(modules))
    (folder / "index.js").write_text(search_index(modules, howtos))
    for name in ("style.css", "search.js"):
        shutil.copyfile(static / name, folder / name)
    (folder / "index.html").write_text(start_page(modules, howtos))
