# SPDX-License-Identifier: Apache-2.0
"""Pages with server-side includes, by Apache and by Brigade: same status, same fields, same bytes, same words in the log.

And once more with the pages cut into pieces before they reach the filter (modules/mod_testcut.c): single bytes,
with empty buckets and FLUSH buckets between them, in brigades of their own, and cut in two at every offset.
What differs on purpose is in ssi/differences.py; an entry that shows no difference fails, too.
"""
import os
import re
import shutil
import subprocess
import tempfile

import pytest

import brigade
from http_client import request_bytes
from ssi import corpus
from ssi.differences import SSI
from test_compare import APACHE, normal, pytestmark  # noqa: F401

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "modules", "mod_testcut.c")
INCLUDES = {True: os.environ.get("APACHE_INCLUDE", "/usr/include/apache2"),
            False: os.environ.get("BRIGADE_INCLUDE") or os.path.join(brigade.REPOSITORY, "include")}

# How pages are cut into pieces.
CUTS = ["1", "1p", "1z", "1fp", "1t", "2zp", "3", "5p", "7ft", "64"]
PIPELINED = 32
# Pages longer than this are cut at some offsets only.
EVERY_OFFSET = 600

BY_NAME = {page.name: page for page in corpus.PAGES}


def build(apache, folder):
    """mod_testcut.so for one of the servers."""
    path = os.path.join(folder, "mod_testcut.so")
    flags = subprocess.run(["pkg-config", "--cflags", "apr-1", "apr-util-1"], capture_output=True, text=True, check=True).stdout
    done = subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", f"-I{INCLUDES[apache]}", *flags.split(), "-o", path, SOURCE],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return path


class Peer:
    """One of the two servers."""

    def __init__(self, binary, docs, more=None):
        apache = brigade.is_apache(binary)
        self.folder = tempfile.mkdtemp(prefix="brigade-testcut-")
        os.chmod(self.folder, 0o755)
        text = corpus.config(docs, build(apache, self.folder) if more is None else None, more or "")
        self.server = brigade.Server(text, binary=binary)
        self.server.start()
        self.client, self.read = None, 0

    def connection(self):
        if self.client is None:
            self.client = self.server.connect()
        return self.client

    def new_lines(self):
        """What the log says since the last call, without what differs from server to server."""
        text = self.server.read("logs/error_log")[self.read:]
        end = text.rfind(b"\n") + 1
        self.read += end
        lines = []
        for line in text[:end].decode("latin-1").splitlines():
            found = re.match(r"\[[^\]]*\] \[([^\]]*)\] \[pid [^\]]*\] (.*)\[client [^\]]*\] (.*)", line)
            if found:
                # exec belongs to mod_cgid there, and to mod_include here; the line that refuses stands behind its message here.
                said = re.sub(r"(AH0(?:1630|1631|1797): .*?) \(\S+:\d+: .*\)", r"\1", re.sub(r"(\.htaccess):\d+: |; write .*", lambda m: f"{m[1]}: " if m[1] else "", found[3]))
                lines.append(f"[{found[1].replace('cgid:', 'include:')}] {re.sub(r'^mod_.*?: ', '', found[2])}{said}")
        return lines

    def ask(self, page, cut=None):
        """The answer in a form that can be compared."""
        return self.ask_all(page, [cut])[0]

    def ask_all(self, page, cuts):
        """The answers to one page cut in many ways; all but the first are asked for at once, if the server is willing."""
        answers = self.exchange(page, cuts[:1])
        rest = cuts[1:]
        if self.client is None:
            return answers + [self.exchange(page, [cut])[0] for cut in rest]
        return answers + (self.exchange(page, rest) if rest else [])

    def exchange(self, page, cuts):
        client = self.connection()
        for cut in cuts:
            extra = [("X-Cut", cut)] if cut else []
            client.send(request_bytes(page.method, page.target, page.headers + extra, page.data, host=page.host))
        try:
            return [self.clean(client.read_response(page.method)) for _ in cuts]
        except Exception:
            self.client = None
            raise

    def clean(self, answer):
        if (answer["Connection"] or "").lower() == "close":
            self.client = None
        # How a body is framed is a server's own business, that it arrives whole is not.
        body = re.sub(rb"(HTTP_X_CUT|REMOTE_PORT|SERVER_SOFTWARE|SERVER_SIGNATURE)=[^\n]*\n", b"", answer.body)
        body = re.sub(rb"DATE_(?:LOCAL|GMT)=[^\n]*", lambda date: re.sub(rb"\d", b"0", date[0]), body)  # the second may end
        body = re.sub(rb"(Apache|Brigade)/[\d.]+( \(\w+\))?", b"SERVER", body)
        fields = [(n, v) for n, v in normal(answer)[3]
                  if n not in ("content-length", "transfer-encoding", "connection", "keep-alive")]
        return answer.status, fields, body

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.server.close()


