/* SPDX-License-Identifier: Apache-2.0 */
/* Gathered answers on a socket that takes a little at a time: what the peer reads must be what was
 * put in, in order, and nothing may stay held. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "gather.h"
#include "file_cached.h"
#include "loop.h"
#include "cache_private.h"
#include "scores.h"
#include "apr_general.h"
#include "http_log.h"
#include "transport.h"

#define EXPECTED_MOST (8 << 20)

typedef struct bench {
    brg_loop loop;
    brg_conn bc;
    response_cache cache;
    cache_entry *entry[4];
    int peer;
    char *expected, *got;
    size_t expected_n, got_n;
} bench;

static void bench_expect(bench *b, const char *data, size_t len)
{
    assert_true(b->expected_n + len <= EXPECTED_MOST);
    memcpy(b->expected + b->expected_n, data, len);
    b->expected_n += len;
}

static int bench_read(bench *b, size_t most)
{
    ssize_t n = recv(b->peer, b->got + b->got_n, most, MSG_DONTWAIT);

    if (n > 0)
        b->got_n += (size_t)n;
    return n > 0;
}

static void bench_drain(bench *b)
{
    while (bench_read(b, 1 << 16) || pending_flush(&b->bc) == APR_EAGAIN)
        ;
    while (bench_read(b, 1 << 16))
        ;
    assert_null(b->bc.pending);
    assert_int_equal(b->got_n, b->expected_n);
    assert_memory_equal(b->got, b->expected, b->expected_n);
}

static cache_entry *bench_entry(bench *b, size_t len, int i)
{
    char uri[16];
    uint64_t hash;
    cache_entry *e;

    snprintf(uri, sizeof uri, "/%d", i);
    assert_null(cache_find(&b->cache, &(cache_place){0}, "h", 1, uri, strlen(uri), NULL, &hash));
    e = cache_add(&b->cache, &(cache_place){0}, "h", 1, uri, strlen(uri), hash, CACHE_ANSWERS);
    assert_non_null(e);
    e->body = cache_body_create(malloc(len), len);
    assert_non_null(e->body);
    cache_body_use(&b->cache, e->body);
    for (size_t k = 0; k < len; k++)
        e->body->data[k] = (char)rand();
    return e;
}

static int bench_setup(void **state)
{
    static const size_t sizes[] = {1, 100, 10240, 700000};
    static _Alignas(LOOP_SCORE_LINE) struct loop_score score;
    static loop_figures figures;
    static server_rec server;
    bench *b = calloc(1, sizeof *b);
    int pair[2], small = 4096;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return -1;
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    b->loop.score = &score;
    b->loop.figures = &figures;
    server.log.level = APLOG_EMERG; /* what is tested is not logged */
    b->loop.server = &server;
    b->bc.loop = &b->loop;
    b->bc.fd = pair[0];
    b->peer = pair[1];
    b->cache.buckets_n = 16;
    b->cache.bucket = calloc(16, sizeof *b->cache.bucket);
    b->expected = malloc(EXPECTED_MOST);
    b->got = malloc(EXPECTED_MOST);
    for (int i = 0; i < 4; i++)
        b->entry[i] = bench_entry(b, sizes[i], i);
    *state = b;
    return 0;
}

static int bench_teardown(void **state)
{
    bench *b = *state;

    for (int i = 0; i < 4; i++) {
        assert_int_equal(b->entry[i]->ref.n, 1); /* the cache's own: no answer holds it any more */
        cache_forget(&b->cache, b->entry[i]);
    }
    assert_int_equal(b->cache.entries_n, 0);
    assert_int_equal(b->loop.output_memory, 0);
    free(b->cache.bucket);
    close(b->bc.fd);
    close(b->peer);
    free(b->expected);
    free(b->got);
    free(b);
    return 0;
}

static void bench_answer(bench *b, gather *g, int number)
{
    cache_entry *e = b->entry[rand() % 4];
    size_t len;

    if (!gather_has_room(g))
        gather_flush(g, &b->bc, 0);
    len = (size_t)snprintf(gather_head(g), GATHER_HEAD_MAX, "head %d of %ld bytes\n", number,
                           (long)cache_body_len(e));
    bench_expect(b, gather_head(g), len);
    gather_add_head(g, len);
    if (rand() % 4 == 0)
        return; /* as for HEAD */
    gather_add_body(g, e->body->data, (size_t)cache_body_len(e), &e->ref);
    bench_expect(b, e->body->data, (size_t)cache_body_len(e));
}

