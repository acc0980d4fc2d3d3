# SPDX-License-Identifier: Apache-2.0
"""Access files and server configurations as they are found, made fit for a machine that has nothing of what they name.

Access files stay as they are, but for URLs of proxied rules, which lead to a backend of the program's, and lines for mod_php, which Brigade
takes for PHP-FPM and Apache refuses (docs/differences-from-apache.md). In server configurations
- lines of LOST are left out: modules (the program loads them), ports, users, logs, included files, what would ask somebody outside;
- `<VirtualHost>` gets one of two ports, by 443 or SSLEngine; ServerName gets 80 or 443;
- absolute paths (DocumentRoot, Directory, Alias ...) lie below a folder of the program's, where a site is made for each root;
- certificates, keys (also those that an included file would have named) and user files are the program's; backends are two of its own, one for HTTP and one for FastCGI;
- variables that nothing defines get a value.
"""
import os
import re

try:
    from re import _parser as sre_parse
except ImportError:
    import sre_parse

LOST = {w.lower() for w in """LoadModule LoadFile AddModule ClearModuleList Include IncludeOptional User Group Listen NameVirtualHost ServerRoot PidFile LockFile
AcceptMutex Mutex ScoreBoardFile CoreDumpDirectory DefaultRuntimeDir ErrorLog CustomLog TransferLog ScriptSock TypesConfig MIMEMagicFile SSLSessionCache
SSLStaplingCache SSLUseStapling SSLMutex SSLRandomSeed SSLPassPhraseDialog SSLOpenSSLConfCmd SSLCARevocationFile SSLCARevocationPath SSLCADNRequestFile
SSLCADNRequestPath HostnameLookups IdentityCheck ProxyRemote ProxyRemoteMatch SSLOCSPEnable RemoteIPTrustedProxyList RemoteIPInternalProxyList
SSLProxyMachineCertificateFile SSLCACertificatePath WSGISocketPrefix MDomain MDCertificateAgreement MDRenewMode ProxyHCTemplate php_value php_flag php_admin_value php_admin_flag""".split()}
PATHS = {"documentroot": 0, "<directory": 0, "alias": 1, "scriptalias": 1, "virtualdocumentroot": 0, "davlockdb": 0, "wsgiscriptalias": 1}
OURS = {"sslcertificatefile": ".pem", "sslcertificatekeyfile": ".pem", "sslcertificatechainfile": ".crt", "sslcacertificatefile": ".crt",
        "sslproxycacertificatefile": ".crt", "authuserfile": ".users", "authdigestfile": ".users", "authgroupfile": ".groups"}
PROXIED = re.compile(r"(?i)^\s*<?(ProxyPass\w*|BalancerMember|ProxySet|SetHandler|Proxy(?:Match)?)\b|^\s*RewriteRule\s.*\[[^\]]*\bP\b[^\]]*\]")
WORD = re.compile(r'"[^"]*"|\'[^\']*\'|\S+')


def read(path):
    with open(path, encoding="latin-1", newline="") as f:
        return f.read().replace("\r\n", "\n")


def words(text):
    return [w.strip("\"'") for w in WORD.findall(text)]


def of_access_file(text, http, script):
    """The lines of an access file, made fit."""
    lines = [to_backends(line, http, script) or "" for line in text.split("\n")]
    return "\n".join("" if re.match(r"(?i)\s*php_(admin_)?(value|flag)\b", line) else line for line in lines)


def to_backends(line, http, script):
    """A line whose URLs lead to the program's own backends; None: there is none of that protocol."""
    if not PROXIED.search(line):
        return line
    line = re.sub(r"unix:[^|\s\"']+\|(?=(https?|fcgi)://)", "", line)
    if re.search(r"(ajp|scgi|uwsgi|ftp|unix)://?|unix:", line):
        return None
    line = re.sub(r"\b(https?|wss?|h2c?)://[^/\s\"'>\]]+", f"http://127.0.0.1:{http}", line)
    return re.sub(r"fcgi://[^/\s\"'>\]]+", f"unix:{script}|fcgi://localhost", line)


