/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 connections over a transport in memory: what a client gets, in which order, and that nothing passes a window.
 * The client (test_h2_peer.h) checks every frame. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdatomic.h>
#include "test_h2_site.h"

#define PATIENCE 100000 /* turns without anything while a worker has a http_stream */
#define SEEDS 300       /* BRIGADE_SEEDS: more */

static peer *client;
static int client_fd;

static int arrive(void **state)
{
    client = peer_new();
    peer_begin(client);
    client_fd = site_connect(client);
    return 0;
}

static int leave(void **state)
{
    site_leave(client);
    close(client_fd);
    peer_free(client);
    return 0;
}

static void ask(uint32_t id, const char *path, const char *priority)
{
    peer_request(client, id, "GET", path, priority, NULL, 1);
}

/* The stream has a whole response. */
static void check_whole(uint32_t id, int status, uint64_t bytes)
{
    const peer_stream *s = peer_stream_of(client, id);

    assert_int_equal(s->status, status);
    assert_int_equal(s->got, bytes);
    assert_true(s->ended);
    assert_false(s->reset);
}

/* ---- one after the other ---- */

/* Through the phases at first, then from memory. */
static void test_a_file(void **state)
{
    for (uint32_t id = 1; id < 20; id += 2) {
        ask(id, "/a", NULL);
        site_settle(PATIENCE);
        check_whole(id, 200, 6);
    }
    assert_int_equal(site_session()->streams.n, 0);
}

/* More bodies at once than go into one write, each in a piece of its own. */
static void test_many_files(void **state)
{
    peer_setting(client, H2_SET_INITIAL_WINDOW_SIZE, 0);
    for (uint32_t id = 1; id < 180; id += 2)
        ask(id, "/a", NULL);
    site_settle(PATIENCE);
    peer_setting(client, H2_SET_INITIAL_WINDOW_SIZE, 6);
    site_settle(PATIENCE);
    for (uint32_t id = 1; id < 180; id += 2)
        check_whole(id, 200, 6);
}

static void test_by_a_worker(void **state)
{
    peer_number(client, H2_WINDOW_UPDATE, 0, 1 << 20);
    peer_setting(client, H2_SET_INITIAL_WINDOW_SIZE, 1 << 20);
    ask(1, "/write", NULL);
    ask(3, "/hints", NULL);
    ask(5, "/none", NULL);
    peer_request(client, 7, "HEAD", "/write", NULL, NULL, 1);
    site_settle(PATIENCE);
    check_whole(1, 200, SITE_BODY);
    check_whole(3, 200, 5);
    assert_int_equal(peer_stream_of(client, 5)->status, 404);
    check_whole(7, 200, 0);
}

/* Modules are told which stream has their request. */
static void test_the_number_of_a_stream(void **state)
{
    for (uint32_t id = 7; id < 13; id += 2) {
        ask(id, "/stream", NULL);
        site_settle(PATIENCE);
        check_whole(id, 200, id < 10 ? 1 : 2);
    }
}

static void test_a_response_that_breaks_off(void **state)
{
    ask(1, "/breaks", NULL);
    site_settle(PATIENCE);
    assert_true(client->stream[0].reset);
    assert_false(client->stream[0].ended);
    assert_int_equal(client->goaways, 0);
}

/* ---- bodies ---- */

static void send_body(uint32_t id, const char *path, uint32_t size, uint32_t piece)
{
    static const char bytes[H2_FRAME_MAX];
    char length[16];

    snprintf(length, sizeof length, "%u", size);
    peer_request(client, id, "POST", path, NULL, id % 4 == 1 ? length : NULL, 0);
    for (uint32_t at = 0, n; at < size; at += n) {
        n = size - at < piece ? size - at : piece;
        peer_frame(client, H2_DATA, at + n == size ? H2_END_STREAM : 0, id, bytes, n);
    }
    if (!size)
        peer_frame(client, H2_DATA, H2_END_STREAM, id, NULL, 0);
}

