/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that depend on request fields: one target may have several entries, each for the variants
 * of the values that its request had. The variant of a long value (User-Agent, by a list of
 * expressions) is kept, since few clients send many requests each. */
#include "cache_vary_private.h"
#include "keyed_hash.h"
#include "request_context.h"
#include "apr_strings.h"
#include <string.h>
#include <strings.h>

/* ---- dependencies of a request ---- */

const request_rec *cache_vary_first(const request_rec *r)
{
    const request_rec *up;

    while ((up = request_led_to(r)) != NULL)
        r = up;
    return r;
}

apr_array_header_t *cache_vary_wishes(request_rec *r)
{
    const request_rec *first = cache_vary_first(r);
    apr_array_header_t **list = request_vary_fields(first);

    if (!list) {
        request_mark_volatile(r, "core.c", "it was made by a module");
        return NULL;
    }
    if (!*list)
        *list = apr_array_make(first->pool, 2, sizeof(vary_wish));
    return *list;
}

/* Names of fields in any case; an expression on names as it is written. */
static int vary_same_name(const char *a, const char *b)
{
    return *a == ':' ? !strcmp(a, b) : !strcasecmp(a, b);
}

BRG_DECLARE(void)
brg_cache_vary(request_rec *r, const char *name, brg_cache_variant_fn *kind, const void *data)
{
    apr_array_header_t *list = cache_vary_wishes(r);
    const vary_wish *have = list ? (const vary_wish *)(const void *)list->elts : NULL;

    for (int i = 0; list && i < list->nelts; i++)
        if (have[i].name && !have[i].users && vary_same_name(have[i].name, name) &&
            have[i].kind == kind && have[i].data == data)
            return;
    if (!list)
        return;
    if (r->main) /* the list outlives a sub-request's pool */
        name = apr_pstrdup(list->pool, name);
    APR_ARRAY_PUSH(list, vary_wish) = (vary_wish){.name = name, .kind = kind, .data = data};
}

BRG_DECLARE(void)
brg_cache_vary_user(request_rec *r, const char *field, const brg_cache_users *users,
                    const apr_uint64_t realm[2])
{
    apr_array_header_t *list = cache_vary_wishes(r);
    const vary_wish *have = list ? (const vary_wish *)(const void *)list->elts : NULL;

    for (int i = 0; list && i < list->nelts; i++)
        if (have[i].users == users && have[i].realm[0] == realm[0] && have[i].realm[1] == realm[1])
            return;
    if (list)
        APR_ARRAY_PUSH(list, vary_wish) =
            (vary_wish){.name = field, .users = users, .realm = {realm[0], realm[1]}};
}

BRG_DECLARE(int) brg_cache_vary_fields(const request_rec *r, const char **names, int most)
{
    apr_array_header_t **list = request_vary_fields(cache_vary_first(r));
    const vary_wish *have = list && *list ? (const vary_wish *)(const void *)(*list)->elts : NULL;
    int n = 0;

    for (int i = 0; have && i < (*list)->nelts; i++) {
        if (have[i].name && n < most)
            names[n] = have[i].name;
        n += have[i].name != NULL;
    }
    return n;
}

/* ---- values of a request ---- */

/* 1 and the value, NULL when absent; 0 if that cannot be told: a field that stands there twice. */
static int vary_value_in_head(const http_head *h, const cache_vary_key *s, const char **value,
                              size_t *len)
{
    int at = h->known[s->id];

    if (s->is_line) {
        *value = h->protocol;
        *len = h->protocol_len;
        return h->method_id == HTTP_METHOD_GET;
    }
    if (s->id == HTTP_F_OTHER) {
        at = -1;
        for (int i = 0; i < h->n_fields; i++) {
            const http_field *f = &h->field[i];

            if (f->name_len != s->name_len || strncasecmp(f->name, s->name, s->name_len))
                continue;
            if (at >= 0)
                return 0;
            at = i;
        }
    }
    *value = at >= 0 ? h->field[at].value : NULL;
    *len = at >= 0 ? h->field[at].value_len : 0;
    return 1;
}

