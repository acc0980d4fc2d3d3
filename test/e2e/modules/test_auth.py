# SPDX-License-Identifier: Apache-2.0
"""Passwords: known again without being checked, answers from memory behind them, and how both end."""
import base64
import concurrent.futures
import hashlib
import itertools
import os
import re
import signal
import socket
import subprocess
import time

import pytest

import brigade
from cache_site import await_hits, hits, settle
from trouble import sanitizer

pytestmark = pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="tells of Brigade's credential memory")

SHA = "{SHA}" + base64.b64encode(hashlib.sha1(b"secret").digest()).decode()
OTHER = "{SHA}" + base64.b64encode(hashlib.sha1(b"other").digest()).decode()
BASE = """MaxKeepAliveRequests 0
LogFormat "%u %>s %U" users
CustomLog logs/users users
<Location /metrics>
    SetHandler metrics
</Location>
"""
AREA = """<Directory @ROOT@/htdocs/{folder}>
    AuthType Basic
    AuthName {folder}
    AuthUserFile @ROOT@/conf/{file}
    {rules}
</Directory>
"""


def area(folder="b", file="users", rules="Require valid-user"):
    return AREA.format(folder=folder, file=file, rules=rules)


def basic(user, password="secret"):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def users(server, *names, file="users", hash_=SHA):
    """Write the file as tools do: a new one takes the place of the old one."""
    path = server.write(f"{file}.new", "".join(f"{name}:{hash_}\n" for name in names), base="conf")
    os.rename(path, server.path(f"conf/{file}"))


def rest():
    """A file that was just written may change again without another time: it is looked at each time until then."""
    time.sleep(0.15)


@pytest.fixture
def site(request):
    started = []

    def start(config, prepare=lambda server: users(server, "joe", "ann"), **files):
        server = brigade.Server("EventLoops 1\n" + BASE + config, files={"b/a.txt": "a\n", "c/a.txt": "c\n", **files})
        prepare(server)
        settle(server.path("htdocs"))
        rest()
        started.append(server)
        return server.start()

    yield start
    for server in started:
        server.close(failed=getattr(request.node, "failed", False))


def ask(server, user, n=1, target="/b/a.txt", password="secret"):
    with server.connect() as c:
        return [c.get(target, basic(user, password)).status for _ in range(n)]


def warm(server, user="joe", target="/b/a.txt"):
    before = hits(server)
    assert ask(server, user, 6, target) == 6 * [200]
    await_hits(server, before + 2)


def test_known_users_are_answered_from_memory(site):
    server = site(area())
    warm(server)
    before = hits(server)
    assert ask(server, "ann", 3) == 3 * [200]
    await_hits(server, before + 2)
    assert server.get("/b/a.txt").status == 401
    assert ask(server, "joe", 2, password="wrong") == [401, 401]
    assert ask(server, "nobody", 2) == [401, 401]
    server.wait_for_log("nobody 401 (?s:.)*nobody 401 ", "logs/users")
    lines = server.read("logs/users").decode().split("\n")
    assert lines.count("joe 200 /b/a.txt") == 6 and lines.count("ann 200 /b/a.txt") == 3
    assert lines.count("joe 401 /b/a.txt") == 2 and lines.count("- 401 /b/a.txt") == 1


def test_with_a_request_rec_for_the_log(site):
    """A format with an item that answers from memory cannot tell: the user is there all the same."""
    server = site(area() + 'CustomLog logs/cookies "%u %{a}C %>s"\n')
    warm(server)
    server.wait_for_log("(joe - 200\n){6}", "logs/cookies")


