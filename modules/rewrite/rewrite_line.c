/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of RewriteCond and RewriteRule, and the flags in brackets. Quotes only group here: a backslash
 * keeps white space in a word, and stays in it for the regular expression. */
#include "rewrite_private.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "http_protocol.h"

#include <stdlib.h>
#include <string.h>

/* Behind the word that begins at *line, which is moved behind its quotation mark. */
static char *rewrite_word_end(char **line)
{
    char quote = **line == '"' || **line == '\'' ? *(*line)++ : '\0';
    char *at = *line;

    for (; *at; at++) {
        if (quote ? *at == quote : apr_isspace(*at))
            break;
        if (*at == '\\' && apr_isspace(at[1]))
            at++;
    }
    return at;
}

int rewrite_split_line(char *line, char *arg[3])
{
    int n = 0;

    arg[0] = arg[1] = arg[2] = NULL;
    while (apr_isspace(*line))
        line++;
    while (n < 3 && (n < 2 || *line)) { /* behind a word in quotes there may be none: it is empty */
        char *end = rewrite_word_end(&line);

        arg[n++] = line;
        line = end;
        if (!*end)
            break;
        *line++ = '\0';
        while (apr_isspace(*line))
            line++;
    }
    return n >= 2 ? 0 : -1;
}

/* Where a flag ends. A value with commas stands in quotes, NAME="VALUE", and loses them; without commas the quotes are part of it. */
static char *rewrite_flag_end(char *flag)
{
    char *value = flag + strcspn(flag, ",="), *close;

    if (*value != '=' || value[1] != '"' || !(close = strchr(value + 2, '"')) ||
        (close[1] && close[1] != ',') || !memchr(value, ',', (size_t)(close - value)))
        return flag + strcspn(flag, ",");
    memmove(value + 1, value + 2, (size_t)(close - value) - 2);
    close[-1] = close[0] = ' '; /* blanks behind a flag are left out */
    return close + 1;
}

const char *rewrite_parse_flags(apr_pool_t *p, void *target, char *field, rewrite_flag_fn *fn)
{
    apr_size_t len = strlen(field);
    char *end = field + len - 1;

    if (len == 0 || *field != '[' || *end != ']')
        return "bad flag delimiters";
    *end = '\0';
    for (char *at = field + 1; at <= end;) {
        char *comma, *last, *value;
        const char *error;

        while (apr_isspace(*at))
            at++;
        last = comma = rewrite_flag_end(at);
        while (last > at && apr_isspace(last[-1]))
            last--;
        *last = '\0';
        value = strchr(at, '=');
        if (value)
            *value++ = '\0';
        else
            value = last;
        if ((error = fn(p, target, at, value)) != NULL)
            return error;
        at = comma + 1;
    }
    return NULL;
}

static void rewrite_add_text(apr_pool_t *p, apr_array_header_t **list, const char *text)
{
    if (!*list)
        *list = apr_array_make(p, 2, sizeof(const char *));
    APR_ARRAY_PUSH(*list, const char *) = text;
}

/* A number that is no status has the line of 500. Other words change nothing. */
static const char *rewrite_redirect_status(apr_pool_t *p, rewrite_rule *rule, const char *value)
{
    rule->flags |= REWRITE_F_REDIRECT;
    if (!strcasecmp(value, "permanent"))
        rule->status = HTTP_MOVED_PERMANENTLY;
    else if (!strcasecmp(value, "temp"))
        rule->status = HTTP_MOVED_TEMPORARILY;
    else if (!strcasecmp(value, "seeother"))
        rule->status = HTTP_SEE_OTHER;
    if (!apr_isdigit(*value))
        return NULL;
    rule->status = atoi(value);
    if (rule->status != HTTP_INTERNAL_SERVER_ERROR &&
        ap_index_of_response(rule->status) == ap_index_of_response(HTTP_INTERNAL_SERVER_ERROR))
        return apr_psprintf(p, "invalid HTTP response code '%s' for flag 'R'", value);
    if (!ap_is_HTTP_REDIRECT(rule->status))
        rule->flags |= REWRITE_F_STATUS | REWRITE_F_NOSUB;
    return NULL;
}