/* What is read, and what nobody reads, all is given back to the connection's window. */
static void test_windows_of_bodies(void **state)
{
    static const char *const paths[] = {"/echo", "/read", "/a", "/none", "/breaks", "/write"};
    uint32_t id = 1;

    for (int i = 0; i < 60; i++, id += 2) {
        send_body(id, paths[i % 6], (uint32_t)i * 317, 1000);
        peer_number(client, H2_WINDOW_UPDATE, 0, 1 << 18);
        peer_number(client, H2_WINDOW_UPDATE, id, 1 << 18);
        site_settle(PATIENCE);
        assert_int_equal(client->goaways, 0);
        assert_int_equal(site_session()->streams.n, 0);
        site_check_window();
    }
}

/* A client that breaks the rules of one stream loses no window of the connection. */
static void test_windows_of_bad_bodies(void **state)
{
    static const uint8_t padded[300] = {200};
    const peer_stream *s = client->stream;

    peer_request(client, 1, "POST", "/echo", NULL, "10", 0);
    peer_frame(client, H2_DATA, 0, 1, padded, sizeof padded); /* more than Content-Length */
    peer_request(client, 3, "POST", "/echo", NULL, "1000", 0);
    peer_frame(client, H2_DATA, H2_PADDED | H2_END_STREAM, 3, padded, sizeof padded); /* less */
    peer_request(client, 5, "POST", "/echo", NULL, NULL, 0);
    peer_frame(client, H2_DATA, H2_PADDED, 5, padded, sizeof padded);
    peer_number(client, H2_RST_STREAM, 5, H2_CANCEL);
    peer_frame(client, H2_DATA, 0, 5, padded, sizeof padded); /* too late */
    site_settle(PATIENCE);
    assert_true(s[0].reset && s[1].reset);
    assert_int_equal(client->goaways, 0);
    assert_int_equal(site_session()->streams.n, 0);
    site_check_window();
}

/* ---- order ---- */

/* Responses from memory that wait for the connection's window. */
static void ask_many(const char *const *priorities, int n)
{
    static const char *const fill[] = {"/b", "/b", "/b"};

    peer_number(client, H2_WINDOW_UPDATE, 0, 1 << 20);
    for (uint32_t i = 0; i < 3; i++) { /* into memory */
        ask(1 + 2 * i, fill[i], NULL);
        site_settle(PATIENCE);
        check_whole(1 + 2 * i, 200, 40000);
    }
    peer_setting(client, H2_SET_INITIAL_WINDOW_SIZE, 0);
    for (int i = 0; i < n; i++)
        ask(7 + 2 * (uint32_t)i, "/b", priorities[i]);
    site_settle(PATIENCE);
    client->data_n = 0;
}

/* The streams whose data came, without repeats in a row, from 0 on. */
static const char *order(void)
{
    static char text[65];
    size_t n = 0;

    for (unsigned i = 0; i < client->data_n; i++) {
        const char c = (char)('0' + (client->data_order[i] - 7) / 2);

        if (!n || text[n - 1] != c)
            text[n++] = c;
    }
    text[n] = '\0';
    return text;
}

static void test_urgency(void **state)
{
    static const char *const priorities[] = {"u=5", NULL, "u=0", "u=7", "u=1", "u=3, i=?0"};

    ask_many(priorities, 6);
    peer_setting(client, H2_SET_INITIAL_WINDOW_SIZE, 1 << 20);
    site_settle(PATIENCE);
    assert_string_equal(order(), "241503");
}

static void test_incremental(void **state)
{
    static const char *const priorities[] = {"i", "u=2", "i", "u=4, i", "u=4, i=?1", "i"};

    ask_many(priorities, 6);
    peer_setting(client, H2_SET_INITIAL_WINDOW_SIZE, 1 << 20);
    site_settle(PATIENCE);
    assert_string_equal(order(), "1025025025343434");
}