class Made:
    """A configuration that was made fit: its text with @PORT@ and @TLS@, the folders of its sites, whom to ask for what."""

    def __init__(self, text, base, files, http, script):
        self.base, self.files, self.http, self.script = base, files, http, script  # folder of all paths; files + ".pem" ...
        self.roots, self.hosts, self.secure = [], [], False
        defined = set(re.findall(r"(?im)^\s*Define\s+(\w+)", text))
        text = re.sub(r"\\\n", " ", text)
        blocks = re.split(r"(?ims)(^[ \t]*<VirtualHost\b.*?^[ \t]*</VirtualHost>[^\n]*$)", text)
        self.text = "\n".join(self.block(b, defined, i % 2 == 1) for i, b in enumerate(blocks))
        if not self.hosts:
            self.hosts = [("localhost", False)]

    def block(self, text, defined, virtual):
        first = text.strip().split("\n")[0]
        self.secure = virtual and bool(re.search(r":\s*(443|8443)\b", first) or re.search(r"(?im)^\s*SSLEngine\s+on", text))
        self.virtual, self.added = virtual, ""
        if self.secure and not re.search(r"(?im)^\s*SSLEngine\s+on", text):
            self.added += "\nSSLEngine On"
        if self.secure and not re.search(r"(?im)^\s*SSLCertificateFile\s", text):
            self.added += f"\nSSLCertificateFile {self.files}.pem"
        name = re.search(r"(?im)^\s*ServerName\s+\"?(?:https?://)?([\w.*-]+)", text)
        alias = re.search(r"(?im)^\s*ServerAlias\s+\"?([\w.*-]+)", text)
        if virtual:
            for m in (name, alias):
                host = m[1].replace("*", "any") if m else "localhost"
                if (host, self.secure) not in self.hosts and (m or m is name):
                    self.hosts.append((host, self.secure))
        return "\n".join(self.line(line, defined) for line in text.split("\n"))

    def line(self, line, defined):
        m = re.match(r"\s*(</?)?(\w+)\s*(.*?)\s*$", line)
        if not m or line.lstrip().startswith("#"):
            return line
        section, name, rest = (m[1] or ""), m[2].lower(), m[3]
        if section == "</":
            return line
        if name in LOST or name.startswith("md") and not section or name == "sslengine" and not self.virtual:
            return ""
        path_at = PATHS.get(("<" if section == "<" else "") + name)
        rest = re.sub(r"\$\{(\w+)\}", lambda v: v[0] if v[1] in defined else ("/env/" + v[1] if path_at is not None else "env.example"), rest)
        if section == "<" and name == "virtualhost":
            return f"<VirtualHost *:{'@TLS@' if self.secure else '@PORT@'}>" + self.added
        if name == "servername":
            host = re.sub(r":\d+$", "", re.sub(r"^https?://", "", (words(rest) or ["localhost"])[0])).rstrip("/")
            return f"ServerName {host}:{443 if self.secure else 80}"
        if name in OURS:
            return f"{m[2]} {self.files}{OURS[name]}"
        if path_at is not None and not rest.startswith("~"):
            rest = self.moved(rest, path_at, name)
        line = to_backends(f"{section}{m[2]} {rest}", self.http, self.script)
        return line if line is not None else ""

    def moved(self, rest, at, name):
        """The path of a directive, below the program's folder."""
        found = list(WORD.finditer(rest.rstrip(">")))
        if len(found) <= at:
            return rest
        word = found[at][0].strip("\"'")
        if not re.match(r"/.|[A-Za-z]:[/\\]", word) or word == "/":
            return rest
        path = self.base + "/" + word.replace("\\", "/").replace(":", "").lstrip("/")
        if name != "<directory" and not re.search(r"[%*?$\[]", path):
            self.roots.append((path, name == "documentroot"))
        start, end = found[at].span()
        return rest[:start] + '"' + path + '"' + rest[end:]


# ---- what to ask for ----

def example(expression):
    """A text that an expression takes; None: it is beyond this."""
    try:
        return "".join(parts(sre_parse.parse(expression)))
    except (re.error, ValueError, OverflowError, RecursionError, TypeError, KeyError):
        return None


def parts(tree):
    for op, value in tree:
        op = str(op)
        if op == "LITERAL":
            yield chr(value)
        elif op in ("NOT_LITERAL", "ANY"):
            yield "x"
        elif op == "IN":
            yield of_set(value)
        elif op == "BRANCH":
            yield from parts(value[1][0])
        elif op in ("SUBPATTERN", "ATOMIC_GROUP"):
            yield from parts(value[-1] if op == "SUBPATTERN" else value)
        elif op.endswith("REPEAT"):
            for _ in range(max(value[0], min(1, value[1]))):
                yield from parts(value[2])


def of_set(items):
    if str(items[0][0]) == "NEGATE":
        return "x" if ("LITERAL", ord("x")) not in [(str(a), b) for a, b in items[1:]] else "7"
    kind, value = str(items[0][0]), items[0][1]
    return chr(value) if kind == "LITERAL" else chr(value[0]) if kind == "RANGE" else {"CATEGORY_DIGIT": "7", "CATEGORY_SPACE": " "}.get(str(value), "x")


def targets_of(text):
    """Targets and hosts that the lines of a configuration speak of."""
    paths, hosts = [], []
    for line in re.sub(r"\\\n", " ", text).split("\n"):
        w = words(line.strip().rstrip(">").lstrip("<"))
        name = w[0].lower() if w else ""
        if name in ("redirect", "redirectpermanent", "redirecttemp"):
            paths.append(next((x for x in w[1:] if x.startswith("/")), None))
        elif name == "redirectmatch" and len(w) > 1:
            paths.append(example(w[2 if re.match(r"\d+$|permanent|temp|seeother|gone", w[1]) and len(w) > 2 else 1]))
        elif name == "rewriterule" and len(w) > 2:
            paths.append(example(w[1].lstrip("!")))
        elif name in ("files", "filesmatch", "locationmatch") and len(w) > 1 and w[1] != "~":
            paths.append(w[1].replace("*", "x").replace("?", "x") if name == "files" else example(w[1]))
        elif name in ("location", "alias", "scriptalias", "proxypass") and len(w) > 1:
            paths += [w[1], w[1].rstrip("/") + "/style.css"]
        elif name == "rewritecond" and len(w) > 2 and not w[2].startswith("!"):
            if "HTTP_HOST" in w[1].upper():
                hosts.append(example(w[2]))
            elif "REQUEST_URI" in w[1].upper():
                paths.append(example(w[2]))
            elif "QUERY_STRING" in w[1].upper():
                paths.append("/?" + (example(w[2]) or ""))
    clean = []
    for path in paths:
        path = "/" + path.lstrip("/") if path else ""
        if path and re.match(r"[!-~]+$", path) and not re.search(r"[<>\"\\^`{|}#%\[\]]", path) and path not in clean:
            clean.append(path)
    return clean, [h for h in dict.fromkeys(hosts) if h and re.match(r"[A-Za-z0-9][A-Za-z0-9.-]+$", h)]


def write(base, name, content):
    path = os.path.join(base, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(content.encode("latin-1") if isinstance(content, str) else content)
    return path
