# SPDX-License-Identifier: Apache-2.0
"""One page of the corpus, and the files that pages include."""
import urllib.parse


class Page:
    """A page, how it is stored, and how it is asked for.

    name      file name without .shtml, in the folder `folder` (default p, where the common files are)
    body      text (bytes, or str as UTF-8)
    query     after "?"; path: path information after the file's name
    headers   of the request
    htaccess  of its folder, which then belongs to this page alone
    files     more files in its folder: name -> content
    mode      of the file, for XBitHack
    suffix    of the file's name
    host      chooses a virtual host
    repeat    differs from second to second: compare again when it does
    runs      starts programs: not cut at every offset
    alone     why Apache is not asked
    """

    def __init__(self, name, body, query=None, path="", headers=(), htaccess=None, files=None, mode=0o644,
                 suffix=".shtml", host="www.example.test", folder=None, method="GET", data=b"", repeat=False, runs=False,
                 alone=None):
        self.name, self.body, self.query, self.path = name, encode(body), query, path
        self.headers, self.htaccess, self.mode, self.suffix = list(headers), htaccess, mode, suffix
        self.files = {k: encode(v) for k, v in (files or {}).items()}
        self.folder = folder or (name if htaccess is not None or files else "p")
        self.host, self.method, self.data = host, method, data
        self.repeat, self.runs, self.alone = repeat, runs, alone

    @property
    def target(self):
        target = urllib.parse.quote(f"/{self.folder}/{self.name}{self.suffix}") + self.path
        return target if self.query is None else f"{target}?{self.query}"

    def __repr__(self):
        return self.name


def encode(text):
    return text.encode() if isinstance(text, str) else text


def pages(prefix, table, **common):
    """Pages from rows (name, body) or (name, body, {more})."""
    made = []
    for name, body, *more in table:
        made.append(Page(f"{prefix}-{name}", body, **{**common, **(more[0] if more else {})}))
    return made