static void test_random_answers(void **state)
{
    static gather g;
    bench *b = *state;

    srand(7);
    for (int round = 0; round < 200 && b->expected_n < EXPECTED_MOST - 6000000; round++) {
        for (int n = rand() % 6; n >= 0; n--)
            bench_answer(b, &g, round);
        gather_flush(&g, &b->bc, 0);
        assert_int_equal(g.iov_n, 0);
        assert_false(b->bc.failed);
        bench_read(b, (size_t)(1 + rand() % 5000));
        if (rand() % 2)
            pending_flush(&b->bc);
        if (rand() % 8 == 0)
            bench_drain(b);
    }
    bench_drain(b);
}

static void test_many_without_bodies_share_a_vector(void **state)
{
    static gather g;
    bench *b = *state;

    for (int i = 0; i < 100; i++) {
        memcpy(gather_head(&g), "0123456789", 10);
        gather_add_head(&g, 10);
        bench_expect(b, "0123456789", 10);
    }
    assert_int_equal(g.iov_n, 1);
    gather_flush(&g, &b->bc, 0);
    bench_drain(b);
}

static void test_file_after_a_head(void **state)
{
    static gather g;
    char path[] = "/tmp/brigade-gather-XXXXXX";
    bench *b = *state;
    cache_entry *e = b->entry[3];
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, e->body->data, (size_t)cache_body_len(e)), cache_body_len(e));
    memcpy(gather_head(&g), "head", 4);
    gather_add_head(&g, 4);
    bench_expect(b, "head", 4);
    gather_flush(&g, &b->bc, 1);
    gather_send_file(&b->bc, &e->ref, NULL, fd, 10, cache_body_len(e) - 10, FILE_BY_SENDFILE);
    bench_expect(b, e->body->data + 10, (size_t)cache_body_len(e) - 10);
    bench_drain(b);
    close(fd);
}

/* ---- memory that is sent without a copy ---- */

static memory_piece bench_piece(bench *b, memory_file *file)
{
    const cache_entry *e = b->entry[3];
    memory_piece piece;

    assert_int_equal(memory_piece_take(file, (size_t)cache_body_len(e), &piece), 0);
    memcpy(piece.data, e->body->data, (size_t)cache_body_len(e));
    return piece;
}

static void send_piece(bench *b, memory_piece piece, apr_off_t off)
{
    static gather g;
    cache_entry *e = b->entry[3];
    const size_t len = (size_t)(cache_body_len(e) - off);

    for (int i = 0; i < 2; i++) {
        memcpy(gather_head(&g), "head", 4);
        gather_add_head(&g, 4);
        bench_expect(b, "head", 4);
        gather_send_piece(&g, &b->bc, &piece, off, len, &e->ref);
        bench_expect(b, e->body->data + off, len);
    }
    memcpy(gather_head(&g), "end", 3);
    gather_add_head(&g, 3);
    bench_expect(b, "end", 3);
    gather_flush(&g, &b->bc, 0);
    bench_drain(b);
    assert_false(b->bc.failed);
}

static void test_piece_of_memory(void **state)
{
    memory_file *file = memory_file_create();
    memory_piece piece = bench_piece(*state, file);

    send_piece(*state, piece, 12345);
    memory_piece_give(&piece);
    memory_file_release(file);
}

static void test_piece_that_sendfile_does_not_send(void **state)
{
    memory_file *file = memory_file_create();
    memory_piece piece = bench_piece(*state, file), elsewhere = piece;

    elsewhere.off += 1 << 30; /* behind the end of the file */
    send_piece(*state, elsewhere, 0);
    memory_piece_give(&piece);
    memory_file_release(file);
}

/* ---- where sendfile cannot send ---- */

static ssize_t plain_sendv(brg_conn *bc, const struct iovec *iov, int n, int more)
{
    return writev(bc->fd, iov, n);
}

static int sendfile_calls;

static ssize_t no_sendfile(brg_conn *bc, int fd, off_t *off, size_t len)
{
    sendfile_calls++;
    errno = EINVAL;
    return -1;
}

