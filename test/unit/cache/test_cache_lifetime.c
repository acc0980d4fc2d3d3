/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of stored answers in a loop's own cache: they hold while the store would give the same object, and tell the time as it would. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "cache_stored.h"
#include "cache_source_private.h"
#include "cache_vary_private.h"
#include "request_context.h"
#include "test_pool.h"
#include "test_request.h"

#define NOW (apr_time_from_sec(1715000000) + 250000)
#define LIFETIME 100
#define FIELDS 3

typedef struct site {
    store *s;
    store_reader *r;
    void *memory;
    size_t bytes;
    brg_loop loop;
    response_cache cache;
    request_rec *request;
    cache_stored stored;
    store_view view;
    cache_entry *e;
    http_answer *answer;
    cache_head head;
    _Atomic uint64_t hits;
    brg_host_figures count;
} site;

static store_key key_of(const site *t, const char *text)
{
    return store_key_of(t->s, text, strlen(text), NULL, 0);
}

static void put(const site *t, const char *text, uint64_t length, uint64_t mark)
{
    static const char terms[STORE_TERMS];
    const store_head head = {.key = key_of(t, text),
                             .text = text,
                             .text_len = (uint32_t)strlen(text),
                             .terms = terms,
                             .head = text,
                             .head_len = (uint32_t)strlen(text),
                             .length = length,
                             .marks = &mark,
                             .marks_n = 1,
                             .epoch = store_epoch(t->s)};
    const char *why;
    store_writer *w = store_write_begin(t->r, &head, 0, &why);

    assert_non_null(w);
    for (uint64_t i = 0; i < length; i++)
        assert_int_equal(store_write(w, &(char){(char)(i * 31 + (i >> 12))}, 1), 0);
    assert_int_equal(store_write_end(&w), APR_SUCCESS);
}

/* What lies there is offered by the request. */
static void offer(site *t, const char *text, uint64_t length)
{
    const store_key key = key_of(t, text);
    store_found found;

    assert_true(store_find(t->r, &key, NOW, &found));
    t->view = found.view;
    t->stored =
        (cache_stored){.view = &t->view,
                       .length = length,
                       .reader = t->r,
                       .places_n = 1,
                       .terms = {.stored = NOW, .age = 3, .lifetime = LIFETIME, .code = 200},
                       .until = NOW + apr_time_from_sec(LIFETIME - 3),
                       .hits = &t->hits,
                       .tells_ttl = 1};
    t->stored.place[0] = found.place;
    request_offer_begin(t->request)->stored = &t->stored;
}

