# SPDX-License-Identifier: Apache-2.0
"""Mutants of a C source: where one operator, constant, condition or call can be changed, and the source that has them all.

A build for each mutant would take minutes, since every test program holds the whole server. So a source gets all its mutants at once:
each changed expression E becomes (MUTANT(n) ? (E changed) : (E)), and the number of the mutant that is in force is told at run time.
"""
import dataclasses
import hashlib
import re

SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+", "++": "--", "--": "++"}
OPERATOR = re.compile(r"(?<=[\w)\]] )(<=|>=|==|!=|&&|\|\||<|>|\+|-)(?=\s[\s\w(!*&\"'-])")
STEP = re.compile(r"(?<=\w)(\+\+|--)(?=[;)])")
NUMBER = re.compile(r"(?<![\w.])(\d+)(?![\w.])")
CONDITION = re.compile(r"\b(if|while) \(")
CALL = re.compile(r"^( +)(?!return|goto|break|continue|BRG_ASSERT)([a-z]\w*\(.*\));$")
SKIPPED = re.compile(r"^\s*(#|\*(?=[ /]|$)|/\*|BRG_ASSERT|case |default:|static const|static \w|extern |typedef |\})|APLOG|ap_log_|_log_|\\$")
OPENS, CLOSES = "([{", ")]}"
COMPARES = re.compile(r".[=!]=|[^<>][<>]=", re.S)

# Before each source: no warnings (what is included as of the system has none), the number in force, and which mutants were reached.
HEAD = """#pragma GCC system_header
extern int brg_mutant_now;
extern unsigned char *brg_mutant_seen;
#define BRG_MUTANT(n) (brg_mutant_seen[n] = 1, brg_mutant_now == (n))
#line 1 "%s"
"""
# Behind one of them.
SWITCH = """
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
static unsigned char brg_mutant_unseen[65536];
int brg_mutant_now;
unsigned char *brg_mutant_seen = brg_mutant_unseen;
static void __attribute__((constructor)) brg_mutant_begin(void)
{
    const char *now = getenv("BRIGADE_MUTANT"), *seen = getenv("BRIGADE_MUTANT_SEEN");
    int fd = seen ? open(seen, O_RDWR | O_CLOEXEC) : -1;
    void *map = fd == -1 ? MAP_FAILED : mmap(0, sizeof(brg_mutant_unseen), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    brg_mutant_now = now ? atoi(now) : 0;
    if (map != MAP_FAILED) {
        brg_mutant_seen = map;
    }
}
"""


@dataclasses.dataclass
class Change:
    """The text from begin to end becomes "new"; the mutant is switched where "outer" begins and ends, by the form."""
    what: str
    begin: int
    end: int
    new: str
    outer: tuple
    form: str = "({m} ? ({new}) : ({old}))"


def blank(text):
    """Comments and texts made of blanks, so that places stay."""
    def blanks(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blanks, text, flags=re.S)


def piece_begin(code, at):
    """Where the expression begins that has an operator at this place."""
    depth = 0
    while at > 0:
        at -= 1
        letter = code[at]
        if letter in CLOSES:
            if letter == "}" and not depth:
                return at + 1
            depth += 1
        elif letter in OPENS:
            if not depth:
                return at + 1
            depth -= 1
        elif not depth and (letter in ",;?" or (letter == ":" and code[at - 1] != ":")):
            return at + 1
        elif not depth and letter == "=" and code[at + 1] != "=" and not COMPARES.match(code, at - 2):
            return at + 1
        elif not depth and letter == "n" and code[at - 5:at + 2] in ("return ", "return("):
            return at + 1
    return 0


def piece_end(code, at):
    depth = 0
    for at in range(at, len(code)):
        if code[at] in OPENS:
            depth += 1
        elif code[at] in CLOSES:
            if not depth:
                return at
            depth -= 1
        elif not depth and code[at] in ",;?:":
            return at
    return len(code)


def closing(code, at):
    """The place of the parenthesis that closes the one at this place."""
    return piece_end(code, at + 1)