@pytest.mark.parametrize("how", ["removed", "password", "in place", "gone", "half", "unreadable"])
def test_who_lost_the_right_is_refused_at_once(site, how):
    server = site(area())
    warm(server)
    warm(server, "ann")
    path = server.path("conf/users")
    if how == "removed":
        users(server, "ann")
    elif how == "password":
        users(server, "joe", "ann", hash_=OTHER)
    elif how == "in place":
        server.write("users", f"ann:{SHA}\n#" + "x" * 10, base="conf")
    elif how == "gone":
        os.unlink(path)
    elif how == "half":
        server.write("users", f"ann:{SHA}\njo", base="conf")
    elif how == "unreadable":
        if os.geteuid() == 0 and brigade.unprivileged_user() is None:
            pytest.skip("root reads all")
        os.chmod(path, 0)
    expected = 500 if how in ("gone", "unreadable") else 401
    assert [ask(server, "joe")[0] for _ in range(3)] == 3 * [expected]
    if how in ("removed", "in place", "half"):
        assert ask(server, "ann", 3) == 3 * [200]
        assert ask(server, "joe", 3) == 3 * [401]
    rest()
    users(server, "joe", "ann")
    assert ask(server, "joe", 3) == 3 * [200]


def test_replaced_under_load(site):
    server = site(area())
    warm(server)

    def load():
        return ask(server, "joe", 300)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        running = [pool.submit(load) for _ in range(4)]
        for _ in range(20):
            users(server, "joe", "ann")
        assert all(set(r.result()) == {200} for r in running)
    users(server, "ann")
    assert ask(server, "joe", 2) == [401, 401]


def test_a_password_counts_for_its_file(site):
    server = site(area() + area("c", "others"), lambda s: (users(s, "joe", "ann"), users(s, "ann", file="others")))
    warm(server)
    warm(server, "ann", "/c/a.txt")
    assert ask(server, "joe", 3, "/c/a.txt") == 3 * [401]
    assert ask(server, "ann", 3, "/c/a.txt") == 3 * [200]
    assert ask(server, "joe", 3) == 3 * [200]


def test_rules_of_users_and_groups(site):
    def prepare(server):
        users(server, "joe", "ann", "zoe")
        server.write("groups", "staff: joe zoe\n", base="conf")

    rules = "AuthGroupFile @ROOT@/conf/groups\n<RequireAny>\nRequire group staff\nRequire user ann\n</RequireAny>"
    server = site(area(rules=rules) + area("c", rules="Require user joe"), prepare)
    for user in ("joe", "ann", "zoe"):
        warm(server, user)
    warm(server, "joe", "/c/a.txt")
    assert ask(server, "ann", 3, "/c/a.txt") == 3 * [401]
    server.write("groups", "staff: joe\n", base="conf")
    assert ask(server, "zoe", 3) == 3 * [401]
    assert ask(server, "joe", 3) == 3 * [200]
    assert ask(server, "zoe", 3) == 3 * [401]


def test_one_of_several_ways_is_never_shared(site):
    """By address or by password: who came in by the first is not known by the second."""
    server = site(area(rules="<RequireAny>\nRequire ip 192.0.2.1\nRequire user joe\n</RequireAny>")
                  + area("c", rules="Require valid-user\nOrder deny,allow\nDeny from all\nAllow from 192.0.2.1\nSatisfy Any"))
    for folder in ("b", "c"):
        assert ask(server, "joe", 6, f"/{folder}/a.txt") == 6 * [200]
        assert server.get(f"/{folder}/a.txt").status == 401
    assert ask(server, "ann", 2) == [401, 401]


def test_htaccess(site):
    server = site("", **{"b/.htaccess": "AuthType Basic\nAuthName h\nAuthUserFile conf/users\nRequire valid-user\n"})
    warm(server)
    server.write("b/.htaccess", "AuthType Basic\nAuthName h\nAuthUserFile conf/users\nRequire user ann\n")
    assert ask(server, "joe", 2) == [401, 401]
    assert ask(server, "ann", 2) == [200, 200]


def test_many_lines(site):
    def prepare(server):
        users(server, *(f"user{i}" for i in range(200000)), "joe")

    server = site(area(), prepare)
    warm(server)
    assert ask(server, "user199999", 2) == [200, 200]
    assert ask(server, "user200000", 2) == [401, 401]