static void test_priority_update(void **state)
{
    static const char *const priorities[] = {NULL, NULL, NULL};
    static const char update[] = "\0\0\0\x0bu=0";

    ask_many(priorities, 3);
    peer_frame(client, H2_PRIORITY_UPDATE, 0, 0, update, 7);
    peer_setting(client, H2_SET_INITIAL_WINDOW_SIZE, 1 << 20);
    site_settle(PATIENCE);
    assert_string_equal(order(), "201");
}

/* An update says all: what it leaves out is as if the client had said nothing. */
static void test_priority_update_is_whole(void **state)
{
    static const char *const priorities[] = {"u=0", "u=2;x=1", "u=5"};
    static const char update[] = "\0\0\0\x07i;x";

    ask_many(priorities, 3);
    peer_frame(client, H2_PRIORITY_UPDATE, 0, 0, update, 7);
    peer_setting(client, H2_SET_INITIAL_WINDOW_SIZE, 1 << 20);
    site_settle(PATIENCE);
    assert_string_equal(order(), "102");
}

static void test_priority_update_of_no_stream(void **state)
{
    peer_frame(client, H2_PRIORITY_UPDATE, 0, 0, "\0\0\0\0u=1", 7);
    site_settle(PATIENCE);
    assert_int_equal(client->goaways, 1);
}

/* A stream whose own window is closed does not hold up less urgent ones. */
static void test_closed_window(void **state)
{
    static const char *const priorities[] = {"u=0", "u=6", NULL};

    ask_many(priorities, 3);
    peer_number(client, H2_WINDOW_UPDATE, 9, 40000);
    site_settle(PATIENCE);
    assert_string_equal(order(), "1");
    peer_number(client, H2_WINDOW_UPDATE, 11, 20000);
    site_settle(PATIENCE);
    assert_string_equal(order(), "12");
}

/* That of the connection, which several responses fill. */
static void test_window_of_the_connection(void **state)
{
    ask(1, "/b", NULL);
    ask(3, "/b", NULL);
    ask(5, "/write", NULL);
    site_settle(PATIENCE);
    assert_int_equal(client->got, H2_WINDOW_DEFAULT);
    peer_number(client, H2_WINDOW_UPDATE, 0, 1 << 18);
    peer_number(client, H2_WINDOW_UPDATE, 5, 1 << 18);
    site_settle(PATIENCE);
    check_whole(1, 200, 40000);
    check_whole(3, 200, 40000);
    check_whole(5, 200, SITE_BODY);
}

/* A client that takes nothing has as long as Timeout says, whatever frames it sends. */
static void test_frames_are_no_progress(void **state)
{
    static const char *const priorities[] = {NULL};
    apr_time_t progress;

    ask_many(priorities, 1);
    progress = site_session()->streams.progress;
    for (int i = 0; i < 3; i++) {
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        peer_frame(client, H2_PING, 0, 0, "12345678", 8);
        site_settle(PATIENCE);
    }
    assert_int_equal(site_session()->streams.progress, progress);
    assert_int_equal(site_conn->timer.due, progress + ap_server_conf->timeout);
    peer_number(client, H2_WINDOW_UPDATE, 7, 1000);
    site_settle(PATIENCE);
    assert_true(site_session()->streams.progress > progress);
}

/* ---- at random ---- */

static uint32_t rng;

static uint32_t any(uint32_t below)
{
    rng ^= rng << 13;
    rng ^= rng >> 17;
    rng ^= rng << 5;
    return rng % below;
}

static const struct {
    const char *path;
    uint64_t bytes;
} pages[] = {{"/a", 6}, {"/b", 40000}, {"/c", 300000}, {"/write", SITE_BODY}, {"/hints", 5}};

typedef struct asked {
    uint64_t bytes;
    int gone; /* the client reset it */
} asked;

static asked story[PEER_STREAMS];
static uint32_t next_id;

