# SPDX-License-Identifier: Apache-2.0
"""What directives and sections take: lines that are made of valid ones, by rule and at random, are accepted and refused by both programs
alike, or DIFFERENCES has a reason. TEST_LONG=arguments tries all of them, and each word of either program; otherwise a sample is tried."""
import itertools
import os
import random
import re
import zlib

import pytest

import effort
import brigade
from matrix import sites, trials
from stock import driver

pytestmark = [
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK), reason=f"the peer is absent: {driver.APACHE} is not installed"),
    pytest.mark.skipif(not os.access(brigade.BINARY, os.X_OK), reason=f"{brigade.BINARY} is not built"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]
ALL = effort.everything("arguments")
SHARE = 80  # of the sample: one line in so many
WRAPPED = r"(-2147483649|4294967296|9223372036854775807|9223372036854775808)"

# (directive, a part of its lines, which of both accepts them, reason)
DIFFERENCES = [
    (r".*", WRAPPED, "", "numbers that do not fit: Apache's overflow and wrap around, these become the nearest that fits, or are refused"),
    (r"<(Directory|Location|Files)(Match)?", r'^(<Directory /x>\n)?<\w+ (""|~)', "Apache", "a section that names nothing"),
    (r"<VirtualHost", r'""', "Apache", "an address that is empty"),
    (r"<RequireA(ll|ny)", r"> (x|# x)\n", "Apache", "words behind the '>' of a container without arguments"),
    (r"<IfVersion", r"> # x", "Brigade", "words behind the '>' are not looked at, as in other sections"),
    (r"ErrorLog", r"more_log \S", "Brigade", "a second word is ours: a service"),
    (r"RegisterHttpMethod", r"", "Apache", "what is no token of HTTP cannot be a method: no request can have it"),
    (r"TimeOut", r" -\d", "Apache", "a negative time"),
    (r"User", r"#", "Brigade", "root is taken, and --advise speaks of it; Apache is built so that it refuses"),
    (r"RemoteIPProxyProtocolExceptions", r"0x10", "Brigade", "a number that is an address in the form of inet_aton()"),
    (r"FilterChain", r"!", "Brigade", "Apache crashes when it takes a name out of a chain that is empty"),
    (r"(SetEnvIf|BrowserMatch)(NoCase)?", r" \\ ", "Apache", "a lone backslash is no regular expression"),
    (r"IndexOptions", r'""', "Brigade", "an empty word is passed over"),
    (r"AsyncRequestWorkerFactor", r"", "Brigade", "0 is taken"),
    (r"H2EarlyHint", r"", "Apache", "what cannot be sent as a field"),
    (r"H2ProxyRequests", r"(?i)\bon\b", "Apache", "not offered by the built-in module (docs/)"),
    (r"H2PushPriority", r"", "Brigade", "nothing is pushed, so its words are only counted"),
    (r"SSL(CARevocationCheck|OCSPEnable|ProxyCARevocationCheck)", r'""', "Brigade", "an empty word is refused"),
    (r"SSLCryptoDevice|SSLInsecureRenegotiation|SSLSRP\w+", r"", "Apache", "not offered by the built-in module (docs/)"),
    (r"SSL(SessionCache|StaplingCache|PassPhraseDialog)", r"", "Apache", "not offered by the built-in module (docs/)"),
    (r"SSLOCSPProxyURL", r"", "Apache", "what is no URL"),
    (r"SSL(Proxy)?Protocol", r"", "Apache", "a set of protocols that is empty: no handshake could succeed"),
    (r"SSLProxyVerifyDepth", r"", "Apache", "words without a number"),
    (r"SSL(Proxy)?Verif(yClient|y)", r"(?i)\b(on|off)\b", "Apache", "other words for optional and none"),
    (r"MDHttpProxyCACertificateFile", r"", "Apache", "not offered by the built-in module (docs/)"),
    (r"MDCertificateProtocol|MDPrivateKeys", r"", "Apache", "other protocols than ACME, and other kinds of keys, are refused at once; Apache says so when it renews"),
    (r"MDCertificateAuthority", r"", "Apache", "what is no URL of http or https"),
    (r"MD(Renew|Warn)Window", r" %", "Apache", "a percentage without a number"),
    (r"MDMembers", r'"', "Apache", "a word in quotes, or an empty one"),
    (r"MD(DnsResponder|OnDemand\w*)", r"", "Brigade", "directives of our own"),
    (r"MDPortMap", r"\d[^\d\s]|HTTP", "", "words behind a number are refused; capital letters are taken"),
    (r"SSLRandomSeed|SSLStapling\w+", r"", "Brigade", "without effect here, so its words are not looked at"),
]


def reason(directive, record, accepted):
    """Why only `accepted` takes the record; None: there is no reason."""
    for name, part, who, why in DIFFERENCES:
        if re.fullmatch(name, directive, re.I) and re.search(part, record) and who in ("", accepted):
            return why
    return None


