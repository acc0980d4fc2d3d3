/* SPDX-License-Identifier: Apache-2.0 */
/* Validation towards the origin: sections 4.3.1, 4.3.3 and 4.3.4. Conditions of clients: http_condition.c. */
#include "freshness.h"
#include "brigade/assert.h"
#include "http_field_traits.h"

#include <string.h>
#include <strings.h>

int fresh_condition(fresh_validators *validators, const fresh_head *stored)
{
    const http_field *tag = FRESH_FIND(stored, "etag"),
                     *modified = FRESH_FIND(stored, "last-modified");

    *validators = (fresh_validators){0};
    if (tag && tag->value_len) {
        validators->tag = tag->value;
        validators->tag_len = tag->value_len;
    }
    if (modified && fresh_date(modified->value, modified->value_len, 0)) {
        validators->modified = modified->value;
        validators->modified_len = modified->value_len;
    }
    return validators->tag_len || validators->modified_len;
}

static int fresh_field_etag(const fresh_head *head, fresh_etag *tag)
{
    const http_field *f = FRESH_FIND(head, "etag");
    const char *p = f ? f->value : NULL;

    return f && f->value_len && fresh_etag_next(&p, f->value + f->value_len, tag);
}

static int fresh_same_value(const fresh_head *a, const fresh_head *b, const char *name)
{
    const http_field *x = fresh_find(a, name, strlen(name)), *y = fresh_find(b, name, strlen(name));

    return !x || !y || (x->value_len == y->value_len && !memcmp(x->value, y->value, x->value_len));
}

int fresh_304_selects(const fresh_head *stored, const fresh_head *answer)
{
    fresh_etag ours, theirs;

    if (answer->code != 304)
        return 0;
    if (fresh_field_etag(answer, &theirs))
        return fresh_field_etag(stored, &ours) &&
               fresh_etag_same(&ours, &theirs, !theirs.weak && !ours.weak);
    return fresh_same_value(stored, answer, "last-modified");
}

static int fresh_replaced(const http_field *f, const http_field *by, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (f->name_len == by[i].name_len && !strncasecmp(f->name, by[i].name, f->name_len))
            return 1;
    return 0;
}

/* The fields that are new lie at the end of the room until it is known which of the old ones stay. */
uint32_t fresh_merge(http_field *out, const fresh_head *stored, const fresh_head *answer,
                     const fresh_policy *policy)
{
    http_field *fresh = out + stored->n;
    fresh_response response;
    uint32_t n = 0, take = 0, kept = 0;

    BRG_ASSERT(answer->code);
    fresh_response_read(&response, answer, policy);
    n = fresh_stored_fields(fresh, &response, policy);
    for (uint32_t i = 0; i < n; i++)
        if (!(http_field_traits_of(fresh[i].name, fresh[i].name_len, HTTP_FIELD_KEPT_BY_304)))
            fresh[take++] = fresh[i];
    for (uint32_t i = 0; i < stored->n; i++)
        if (!fresh_replaced(stored->field + i, fresh, take))
            out[kept++] = stored->field[i];
    BRG_ASSERT(kept <= stored->n && take <= answer->n);
    memmove(out + kept, fresh, take * sizeof *out);
    return kept + take;
}