def test_guesses_are_slowed_down(site):
    server = site(area())
    warm(server)
    assert set(ask(server, "ann", 25, password="wrong")) == {401}
    server.wait_for_log("user ann: too many wrong passwords from this client")
    assert ask(server, "ann") == [401], "not even a right one is looked at"
    assert ask(server, "joe", 3) == 3 * [200], "others are not concerned"
    brigade.wait_until(lambda: ask(server, "ann") == [200], "the next look", 10)


def test_a_right_guess_of_a_known_user_is_not_told(site):
    """The user's own client goes on; another one that guessed too often learns nothing, not even from memory."""
    server = site(area() + "RemoteIPHeader X-Client\nRemoteIPInternalProxy 127.0.0.1\n")

    def one(client, password):
        return server.get("/b/a.txt", {**basic("ann", password), "X-Client": client}).status

    for _ in range(4):
        assert one("192.0.2.1", "secret") == 200
    warm(server, "ann")
    assert {one("192.0.2.66", f"wrong{i}") for i in range(25)} == {401}
    assert one("192.0.2.66", "secret") == 401
    assert one("192.0.2.1", "secret") == 200
    assert one("192.0.2.2", "secret") == 200, "who did not guess"
    assert ask(server, "ann", 3) == 3 * [200]


def resident(server):
    """Kilobytes of the server processes."""
    return sum(int(re.search(r"^VmRSS:\s+(\d+)", open(f"/proc/{pid}/status").read(), re.M)[1]) for pid in server.children())


def test_many_guesses(site):
    """More than there are places for: of many users and with many passwords. Who is known does not notice."""
    server = site(area())
    warm(server)

    def guess(part):
        with server.connect() as c:
            return {c.get("/b/a.txt", basic(f"u{part}-{i}", str(i))).status for i in range(1250)}

    guess(100)
    before = resident(server)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        running = [pool.submit(guess, part) for part in range(8)]
        assert ask(server, "joe", 200) == 200 * [200]
        assert all(r.result() == {401} for r in running)
    assert resident(server) - before < (48 if sanitizer() else 16) * 1024  # AddressSanitizer keeps what was freed


def test_guesses_of_a_thousand_addresses(site):
    """Ten from each, in one go, of users that there are and that there are not: nobody else waits, or is refused, and no memory is kept."""
    server = site(area(), lambda s: users(s, "joe", "ann", *(f"user{i}" for i in range(50))))
    warm(server)

    def guess(i):
        lines = [f"GET /b/a.txt HTTP/1.1\r\nHost: localhost\r\nAuthorization: {basic(f'user{(i + k) % 100}', f'{i}.{k}')['Authorization']}\r\n" for k in range(10)]
        with socket.create_connection(("127.0.0.1", server.port), brigade.PATIENCE, source_address=(f"127.0.{2 + i // 250}.{1 + i % 250}", 0)) as s:
            s.sendall("\r\n".join([*lines[:-1], lines[-1] + "Connection: close\r\n\r\n"]).encode())
            return b"".join(iter(lambda: s.recv(65536), b"")).count(b"HTTP/1.1 401 ")

    def all_guess(pool):
        return [pool.submit(guess, i) for i in range(1000)]

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert {r.result() for r in all_guess(pool)} == {10}
        before, running = resident(server), all_guess(pool)
        assert ask(server, "joe", 200) == 200 * [200] and ask(server, "ann") == [200]
        assert {r.result() for r in running} == {10}
    assert resident(server) - before < (48 if sanitizer() else 16) * 1024
    assert ask(server, "user7") == [200], "guesses from elsewhere lock nobody out"


