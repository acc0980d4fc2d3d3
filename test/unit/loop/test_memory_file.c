/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is sent without a copy: what a socket has must not change, and what is given back is the kernel's again. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memory_file.h"

#define PIECE 20000

static void take(memory_file *f, memory_piece *p, char fill)
{
    assert_int_equal(memory_piece_take(f, PIECE, p), 0);
    assert_true(p->len >= PIECE);
    memset(p->data, fill, PIECE);
}

static blkcnt_t blocks(const memory_piece *p)
{
    struct stat st;

    assert_int_equal(fstat(memory_piece_fd(p), &st), 0);
    return st.st_blocks;
}

static void what_a_socket_has_does_not_change(void **state)
{
    memory_file *f = memory_file_create();
    memory_piece first, second;
    char got[PIECE];
    int pair[2];
    off_t off;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    take(f, &first, 'a');
    off = first.off;
    assert_int_equal(sendfile(pair[0], memory_piece_fd(&first), &off, PIECE), PIECE);
    memory_piece_give(&first);
    for (int i = 0; i < 100; i++) { /* of any of these the pages could be the first one's */
        take(f, &second, 'b');
        if (i < 99)
            memory_piece_give(&second);
    }
    assert_int_equal(recv(pair[1], got, PIECE, MSG_WAITALL), PIECE);
    for (int i = 0; i < PIECE; i++)
        assert_int_equal(got[i], 'a');
    memory_piece_give(&second);
    memory_file_release(f);
    close(pair[0]);
    close(pair[1]);
}

static void what_is_given_back_is_free(void **state)
{
    memory_file *f = memory_file_create();
    memory_piece kept, p;
    blkcnt_t before;

    take(f, &kept, 'a');
    before = blocks(&kept);
    for (int i = 0; i < 1000; i++) {
        take(f, &p, 'b');
        assert_true(blocks(&p) > before);
        memory_piece_give(&p);
        assert_null(p.file);
        assert_int_equal(blocks(&kept), before);
    }
    assert_int_equal(kept.data[PIECE - 1], 'a');
    memory_file_release(f); /* the piece keeps it */
    assert_int_equal(kept.data[0], 'a');
    memory_piece_give(&kept);
    memory_piece_give(&kept); /* none: nothing */
}

static void where_there_is_no_room_it_says_so(void **state)
{
    struct rlimit before, now;
    memory_file *f = memory_file_create();
    memory_piece one, p;

    signal(SIGXFSZ, SIG_IGN); /* as the server does */
    take(f, &one, 'a');
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    now = (struct rlimit){one.len, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
    assert_int_equal(memory_piece_take(f, PIECE, &p), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    take(f, &p, 'b');
    memory_piece_give(&p);
    memory_piece_give(&one);
    memory_file_release(f);
}

static void pieces_have_a_bound(void **state)
{
    static memory_piece p[MEMORY_PIECES_MOST];
    memory_file *f = memory_file_create(), *g = memory_file_create();
    memory_piece more;

    for (int i = 0; i < MEMORY_PIECES_MOST; i++)
        assert_int_equal(memory_piece_take(i & 1 ? f : g, 1, &p[i]), 0);
    assert_int_equal(memory_piece_take(f, 1, &more), -1);
    memory_piece_give(&p[7]);
    assert_int_equal(memory_piece_take(g, 1, &p[7]), 0);
    for (int i = 0; i < MEMORY_PIECES_MOST; i++)
        memory_piece_give(&p[i]);
    memory_file_release(f);
    memory_file_release(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_socket_has_does_not_change),
        cmocka_unit_test(what_is_given_back_is_free),
        cmocka_unit_test(where_there_is_no_room_it_says_so),
        cmocka_unit_test(pieces_have_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
