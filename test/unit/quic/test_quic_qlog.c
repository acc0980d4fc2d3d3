/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a connection over a bad network: each record of it is one of JSON, and tells of what was lost. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_quic_site.h"
#include "quic_qlog.h"
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

static char folder[] = "/tmp/brigade-unit-qlog-XXXXXX";

/* Text of the only file in the folder, which goes with it; malloc(). */
static char *file_take(size_t *len)
{
    DIR *dir = opendir(folder);
    char path[512] = "", *text;
    FILE *f;

    for (struct dirent *d; (d = readdir(dir)) != NULL;)
        if (*d->d_name != '.') {
            assert_string_equal(path, "");
            snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
        }
    closedir(dir);
    assert_non_null(strstr(path, "_server.sqlog"));
    f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *len = (size_t)ftell(f);
    rewind(f);
    text = calloc(1, *len + 1);
    assert_int_equal(fread(text, 1, *len, f), *len);
    fclose(f);
    unlink(path);
    return text;
}

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;

    for (; (text = strstr(text, what)) != NULL; text += strlen(what))
        n++;
    return n;
}

/* Brackets of each record close in their order. */
static void records_are_whole(const char *text)
{
    while (*text) {
        char open[32];
        unsigned depth = 0;

        assert_int_equal(*text++, 0x1e);
        for (; *text != '\n'; text++) {
            if (*text == '{' || *text == '[')
                open[depth++] = *text;
            else if (*text == '}' || *text == ']')
                assert_int_equal(open[--depth], *text == '}' ? '{' : '[');
            assert_in_range(depth, 0, sizeof open - 1);
        }
        assert_int_equal(depth, 0);
        text++;
    }
}

static void test_file(void **state)
{
    size_t len;
    char *text;

    assert_non_null(mkdtemp(folder));
    begin();
    the_setup.qlog_dir = folder;
    net.loss = 50;
    net.jitter = 5000;
    connect_v(QUIC_V1);
    peer_ask(the_peer, 0, 300000);
    wait_for(0, 300000, apr_time_from_sec(60));
    run_for(apr_time_from_sec(1));
    end();
    text = file_take(&len);
    records_are_whole(text);
    assert_true(count(text, "\"quic:packet_lost\"") > 5);
    assert_true(count(text, "\"quic:packet_sent\"") > 200);
    assert_true(count(text, "\"frame_type\":\"ack\"") > 50);
    assert_int_equal(count(text, "\"quic:connection_closed\""), 1);
    assert_int_equal(count(text, "left out"), 0);
    free(text);
    rmdir(folder);
}

/* The disk is slow: so many pieces wait and no more, but for a file's last. */
static void test_slow_disk(void **state)
{
    char dir[] = "/tmp/brigade-unit-qlog-XXXXXX", path[64];
    qlog_chunk *c[QLOG_WAITING_MOST], *last;
    qlog_file *f;

    assert_non_null(mkdtemp(dir));
    f = qlog_file_new(dir, "x");
    qlog_files_settle(); /* those of before */
    for (unsigned i = 0; i < QLOG_WAITING_MOST; i++)
        assert_non_null(c[i] = qlog_chunk_new(f, 0));
    assert_null(qlog_chunk_new(f, 0));
    assert_non_null(last = qlog_chunk_new(f, 1));
    for (unsigned i = 0; i < QLOG_WAITING_MOST; i++)
        qlog_chunk_write(c[i]);
    qlog_chunk_write(last);
    qlog_files_settle();
    snprintf(path, sizeof path, "%s/x", dir);
    assert_int_equal(unlink(path), 0);
    rmdir(dir);
}

/* A client that is not asked for. */
static int nobody(const quic_conn *qc)
{
    return 0;
}

static void test_not_asked_for(void **state)
{
    begin();
    the_setup.qlog_dir = "/nonexistent";
    the_setup.qlogs = nobody;
    connect_v(QUIC_V1);
    assert_null(site.qc->qlog);
    end();
}

/* Frames that lie: the text ends where they do. */
static void test_malformed(void **state)
{
    static const uint8_t payload[] = {QUIC_F_PING, QUIC_F_ACK, 0x40, 200, 0, 1, 5, 250, 250, 0xff};
    char room[4096];

    for (size_t n = 0; n <= sizeof payload; n++)
        for (size_t most = 0; most < 300; most += 7) {
            qlog_text t = {room, room + most, 0};

            qlog_put_frames(&t, payload, n, 3);
            assert_true(t.at <= t.end);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file), cmocka_unit_test(test_slow_disk),
        cmocka_unit_test(test_not_asked_for), cmocka_unit_test(test_malformed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