def test_unknown_users_cost_what_known_ones_do(site):
    bcrypt = subprocess.run(["htpasswd", "-nbBC", "8", "x", "secret"], capture_output=True, text=True)
    if bcrypt.returncode:
        pytest.skip("no htpasswd")
    server = site(area(), lambda s: users(s, "joe", "ann", hash_=bcrypt.stdout.strip().split(":")[1]))

    def took(user):
        """The least of a few: other things make it longer."""
        times = []
        for i in range(5):
            began = time.monotonic()
            assert ask(server, user, password=f"wrong{i}") == [401]
            times.append(time.monotonic() - began)
        return min(times)

    wrong, nobody = took("joe"), took("nobody")
    assert nobody > wrong / 2 > 0.002


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()


def digest(nonce, target, nc=1, password="secret", user="joe"):
    response = md5(f"{md5(f'{user}:d:{password}')}:{nonce}:{nc:08x}:c:auth:{md5(f'GET:{target}')}")
    return {"Authorization": f'Digest username="{user}", realm="d", nonce="{nonce}", uri="{target}", qop=auth, nc={nc:08x}, cnonce="c", '
                             f'response="{response}"'}


def test_nonces_outlive_a_reload(site):
    def prepare(server):
        server.write("digest", f"joe:d:{md5('joe:d:secret')}\n", base="conf")

    server = site(area(rules="AuthType Digest\nAuthName d\nRequire valid-user", file="digest"), prepare)
    nonce = re.search('nonce="([^"]+)', server.get("/b/a.txt")["WWW-Authenticate"])[1]
    assert server.get("/b/a.txt", digest(nonce, "/b/a.txt")).status == 200
    before = server.children()
    server.signal(signal.SIGUSR1)
    brigade.wait_until(lambda: server.children() and not set(before) & set(server.children()), "new processes")
    answer = server.get("/b/a.txt", digest(nonce, "/b/a.txt", 2))
    assert answer.status == 200 and "rspauth=" in answer["Authentication-Info"]
    server.write("digest", f"joe:d:{md5('joe:d:other')}\n", base="conf")
    assert server.get("/b/a.txt", digest(nonce, "/b/a.txt", 3)).status == 401
    assert server.get("/b/a.txt", digest(nonce, "/b/a.txt", 4, "other")).status == 200


def test_digest_from_memory(site):
    """Each answer from memory has the proof for its own request, and who proves nothing gets none."""
    def prepare(server):
        server.write("digest", f"joe:d:{md5('joe:d:secret')}\n", base="conf")

    server = site(area(rules="AuthType Digest\nAuthName d\nRequire valid-user", file="digest"), prepare)
    target = "/b/a.txt?x=1"
    nonce = re.search('nonce="([^"]+)', server.get(target)["WWW-Authenticate"])[1]

    def proof(nc):
        return md5(f"{md5('joe:d:secret')}:{nonce}:{nc:08x}:c:auth:{md5(':' + target)}")

    before = hits(server)
    with server.connect() as c:
        for nc in range(1, 9):
            answer = c.get(target, digest(nonce, target, nc))
            assert answer.status == 200 and answer.body == b"a\n"
            assert answer.all("Authentication-Info") == [f'rspauth="{proof(nc)}", cnonce="c", nc={nc:08x}, qop=auth']
        part = c.get(target, {**digest(nonce, target, 9), "Range": "bytes=0-0"})
        assert part.status == 206 and f'rspauth="{proof(9)}"' in part["Authentication-Info"]
        assert c.get(target, {**digest(nonce, target, 10), "If-None-Match": answer["ETag"]}).status == 304
        assert c.get(target, {**digest(nonce, target, 11), "If-None-Match": answer["ETag"]}).status == 304
    if not brigade.protocol_of(server):
        await_hits(server, before + 4)
    server.wait_for_log("(joe 200 /b/a.txt\n){8}", "logs/users")
    assert server.get(target, digest(nonce, target, 12, "wrong")).status == 401
    assert server.get(target, {"Authorization": digest(nonce, target)["Authorization"].replace('username="joe"', 'username="ann"')}).status == 401
    assert server.get("/b/a.txt?y", digest(nonce, target, 13)).status == 400
    assert server.get(target, digest(nonce[:-1] + ("0" if nonce[-1] != "0" else "1"), target, 14))["WWW-Authenticate"].count("stale=true") == 1
    assert server.get(target).status == 401
    server.write("digest", f"joe:d:{md5('joe:d:other')}\n", base="conf")
    for nc in range(20, 24):
        assert server.get(target, digest(nonce, target, nc)).status == 401
        assert server.get(target, digest(nonce, target, nc, "other")).status == 200