def sampled(text):
    return ALL or zlib.crc32(text.encode()) % SHARE == 0


@pytest.fixture(scope="module")
def tried():
    trial = trials.Trials()
    yield trial
    trial.remove()


def judge(names, outcomes, count=None):
    """The differences without a reason, of outcomes of records of directives with these names."""
    wrong = []
    for name, (record, apache, here) in zip(names, outcomes):
        accepted = "Apache" if apache[0] else "Brigade"
        if apache[0] != here[0] and not reason(name, record, accepted):
            wrong.append(f"{accepted} alone takes {record!r}: {(here if apache[0] else apache)[1].strip()[-200:]}")
        if count is not None:
            key = "differ" if apache[0] != here[0] else "taken" if apache[0] else "refused"
            count[key] = count.get(key, 0) + 1
    return wrong


def test_arguments(tried, record_property):
    groups, names, count = [], [], {}
    for module in trials.BUILT_IN:
        for directive, lines in trials.records(module):
            lines = [line for line in lines if sampled(line)]
            if lines:
                groups.append(lines)
                names += [directive.name] * len(lines)
    wrong = judge(names, tried.compare(groups), count)
    print(f"{sum(count.values())} lines: {count}")
    record_property("count", str(count))
    assert not wrong, f"{len(wrong)} of {len(names)}:\n" + "\n".join(wrong[:40])


def test_words_of_both_programs(tried):
    """A keyword that only one of them knows: each word that stands alone in one of the programs, where a directive does not take any."""
    all_of_them = [(m, d) for m, d in trials.directives() if ALL or sampled(d.name)]
    probes = tried.run(driver.APACHE, [[trials.record(d, "zzqqzz") for _, d in all_of_them] + ["ServerName x\n"]])
    groups, names = [], []
    for (module, directive), probe in zip(all_of_them, probes):
        if probe[0]:
            continue
        lines = [trials.record(directive, word) for word in trials.program_words(module) if ALL or zlib.crc32(word.encode()) % 40 == 0]
        groups.append(lines)
        names += [directive.name] * len(lines)
    wrong = judge(names, tried.compare(groups))
    assert not wrong, f"{len(wrong)} of {len(names)}:\n" + "\n".join(wrong[:40])


# ---- sections ----

SECTION_LINES = """<IfModule core.c>|<IfModule nope.c>|<Files a>|</Files>|</IfModule>|</files>|</Files> </IfModule>|</IfModule> # x|</IfModule >|</Files
</IfModule|<Files a> x|<Files a|</Files></IfModule>|</Files>x|</IfModule>x|</>|<|Header set X y|<ifmodule core.c>|<IfModule !core.c>|</IfModulex>
</Files x>|</IfModule x>|<IfModule core.c> x|<IfModule core.c|</IfModule> >|</Files> >|<IfModule>|<Files>|</Files >|"</Files>"|</IfModule>>|</IfModulex
"<Files" a>|</Filesx|<Files>x|</Files # x|<If true>|</If>|<IfDefine X>|</IfDefine>|<IfVersion >= 2.4>|</IfVersion>""".replace("\n", "|").split("|")


def section_records(n):
    rnd = random.Random(7)
    found = ["\n".join(lines) + "\n" for k in (1, 2) for lines in itertools.product(SECTION_LINES, repeat=k)]
    found = [r for r in found if sampled(r)]
    found += ["\n".join(rnd.choice(SECTION_LINES) for _ in range(rnd.randint(2, 6))) + "\n" for _ in range(n)]
    for _ in range(n):  # mostly right ones, of which something is left out, doubled or in the place of something else
        lines = []
        for kind, argument in [rnd.choice([("IfModule", "core.c"), ("Files", "a"), ("IfModule", "nope.c"), ("If", "true")]) for _ in range(rnd.randint(1, 3))]:
            at = rnd.randint(0, len(lines))
            lines[at:at] = [f"<{kind} {argument}>", "Header set X y", f"</{kind}>"]
        at = rnd.randrange(len(lines))
        lines[at:at + 1] = rnd.choice([[], [rnd.choice(SECTION_LINES)], [lines[at], lines[at]], [lines[at] + " " + lines[-1]], [lines[at] + " # x"]])
        found.append("\n".join(lines) + "\n")
    return list(dict.fromkeys(found))


def test_sections(tried):
    records = section_records(3000 if ALL else 100)
    wrong = judge(["section"] * len(records), tried.compare([[r] for r in records]))
    assert not wrong, "\n".join(wrong[:40])


def statuses(binary, folders, config=""):
    """Folder -> the status of a file in it, for folders with such access files."""
    server = brigade.Server(config, binary=binary, modules=trials.LOADED, env={"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=66"})
    for folder, text in folders.items():
        server.write(f"{folder}/.htaccess", text.replace("@ROOT@", server.root).replace("@C@", server.path("conf")))
        server.write(f"{folder}/a.txt", "a\n")
    driver.settle(server.path("htdocs"))
    server.expect_trouble = server.apache
    try:
        server.start()
        asker = sites.Asker(server)
        found = {folder: asker.ask("localhost", f"/{folder}/a.txt") for folder in folders}
        asker.close()
        return {folder: answer[0] if isinstance(answer, tuple) else answer for folder, answer in found.items()}
    finally:
        server.close()


