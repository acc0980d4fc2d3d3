# SPDX-License-Identifier: Apache-2.0
"""Where pages come out otherwise than Apache's, and why: key -> (pattern of names of pages, reason).

"log:" before a name is what the log says of it.
"""

SSI = {
    "ranges of pages": (
        r"^include-range(-beyond)?$",
        "A page that is rendered before its first byte is sent has a length, so ranges of it can be had. Apache ignores "
        "Range as soon as a page includes something."),
    "mistakes that are not shown": (
        r"^(log:)?(attr-hidden-quote-first|if-hidden-lexing)$",
        "After a lexical error in a branch that is not shown, Apache misses the endif that follows. Here the page goes on."),
    "exec both forbidden and allowed": (
        r"^(log:)?(conf-options-both|options-6-4)$",
        "IncludesNOEXEC after Includes forbids exec, also when both are said in one line, or when a folder in between said "
        "-IncludesNOEXEC. Apache allows it."),
    "types of parsed pages": (
        r"^(log:)?conf-type3?$",
        "Files of the types text/x-server-parsed-html and text/x-server-parsed-html3 are parsed. Apache sends their source."),
    "Vary": (
        r"^expr-request$",
        "A page whose expressions read fields of the request says so in Vary. Apache does not."),
    "words of syntax errors": (
        r"^log:(if-(empty-expr|bad-.*)|expr-(errors|string-alone))$",
        "The parsers of expressions describe mistakes in words of their own."),
}