def test_digest_guesses_are_slowed_down(site):
    """As those of Basic: other users of that address, and who was let in there before, go on; a right answer of the one who guesses
    is not told; refused requests add nothing."""
    def prepare(server):
        server.write("digest", "".join(f"{user}:d:{md5(f'{user}:d:secret')}\n" for user in ("joe", "ann", "bob")), base="conf")

    server = site("RemoteIPHeader X-Client\nRemoteIPInternalProxy 127.0.0.1\n"
                  + area(rules="AuthType Digest\nAuthName d\nRequire valid-user", file="digest"), prepare)
    nonce = re.search('nonce="([^"]+)', server.get("/b/a.txt")["WWW-Authenticate"])[1]
    nc = itertools.count(1)

    def one(client, user, password="secret"):
        return server.get("/b/a.txt", {**digest(nonce, "/b/a.txt", next(nc), password, user), "X-Client": client}).status

    assert one("192.0.2.77", "joe") == one("192.0.2.1", "joe") == 200
    assert {one("192.0.2.66", "joe", f"wrong{i}") for i in range(150)} == {401}
    server.wait_for_log("user joe: too many wrong passwords from this client")
    assert one("192.0.2.66", "joe") == 401, "a right guess among many is not told"
    assert [one("192.0.2.66", user) for user in ("ann", "bob") * 3] == 6 * [200], "others of that address"
    assert one("192.0.2.1", "joe") == one("192.0.2.2", "joe") == 200, "the user elsewhere"
    began = time.monotonic()
    brigade.wait_until(lambda: one("192.0.2.66", "joe") == 200, "the next look", 10)
    assert time.monotonic() - began < 5 or sanitizer(), "what was refused added nothing"
    assert {one("192.0.2.77", "joe", f"wrong{i}") for i in range(50)} == {401}
    assert {one("192.0.2.77", "joe") for _ in range(50)} == {200}, "who was in there stays in"


def test_digest_with_nonces_that_end_soon(site):
    def prepare(server):
        server.write("digest", f"joe:d:{md5('joe:d:secret')}\n", base="conf")

    server = site(area(rules="AuthType Digest\nAuthName d\nRequire valid-user\nAuthDigestNonceLifetime 25", file="digest"), prepare)
    nonce = re.search('nonce="([^"]+)', server.get("/b/a.txt")["WWW-Authenticate"])[1]
    for nc in range(1, 6):
        assert "nextnonce=" in server.get("/b/a.txt", digest(nonce, "/b/a.txt", nc))["Authentication-Info"]


@pytest.mark.parametrize("off", ["authn_file", "auth_basic", "authz_user", "authn_core", "authz_core"])
def test_beside_apaches_binary(site, off):
    """Each of Apache's modules works with the others built in."""
    server = site(area(), **{})
    assert ask(server, "joe", 3) == 3 * [200]
    path = f"{brigade.APACHE_MODULES}/mod_{off}.so"
    if not os.path.exists(path):
        pytest.skip(f"{path} is not installed")
    other = brigade.Server(f"BuiltinModule {off}_module Off\nLoadModule {off}_module {path}\n{BASE}{area()}", files={"b/a.txt": "a\n"})
    users(other, "joe", "ann")
    with other:
        assert ask(other, "joe", 4) == 4 * [200]
        assert ask(other, "joe", 2, password="wrong") == [401, 401]
        assert other.get("/b/a.txt").status == 401