def agree(folders, config=""):
    apache, here = [statuses(b, folders, config) for b in (driver.APACHE, brigade.BINARY)]
    return [f"{folders[f]!r} in {f}: Apache {apache[f]}, Brigade {here[f]}" for f in folders if (apache[f] == 500) != (here[f] == 500)]


def test_sections_in_access_files():
    wrong = agree({f"s{i}": r for i, r in enumerate(section_records(2000 if ALL else 100))})
    assert not wrong, "\n".join(wrong[:40])


# ---- words of Options ----

def test_options_in_access_files():
    """Which of them go together, and what comes of it below other Options."""
    choices = [sign + word for word in ("All", "None", "Indexes", "ExecCGI") for sign in ("", "+", "-")]
    lines = [" ".join(w) for n in (1, 2, 3) for w in itertools.product(choices, repeat=n)]
    lines = [line for line in lines if ALL or line.count(" ") < 2 or zlib.crc32(line.encode()) % 12 == 0]
    wrong = agree({f"o{i}": f"Options {line}\n" for i, line in enumerate(lines)})
    assert not wrong, "\n".join(wrong[:40])


@pytest.mark.parametrize("outer", ["None", "All", "Indexes"])
def test_what_options_allow(outer):
    """A link is followed and a folder listed, or not, two sections further down."""
    inner = ["All -Indexes", "None +Indexes", "All -FollowSymLinks", "None +FollowSymLinks", "All -Indexes +FollowSymLinks", "All", "None", "-Indexes", "+Indexes"]
    seen = []
    for binary in (driver.APACHE, brigade.BINARY):
        server = brigade.Server(f"<Directory @ROOT@/htdocs/d>\nOptions {outer}\n</Directory>\n", binary=binary)
        for (i, upper), (k, lower) in itertools.product(enumerate(inner), repeat=2):
            server.write(f"d/{i}/{k}/.htaccess", f"Options {lower}\n")
            server.write(f"d/{i}/.htaccess", f"Options {upper}\n")
            server.write(f"d/{i}/{k}/f.txt", "f")
            os.symlink("f.txt", server.path("htdocs", "d", str(i), str(k), "l.txt"))
        driver.settle(server.path("htdocs"))
        with server:
            asker = sites.Asker(server)
            seen.append({(u, w): [asker.ask("localhost", f"/d/{i}/{k}/{name}")[0] for name in ("", "l.txt")]
                         for i, u in enumerate(inner) for k, w in enumerate(inner)})
            asker.close()
    assert seen[0] == seen[1]


# ---- where ----

CLASSES = ["None", "AuthConfig", "FileInfo", "Indexes", "Limit", "Options", "All", "Nonfatal=All", "Nonfatal=Override AuthConfig"]


def test_allow_override():
    """Each directive in access files, with each class of AllowOverride, and with AllowOverrideList."""
    chosen = [d for m, d in trials.directives() if not d.reason and (ALL or zlib.crc32(d.name.encode()) % 6 == 0)]
    config, folders = "", {}
    for i, kind in enumerate(CLASSES):
        config += f"<Directory @ROOT@/htdocs/c{i}>\nAllowOverride {kind}\n</Directory>\n"
        folders.update({f"c{i}/{d.folder}": d.text + "\n" for d in chosen})
    for d in chosen:
        config += f"<Directory @ROOT@/htdocs/list/{d.folder}>\nAllowOverride None\nAllowOverrideList {d.name}\n</Directory>\n"
        folders[f"list/{d.folder}"] = d.text + "\n"
    wrong = [w for w in agree(folders, config) if not reason(w.split("'")[1].split()[0], w, "")]
    assert not wrong, f"{len(wrong)} of {len(folders)}:\n" + "\n".join(wrong[:40])


def test_virtual_hosts(tried):
    """Each directive in a virtual host and in sections of each kind, as -t sees it."""
    wrappers = ["<VirtualHost *:1>\n{}</VirtualHost>\n", "<Directory /y>\n{}</Directory>\n", "<Location /y>\n{}</Location>\n", "<Files y>\n{}</Files>\n",
                "<If true>\n{}</If>\n", "<VirtualHost *:1>\n<Directory /y>\n{}</Directory>\n</VirtualHost>\n", "<Limit GET>\n{}</Limit>\n"]
    chosen = [(m, d) for m, d in trials.directives() if not d.reason and (ALL or zlib.crc32(d.name.encode()) % 4 == 0)]
    groups = [[w.format(d.text + "\n") for w in wrappers] for _, d in chosen]
    wrong = judge([d.name for _, d in chosen for _ in wrappers], tried.compare(groups))
    assert not wrong, "\n".join(wrong[:40])