/* A HEAD would be stored as a GET is: of a request line, as of a head's, only that of a GET is told. */
static int vary_value_in_request(const request_rec *r, const cache_vary_key *s, const char **value,
                                 size_t *len)
{
    *value = s->is_line ? r->protocol : cache_field_sent(r, s->name);
    *len = *value ? strlen(*value) : 0;
    return !s->is_line || (r->method_number == M_GET && !r->header_only);
}

static int vary_value(const cache_asked *asked, const cache_vary_key *s, const char **value,
                      size_t *len)
{
    if (asked->head)
        return vary_value_in_head(asked->head, s, value, len);
    return vary_value_in_request(asked->r, s, value, len);
}

static int vary_variant(response_cache *c, const cache_vary_key *s, const char *value, size_t len)
{
    cache_classified *k;
    uint64_t hash;

    if (!value || len < 16 || len > sizeof k->value)
        return s->kind(s->data, value, len);
    hash = keyed_hash_of((uint64_t)(uintptr_t)s->data, value, len);
    k = &c->classified[hash & (CACHE_CLASSIFIED - 1)];
    if (k->hash != hash || k->fn != s->kind || k->data != s->data || k->len != len ||
        memcmp(k->value, value, len)) {
        k->hash = hash;
        k->fn = s->kind;
        k->data = s->data;
        k->len = (uint32_t)len;
        memcpy(k->value, value, len);
        k->variant = s->kind(s->data, value, len);
    }
    return k->variant;
}

/* 1 if the value is of the variant that the key is for. */
static int vary_is_variant(response_cache *c, cache_vary_key *s, const char *value, size_t len)
{
    if (value && len && len == s->seen_len && !memcmp(s->seen, value, len))
        return 1;
    if (vary_variant(c, s, value, len) != s->value_variant)
        return 0;
    if (value && len <= CACHE_VARY_SEEN_MOST) {
        memcpy(s->seen, value, len);
        s->seen_len = (uint8_t)len;
    }
    return 1;
}

static brg_cache_bearer vary_bearer(const response_cache *c, const cache_asked *asked,
                                    const char *value, size_t len)
{
    const http_head *h = asked->head;
    const request_rec *r = asked->r;

    return h ? (brg_cache_bearer){value,         len,        h->method,    h->uri,
                                  h->method_len, h->uri_len, c->loop->wall}
             : (brg_cache_bearer){value,
                                  len,
                                  r->method,
                                  r->unparsed_uri,
                                  strlen(r->method),
                                  strlen(r->unparsed_uri),
                                  r->request_time};
}

/* 1 if the bearer is let in; additions to the answer are noted. */
static int vary_knows(response_cache *c, const cache_vary_key *s, const cache_asked *asked,
                      const char *value, size_t len)
{
    const brg_cache_bearer bearer = vary_bearer(c, asked, value, len);
    const int added = value ? s->users->knows(s->realm, &bearer, c->added) : -1;

    BRG_ASSERT(added <= BRG_CACHE_ADDED_ROOM - 64);
    if (added > 0) {
        c->added_name = s->users->adds;
        c->added_len = added;
    }
    return added >= 0;
}

int cache_vary_matches(response_cache *c, const cache_entry *e, const cache_asked *asked)
{
    c->added_name = NULL;
    for (int i = 0; i < e->vary_n; i++) {
        cache_vary_key *s = &e->vary[i];
        const char *value;
        size_t len;

        if (s->gate)
            continue;
        if (s->client) {
            if (!cache_vary_client_matches(s, asked))
                return 0;
            continue;
        }
        if (s->named) {
            if (!cache_named_absent(s->named, asked))
                return 0;
            continue;
        }
        if (!vary_value(asked, s, &value, &len))
            return 0;
        if (s->users) {
            if (!vary_knows(c, s, asked, value, len))
                return 0;
        } else if (s->kind) {
            if (!vary_is_variant(c, s, value, len))
                return 0;
        } else if (!value != !s->value || len != s->value_len ||
                   (len && memcmp(value, s->value, len)))
            return 0;
    }
    return 1;
}

