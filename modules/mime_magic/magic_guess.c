/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that no rule matches: texts by their words, tar archives by the checksum of their first
 * header; and the parsing of a type's text.
 */
#include "magic_private.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/util.h"
#include <string.h>

/* Words are looked for in the first bytes alone. */
#define MAGIC_WORDS 1024
/* A header of a tar archive, and its checksum. */
#define MAGIC_TAR 512
#define MAGIC_TAR_SUM 148
#define MAGIC_TAR_SUM_SIZE 8

static const struct {
    const char *type, *words; /* with blanks between them */
} magic_words[] = {
    {"text/html", "<html> <HTML> <head> <HEAD> <title> <TITLE> <h1> <H1> <!--"},
    {"text/plain",
     "/* #include char The the double extern float real struct union CFLAGS LDFLAGS all: "
     ".PRECIOUS .ascii .asciiz .byte .even .globl clr (input, dcl"},
    {"message/rfc822", "Received: >From Return-Path: Cc:"},
    {"message/news", "Newsgroups: Path: Organization:"},
};

/* One of the words with blanks between them. */
static int magic_is_among(const char *words, const char *word, apr_size_t length)
{
    while (*words) {
        apr_size_t other = strcspn(words, " ");

        if (other == length && !memcmp(words, word, length))
            return 1;
        words += other + (words[other] != '\0');
    }
    return 0;
}

/* A type by a word that stands between blanks. NULL: none. */
static const char *magic_by_words(const char *text)
{
    static const char blanks[] = " \t\n\r\f";

    for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
        apr_size_t length = strcspn(text, blanks);

        for (size_t i = 0; i < sizeof magic_words / sizeof *magic_words; i++)
            if (magic_is_among(magic_words[i].words, text, length))
                return magic_words[i].type;
        text += length;
    }
    return NULL;
}

/* troff begins with a request: a dot and two letters, or a dot, a backslash and a letter. */
static int magic_is_troff(const unsigned char *bytes)
{
    if (*bytes++ != '.')
        return 0;
    while (apr_isspace(*bytes))
        bytes++;
    return (apr_isalnum(*bytes) || *bytes == '\\') && apr_isalnum(bytes[1]);
}

/* An octal number with blanks in front of it, ended by a blank, a NUL, or the field. -1: not a
 * number. */
static long magic_tar_number(const unsigned char *field)
{
    int i = 0;
    long number = 0;

    while (i < MAGIC_TAR_SUM_SIZE && apr_isspace(field[i]))
        i++;
    if (i == MAGIC_TAR_SUM_SIZE)
        return -1;
    for (; i < MAGIC_TAR_SUM_SIZE && field[i] >= '0' && field[i] <= '7'; i++)
        number = number * 8 + field[i] - '0';
    return i < MAGIC_TAR_SUM_SIZE && field[i] && !apr_isspace(field[i]) ? -1 : number;
}

static int magic_is_tar(const unsigned char *bytes, apr_size_t size)
{
    long sum = MAGIC_TAR_SUM_SIZE * ' ';

    if (size < MAGIC_TAR)
        return 0;
    for (int i = 0; i < MAGIC_TAR; i++)
        if (i < MAGIC_TAR_SUM || i >= MAGIC_TAR_SUM + MAGIC_TAR_SUM_SIZE)
            sum += bytes[i];
    return magic_tar_number(bytes + MAGIC_TAR_SUM) == sum;
}

int magic_guess(const unsigned char *bytes, apr_size_t size, magic_result *result)
{
    char text[MAGIC_WORDS + 1];
    const char *type;

    if (magic_is_troff(bytes)) {
        magic_put(result, "application/x-troff");
        return 1;
    }
    if ((*bytes == 'c' || *bytes == 'C') && apr_isspace(bytes[1])) {
        magic_put(result, "text/plain"); /* Fortran */
        return 1;
    }
    apr_cpystrn(text, (const char *)bytes, (size < MAGIC_WORDS ? size : MAGIC_WORDS) + 1);
    type = magic_by_words(text);
    if (type) {
        magic_put(result, type);
        if (memchr(bytes, '\033', size))
            magic_put(result, " (with escape sequences)");
        return 1;
    }
    if (!magic_is_tar(bytes, size))
        return 0;
    magic_put(result, "application/x-tar");
    return 1;
}

/* Up to the next blank. */
static char *magic_cut(apr_pool_t *p, const char **text)
{
    const char *begin = *text;

    while (**text && !apr_isspace(**text))
        (*text)++;
    return apr_pstrmemdup(p, begin, *text - begin);
}

int magic_say(apr_pool_t *p, const char *text, magic_said *said)
{
    char *type, *encoding;

    while (apr_isspace(*text))
        text++;
    type = magic_cut(p, &text);
    if (*type == '/' || !strchr(type, '/'))
        return 0;
    while (apr_isspace(*text))
        text++;
    encoding = magic_cut(p, &text);
    ap_content_type_tolower(type);
    ap_str_tolower(encoding);
    said->type = type;
    said->encoding = *encoding ? encoding : NULL;
    return 1;
}