static void send_file_over(bench *b, const struct conn_transport *transport)
{
    char path[] = "/tmp/brigade-gather-XXXXXX";
    const cache_entry *e = b->entry[3];
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, e->body->data, (size_t)cache_body_len(e)), cache_body_len(e));
    b->bc.transport = transport;
    sendfile_calls = 0;
    gather_send_file(&b->bc, &b->entry[3]->ref, NULL, fd, 10, cache_body_len(e) - 10,
                     FILE_BY_SENDFILE);
    bench_expect(b, e->body->data + 10, (size_t)cache_body_len(e) - 10);
    bench_drain(b);
    assert_false(b->bc.failed);
    close(fd);
}

static void test_file_that_sendfile_refuses(void **state)
{
    static const struct conn_transport refuses = {
        .name = "refuses", .sendv = plain_sendv, .sendfile = no_sendfile};

    send_file_over(*state, &refuses);
    assert_int_equal(sendfile_calls, 1); /* it is not tried again */
}

static void test_file_over_a_transport_without_sendfile(void **state)
{
    static const struct conn_transport without = {.name = "without", .sendv = plain_sendv};

    send_file_over(*state, &without);
    assert_int_equal(sendfile_calls, 0);
}

/* ---- where the disk has to be asked ---- */

/* As the loop and a worker send it: the loop what is in memory, the worker reads what is not. */
static int drain_with_disk(bench *b)
{
    int asked = 0;

    for (;;) {
        apr_status_t rv = pending_flush(&b->bc);

        if (rv == APR_EAGAIN && b->bc.cold) {
            pending_read_disk(&b->bc);
            asked++;
        } else if (rv != APR_EAGAIN) {
            break;
        }
        while (bench_read(b, 1 << 16))
            ;
    }
    return asked;
}

static int pages_there(const char *map, size_t len)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (len + page - 1) / page;
    unsigned char *there = calloc(n, 1);
    int found = 0;

    assert_int_equal(mincore((void *)(uintptr_t)map, len, there), 0);
    for (size_t i = 0; i < n; i++)
        found |= there[i] & 1;
    free(there);
    return found;
}

/* Nothing of a file is in memory, or on its way there: looking at it begins to read it. Other processors may hold pages for
 * a moment. @return 1; 0: a file system in memory */
static int make_cold(int fd, size_t len)
{
    char *map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0), *all = malloc(len);
    int tries = 0;

    assert_true(map != MAP_FAILED && all);
    do {
        assert_int_equal(pread(fd, all, len, 0), len);
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    } while (pages_there(map, len) && ++tries < 1000);
    free(all);
    munmap(map, len);
    return tries < 1000;
}

/* @return how often a worker had to read; -1: a file system in memory */
static int send_cold_file_once(bench *b, int fd)
{
    int asked = 0;

    if (!make_cold(fd, b->expected_n))
        return -1;
    gather_send_file(&b->bc, &b->entry[3]->ref, NULL, fd, 0, (apr_off_t)b->expected_n,
                     FILE_BY_SENDFILE);
    if (b->bc.pending && b->bc.cold) {
        (void)make_cold(fd, b->expected_n); /* that began to read */
        asked = drain_with_disk(b);
    }
    bench_drain(b);
    assert_false(b->bc.failed);
    b->got_n = 0;
    return asked;
}

static void send_cold_file(bench *b, const struct conn_transport *transport)
{
    char path[] = "/var/tmp/brigade-gather-XXXXXX";
    const cache_entry *e = b->entry[3];
    int fd = mkstemp(path), asked = 0;

    assert_true(fd >= 0);
    unlink(path);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(write(fd, e->body->data, (size_t)cache_body_len(e)), cache_body_len(e));
        bench_expect(b, e->body->data, (size_t)cache_body_len(e));
    }
    b->bc.transport = transport;
    fsync(fd);
    for (int tries = 0; tries < 100 && !asked; tries++) /* a disk may be as fast as we are */
        asked = send_cold_file_once(b, fd);
    close(fd);
    if (asked < 0)
        skip();
    assert_true(asked > 0);
}

static void test_cold_file_by_sendfile(void **state)
{
    send_cold_file(*state, NULL);
}