static void random_request(void)
{
    static char priority[16];
    const uint32_t page = any(5);

    if (site_session()->streams.n >= 90 || next_id >= 2 * 90)
        return;
    snprintf(priority, sizeof priority, "u=%u%s", (unsigned)any(8), any(2) ? ", i" : "");
    story[next_id / 2] = (asked){.bytes = pages[page].bytes};
    ask(next_id, pages[page].path, any(3) ? priority : NULL);
    next_id += 2;
}

static void random_step(void)
{
    const uint32_t id = next_id > 1 ? 2 * any(next_id / 2) + 1 : 0;

    switch (any(10)) {
    case 0:
    case 1:
    case 2:
        random_request();
        break;
    case 3:
        peer_number(client, H2_WINDOW_UPDATE, 0, 1 + any(100000));
        break;
    case 4:
        if (id)
            peer_number(client, H2_WINDOW_UPDATE, id, 1 + any(100000));
        break;
    case 5:
        peer_setting(client, H2_SET_INITIAL_WINDOW_SIZE, any(3) ? any(100000) : 0);
        break;
    case 6:
        client->room = any(2) ? SIZE_MAX : any(30000);
        break;
    case 7:
        client->limit = any(2) ? SIZE_MAX : any(40);
        break;
    case 8:
        if (id && !any(3)) {
            story[id / 2].gone = 1;
            peer_number(client, H2_RST_STREAM, id, H2_CANCEL);
        }
        break;
    default:
        site_event();
    }
}

/* Whatever happened on the way: with room for all of it, each response is completed. */
static void random_finish(uint32_t seed)
{
    client->room = client->limit = SIZE_MAX;
    peer_setting(client, H2_SET_INITIAL_WINDOW_SIZE, 1 << 20);
    site_settle(PATIENCE);
    peer_number(client, H2_WINDOW_UPDATE, 0, 1 << 30);
    site_settle(PATIENCE);
    for (uint32_t id = 1; id < next_id; id += 2) {
        const peer_stream *s = peer_stream_of(client, id);

        if (story[id / 2].gone || (s->ended && s->got == story[id / 2].bytes && !s->reset))
            continue;
        fail_msg("seed %u: stream %u: status %d, %llu of %llu bytes%s", seed, id, s->status,
                 (unsigned long long)s->got, (unsigned long long)story[id / 2].bytes,
                 s->reset ? ", reset" : "");
    }
    assert_int_equal(client->goaways, 0);
    assert_int_equal(site_session()->streams.n, 0);
    site_check_window();
}

static void test_at_random(void **state)
{
    const char *more = getenv("BRIGADE_SEEDS");
    const uint32_t seeds = more ? (uint32_t)atoi(more) : SEEDS;

    for (uint32_t seed = 1; seed <= seeds; seed++) {
        const uint32_t steps = 20 + seed % 100;

        rng = seed * 2654435761u | 1;
        next_id = 1;
        memset(story, 0, sizeof story);
        arrive(state);
        for (uint32_t i = 0; i < steps && site_conn; i++)
            random_step();
        random_finish(seed);
        leave(state);
    }
}

/* ---- no memory ---- */

/* The linker gives this program's calls to these. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

static atomic_ulong allocations;
static unsigned long fail_at; /* from 1 on; 0: none fails */

/* Pools have rules of their own (out_of_memory.c): what calls has to lie beside a function of HTTP/2, or of the loop. */
static int is_ours(const void *caller)
{
    const void *const beside[] = {
        stream_answer_take, stream_answer_end, h2_block_take,      h2_fail,      h2_take_block,
        stream_head_fill,   h2_input,          h2_limit_cheap,     h2_output,    h2_ctl,
        stream_pipe_begin,  stream_pipe_body,  stream_open,        hpack_decode, hpack_table_add,
        gather_flush,       pending_flush,     loop_stream,        conn_fill,    loop_in_get,
        stream_file_read,   stream_chunk_new,  stream_parts_encode};

    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        if ((uintptr_t)caller - (uintptr_t)beside[i] + 2048 < 4096)
            return 1;
    return 0;
}

static int refused(const void *caller)
{
    return fail_at && is_ours(caller) && atomic_fetch_add(&allocations, 1) + 1 == fail_at;
}

