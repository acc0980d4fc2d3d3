/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random requests to a cache that follows the rules of this room, beside a model of RFC 9111 that has its own arithmetic and reads no
 * heads: it knows what the origin meant. Clock, origin and its failures are driven by the test. At each step the cache has to do
 * what the model says, no more and no less. TEST_COUNT is how many there are, a million without it; TEST_SEED repeats a run.
 */
#include "freshness.h"
#include "fresh_vary.h"
#include "test_heads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#define TARGETS 6
#define KINDS 3 /* values of a field that Vary names; 0: it is absent */
#define NONE ((int64_t)-1)

/* What the origin says of a resource, as it means it. */
typedef struct said {
    int64_t max_age, s_maxage, expires, swr, sie, age, modified; /* seconds; NONE */
    int no_store, no_cache, is_private, is_public, must, proxy, understand;
} said;

typedef struct resource {
    int version, tagged, varies;
    said says;
} resource;

/* A stored response, as the cache has it, and as the model does. */
typedef struct entry {
    int is_there;
    char bytes[1024];
    test_head head;
    fresh_terms terms;
    int version, kind, user; /* its body */
    said truth;              /* what holds of it now */
    apr_time_t born;         /* when that came */
    apr_time_t date;         /* when the origin said so */
    int tagged;
} entry;

typedef struct asked {
    int64_t max_age, min_fresh, max_stale; /* NONE; max_stale of INT32_MAX: any */
    int no_cache, no_store, only, user, kind;
} asked;

typedef enum action { SERVE, STALE, REFRESH, ASK, FETCH, REFUSE } action;

static resource resources[TARGETS];
static entry entries[TARGETS][KINDS];
static int varied[TARGETS]; /* the latest stored response of the target has Vary */
static apr_time_t now;
static apr_time_t said_at; /* what comes now was said then: it lay in caches on the way */
static uint64_t dice;
static fresh_policy policy;
static char trouble[2048];

static uint32_t roll(uint32_t sides)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (uint32_t)(dice >> 20) % sides;
}

static int64_t span_of(uint32_t percent)
{
    static const int64_t usual[] = {0, 1, 2, 5, 10, 60, 300, 3600};

    return roll(100) < percent ? usual[roll(8)] : NONE;
}

static void change(resource *r)
{
    r->version++;
    r->tagged = roll(100) < 60;
    r->varies = roll(100) < 30;
    r->says = (said){.max_age = span_of(60),
                     .s_maxage = span_of(15),
                     .expires = span_of(20),
                     .swr = span_of(20),
                     .sie = span_of(20),
                     .age = span_of(15),
                     .modified = roll(100) < 30 ? 100 + (int64_t)roll(100000) : NONE,
                     .no_store = roll(100) < 6,
                     .no_cache = roll(100) < 8,
                     .is_private = roll(100) < 6,
                     .is_public = roll(100) < 15,
                     .must = roll(100) < 12,
                     .proxy = roll(100) < 8,
                     .understand = roll(100) < 4};
}

/* ---- the model ---- */

static int64_t model_lifetime(const said *s)
{
    if (s->s_maxage != NONE)
        return s->s_maxage;
    if (s->max_age != NONE)
        return s->max_age;
    if (s->expires != NONE)
        return s->expires;
    if (s->modified != NONE)
        return s->modified / 10 > 86400 ? 86400 : s->modified / 10;
    return 3600; /* CacheDefaultExpire */
}

static int model_never_stale(const said *s)
{
    return s->must || s->proxy || s->no_cache || s->s_maxage != NONE;
}

static int model_for_users(const said *s)
{
    return s->is_public || s->must || s->s_maxage != NONE;
}

/* Microseconds. */
static int64_t model_age(const entry *e)
{
    const int64_t lay = e->born - e->date, told = e->truth.age == NONE ? 0 : e->truth.age * 1000000;

    return (now - e->born) + (lay > told ? lay : told);
}

static action model_action(const entry *e, const asked *q)
{
    const said *s = &e->truth;
    int64_t left, age;

    if (!e->is_there || (q->user && !model_for_users(s)) || q->no_store)
        return q->only ? REFUSE : FETCH;
    age = model_age(e);
    left = model_lifetime(s) * 1000000 - age;
    if (s->no_cache || q->no_cache ||
        (q->max_age != NONE && (age > q->max_age * 1000000 || !q->max_age)) ||
        (q->min_fresh != NONE && left < q->min_fresh * 1000000))
        return q->only ? REFUSE : ASK;
    if (left > 0)
        return SERVE;
    if (!model_never_stale(s) && q->max_stale != NONE && -left <= q->max_stale * 1000000)
        return STALE;
    if (!model_never_stale(s) && s->swr != NONE && -left < s->swr * 1000000)
        return REFRESH;
    return q->only ? REFUSE : ASK;
}

