# SPDX-License-Identifier: Apache-2.0
"""Pages that people see: sample site, manual, listing, status, live figures, errors. Their markup has no errors; they fit narrow and
wide screens, light and dark; texts, boxes and the focus stand out from what is behind them.

TEST_FOLDER=FOLDER keeps a picture of each page on each screen."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import effort
import brigade
import browser_pipe
from backend import Backend, answer

pytestmark = [pytest.mark.only("brigade"), pytest.mark.slow]
ROOT = pathlib.Path(brigade.REPOSITORY)
SITE = ROOT / "test/site"
CONFIG = """
BuiltinPages modern
ExtendedStatus On
MemoryReport On
RequestLimit perclient by=client rate=100000/s burst=100000
DirectoryIndex index.html
ErrorDocument 404 /errors/404.html
AddOutputFilter INCLUDES .shtml
<Directory @ROOT@/htdocs>
Options +IncludesNoExec +Indexes
<FilesMatch "^(head|nav|foot)\\.html$">
SetOutputFilter INCLUDES
</FilesMatch>
</Directory>
<Location /refused>
Require all denied
</Location>
<Location /moved>
Redirect temp "http://a.test/there"
</Location>
Redirect 410 /gone
<Directory @ROOT@/htdocs/files/plain>
IndexOptions -FancyIndexing
</Directory>
<Directory @ROOT@/htdocs/files/short>
IndexOptions SuppressSize SuppressLastModified
</Directory>
<Location /none>
ErrorDocument 404 default
</Location>
<Location /server-status>
SetHandler server-status
</Location>
<Proxy "balancer://application">
BalancerMember "http://127.0.0.1:1" route=a hcmethod=TCP hcinterval=100ms
BalancerMember "http://127.0.0.1:2" route=b status=+D
BalancerMember "http://127.0.0.1:3" route=c status=+N loadfactor=20
BalancerMember "http://127.0.0.1:4" status=+H
ProxySet stickysession=ROUTEID growth=2
</Proxy>
<Proxy "balancer://empty">
ProxySet lbmethod=random2
</Proxy>
ProxyPass "/application/" "balancer://application/"
ProxyPass "/empty/" "balancer://empty/"
<Location /balancers>
SetHandler balancer-manager
Require all granted
</Location>
"""
CACHE = """
ProxyPass "/stored/" "http://127.0.0.1:{port}/"
CacheEnable memory /stored/
<Location /stored-answers>
SetHandler cache-manager
Require ip 127.0.0.1
</Location>
"""
STORED = {"small": 100, "news/of-the-day?edition=late&language=de": 4000, "picture.webp": 70000}
PAGES = {  # what it is: (path, status)
    "start": ("/", 200),
    "parts": ("/parts.shtml", 200),
    "live": ("/live.shtml", 200),
    "way": ("/path.html", 200),
    "configuration": ("/configuration.html", 200),
    "download": ("/download.html", 200),
    "missing": ("/no/such/page", 404),
    "refused": ("/refused", 403),
    "not-there": ("/none/x", 404),
    "moved": ("/moved", 302),
    "listing": ("/files/", 200),
    "status": ("/server-status", 200),
    "figures": ("/server-status/live", 200),
    "balancers": ("/balancers", 200),
    "stored": ("/stored-answers", 200),
    "stored-target": ("/stored-answers?find=http%3A%2F%2F127.0.0.1%2F*", 200),
    "manual": ("/docs/index.html", 200),
    "manual-howto": ("/docs/https.html", 200),
    "manual-module": ("/docs/mod_include.html", 200),
    "manual-directives": ("/docs/directives.html", 200),
    "manual-table": ("/docs/limits.html", 200),
}
ANSWERS = {  # further ones whose markup is read
    "gone": ("GET", "/gone", 410), "method": ("DELETE", "/", 405), "unavailable": ("GET", "/empty/x", 503), "unfound": ("GET", "/none/%3Cb%3E%C3%A9", 404),
    "plain-listing": ("GET", "/files/plain/", 200), "short-listing": ("GET", "/files/short/", 200),
}
SCREENS = [(width, dark) for width in (1280, 390) for dark in (False, True)]


@pytest.fixture(scope="module")
def shown():
    files = {str(path.relative_to(SITE)): path.read_bytes() for path in SITE.rglob("*") if path.is_file()}
    files |= {f"files/{folder}/{name}": b"x" for folder in ("plain", "short") for name in ("a.txt", "'\"<&é.txt")}
    stored = {f"/{name}": answer(b"x" * size, fields=[("Cache-Control", "max-age=600"), ("Cache-Tag", "news, pages")]) for name, size in STORED.items()}
    stored["/private"] = answer(b"x", fields=[("Cache-Control", "no-store")])
    with Backend(stored) as backend, brigade.Server(CONFIG + CACHE.format(port=backend.port), files) as server:
        for name in [*STORED, *list(STORED)[:2], "private"]:
            server.get(f"/stored/{name}")
        subprocess.run([sys.executable, "-B", ROOT / "build/tools/manual.py", "--html", server.path("htdocs/docs")], check=True, timeout=60)
        yield server


# ---- markup ----

def checker():
    """The command of the Nu Html Checker: from VNU_JAR, or where build/test puts it."""
    jar = os.environ.get("VNU_JAR") or ROOT / "out/tools/node_modules/vnu-jar/build/dist/vnu.jar"
    if not shutil.which("java") or not os.path.exists(jar):
        pytest.skip("the checker of markup (vnu-jar) is not there, or no java for it")
    return ["java", "-Xss2m", "-jar", str(jar), "--format", "json", "--also-check-css", "--also-check-svg"]


def complaints(command, files):
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, timeout=300)
    return [f"{pathlib.Path(m.get('url', '?')).name}:{m.get('lastLine')}: {m['message']}" for m in json.loads(done.stderr)["messages"]
            if m["type"] == "error" or m.get("subType") == "warning"]


def test_markup(shown, tmp_path):
    """Each page, whole, and each of the manual."""
    command = checker()
    for name, (path, status) in PAGES.items():
        answer = shown.get(path, headers={"Accept": "text/html"})
        assert answer.status == status, path
        (tmp_path / f"{name}.html").write_bytes(answer.body)
    for name, (method, path, status) in ANSWERS.items():
        answer = shown.request(method, path, headers={"Accept": "text/html"})
        assert answer.status == status, path
        (tmp_path / f"{name}.html").write_bytes(answer.body)
    files = [*sorted(tmp_path.iterdir()), *sorted(pathlib.Path(shown.path("htdocs/docs")).glob("*.html")), *sorted(SITE.rglob("*.svg")),
             *sorted(SITE.rglob("*.css"))]
    assert len(files) > 110
    assert complaints(command, files) == []


def test_the_checker_checks(tmp_path):
    command = checker()
    (tmp_path / "wrong.html").write_text("<!doctype html><html lang=en><title>x</title><p><b></p>")
    assert any("Unclosed element" in one for one in complaints(command, [tmp_path / "wrong.html"]))


# ---- screens ----

LOOK = r"""(() => {
  const probe = document.body.appendChild(document.createElement('div'));
  probe.style.background = 'Canvas';
  const parts = text => { const n = text.match(/[\d.]+/g).map(Number); return text.startsWith('color(srgb') ? [n[0] * 255, n[1] * 255, n[2] * 255, n[3] ?? 1] :
                                                                              [n[0], n[1], n[2], n[3] ?? 1]; };
  const canvas = parts(getComputedStyle(probe).backgroundColor);
  probe.remove();
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                       return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const behind = e => { const all = []; for (; e; e = e.parentElement) all.push(parts(getComputedStyle(e).backgroundColor));
                        return all.reverse().reduce((under, top) => over(top, under), canvas); };
  const faded = e => { let o = 1; for (; e; e = e.parentElement) o *= Number(getComputedStyle(e).opacity); return o; };
  const seen = e => e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}) && e.getBoundingClientRect().width > 1;
  const told = e => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + (typeof e.className == 'string' && e.className ? '.' + e.className : '') + ' ' +
                    JSON.stringify((e.innerText || '').slice(0, 40));
  const against = (colour, e, under) => contrast(over([...colour.slice(0, 3), colour[3] * faded(e)], under), under);
  return {parts, against, behind, seen, told};
})()"""

FAULTS = r"""(({parts, against, behind, seen, told}) => {
  const found = [];
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth)
    found.push(`the page is ${document.documentElement.scrollWidth} wide`);
  for (const e of document.querySelectorAll('body, body *')) {
    const style = getComputedStyle(e);
    if (!seen(e) || e.closest('svg') || ['SCRIPT', 'STYLE', 'OPTION'].includes(e.tagName)) continue;
    if ([...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())) {
      const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
      const c = against(parts(style.color), e, behind(e));
      if (c < (large ? 3 : 4.5) && !e.disabled) found.push(`text ${c.toFixed(2)}: ${told(e)}`);
    }
    const sides = ['Top', 'Right', 'Bottom', 'Left'].filter(s => style[`border${s}Style`] != 'none' && parseFloat(style[`border${s}Width`]) > 0);
    const control = ['INPUT', 'BUTTON', 'SELECT', 'TEXTAREA'].includes(e.tagName) && !(['checkbox', 'radio'].includes(e.type) && style.appearance == 'auto');
    if (sides.length == 4 || (control && sides.length)) {
      const c = Math.min(...sides.map(s => against(parts(style[`border${s}Color`]), e, behind(e.parentElement))));
      if (c < 3) found.push(`border ${c.toFixed(2)}: ${told(e)}`);
    }
  }
  return found;
})(LOOK)""".replace("LOOK", LOOK)

FOCUS = r"""(({parts, against, behind, seen, told}) => {
  const e = document.activeElement;
  if (!e || e == document.body) return null;
  const style = getComputedStyle(e), box = e.getBoundingClientRect();
  if (!e.matches(':focus-visible') || style.outlineStyle == 'none' || parseFloat(style.outlineWidth) < 1) return `no outline: ${told(e)}`;
  if (box.right <= 0 || box.bottom <= 0 || box.left >= innerWidth || box.top >= innerHeight) return `out of sight: ${told(e)}`;
  const c = against(parts(style.outlineColor), e, behind(e.parentElement));
  return style.outlineStyle != 'auto' && c < 3 ? `outline ${c.toFixed(2)}: ${told(e)}` : '';
})(LOOK)""".replace("LOOK", LOOK)


# As a screen reader goes through it: one first heading, no level left out, controls and regions with names, the order of the markup
# is the order of the focus, lists of cells have heads.
ORDER = r"""(() => {
  const found = [], seen = e => e.checkVisibility({checkVisibilityCSS: true});
  const told = e => e.outerHTML.slice(0, 70);
  const named = e => e.getAttribute('aria-label') || (e.getAttribute('aria-labelledby') || '').split(' ').some(id => document.getElementById(id)?.textContent.trim()) ||
                     [...(e.labels || [])].some(l => l.textContent.trim()) || e.textContent.trim() || e.title || [...e.querySelectorAll('img')].some(i => i.alt);
  const heads = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter(seen).map(h => [Number(h.tagName[1]), h]);
  if (heads.filter(([level]) => level == 1).length != 1) found.push('first headings: ' + heads.filter(([level]) => level == 1).length);
  heads.forEach(([level, h], i) => { if (level > (i ? heads[i - 1][0] : 0) + 1) found.push(`a level left out before ${told(h)}`); });
  if (!document.querySelector('main, [role=main]')) found.push('no main part');
  if (!document.documentElement.lang) found.push('no language');
  for (const e of document.querySelectorAll('input:not([type=hidden]), select, textarea, button, summary, a[href], [role=region], [role=img]'))
    if (seen(e) && !named(e)) found.push(`no name: ${told(e)}`);
  for (const e of document.querySelectorAll('[tabindex]')) if (e.tabIndex > 0) found.push(`an order of its own: ${told(e)}`);
  for (const t of document.querySelectorAll('table')) if (seen(t) && t.rows.length > 1 && !t.querySelector('th')) found.push(`no heads: ${told(t)}`);
  for (const e of document.querySelectorAll('img:not([alt])')) found.push(`no text: ${told(e)}`);
  return found;
})()"""


@pytest.fixture(scope="module")
def tab():
    if not browser_pipe.PROGRAM:
        pytest.skip("neither chromium-headless-shell nor chromium is installed")
    with browser_pipe.browser() as browser:
        yield browser.page()


@pytest.mark.parametrize("name", [name for name, (_, status) in PAGES.items() if status != 302])
def test_screens(shown, tab, name):
    found = []
    for width, dark in SCREENS:
        screen = f"{width}-{'dark' if dark else 'light'}"
        tab.show(f"http://127.0.0.1:{shown.port}{PAGES[name][0]}", width, dark=dark)
        if name == "figures":
            brigade.wait_until(lambda: tab.run("document.getElementById('state').textContent.startsWith('as of')"), "the first figures")
        if effort.FOLDER:
            os.makedirs(effort.FOLDER, exist_ok=True)
            tab.picture(os.path.join(effort.FOLDER, f"{name}-{screen}.png"))
        found += [f"{screen}: {one}" for one in tab.run(FAULTS) + tab.run(ORDER)]
        for _ in range(12):
            tab.tab()
            fault = tab.run(FOCUS)
            if fault:
                found.append(f"{screen}: focus, {fault}")
    assert found == []


def test_examples_can_be_copied(shown, tab):
    """A button at each example, reached by keyboard, says that it did."""
    tab.show(f"http://127.0.0.1:{shown.port}/docs/maintenance.html", 1280)
    assert tab.run("[...document.querySelectorAll('pre')].every(e => e.nextElementSibling.tagName == 'BUTTON' && e.nextElementSibling.getAttribute('aria-label'))")
    tab.run("navigator.clipboard.writeText = async text => { window.copied = text; }; document.querySelector('.example button').click()")
    brigade.wait_until(lambda: tab.run("document.querySelector('.example button').textContent == 'Copied'"), "the copy")
    assert tab.run("window.copied").startswith('Alias "/maintenance.html"')


def test_directives_have_a_filter(shown, tab):
    tab.show(f"http://127.0.0.1:{shown.port}/docs/directives.html", 1280)
    shown_names = "[...document.querySelectorAll('.all li:not([hidden]) a')].map(e => e.textContent)"
    assert len(tab.run(shown_names)) > 500
    tab.run("const f = document.getElementById('only'); f.value = 'etag mod_include'; f.dispatchEvent(new Event('input'))")
    assert tab.run(shown_names) == ["SSIETag"] and tab.run("document.getElementById('count').textContent") == "1"


def test_listings_have_a_filter(shown, tab):
    """It works while one types, and says how many there are."""
    tab.show(f"http://127.0.0.1:{shown.port}/files/", 1280)
    names = "[...document.querySelectorAll('tbody tr:not([hidden]) a')].map(e => e.textContent)"
    everything = tab.run(names)
    for typed, fits in (("NUMB", lambda name: "numb" in name.lower()), ("*.csv", lambda name: name.endswith(".csv")), ("", lambda name: True)):
        tab.run(f"(() => {{ const f = document.querySelector('#bar input'); f.value = '{typed}'; f.dispatchEvent(new Event('input')); }})()")
        wanted = [name for name in everything if fits(name) or name == "Parent Directory"]
        assert tab.run(names) == wanted and (not typed or 0 < len(wanted) - 1 < len(everything) - 1)
        assert tab.run("document.querySelector('#bar p').textContent").startswith(f"{len(wanted) - 1} of ") == bool(typed)


def test_faults_are_seen(tab, tmp_path):
    """The look itself: faint text, a faint box, no outline, too wide."""
    (tmp_path / "faint.html").write_text("""<!doctype html><html lang=en><title>x</title><style>a{outline:none}</style>
<p style="color:#aaa">faint</p><p style="opacity:.4">faded</p><div style="border:1px solid #ccc">box</div><div style="width:3000px">wide</div><a href="#x">on</a>""")
    tab.show(f"file://{tmp_path}/faint.html", 1280)
    found = tab.run(FAULTS)
    assert [re.match(r"\w+ \w+", one)[0] for one in found] == ["the page", "text 2", "text 2", "border 1"], found
    assert any(one.startswith("first headings: 0") for one in tab.run(ORDER)) and "no main part" in tab.run(ORDER)
    tab.tab()
    assert tab.run(FOCUS) == 'no outline: a "on"'
