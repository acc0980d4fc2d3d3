/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and responses as a cache reads them. */
#include "freshness.h"
#include "brigade/assert.h"

#include <string.h>
#include <strings.h>

static const char *const fresh_targeted_default[] = {"cdn-cache-control"};

void fresh_policy_default(fresh_policy *policy)
{
    BRG_ASSERT(policy);
    *policy = (fresh_policy){.targeted = {fresh_targeted_default, 1},
                             .last_modified_factor = 0.1,
                             .default_expire = 3600,
                             .max_expire = 86400,
                             .keep = 3600,
                             .queries_need_expiry = 1};
}

const http_field *fresh_find(const fresh_head *head, const char *name, size_t len)
{
    for (uint32_t i = 0; i < head->n; i++)
        if (fresh_name_is(head->field[i].name, head->field[i].name_len, name, len))
            return head->field + i;
    return NULL;
}

fresh_method fresh_method_of(const char *name, size_t len)
{
    static const struct {
        const char *name;
        fresh_method method;
    } methods[] = {{"GET", FRESH_GET},      {"HEAD", FRESH_HEAD},  {"QUERY", FRESH_QUERY},
                   {"OPTIONS", FRESH_SAFE}, {"TRACE", FRESH_SAFE}, {"PROPFIND", FRESH_SAFE},
                   {"REPORT", FRESH_SAFE},  {"SEARCH", FRESH_SAFE}};

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (len == strlen(methods[i].name) && !memcmp(name, methods[i].name, len))
            return methods[i].method;
    return FRESH_UNSAFE;
}

static void fresh_request_field(fresh_request *request, const http_field *f, fresh_cc *pragma)
{
    BRG_ASSERT(f->id < HTTP_FIELD_IDS && pragma != &request->cc);
    switch (f->id != HTTP_F_OTHER ? f->id : http_field_id_of(f->name, f->name_len)) {
    case HTTP_F_CACHE_CONTROL:
        fresh_cc_add(&request->cc, f->value, f->value_len);
        break;
    case HTTP_F_PRAGMA:
        fresh_cc_add(pragma, f->value, f->value_len);
        break;
    case HTTP_F_AUTHORIZATION:
        request->authorized = 1;
        break;
    case HTTP_F_RANGE:
        request->range = f;
        break;
    case HTTP_F_IF_RANGE:
        request->if_range = f;
        break;
    case HTTP_F_IF_NONE_MATCH:
        request->if_none_match = f;
        break;
    case HTTP_F_IF_MATCH:
        request->if_match = f;
        break;
    case HTTP_F_IF_MODIFIED_SINCE:
        request->if_modified_since = f;
        break;
    case HTTP_F_IF_UNMODIFIED_SINCE:
        request->if_unmodified_since = f;
        break;
    default:
        break;
    }
}

void fresh_request_read(fresh_request *request, const fresh_head *head)
{
    fresh_cc pragma = {0};

    BRG_ASSERT(!head->code);
    *request = (fresh_request){.head = *head,
                               .method = (uint8_t)fresh_method_of(head->method, head->method_len)};
    for (uint32_t i = 0; i < head->n; i++)
        fresh_request_field(request, head->field + i, &pragma);
    if (!(request->cc.has & FRESH_CC_PRESENT))
        request->cc.has |= pragma.has & FRESH_CC_NO_CACHE; /* section 5.4 */
}

#define FRESH_IS(literal) fresh_name_is(f->name, f->name_len, literal, sizeof(literal) - 1)

static void fresh_response_vary(fresh_response *response, const http_field *f)
{
    response->has_vary = 1;
    for (uint32_t i = 0; i < f->value_len; i++)
        if (f->value[i] == '*' &&
            (!i || f->value[i - 1] == ',' || f->value[i - 1] == ' ' || f->value[i - 1] == '\t'))
            response->vary_star = 1;
}

static void fresh_response_field(fresh_response *response, const http_field *f, int *aged)
{
    if (FRESH_IS("cache-control")) {
        if (!response->targeted)
            fresh_cc_add(&response->cc, f->value, f->value_len);
    } else if (FRESH_IS("date")) {
        response->date = fresh_date(f->value, f->value_len, 0);
    } else if (FRESH_IS("expires")) {
        const apr_time_t when = fresh_date(f->value, f->value_len, 0);

        if (!response->has_expires || when < response->expires)
            response->expires = when;
        response->has_expires = 1;
    } else if (FRESH_IS("last-modified")) {
        response->modified = fresh_date(f->value, f->value_len, 0);
    } else if (FRESH_IS("age")) {
        uint32_t age;

        if (!*aged && !fresh_age_parse(f->value, f->value_len, &age)) {
            response->age = age;
            *aged = 1;
        }
    } else if (FRESH_IS("etag")) {
        response->has_tag = f->value_len > 0;
    } else if (FRESH_IS("vary")) {
        fresh_response_vary(response, f);
    } else if (FRESH_IS("set-cookie") || FRESH_IS("set-cookie2")) {
        response->has_cookie = 1;
    }
}

/* The lines of a targeted field are one dictionary, so they are joined. */
static int fresh_targeted_read(fresh_response *response, const char *name)
{
    const size_t len = strlen(name);
    char joined[2048];
    size_t n = 0;

    for (uint32_t i = 0; i < response->head.n; i++) {
        const http_field *f = response->head.field + i;

        if (!fresh_name_is(f->name, f->name_len, name, len))
            continue;
        if (n + f->value_len + 1 > sizeof joined)
            return 0; /* no origin sends one of that length; it is ignored */
        if (n)
            joined[n++] = ',';
        memcpy(joined + n, f->value, f->value_len);
        n += f->value_len;
    }
    return n && fresh_cc_targeted(&response->cc, joined, n);
}

void fresh_response_read(fresh_response *response, const fresh_head *head,
                         const fresh_policy *policy)
{
    int aged = 0;

    BRG_ASSERT(head->code);
    *response = (fresh_response){.head = *head, .partial = head->code == 206};
    for (uint32_t i = 0; i < policy->targeted.n && !response->targeted; i++)
        response->targeted = (uint8_t)fresh_targeted_read(response, policy->targeted.name[i]);
    for (uint32_t i = 0; i < head->n; i++)
        fresh_response_field(response, head->field + i, &aged);
}