void *__wrap_malloc(size_t size)
{
    return refused(__builtin_return_address(0)) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refused(__builtin_return_address(0)) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return refused(__builtin_return_address(0)) ? NULL : __real_realloc(p, size);
}

/* A request in pieces, with a field for the table. */
static void ask_in_pieces(uint32_t id)
{
    static const uint8_t block[] = "\x82\x86\x84\x41\x09localhost\x40\x04x-in\x05table";

    peer_frame(client, H2_HEADERS, H2_END_STREAM, id, block, 10);
    peer_frame(client, H2_CONTINUATION, H2_END_HEADERS, id, block + 10, sizeof block - 11);
}

/* Streams that send a file which the cache keeps open. */
static unsigned files_open(void)
{
    const h2_session *h = site_conn ? site_session() : NULL;
    unsigned n = 0;

    for (int i = 0; h && i < STREAM_BUCKETS; i++)
        for (const http_stream *s = h->streams.bucket[i]; s; s = s->next)
            n += s->owner && !s->now.data;
    return n;
}

static unsigned files_read;

/* Something of everything. */
static void visit_all(void)
{
    peer_setting(client, H2_SET_INITIAL_WINDOW_SIZE, 1000);
    ask(1, "/b", "u=1");
    ask(3, "/write", NULL);
    site_settle(20);
    send_body(5, "/read", 3000, 700);
    send_body(7, "/read", 3000, 700);
    ask(9, "/hints", NULL);
    ask_in_pieces(11);
    site_settle(20);
    client->room = 100;
    for (uint32_t id = 13; id < 40; id += 2)
        ask(id, id % 4 == 1 ? "/a" : "/b", "i");
    site_settle(20);
    client->room = SIZE_MAX;
    peer_number(client, H2_RST_STREAM, 3, H2_CANCEL);
    peer_setting(client, H2_SET_INITIAL_WINDOW_SIZE, 1 << 20);
    site_settle(20);
    for (uint32_t id = 41; id < 49; id += 2) { /* a file that is kept open, in the end */
        ask(id, "/c", NULL);
        site_settle(20);
        files_read += files_open();
    }
}

/* Each allocation fails once: the stream or the connection ends, and nothing else. */
static void test_no_memory(void **state)
{
    unsigned long most = 0;

    for (fail_at = 0; fail_at <= most; fail_at++) {
        atomic_store(&allocations, 0);
        if (!fail_at) { /* how many there are */
            fail_at = ~0ul;
            arrive(state);
            visit_all();
            most = atomic_load(&allocations);
            fail_at = 0;
        } else {
            arrive(state);
            visit_all();
        }
        leave(state);
    }
    fail_at = 0;
    assert_in_range(most, 20, 200);
    assert_true(files_read > most);
    arrive(state);
    test_by_a_worker(state);
    leave(state);
}

static int group_setup(void **state)
{
    site_open(
        "MaxKeepAliveRequests 0\nH2EarlyHints on\nH2MaxStreamErrors 50\nFileCacheMaxFile 100000\n");
    site_begin();
    return 0;
}

static int group_teardown(void **state)
{
    site_finish();
    return test_server_down(state);
}

#define VISIT(test) cmocka_unit_test_setup_teardown(test, arrive, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        VISIT(test_a_file),
        VISIT(test_many_files),
        VISIT(test_by_a_worker),
        VISIT(test_the_number_of_a_stream),
        VISIT(test_a_response_that_breaks_off),
        VISIT(test_windows_of_bodies),
        VISIT(test_windows_of_bad_bodies),
        VISIT(test_urgency),
        VISIT(test_incremental),
        VISIT(test_priority_update),
        VISIT(test_priority_update_is_whole),
        VISIT(test_priority_update_of_no_stream),
        VISIT(test_closed_window),
        VISIT(test_window_of_the_connection),
        VISIT(test_frames_are_no_progress),
        cmocka_unit_test(test_at_random),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