def changes_of(text, code, begin, end):
    """The changes of the line from begin to end; code: the text without comments."""
    line = code[begin:end]
    for match in OPERATOR.finditer(code, begin, end):
        yield Change(f"{match.group(1)} to {SWAPS[match.group(1)]}", match.start(), match.end(), SWAPS[match.group(1)],
                     (piece_begin(code, match.start()), piece_end(code, match.end())))
    for match in STEP.finditer(code, begin, end):
        first = piece_begin(code, match.start())
        if re.fullmatch(r"[\w.>\[\]-]+", code[first:match.start()].strip()) and code[first - 1] in ";{})":
            one = {"++": 1, "--": -1}[match.group(1)]
            yield Change(f"{match.group(1)} to {SWAPS[match.group(1)]}", match.start(), match.end(), SWAPS[match.group(1)],
                         (match.start(), match.end()), f" += ({{m}} ? {-one} : {one})")
    for match in NUMBER.finditer(code, begin, end):
        new = 0 if match.group(1) == "1" else int(match.group(1)) + 1 # two truths are the same
        yield Change(f"{match.group(1)} to {new}", match.start(), match.end(), str(new), match.span())
    match = CONDITION.search(code, begin, end)
    if match:
        inner = (match.end(), closing(code, match.end() - 1))
        yield Change("condition negated", *inner, f"!({text[inner[0]:inner[1]]})", inner)
    match = CALL.match(line)
    if match:
        yield Change("call left out", begin + match.start(2), end, "(void)0;", (begin + match.start(2), end), "if ({m}) {{}} else {old}")


def bodies(code):
    """Numbers of the lines that lie in a function, but for its tables."""
    inside, in_function, in_table = set(), False, False
    for number, line in enumerate(code.split("\n"), 1):
        if line.startswith(("{", "}")):
            in_function = line.startswith("{")
            continue
        in_table = in_table or bool(re.match(r"\s+static .*=", line))
        if in_function and not in_table:
            inside.add(number)
        in_table = in_table and not line.rstrip().endswith(";")
    return inside


def order(key, seed):
    """Mutants in this order are a draw by chance."""
    return hashlib.sha256(f"{seed} {key}".encode()).hexdigest()


def mutants_of_text(name, text):
    """Mutants in the order of the text. Their keys stay while their lines stay, and order them by chance."""
    code = blank(text)
    inside, times, at = bodies(code), {}, 0
    for number, line in enumerate(text.split("\n"), 1):
        begin, at = at, at + len(line) + 1
        if number not in inside or SKIPPED.search(line):
            continue
        seen = times[line.strip()] = times.get(line.strip(), 0) + 1
        for n, change in enumerate(changes_of(text, code, begin, begin + len(code[begin:at - 1].rstrip()))):
            first, last = change.outer
            if "\n#" in code[first:last] or not code[first:last].strip():
                continue
            after = text[begin:change.begin] + change.new + text[change.end:max(at - 1, text.find("\n", change.end))]
            key = hashlib.sha256(f"{name}\n{line.strip()}\n{seen}\n{n}\n{change.what}".encode()).hexdigest()[:16]
            yield {"key": key, "file": name, "line": number, "what": change.what, "before": line.strip(), "after": " ".join(after.split()), "change": change}


def plain(text, change):
    """The source with that change alone, as somebody would make it by mistake."""
    return text[:change.begin] + change.new + text[change.end:]


def switched(text, numbered):
    """The source with all changes behind switches. numbered: [(number, Change)]"""
    def write(begin, end, inner):
        """The text from begin to end with these changes, all of which lie in it."""
        out, at = [], begin
        for outer in sorted({change.outer for _, change in inner}, key=lambda pair: (pair[0], -pair[1])):
            if outer[0] < at:
                continue # it lies in the one before
            here = [pair for pair in inner if outer[0] <= pair[1].outer[0] and pair[1].outer[1] <= outer[1]]
            out += [text[at:outer[0]], put(outer, here)]
            at = outer[1]
        return "".join(out) + text[at:end]

    def put(outer, here):
        same = [pair for pair in here if pair[1].outer == outer]
        old = write(*outer, [pair for pair in here if pair[1].outer != outer])
        for number, change in same:
            new = text[outer[0]:change.begin] + change.new + text[change.end:outer[1]]
            old = change.form.format(m=f"BRG_MUTANT({number})", new=new, old=old)
        return old

    return write(0, len(text), numbered)