class Peers:
    def __init__(self):
        self.docs = tempfile.mkdtemp(prefix="brigade-ssi-")
        os.chmod(self.docs, 0o755)
        corpus.store(self.docs)
        self.apache = Peer(APACHE, self.docs)
        self.brigade = Peer(brigade.BINARY, self.docs)
        # Where the other tests never come: on event loops, and without pages that are kept.
        self.others = [Peer(brigade.BINARY, self.docs, "EventLoops 2\n"), Peer(brigade.BINARY, self.docs, "EventLoops 2\nSSICacheSize 0\n")]

    def close(self):
        self.apache.close()
        self.brigade.close()
        for peer in self.others:
            peer.close()
        shutil.rmtree(self.docs, ignore_errors=True)


@pytest.fixture(scope="module")
def peers():
    made = Peers()
    yield made
    made.close()


def listed(name):
    for key, (pattern, _) in SSI.items():
        if re.search(pattern, name):
            return key
    return None


def same(page, ask):
    """Ask both; pages that tell the time get another chance to agree."""
    for _ in range(4 if page.repeat else 1):
        theirs, ours = ask()
        if theirs == ours:
            return None
    return f"{page.target}\n  Apache:  {theirs}\n  Brigade: {ours}"


def expect(name, difference):
    key = listed(name)
    if key:
        assert difference, f"listed as a difference ({key}), but both do the same"
    else:
        assert not difference, difference


COMPARED = [page.name for page in corpus.PAGES if not page.alone]


@pytest.mark.parametrize("name", COMPARED)
def test_page(peers, name):
    """Twice, since Brigade may answer the second request from a page that it keeps."""
    page = BY_NAME[name]

    def ask():
        return [(p.ask(page), p.ask(page)) for p in (peers.apache, peers.brigade)]
    expect(name, same(page, ask))


@pytest.mark.parametrize("name", COMPARED)
def test_log(peers, name):
    page = BY_NAME[name]

    def ask():
        answers = []
        for peer in (peers.apache, peers.brigade):
            peer.new_lines()
            peer.ask(page)
            answers.append(peer.new_lines())
        return answers
    expect(f"log:{name}", same(page, ask))


def content(answer):
    """Without Vary, which is too late when the head is sent before an expression reads a field."""
    status, fields, body = answer
    return status, [(n, v) for n, v in fields if n != "vary"], body


@pytest.mark.parametrize("name", BY_NAME)
def test_page_in_pieces(peers, name):
    page = BY_NAME[name]
    if dict(page.headers).get("Range"):
        pytest.skip("a page that comes in pieces has no ranges")
    cuts = [None, "1p"] if page.runs else [None] + CUTS
    if len(page.body) > 5000:
        cuts = [None, "1", "7ft", "64"]
    if page.repeat:
        pytest.skip("differs from second to second")
    whole, *pieces = peers.brigade.ask_all(page, cuts)
    for cut, piece in zip(cuts[1:], pieces):
        assert content(piece) == content(whole), f"{page.target} with X-Cut: {cut}"


@pytest.mark.parametrize("name", BY_NAME)
def test_page_elsewhere(peers, name):
    """On event loops, and streamed: the same, in the log too. Several times, since threads keep pages, and learn of them."""
    page = BY_NAME[name]
    if page.repeat:
        pytest.skip("differs from second to second")
    for peer in (peers.brigade, *peers.others):
        peer.new_lines()
    whole, lines = content(peers.brigade.ask(page)), peers.brigade.new_lines()
    for peer in peers.others:
        for n in range(1 if page.runs else 3):
            assert content(peer.ask(page)) == whole, n
            said = peer.new_lines()
            assert said == lines or (n and not said), n


def offsets(page):
    step = len(page.body) // EVERY_OFFSET + 1
    last = len(page.body)
    # The edges of what is read at once, and of a directive near them.
    near = [n for edge in (8192, 16384) for n in range(edge - 12, edge + 12) if n < last]
    return sorted(set(range(1, last, step)) | set(near))


@pytest.mark.parametrize("name", [p.name for p in corpus.PAGES
                                  if not p.runs and not p.repeat and not dict(p.headers).get("Range")])
def test_page_at_every_offset(peers, name):
    page = BY_NAME[name]
    whole = peers.brigade.ask(page)
    for kind in ("", "p"):
        cuts = [f"@{n}{kind}" for n in offsets(page)]
        for at in range(0, len(cuts), PIPELINED):
            some = cuts[at:at + PIPELINED]
            for cut, answer in zip(some, peers.brigade.ask_all(page, some)):
                assert content(answer) == content(whole), f"{page.target} with X-Cut: {cut}"


@pytest.mark.parametrize("key", SSI)
def test_a_page_shows_the_difference(key):
    assert [n for page in BY_NAME for n in (page, f"log:{page}") if re.search(SSI[key][0], n)]
