/* SPDX-License-Identifier: Apache-2.0 */
/* The message to the daemon of CGI programs, as bytes (cgi_record.h). */
#include "cgi_record.h"
#include <string.h>

static size_t record_strings(const char *const *list, size_t *bytes)
{
    size_t n = 0;

    for (; list[n]; n++)
        *bytes += strlen(list[n]) + 1;
    return n;
}

size_t cgi_record_size(const cgi_program *p)
{
    size_t bytes = sizeof(cgi_record_head) + strlen(p->file) + strlen(p->folder) + 2;
    size_t n = record_strings(p->argv, &bytes);

    n += record_strings(p->env, &bytes);
    return bytes <= CGI_RECORD_MOST && n + 2 <= CGI_RECORD_STRINGS ? bytes : 0;
}

static char *record_put(char *to, const char *text)
{
    const size_t len = strlen(text) + 1;

    memcpy(to, text, len);
    return to + len;
}

void cgi_record_write(char *to, const cgi_program *p)
{
    cgi_record_head *head = (cgi_record_head *)to;
    char *end = to + sizeof *head;

    *head = (cgi_record_head){.magic = CGI_RECORD_MAGIC};
    memcpy(head->limits, p->limits, sizeof head->limits);
    end = record_put(record_put(end, p->file), p->folder);
    for (const char *const *s = p->argv; *s; s++, head->argc++)
        end = record_put(end, *s);
    for (const char *const *s = p->env; *s; s++, head->envc++)
        end = record_put(end, *s);
    head->length = (uint32_t)(end - to);
}

/* @return behind the string; NULL: it does not end */
static const char *record_get(const char *at, const char *end, const char **text)
{
    const char *nul = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;

    *text = at;
    return nul ? nul + 1 : NULL;
}

static const char *record_get_list(const char *at, const char *end, size_t n, const char **list)
{
    for (size_t i = 0; at && i < n; i++)
        at = record_get(at, end, &list[i]);
    list[n] = NULL;
    return at;
}

int cgi_record_read(const char *from, size_t len, const char **strings, size_t most, cgi_program *p)
{
    const cgi_record_head *head = (const cgi_record_head *)from;
    const char *end = from + len, *at = from + sizeof *head;

    if (len < sizeof *head || head->magic != CGI_RECORD_MAGIC || head->length != len ||
        head->argc == 0 || head->argc >= most || head->envc >= most ||
        head->argc + (size_t)head->envc + 2 > most)
        return 0;
    memcpy(p->limits, head->limits, sizeof p->limits);
    at = record_get(at, end, &p->file);
    at = at ? record_get(at, end, &p->folder) : NULL;
    p->argv = strings;
    p->env = strings + head->argc + 1;
    at = record_get_list(at, end, head->argc, strings);
    at = record_get_list(at, end, head->envc, strings + head->argc + 1);
    return at == end && p->file[0] == '/' && p->folder[0] == '/';
}