static int set_up(void **state)
{
    site *t = calloc(1, sizeof *t);
    store_limits limits;

    test_pool_setup(NULL);
    store_limits_default(&limits, 16 * STORE_SEGMENT);
    limits.readers = 4;
    limits.object_bytes = 8 * STORE_SEGMENT;
    t->bytes = store_size(&limits);
    t->memory = mmap(NULL, t->bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(t->memory != MAP_FAILED);
    t->s = store_open(t->memory, &limits);
    t->r = store_reader_open(t->s);
    t->cache.loop = &t->loop;
    t->loop.wall = NOW;
    t->request = test_request(test_pool);
    t->request->request_config = ap_create_request_config(test_pool);
    request_conf_create(t->request);
    t->e = calloc(1, sizeof *t->e);
    t->e->count = &t->count;
    t->answer = calloc(1, sizeof *t->answer + FIELDS * sizeof *t->answer->field);
    t->head.answer = t->answer;
    put(t, "http://a/1", 100, 7);
    offer(t, "http://a/1", 100);
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    site *t = *state;

    store_release(&t->view);
    cache_lifetime_drop(t->e);
    assert_null(t->e->lifetime);
    free(t->e);
    free(t->answer);
    store_reader_close(&t->r);
    store_close(&t->s);
    munmap(t->memory, t->bytes);
    free(t);
    test_pool_teardown(NULL);
    return 0;
}

static void arm(site *t)
{
    assert_int_equal(cache_lifetime_arm(t->e, request_offer_of(t->request)->stored), 0);
    assert_int_equal(t->e->source, CACHE_SOURCE_LIFETIME);
    assert_true(cache_lifetime_bytes(t->e) > 0);
    t->answer->field[0] = (http_answer_field){"age", "3", 3, 1};
    t->answer->field[1] = (http_answer_field){"X-Other", "1", 7, 1};
    t->answer->field[2] = (http_answer_field){
        "Cache-Status", "far; hit; ttl=7, near; hit; ttl=97; key=\"k\"", 12, 46};
    t->answer->n_fields = FIELDS;
    assert_int_equal(cache_lifetime_take_head(t->e, &t->head), 0);
}

static int is_current(site *t, apr_time_t after)
{
    t->loop.wall = NOW + after;
    return cache_lifetime_is_current(&t->cache, t->e);
}

static void it_tells_the_time(void **state)
{
    site *t = *state;

    arm(t);
    assert_true(is_current(t, 0));
    assert_string_equal(t->answer->field[0].value, "3");
    assert_string_equal(t->answer->field[1].value, "1");
    assert_string_equal(t->answer->field[2].value, "far; hit; ttl=7, near; hit; ttl=97; key=\"k\"");
    t->e->head.form[0] = malloc(sizeof *t->e->head.form[0]);
    assert_true(is_current(t, APR_USEC_PER_SEC - 1)); /* the form that was made is right still */
    assert_non_null(t->e->head.form[0]);
    assert_true(is_current(t, APR_USEC_PER_SEC));
    assert_null(t->e->head.form[0]);
    assert_string_equal(t->answer->field[0].value, "4");
    assert_string_equal(t->answer->field[2].value, "far; hit; ttl=7, near; hit; ttl=96; key=\"k\"");
    assert_true(is_current(t, apr_time_from_sec(30)));
    assert_string_equal(t->answer->field[0].value, "33");
    assert_true(is_current(t, apr_time_from_sec(20))); /* the clock was set back */
    assert_string_equal(t->answer->field[0].value, "23");
}

static void it_ends_with_its_time(void **state)
{
    site *t = *state;

    arm(t);
    assert_true(is_current(t, apr_time_from_sec(LIFETIME - 3) - 1));
    assert_string_equal(t->answer->field[2].value, "far; hit; ttl=7, near; hit; ttl=1; key=\"k\"");
    assert_false(is_current(t, apr_time_from_sec(LIFETIME - 3)));
    assert_false(is_current(t, apr_time_from_sec(1000)));
}

static void it_ends_with_the_object(void **state)
{
    site *t = *state;
    const store_key key = key_of(t, "http://a/1");

    arm(t);
    assert_true(is_current(t, 0));
    put(t, "http://a/2", 10, 9);
    store_purge_mark(t->s, 9, 0); /* of another one */
    assert_true(is_current(t, 0));
    put(t, "http://a/1", 100, 7); /* a newer one */
    assert_false(is_current(t, 0));
    cache_lifetime_drop(t->e);
    store_release(&t->view);
    offer(t, "http://a/1", 100);
    arm(t);
    assert_true(is_current(t, 0));
    store_purge_mark(t->s, 7, 1);
    assert_false(is_current(t, 0));
    put(t, "http://a/1", 100, 7);
    cache_lifetime_drop(t->e);
    store_release(&t->view);
    offer(t, "http://a/1", 100);
    arm(t);
    store_purge_mark(t->s, store_mark_of_key(&key), 0);
    assert_false(is_current(t, 0));
    assert_false(is_current(t, apr_time_from_sec(2)));
}

static void of_a_variant_both_places_count(void **state)
{
    site *t = *state;
    const store_key names = key_of(t, "http://a/names");
    store_found found;
    cache_stored one, other;

    put(t, "http://a/names", 0, 9);
    assert_true(store_find(t->r, &names, NOW, &found));
    store_release(&found.view);
    one = t->stored;
    t->stored.place[1] = t->stored.place[0];
    t->stored.place[0] = found.place;
    t->stored.places_n = 2;
    assert_int_equal(cache_lifetime_hash(5, &one), 5);
    assert_int_not_equal(cache_lifetime_hash(5, &t->stored), 5);
    assert_string_not_equal(cache_lifetime_fingerprint(test_pool, &one),
                            cache_lifetime_fingerprint(test_pool, &t->stored));
    other = t->stored;
    other.place[0].value ^= 1ull << 40; /* it was stored anew */
    assert_string_not_equal(cache_lifetime_fingerprint(test_pool, &other),
                            cache_lifetime_fingerprint(test_pool, &t->stored));
    arm(t);
    assert_true(cache_lifetime_is_of(t->e, t->request));
    other = t->stored;
    other.place[1].value ^= 1ull << 40;
    request_offer_of(t->request)->stored = &other;
    assert_false(cache_lifetime_is_of(t->e, t->request));
    request_offer_of(t->request)->stored = NULL; /* a file */
    assert_false(cache_lifetime_is_of(t->e, t->request));
    assert_true(is_current(t, 0));
    put(t, "http://a/names", 0, 9);
    assert_false(is_current(t, 0));
}

static void hits_are_counted(void **state)
{
    site *t = *state;

    arm(t);
    for (int i = 0; i < 20; i++)
        cache_lifetime_used(t->e);
    assert_int_equal(atomic_load(&t->hits), 20);
    assert_int_equal(t->count.cached, 20); /* and by virtual host */
    store_release(&t->view);
    offer(t, "http://a/1", 100);
    assert_int_equal(t->view.hits, 7); /* it counts no further */
    assert_true(is_current(t, 0));
}

static void heads_that_do_not_fit(void **state)
{
    site *t = *state;
    static const struct {
        const char *value;
        int fits;
    } cases[] = {{"near; hit", -1}, {"near; ttl=5", 0}, {"near; ttl=-5", 0}, {"near; ttl=", 0}};
    char longer[400];

    arm(t);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t->answer->field[2].value = cases[i].value;
        assert_int_equal(cache_lifetime_take_head(t->e, &t->head), cases[i].fits);
    }
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    memcpy(longer + sizeof longer - 10, "; ttl=5", 7);
    t->answer->field[2].value = longer;
    assert_int_equal(cache_lifetime_take_head(t->e, &t->head), -1); /* in front of it */
    memcpy(longer, "near; ttl=5", 11);
    memset(longer + sizeof longer - 10, 'x', 7);
    assert_int_equal(cache_lifetime_take_head(t->e, &t->head), -1); /* behind it */
}

