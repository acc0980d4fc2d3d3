/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format language: literal text and %-items, turned into an array once, walked for every
 * request.
 */
#include "log_config_private.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"

/* Literal text up to the next '%', with its escapes resolved. */
static void log_parse_literal(apr_pool_t *p, log_item *item, const char **format)
{
    const char *s = *format;
    char *d;

    item->emit = log_emit_literal;
    item->needs = LOG_NEEDS_NOTHING;
    item->arg = d = apr_palloc(p, strcspn(s, "%") + 1);
    for (; *s && *s != '%'; s++) {
        if (*s != '\\' || !s[1]) {
            *d++ = *s;
            continue;
        }
        switch (*++s) {
        case '\\':
            *d++ = '\\';
            break;
        case 'n':
            *d++ = '\n';
            break;
        case 'r':
            *d++ = '\r';
            break;
        case 't':
            *d++ = '\t';
            break;
        default:
            *d++ = '\\';
            s--;
            /* The character after the backslash is ordinary text, even if it is a '%'. */
            if (s[1] != '%')
                *d++ = *++s;
        }
    }
    *d = '\0';
    BRG_ASSERT(d >= item->arg);
    item->arg_len = (apr_size_t)(d - item->arg);
    *format = s;
}

static const char *log_parse_status(apr_array_header_t *statuses, const char *s)
{
    int status = 0;

    for (; apr_isdigit(*s); s++)
        status = status < 100000 ? status * 10 + (*s - '0') : status;
    APR_ARRAY_PUSH(statuses, int) = status;
    return s;
}

/* The tag at @a s: one character, or three after '^'. */
static const char *log_parse_tag(apr_pool_t *p, log_item *item, const char *s, int want_first)
{
    char tag[4] = {*s, '\0', '\0', '\0'};
    const ap_log_handler *foreign;
    const char *named, *err; /* named: %{asn}C and its siblings, of mod_asn */

    if (*s == '^' && s[1] && s[2]) {
        tag[1] = s[1];
        tag[2] = s[2];
    }
    named = apr_pstrcat(p, item->arg, tag, NULL);
    item->arg_len = strlen(item->arg);
    if ((foreign = log_foreign_find(named)) || (foreign = log_foreign_find((named = tag)))) {
        item->emit = log_emit_foreign;
        item->foreign = foreign->func;
        item->foreign_stored = log_foreign_stored(named);
        if (item->foreign_stored && (named != tag || !*item->arg))
            item->needs = LOG_NEEDS_NOTHING;
        item->want_first = foreign->want_orig_default;
    } else if (!log_squid_find(item, tag) && !logconf_item_find(p, item, tag)) {
        return apr_pstrcat(p, "Unrecognized LogFormat directive %", apr_pstrmemdup(p, s, 1), NULL);
    }
    if (!item->foreign && !strcmp(tag, "a") && (err = log_client_parse(p, item)))
        return err;
    if (item->foreign && item->needs == LOG_NEEDS_RECORD)
        brg_transaction_log_shows(p, NULL);
    if (want_first >= 0) {
        item->crosses = want_first != item->want_first && strcmp(tag, "s") != 0;
        item->want_first = want_first;
    }
    if (item->emit == log_emit_memory)
        return log_memory_check(item->arg);
    return NULL;
}

static const char *log_parse_item(apr_pool_t *p, log_item *item, const char **format)
{
    apr_array_header_t *statuses = NULL;
    const char *s = *format + 1, *close, *err;
    int want_first = -1;

    item->arg = apr_pstrdup(p, "");
    if (*s == '%') {
        item->emit = log_emit_literal;
        item->needs = LOG_NEEDS_NOTHING;
        item->arg = apr_pstrdup(p, "%");
        item->arg_len = 1;
        *format = s + 1;
        return NULL;
    }
    while (*s) {
        switch (*s) {
        case '!':
            item->statuses_negated = !item->statuses_negated;
            s++;
            continue;
        case '<':
        case '>':
            want_first = *s++ == '<';
            continue;
        case ',':
            s++;
            continue;
        case '{':
            if (!(close = strchr(s, '}')))
                return "Ran off end of LogFormat parsing args to some directive";
            item->arg = apr_pstrmemdup(p, s + 1, (apr_size_t)(close - s - 1));
            s = close + 1;
            continue;
        case '0' ... '9':
            if (!statuses)
                statuses = apr_array_make(p, 4, sizeof(int));
            s = log_parse_status(statuses, s);
            continue;
        }
        if ((err = log_parse_tag(p, item, s, want_first)))
            return err;
        *format = s + (*s == '^' ? 3 : 1);
        if (statuses) {
            item->statuses = (const int *)statuses->elts;
            item->statuses_n = statuses->nelts;
        }
        return NULL;
    }
    return "Ran off end of LogFormat parsing args to some directive";
}

apr_array_header_t *logconf_format_parse(apr_pool_t *p, const char *format, const char **err)
{
    apr_array_header_t *items = apr_array_make(p, 16, sizeof(log_item));
    const int json = !strncmp(format, LOG_JSON_FORMAT, sizeof LOG_JSON_FORMAT - 1);
    log_item *item;

    *err = NULL;
    if (json)
        format += sizeof LOG_JSON_FORMAT - 1;
    while (*format) {
        item = apr_array_push(items);
        memset(item, 0, sizeof(*item));
        if (*format != '%')
            log_parse_literal(p, item, &format);
        else if ((*err = log_parse_item(p, item, &format)))
            return NULL;
    }
    item = apr_array_push(items);
    memset(item, 0, sizeof(*item));
    item->emit = log_emit_literal;
    item->needs = LOG_NEEDS_NOTHING;
    item->arg = apr_pstrdup(p, APR_EOL_STR);
    item->arg_len = sizeof(APR_EOL_STR) - 1;
    if (json)
        log_json_mark(items);
    return items;
}

int log_item_applies(const log_item *item, int status)
{
    int listed = 0;

    for (int i = 0; i < item->statuses_n && !listed; i++)
        listed = item->statuses[i] == status;
    return !item->statuses || listed != item->statuses_negated;
}

log_needs log_format_needs(const apr_array_header_t *format)
{
    const log_item *item = (const log_item *)format->elts, *end = item + format->nelts;
    log_needs needs = LOG_NEEDS_NOTHING;

    for (; item < end; item++)
        if (item->needs < needs)
            needs = item->needs;
    return needs;
}