static void rewrite_answer(rewrite_rule *rule, int status)
{
    rule->status = status;
    rule->flags |= REWRITE_F_STATUS | REWRITE_F_NOSUB;
}

/* Flags without a value that only set a bit. */
static unsigned rewrite_simple_flag(const char *name)
{
    static const struct {
        const char *name, *other;
        unsigned bits;
    } flags[] = {
        {"BCTLS", NULL, REWRITE_F_CTLS | REWRITE_F_ESCAPE},
        {"BNP", "backrefernoplus", REWRITE_F_NOPLUS},
        {"C", "chain", REWRITE_F_CHAIN},
        {"END", NULL, REWRITE_F_END},
        {"L", "last", REWRITE_F_LAST},
        {"NC", "nocase", REWRITE_F_NOCASE},
        {"NE", "noescape", REWRITE_F_NOESCAPE},
        {"NS", "nosubreq", REWRITE_F_NOSUBREQ},
        {"P", "proxy", REWRITE_F_PROXY},
        {"PT", "passthrough", REWRITE_F_PASS},
        {"QSA", "qsappend", REWRITE_F_QSAPPEND},
        {"QSD", "qsdiscard", REWRITE_F_QSDISCARD},
        {"QSL", "qslast", REWRITE_F_QSLAST},
        {"UNC", NULL, REWRITE_F_UNC},
        {"UnsafeAllow3F", NULL, REWRITE_F_ALLOW3F},
        {"UnsafePrefixStat", NULL, REWRITE_F_PREFIXSTAT},
    };

    if (apr_toupper(*name) == 'D') /* whatever follows it */
        return REWRITE_F_DISCARDPATH;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (!strcasecmp(name, flags[i].name) ||
            (flags[i].other && !strcasecmp(name, flags[i].other)))
            return flags[i].bits;
    return 0;
}

static int rewrite_is_flag(const char *name, const char *brief, const char *full)
{
    return !strcasecmp(name, brief) || !strcasecmp(name, full);
}

static const char *rewrite_escape_flag(rewrite_rule *rule, const char *name, const char *value)
{
    if (!strcasecmp(name, "BNE")) {
        if (!*value)
            return "flag 'BNE' wants a list of characters (i.e. [BNE=...])";
        rule->noescapes = value;
        return NULL;
    }
    rule->flags |= REWRITE_F_ESCAPE;
    if (*value)
        rule->escapes = value;
    return NULL;
}

const char *rewrite_rule_flag(apr_pool_t *p, void *target, char *name, char *value)
{
    rewrite_rule *rule = target;
    unsigned bits = rewrite_simple_flag(name);

    rule->flags |= bits;
    if (bits)
        return NULL;
    if (rewrite_is_flag(name, "B", "backrefescaping") || !strcasecmp(name, "BNE"))
        return rewrite_escape_flag(rule, name, value);
    if (rewrite_is_flag(name, "R", "redirect"))
        return rewrite_redirect_status(p, rule, value);
    if (rewrite_is_flag(name, "CO", "cookie"))
        rewrite_add_text(p, &rule->cookies, value);
    else if (rewrite_is_flag(name, "E", "env"))
        rewrite_add_text(p, &rule->envs, value);
    else if (rewrite_is_flag(name, "F", "forbidden"))
        rewrite_answer(rule, HTTP_FORBIDDEN);
    else if (rewrite_is_flag(name, "G", "gone"))
        rewrite_answer(rule, HTTP_GONE);
    else if (rewrite_is_flag(name, "H", "handler"))
        rule->handler = value;
    else if (rewrite_is_flag(name, "N", "next")) {
        rule->flags |= REWRITE_F_NEXT;
        if (*value)
            rule->rounds = atoi(value);
    } else if (rewrite_is_flag(name, "S", "skip"))
        rule->skip = atoi(value);
    else if (rewrite_is_flag(name, "T", "type"))
        rule->type = value;
    else
        return apr_pstrcat(p, "unknown flag '", name, "'", NULL);
    return NULL;
}