static int model_on_error(const entry *e, const asked *q)
{
    const int64_t late = model_age(e) - model_lifetime(&e->truth) * 1000000;

    return !model_never_stale(&e->truth) && !(q->user && !model_for_users(&e->truth)) &&
           !q->no_cache && !q->no_store &&
           late <= (e->truth.sie == NONE ? 0 : e->truth.sie * 1000000);
}

/* What is stored was said later, and could be used. */
static int model_has_later(const entry *e)
{
    const apr_time_t date = e->date < e->born ? e->date : e->born; /* clocks that are ahead */

    return e->is_there && !e->truth.no_cache && date > said_at &&
           model_lifetime(&e->truth) * 1000000 > model_age(e);
}

static int model_stores(const resource *r, const asked *q, const entry *e)
{
    const said *s = &r->says;
    const int explicitly = s->max_age != NONE || s->s_maxage != NONE || s->expires != NONE,
              validator = r->tagged || s->modified != NONE;

    if (q->no_store || (s->no_store && !s->understand) || s->is_private ||
        (q->user && !model_for_users(s)) || model_has_later(e))
        return 0;
    if (validator)
        return 1;
    if (!explicitly && !s->no_cache && !s->is_public)
        return 0;
    return !s->no_cache && (model_lifetime(s) > 0 || (s->swr > 0) || (s->sie > 0));
}

/* ---- heads ---- */

static void add(char *to, size_t room, const char *format, int64_t value)
{
    const size_t n = strlen(to);

    snprintf(to + n, room - n, format, (long long)value);
}

static void add_date(char *to, size_t room, const char *name, apr_time_t when)
{
    const time_t seconds = (time_t)apr_time_sec(when);
    char date[64];
    struct tm tm;
    const size_t n = strlen(to);

    gmtime_r(&seconds, &tm);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    snprintf(to + n, room - n, "|%s: %s", name, date);
}

/* The clock stands at whole seconds where the origin speaks, so that dates say it exactly. */
static void head_said(char *to, size_t room, const resource *r, int kind, const said *s)
{
    snprintf(to, room, "Cache-Control: x");
    if (s->max_age != NONE)
        add(to, room, ", max-age=%lld", s->max_age);
    if (s->s_maxage != NONE)
        add(to, room, ", s-maxage=%lld", s->s_maxage);
    if (s->swr != NONE)
        add(to, room, ", stale-while-revalidate=%lld", s->swr);
    if (s->sie != NONE)
        add(to, room, ", stale-if-error=%lld", s->sie);
    snprintf(to + strlen(to), room - strlen(to), "%s%s%s%s%s%s%s", s->no_store ? ", no-store" : "",
             s->no_cache ? ", no-cache" : "", s->is_private ? ", private" : "",
             s->is_public ? ", public" : "", s->must ? ", must-revalidate" : "",
             s->proxy ? ", proxy-revalidate" : "", s->understand ? ", must-understand" : "");
    add_date(to, room, "Date", said_at);
    if (s->expires != NONE)
        add_date(to, room, "Expires", said_at + apr_time_from_sec(s->expires));
    if (s->modified != NONE)
        add_date(to, room, "Last-Modified", said_at - apr_time_from_sec(s->modified));
    if (s->age != NONE)
        add(to, room, "|Age: %lld", s->age);
    if (r->tagged)
        snprintf(to + strlen(to), room - strlen(to), "|ETag: \"%d-%d\"", r->version,
                 r->varies ? kind : 0);
    if (r->varies)
        snprintf(to + strlen(to), room - strlen(to), "|Vary: X-Kind");
}

static void head_asked(char *to, size_t room, const asked *q)
{
    static const char *const kinds[] = {"", "X-Kind: a|", "X-Kind: b|"};

    snprintf(to, room, "%s%sCache-Control: y", kinds[q->kind],
             q->user ? "Authorization: Basic x|" : "");
    if (q->max_age != NONE)
        add(to, room, ", max-age=%lld", q->max_age);
    if (q->min_fresh != NONE)
        add(to, room, ", min-fresh=%lld", q->min_fresh);
    if (q->max_stale == INT32_MAX)
        snprintf(to + strlen(to), room - strlen(to), ", max-stale");
    else if (q->max_stale != NONE)
        add(to, room, ", max-stale=%lld", q->max_stale);
    snprintf(to + strlen(to), room - strlen(to), "%s%s%s", q->no_cache ? ", no-cache" : "",
             q->no_store ? ", no-store" : "", q->only ? ", only-if-cached" : "");
}

