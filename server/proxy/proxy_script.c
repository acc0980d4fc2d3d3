/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of scripts, which come in pieces (proxy_script.h). */
#include "proxy_script.h"
#include "brigade/assert.h"
#include <string.h>

static void head_room(apr_pool_t *p, script_head *head, apr_size_t more)
{
    char *bigger;
    apr_size_t cap = head->cap ? head->cap : 1024;

    while (cap < head->len + more + 1)
        cap *= 2;
    if (cap == head->cap)
        return;
    bigger = apr_palloc(p, cap);
    memcpy(bigger, head->text ? head->text : "", head->len);
    head->text = bigger;
    head->cap = cap;
}

/* Bytes up to the empty line that ends the head; 0: it is not here. */
static apr_size_t head_end(script_head *head, const char *data, apr_size_t len)
{
    for (apr_size_t i = 0; i < len; i++) {
        if (!head->blank) { /* within a line */
            const char *lf = memchr(data + i, '\n', len - i);

            if (!lf)
                return 0;
            i = (apr_size_t)(lf - data);
        }
        if (data[i] == '\n') {
            if (head->blank)
                return i + 1;
            head->blank = 1;
        } else if (data[i] == '\r' && head->blank == 1) {
            head->blank = 2;
        } else {
            head->blank = 0;
        }
    }
    return 0;
}

apr_size_t script_head_size(const char *data, apr_size_t len)
{
    script_head head = {.text = NULL};

    return head_end(&head, data, len);
}

apr_size_t script_head_take(proxy_exchange *x, script_head *head, const char *data, apr_size_t len,
                            int *done)
{
    apr_size_t n = head_end(head, data, len);

    *done = n != 0;
    if (!n)
        n = len;
    if (head->len + n > SCRIPT_HEAD_MOST) {
        x->answer.bad = "the script's head is too large";
        return 0;
    }
    BRG_ASSERT(n <= len);
    head_room(x->pool, head, n);
    memcpy(head->text + head->len, data, n);
    head->len += n;
    head->text[head->len] = '\0';
    return n;
}

int script_status_is_final(proxy_exchange *x)
{
    if (x->answer.code >= 200 && x->answer.code <= 999)
        return 1;
    x->answer.bad = "a status that ends no request";
    return 0;
}

apr_status_t script_head_read(proxy_exchange *x, script_head *head)
{
    const apr_status_t rv = exchange_script_head(x, head->text, head->len);

    if (rv != APR_SUCCESS)
        return rv;
    return script_status_is_final(x) ? APR_SUCCESS : APR_EGENERAL;
}