static void a_body_is_copied_whole(void **state)
{
    site *t = *state;
    const uint64_t length = 2500000;
    char *body = malloc(length + 1);

    assert_non_null(body);
    put(t, "http://a/long", length, 8);
    store_release(&t->view);
    offer(t, "http://a/long", length);
    assert_int_equal(cache_lifetime_body(&t->stored, body), 0);
    for (uint64_t i = 0; i < length; i++)
        assert_int_equal(body[i], (char)(i * 31 + (i >> 12)));
    t->stored.length = length + 1; /* less is there than the head says */
    assert_int_equal(cache_lifetime_body(&t->stored, body), -1);
    t->stored.length = 0;
    assert_int_equal(cache_lifetime_body(&t->stored, body), 0);
    free(body);
}

static void wishes_of_requests_are_not_met(void **state)
{
    site *t = *state;
    static const char *const names[] = {"Cache-Control", "Pragma", "Authorization"};
    const cache_asked asked = {.r = t->request};

    assert_true(cache_vary_plain_matches(&asked));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        apr_table_setn(t->request->headers_in, names[i], "x");
        assert_false(cache_vary_plain_matches(&asked));
        apr_table_unset(t->request->headers_in, names[i]);
    }
    assert_true(cache_vary_plain_matches(&asked));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(it_tells_the_time),       T(it_ends_with_its_time),
        T(it_ends_with_the_object), T(of_a_variant_both_places_count),
        T(hits_are_counted),        T(heads_that_do_not_fit),
        T(a_body_is_copied_whole),  T(wishes_of_requests_are_not_met)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