/* ---- the cache ---- */

static action cache_action(const entry *e, const fresh_request *request)
{
    static const action of[] = {
        [FRESH_SERVE] = SERVE,  [FRESH_SERVE_STALE] = STALE, [FRESH_SERVE_REFRESH] = REFRESH,
        [FRESH_VALIDATE] = ASK, [FRESH_FETCH] = FETCH,       [FRESH_REFUSE] = REFUSE};

    return of[fresh_use_now(e->is_there ? &e->terms : NULL, request, &policy, now)];
}

static entry *cache_find(int target, const asked *q)
{
    return &entries[target][varied[target] ? q->kind : 0];
}

/* Fields of a head that are to be stored go into the entry's own bytes. */
static void cache_keep(entry *e, const http_field *field, uint32_t n)
{
    char bytes[sizeof e->bytes] = "";
    size_t len = 0;

    for (uint32_t i = 0; i < n; i++)
        len += (size_t)snprintf(bytes + len, sizeof bytes - len, "%s%.*s: %.*s", i ? "|" : "",
                                (int)field[i].name_len, field[i].name, (int)field[i].value_len,
                                field[i].value);
    assert_true(len < sizeof bytes);
    memcpy(e->bytes, bytes, len + 1);
    test_head_of(&e->head, 200, NULL, e->bytes);
}

static void cache_terms(entry *e, apr_time_t came)
{
    fresh_response response;

    fresh_response_read(&response, &e->head.head, &policy);
    /* Age is not stored: it was counted when the response came. */
    if (e->truth.age != NONE)
        response.age = (uint32_t)e->truth.age;
    fresh_terms_make(&e->terms, &response, &policy, came, came);
}

static void cache_store(int target, const asked *q, const resource *r,
                        const fresh_response *response)
{
    http_field fields[TEST_FIELDS];
    entry *e;

    if (r->varies !=
        varied[target]) /* what was stored under the other kind of key is not found any more */
        for (int i = 0; i < KINDS; i++)
            entries[target][i].is_there = 0;
    varied[target] = r->varies;
    e = cache_find(target, q);
    e->is_there = 1;
    cache_keep(e, fields, fresh_stored_fields(fields, response, &policy));
    e->version = r->version;
    e->kind = r->varies ? q->kind : 0;
    e->user = q->user;
    e->tagged = r->tagged;
    e->truth = r->says;
    e->born = now;
    e->date = said_at;
    cache_terms(e, now);
}

/* The validators name what the origin has: it says so, and perhaps more. */
static int cache_validated(entry *e, const resource *r, const asked *q)
{
    char bytes[1024];
    test_head head;
    http_field fields[2 * TEST_FIELDS];
    fresh_validators v;
    const int has = fresh_condition(&v, &e->head.head),
              same = e->version == r->version && e->tagged && r->tagged;
    said more = r->says;

    if (has != (e->tagged || e->truth.modified != NONE))
        snprintf(trouble, sizeof trouble, "it has %s validator", has ? "a" : "no");
    if (!same)
        return 0;
    head_said(bytes, sizeof bytes, r, q->kind, &more);
    test_head_of(&head, 304, NULL, bytes);
    if (!fresh_304_selects(&e->head.head, &head.head)) {
        snprintf(trouble, sizeof trouble, "a 304 of the same tag is not about it");
        return 1;
    }
    cache_keep(e, fields, fresh_merge(fields, &e->head.head, &head.head, &policy));
    if (more.expires == NONE)
        more.expires =
            e->truth.expires == NONE ? NONE : e->truth.expires - apr_time_sec(said_at - e->date);
    if (more.expires != NONE && more.expires < 0)
        more.expires = 0; /* a field that the 304 does not have stays, and is past */
    e->truth = more;
    e->born = now;
    e->date = said_at;
    cache_terms(e, now);
    return 1;
}