static void test_cold_file_by_reads(void **state)
{
    static const struct conn_transport without = {.name = "without", .sendv = plain_sendv};

    send_cold_file(*state, &without);
}

/* ---- out of memory ---- */

#ifndef __SANITIZE_ADDRESS__
extern void *__libc_malloc(size_t size);
static int malloc_fails_at; /* 0: never */

void *malloc(size_t size)
{
    if (malloc_fails_at && --malloc_fails_at == 0)
        return NULL;
    return __libc_malloc(size);
}

/* The n-th part that has to wait is lost: nothing behind it may be sent. */
static void test_no_memory_for_a_part(void **state)
{
    static gather g;
    bench *b = *state;

    for (int n = 1; n <= 4; n++) {
        size_t sent = b->got_n;

        for (int i = 0; i < 3; i++)
            bench_answer(b, &g, i);
        gather_add_body(&g, b->entry[3]->body->data, (size_t)cache_body_len(b->entry[3]),
                        &b->entry[3]->ref);
        memcpy(gather_head(&g), "last", 4);
        gather_add_head(&g, 4);
        bench_expect(b, b->entry[3]->body->data, (size_t)cache_body_len(b->entry[3]));
        malloc_fails_at = n;
        gather_flush(&g, &b->bc, 0);
        if (!malloc_fails_at) {
            assert_true(b->bc.failed);
            assert_null(b->bc.pending);
            assert_int_equal(pending_flush(&b->bc), APR_ECONNABORTED);
        }
        malloc_fails_at = 0;
        pending_drop(&b->bc);
        while (bench_read(b, 1 << 16))
            ;
        assert_memory_equal(b->got + sent, b->expected + sent, b->got_n - sent);
        b->expected_n = b->got_n; /* the next one begins anew */
        b->bc.failed = 0;
    }
}
#endif

static void test_file_cut_short(void **state)
{
    char path[] = "/tmp/brigade-gather-XXXXXX";
    bench *b = *state;
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, "abc", 3), 3);
    gather_send_file(&b->bc, &b->entry[0]->ref, NULL, fd, 0, 100, FILE_BY_SENDFILE);
    assert_true(b->bc.failed);
    assert_null(b->bc.pending);
    close(fd);
}

static void test_dropped_output_is_let_go(void **state)
{
    static gather g;
    bench *b = *state;

    memcpy(gather_head(&g), "head", 4);
    gather_add_head(&g, 4);
    gather_add_body(&g, b->entry[3]->body->data, (size_t)cache_body_len(b->entry[3]),
                    &b->entry[3]->ref);
    gather_flush(&g, &b->bc, 0);
    assert_non_null(b->bc.pending);
    assert_int_equal(b->entry[3]->ref.n, 2);
    pending_drop(&b->bc);
    assert_null(b->bc.pending);
}

static void test_peer_gone(void **state)
{
    static gather g;
    bench *b = *state;

    close(b->peer);
    b->peer = -1;
    signal(SIGPIPE, SIG_IGN);
    memcpy(gather_head(&g), "head", 4);
    gather_add_head(&g, 4);
    gather_flush(&g, &b->bc, 0);
    assert_true(b->bc.failed);
    assert_null(b->bc.pending);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random_answers, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(test_many_without_bodies_share_a_vector, bench_setup,
                                        bench_teardown),
        cmocka_unit_test_setup_teardown(test_file_after_a_head, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(test_piece_of_memory, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(test_piece_that_sendfile_does_not_send, bench_setup,
                                        bench_teardown),
        cmocka_unit_test_setup_teardown(test_file_that_sendfile_refuses, bench_setup,
                                        bench_teardown),
        cmocka_unit_test_setup_teardown(test_file_over_a_transport_without_sendfile, bench_setup,
                                        bench_teardown),
#ifndef __SANITIZE_ADDRESS__
        cmocka_unit_test_setup_teardown(test_no_memory_for_a_part, bench_setup, bench_teardown),
#endif
        cmocka_unit_test_setup_teardown(test_cold_file_by_sendfile, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(test_cold_file_by_reads, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(test_file_cut_short, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(test_dropped_output_is_let_go, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(test_peer_gone, bench_setup, bench_teardown),
    };

    apr_initialize(); /* the log has pools of its own */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
