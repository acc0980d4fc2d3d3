/* SPDX-License-Identifier: Apache-2.0 */
/* Large files from windows that are mapped: byte for byte from odd offsets, cut short, and where nothing can be
 * mapped. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "apr_general.h"
#include "gather.h"
#include "http_log.h"
#include "loop.h"
#include "scores.h"
#include "transport.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILE_LEN (FILE_WINDOW_LEAST + FILE_WINDOW_BYTES + 12345)

typedef struct window_bench {
    brg_loop loop;
    brg_conn bc;
    shared_ref ref;
    int peer, fd;
    char *data, *got;
    size_t got_n;
} window_bench;

#ifndef __SANITIZE_ADDRESS__
static int maps, maps_fail, unmaps;

/* The one that the server calls. */
void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
    if (fd >= 0 && (flags & MAP_SHARED)) {
        maps++;
        if (maps_fail) {
            errno = ENODEV;
            return MAP_FAILED;
        }
    }
    return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
}

int munmap(void *addr, size_t len)
{
    unmaps++;
    return (int)syscall(SYS_munmap, addr, len);
}
#endif

static void window_kept(shared_ref *ref)
{
}

static int window_setup(void **state)
{
    static _Alignas(LOOP_SCORE_LINE) struct loop_score score;
    static loop_figures figures;
    static server_rec server;
    window_bench *b = calloc(1, sizeof *b);
    char path[] = "/tmp/brigade-window-XXXXXX";
    int pair[2];

    if (!b || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || (b->fd = mkstemp(path)) < 0)
        return -1;
    unlink(path);
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    server.log.level = APLOG_EMERG; /* what is tested is not logged */
    b->loop.score = &score;
    b->loop.figures = &figures;
    b->loop.server = &server;
    b->bc.loop = &b->loop;
    b->bc.fd = pair[0];
    b->peer = pair[1];
    b->ref = (shared_ref){1, window_kept};
    b->data = malloc(FILE_LEN);
    b->got = malloc(FILE_LEN);
    for (size_t i = 0; i < FILE_LEN; i++)
        b->data[i] = (char)(i * 2654435761u >> 13);
#ifndef __SANITIZE_ADDRESS__
    maps = maps_fail = unmaps = 0;
#endif
    *state = b;
    return write(b->fd, b->data, FILE_LEN) == FILE_LEN ? 0 : -1;
}

static int window_teardown(void **state)
{
    window_bench *b = *state;

    assert_int_equal(b->ref.n, 1); /* nothing that waits holds it any more */
#ifndef __SANITIZE_ADDRESS__
    assert_int_equal(unmaps, maps_fail ? 0 : maps);
#endif
    close(b->bc.fd);
    close(b->peer);
    close(b->fd);
    free(b->data);
    free(b->got);
    free(b);
    return 0;
}

static int window_read(window_bench *b)
{
    const ssize_t n = recv(b->peer, b->got + b->got_n, FILE_LEN - b->got_n, MSG_DONTWAIT);

    if (n > 0)
        b->got_n += (size_t)n;
    return n > 0;
}

static void window_drain(window_bench *b)
{
    while (window_read(b) || pending_flush(&b->bc) == APR_EAGAIN)
        ;
    while (window_read(b))
        ;
}

static void window_send(window_bench *b, apr_off_t off, file_way way)
{
    gather_send_file(&b->bc, &b->ref, NULL, b->fd, off, FILE_LEN - off, way);
    window_drain(b);
}

static void window_check(const window_bench *b, apr_off_t off)
{
    assert_false(b->bc.failed);
    assert_int_equal(b->got_n, FILE_LEN - off);
    assert_memory_equal(b->got, b->data + off, b->got_n);
}

static void test_every_offset(void **state)
{
    static const apr_off_t offsets[] = {0, 1, 4095, 4096, 4097, FILE_WINDOW_BYTES - 1};
    window_bench *b = *state;

    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        b->got_n = 0;
        window_send(b, offsets[i], FILE_BY_WINDOW);
        window_check(b, offsets[i]);
    }
#ifndef __SANITIZE_ADDRESS__
    assert_true(maps > 0);
#endif
}

static void test_other_ways(void **state)
{
    window_bench *b = *state;

    window_send(b, 3, FILE_BY_READS);
    window_check(b, 3);
    b->got_n = 0;
    window_send(b, 3, FILE_BY_SENDFILE);
    window_check(b, 3);
#ifndef __SANITIZE_ADDRESS__
    assert_int_equal(maps, 0);
#endif
}

static ssize_t window_sendv(brg_conn *bc, const struct iovec *iov, int n, int more)
{
    return writev(bc->fd, iov, n);
}

/* Its own code would touch the mapping. */
static void test_other_transport(void **state)
{
    static const struct conn_transport tls = {.name = "other", .sendv = window_sendv};
    window_bench *b = *state;

    b->bc.transport = &tls;
    window_send(b, 0, FILE_BY_WINDOW);
    window_check(b, 0);
#ifndef __SANITIZE_ADDRESS__
    assert_int_equal(maps, 0);
#endif
}

static void test_nothing_can_be_mapped(void **state)
{
#ifndef __SANITIZE_ADDRESS__
    window_bench *b = *state;

    maps_fail = 1;
    window_send(b, 5, FILE_BY_WINDOW);
    window_check(b, 5);
    assert_int_equal(maps, 1); /* it is not tried again */
#endif
}

/* The connection ends after what the file still had; a signal would end this program. */
static void test_cut_short(void **state)
{
    window_bench *b = *state;
    const apr_off_t cut = FILE_LEN / 2 + 77;

    gather_send_file(&b->bc, &b->ref, NULL, b->fd, 0, FILE_LEN, FILE_BY_WINDOW);
    assert_non_null(b->bc.pending);
    assert_int_equal(ftruncate(b->fd, cut), 0);
    window_drain(b);
    assert_true(b->bc.failed);
    assert_int_equal(b->got_n, cut);
    assert_memory_equal(b->got, b->data, (size_t)cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_offset, window_setup, window_teardown),
        cmocka_unit_test_setup_teardown(test_other_ways, window_setup, window_teardown),
        cmocka_unit_test_setup_teardown(test_other_transport, window_setup, window_teardown),
        cmocka_unit_test_setup_teardown(test_nothing_can_be_mapped, window_setup, window_teardown),
        cmocka_unit_test_setup_teardown(test_cut_short, window_setup, window_teardown),
    };

    apr_initialize(); /* the log has pools of its own */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