/* ---- of an entry ---- */

/* The key has no name of its own yet. */
static int vary_named(const cache_asked *asked, const char *name, const cache_vary_key *s,
                      const char **value, size_t *len)
{
    cache_vary_key named = {.name = (char *)(uintptr_t)name,
                            .name_len = s->name_len,
                            .id = s->id,
                            .is_line = s->is_line};

    return vary_value(asked, &named, value, len);
}

/* A request that has such a field is not the kind that the entry is for, though its module may not mind the field's case. */
static int vary_take_named(response_cache *c, cache_vary_key *s, const vary_wish *wish,
                           const cache_asked *asked)
{
    if (!(s->named = cache_named_take(c, wish->name)) || !(s->name = strdup(wish->name)))
        return -1;
    s->name_len = (uint32_t)strlen(wish->name);
    return cache_named_absent(s->named, asked) ? 0 : -1;
}

static int vary_take(response_cache *c, cache_vary_key *s, const vary_wish *wish,
                     const cache_asked *asked)
{
    const char *value;
    size_t len;

    if (wish->gate) {
        s->gate = wish->gate;
        s->data = wish->data;
        s->fixed = wish->fixed;
        return 0;
    }
    if (wish->client) {
        s->client = wish->client;
        s->data = wish->data;
        s->client_variant = wish->variant;
        return wish->variant >= 0 ? 0 : -1;
    }
    if (cache_named_is(wish->name))
        return vary_take_named(c, s, wish, asked);
    s->name_len = (uint32_t)strlen(wish->name);
    s->is_line = !strcmp(wish->name, REQUEST_VARY_LINE);
    s->id = s->name_len ? (uint8_t)http_field_id_of(wish->name, s->name_len) : HTTP_F_OTHER;
    s->kind = wish->kind;
    s->data = wish->data;
    s->users = wish->users;
    memcpy(s->realm, wish->realm, sizeof s->realm);
    value = NULL;
    len = 0;
    if (!s->users && !vary_named(asked, wish->name, s, &value, &len))
        return -1;
    if (!(s->name = malloc(s->name_len + len + 2)))
        return -1;
    memcpy(s->name, wish->name, s->name_len + 1);
    if (s->users)
        return 0;
    if (s->kind)
        return (s->value_variant = vary_variant(c, s, value, len)) >= 0 ? 0 : -1;
    s->value_len = (uint32_t)len;
    if (value)
        s->value = memcpy(s->name + s->name_len + 1, value, len);
    if (value)
        s->name[s->name_len + 1 + len] = '\0';
    return 0;
}

int cache_vary_take_stored(response_cache *c, cache_entry *e, const char *const *names,
                           const http_head *h)
{
    const cache_asked asked = {.head = h};
    int n = 0;

    BRG_ASSERT(!e->vary && !e->filled);
    while (names && names[n])
        n++;
    if (n >= CACHE_VARY_MOST || !(e->vary = cache_new(((size_t)n + 1) * sizeof *e->vary)))
        return -1;
    for (int i = 0; i <= n; i++) {
        const vary_wish wish =
            i < n ? (vary_wish){.name = names[i]} : (vary_wish){.client = cache_vary_plain};

        e->vary_n = (uint8_t)(i + 1);
        if (vary_take(c, &e->vary[i], &wish, &asked))
            return -1;
    }
    return 0;
}