/* The origin is asked, and what it says is stored if it may be. */
static void cache_ask(int target, const asked *q, const fresh_request *request)
{
    const resource *r = &resources[target];
    char bytes[1024];
    test_head head;
    fresh_response response;
    int stores;
    entry *e = cache_find(target, q);

    now = apr_time_from_sec(apr_time_sec(now) + 1); /* it takes until the next second */
    said_at = now - apr_time_from_sec(roll(4) ? 0 : span_of(100)) +
              apr_time_from_sec(roll(16) ? 0 : span_of(100));
    if (e->is_there && !q->user && !q->no_store && cache_validated(e, r, q))
        return;
    head_said(bytes, sizeof bytes, r, q->kind, &r->says);
    fresh_response_read(&response, test_head_of(&head, 200, NULL, bytes), &policy);
    stores = fresh_may_store(request, &response, &policy) == FRESH_STORE &&
             !(e->is_there && fresh_is_older(&response, &e->head.head, &e->terms, now));
    if (stores != model_stores(r, q, e))
        snprintf(trouble, sizeof trouble, "%s stored: %s", stores ? "it is" : "it is not", bytes);
    if (stores)
        cache_store(target, q, r, &response);
}

/* ---- a step ---- */

static void check_served(int target, const asked *q, const entry *e, action did)
{
    const said *s = &e->truth;

    if (e->kind && e->kind != q->kind)
        snprintf(trouble, sizeof trouble, "another variant of %d", target);
    if (e->user && !model_for_users(s))
        snprintf(trouble, sizeof trouble, "another user's");
    if (s->is_private || (s->no_store && !s->understand))
        snprintf(trouble, sizeof trouble, "what must not be stored");
    if (did == SERVE && fresh_age(&e->terms, now) != (uint32_t)(model_age(e) / 1000000))
        snprintf(trouble, sizeof trouble, "Age is %u, not %lld", fresh_age(&e->terms, now),
                 (long long)model_age(e) / 1000000);
}

static asked any_request(void)
{
    return (asked){.max_age = span_of(6),
                   .min_fresh = span_of(6),
                   .max_stale = roll(100) < 8 ? (roll(3) ? span_of(100) : INT32_MAX) : NONE,
                   .no_cache = roll(100) < 4,
                   .no_store = roll(100) < 3,
                   .only = roll(100) < 4,
                   .user = roll(100) < 8,
                   .kind = (int)roll(KINDS)};
}

static void step_request(int target)
{
    const asked q = any_request();
    entry *e = cache_find(target, &q);
    const int dead = roll(100) < 15;
    char bytes[256];
    test_head head;
    fresh_request request;
    action wanted, did;

    head_asked(bytes, sizeof bytes, &q);
    fresh_request_read(&request, test_head_of(&head, 0, "GET", bytes));
    wanted = model_action(e, &q);
    did = cache_action(e, &request);
    if (did != wanted)
        snprintf(trouble, sizeof trouble, "%d, not %d, by %s of %s", did, wanted, bytes, e->bytes);
    if (did <= REFRESH)
        check_served(target, &q, e, did);
    if (did == REFRESH || did == ASK || did == FETCH) {
        if (!dead)
            cache_ask(target, &q, &request);
        else if (e->is_there && did == ASK &&
                 fresh_use_on_error(&e->terms, &request, &policy, roll(2) ? 503 : 0, now) !=
                     model_on_error(e, &q))
            snprintf(trouble, sizeof trouble, "on an error, by %s of %s", bytes, e->bytes);
    }
}

static void step(void)
{
    const int target = (int)roll(TARGETS);
    const uint32_t chance = roll(1000);

    now += roll(3) ? roll(1500000) : apr_time_from_sec(roll(roll(20) ? 20 : 5000));
    if (chance < 30)
        change(&resources[target]);
    else if (chance < 40) /* an unsafe method, or a purge */
        for (int i = 0; i < KINDS; i++)
            entries[target][i].is_there = 0;
    else
        step_request(target);
}

static void test_a_million_steps(void **state)
{
    const char *asked_steps = getenv("TEST_COUNT"), *seed = getenv("TEST_SEED");
    const long steps = asked_steps ? atol(asked_steps) : 1000000;
    const uint64_t first = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);

    (void)state;
    dice = first * 0x9e3779b97f4a7c15ull | 1;
    now = apr_time_from_sec(1000000000);
    fresh_policy_default(&policy);
    for (int i = 0; i < TARGETS; i++)
        change(&resources[i]);
    for (long i = 0; i < steps; i++) {
        step();
        if (*trouble)
            fail_msg("step %ld, TEST_SEED=%llu: %s", i, (unsigned long long)first, trouble);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_million_steps)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
