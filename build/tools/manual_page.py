# SPDX-License-Identifier: Apache-2.0
"""brigade.conf(5) from the entries of docs/manual/directives/."""

HEAD = r""".\" SPDX-License-Identifier: Apache-2.0
.TH BRIGADE.CONF 5 "" "Brigade" "File formats"
.SH NAME
brigade.conf \- directives of the Brigade web server
.SH DESCRIPTION
The configuration has one directive on a line; a backslash at the end of a line continues it, and a # begins a line of comment.
Sections, as <Directory "/srv/www"> ... </Directory>, limit what is in them to a part of the server.
.B brigade \-t
checks a file,
.B brigade \-L \fINAME\fP
prints what is said here of one directive.
.PP
Context tells where a directive may stand: in the file itself (server), in <VirtualHost>, in <Directory>, <Location>, <Files>, <If>
(directory), or in .htaccess files, where AllowOverride has the group that Override names.
"""
TAIL = """.SH SEE ALSO
.BR brigade (8)
"""


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    return "\\&" + text if text[:1] in (".", "'") else text


def entry(e):
    out = [f".SS {roff(e.name)}", ".nf", "Syntax: " + roff(("\n        ").join(e.syntax)), "Default: " + roff(e.default),
           "Context: " + roff(e.context)]
    if e.override:
        out.append("Override: " + roff(e.override))
    out.append(".fi")
    for kind, body in e.blocks:
        if kind == "text":
            out += [".PP", roff(body)]
        else:
            out += [".PP", ".nf", ".RS 4"] + [roff(line) for line in body if not line.startswith("(in ")] + [".RE", ".fi"]
    if e.apache:
        out += [".PP", "Apache: " + roff(e.apache)]
    return "\n".join(out) + "\n"


def page(modules):
    out = [HEAD]
    for module in modules:
        out.append(f".SH {roff(module.title.upper())}\n{roff(' '.join(module.intro).strip())}\n")
        out += [entry(e) for e in module.entries]
    return "".join(out) + TAIL