int cache_vary_take(response_cache *c, cache_entry *e, request_rec *r)
{
    apr_array_header_t **list = request_vary_fields(r);
    const cache_asked asked = {.r = r};

    BRG_ASSERT(!e->vary && !e->filled);
    if (!list || !*list)
        return 0;
    if ((*list)->nelts > CACHE_VARY_MOST)
        return -1;
    e->vary = calloc((size_t)(*list)->nelts, sizeof *e->vary);
    if (!e->vary)
        return -1;
    for (int i = 0; i < (*list)->nelts; i++) {
        e->vary_n = i + 1;
        e->gated += APR_ARRAY_IDX(*list, i, vary_wish).gate != NULL;
        if (vary_take(c, &e->vary[i], &APR_ARRAY_IDX(*list, i, vary_wish), &asked))
            return -1;
    }
    return 0;
}

static int vary_is_for(const cache_vary_key *s, const vary_wish *wish)
{
    if (s->gate || wish->gate)
        return s->gate == wish->gate && s->data == wish->data && s->fixed == wish->fixed;
    if (s->client || wish->client)
        return s->client == wish->client && s->data == wish->data &&
               s->client_variant == wish->variant;
    return vary_same_name(s->name, wish->name) && s->kind == wish->kind && s->data == wish->data &&
           s->users == wish->users && s->realm[0] == wish->realm[0] &&
           s->realm[1] == wish->realm[1];
}

/* 1 if e was made for all that r was found to depend on, and nothing else. */
int cache_vary_same(const cache_entry *e, request_rec *r)
{
    apr_array_header_t **list = request_vary_fields(r);
    int n = list && *list ? (*list)->nelts : 0;

    if (e->vary_n != n)
        return 0;
    for (int i = 0; i < n; i++) {
        const vary_wish *wish = &APR_ARRAY_IDX(*list, i, vary_wish);
        int k = 0;

        while (k < n && !vary_is_for(&e->vary[k], wish))
            k++;
        if (k == n)
            return 0;
    }
    return 1;
}

size_t cache_vary_bytes(const cache_entry *e)
{
    size_t bytes = e->vary_n ? cache_block(e->vary_n * sizeof(*e->vary)) : 0;

    for (int i = 0; i < e->vary_n; i++)
        bytes +=
            (e->vary[i].name ? cache_block(e->vary[i].name_len + e->vary[i].value_len + 2) : 0) +
            (e->vary[i].named ? cache_named_bytes(e->vary[i].named) : 0);
    return bytes;
}

const char *cache_vary_added(request_rec *r)
{
    apr_array_header_t **list = request_vary_fields(cache_vary_first(r));
    const vary_wish *have = list && *list ? (const vary_wish *)(const void *)(*list)->elts : NULL;

    for (int i = 0; have && i < (*list)->nelts; i++)
        if (have[i].users && have[i].users->adds)
            return have[i].users->adds;
    return NULL;
}

const char *cache_vary_user(const cache_entry *e, const http_head *h, char *out, const char **type)
{
    for (int i = 0; i < e->vary_n; i++) {
        const cache_vary_key *s = &e->vary[i];
        const char *value;
        size_t len;

        if (!s->users || !vary_value_in_head(h, s, &value, &len) || !value ||
            !s->users->name(value, len, out))
            continue;
        *type = s->users->type;
        return out;
    }
    return NULL;
}

void cache_vary_drop(cache_entry *e)
{
    for (int i = 0; i < e->vary_n; i++) {
        if (e->vary[i].named)
            cache_named_release(e->vary[i].named);
        free(e->vary[i].name);
    }
    free(e->vary);
    e->vary = NULL;
    e->vary_n = 0;
}

void cache_limit_variants(response_cache *c, cache_entry *e)
{
    cache_entry *last = NULL;
    int n = 0;

    BRG_ASSERT(e->in_cache && !e->filled); /* it is new, and the first of its bucket's */
    for (cache_entry *o = e->next; o; o = o->next)
        if (o->hash == e->hash && cache_same_key(o, e)) {
            n++;
            last = o; /* new ones come first */
        }
    if (n < CACHE_VARIANTS)
        return;
    /* Of a backend's answer there may be many more, each of which would drive out another one. */
    if (e->lifetime && admission_uses(&c->admission, last->uses, last->stamp) >= e->uses)
        last = e;
    cache_forget(c, last);
}
