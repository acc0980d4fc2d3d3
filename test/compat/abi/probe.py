# SPDX-License-Identifier: Apache-2.0
"""A program that prints the size of each record, the place of each member, and the value of each constant.

It is generated once, from the reference's lists, and compiled against either set of headers.
"""
import os
import re
import subprocess
import tempfile

from .declarations import ENVIRONMENT

SUPPORT = r"""
#include <stddef.h>
#include <stdio.h>
#include <string.h>
static void bytes(const char *name, const void *at, size_t n)
{
    const unsigned char *p = at;
    printf("bits %s", name);
    for (size_t i = 0; i < n; i++) {
        if (p[i]) {
            printf(" %zu:%02x", i, p[i]);
        }
    }
    printf("\n");
}
static void text(const char *name, const char *value)
{
    printf("string %s [", name);
    for (; *value; value++) {
        printf(*value < ' ' ? "<%02x>" : "%c", *value);
    }
    printf("]\n");
}
int main(void)
{
"""


def record_lines(record, members):
    yield f'printf("size {record} %zu\\n", sizeof({record}));'
    for name, _, bitfield in members:
        if not name:
            continue
        if bitfield:
            yield (f'{{ {record} v; memset(&v, 0, sizeof v); v.{name} = ~v.{name}; '
                   f'bytes("{record}.{name}", &v, sizeof v); }}')
        else:
            yield (f'printf("member {record}.{name} %zu %zu\\n", offsetof({record}, {name}), '
                   f'sizeof((({record} *)0)->{name}));')


def value_lines(integers, strings):
    for name in integers:
        yield f'printf("value {name} %lld\\n", (long long)({name}));'
    for name in strings:
        yield f'text("{name}", {name});'


def program(umbrella, records, integers, strings):
    body = [line for record, members in records.items() for line in record_lines(record, members)]
    body += value_lines(integers, strings)
    return umbrella + SUPPORT + "\n".join("    " + line for line in body) + "\n    return 0;\n}\n"


def output(source, flags):
    """Compile, run, and return the printed lines by their first two words."""
    with tempfile.TemporaryDirectory() as tmp:
        path, binary = os.path.join(tmp, "probe.c"), os.path.join(tmp, "probe")
        with open(path, "w") as f:
            f.write(source)
        done = subprocess.run(["gcc", *flags, "-O0", path, "-o", binary], capture_output=True, text=True,
                              env=ENVIRONMENT)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[:6000])
        printed = subprocess.run([binary], capture_output=True, text=True, check=True).stdout
    return dict(split_line(line) for line in printed.splitlines())


def split_line(line):
    match = re.match(r"((?:size|member|bits|value|string) (?:(?:struct|union) )?\S+)\s*(.*)", line)
    return match[1], match[2]


def constants(umbrella, names, flags, template):
    """Those of names that compile in the template, found by the compiler's complaints about the others."""
    lines = [template.replace("@i", str(i)).replace("@name", name) for i, name in enumerate(names)]
    start = umbrella.count("\n") + 1
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "values.c")
        with open(path, "w") as f:
            f.write(umbrella + "\n".join(lines) + "\n")
        done = subprocess.run(["clang", *flags, "-fsyntax-only", "-ferror-limit=0", path], capture_output=True,
                              text=True, env=ENVIRONMENT)
    bad = {int(m[1]) - start for m in re.finditer(r"values\.c:(\d+):\d+: (?:fatal )?error", done.stderr)}
    return [name for i, name in enumerate(names) if i not in bad]
