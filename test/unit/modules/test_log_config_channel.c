/* SPDX-License-Identifier: Apache-2.0 */
/* Lines from several threads through writers to files: all of them, each thread's in its order, whole. When a writer pauses. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "log_config_writer.h"
#include "test_pool.h"

#define THREADS 4
#define LINES 5000
#define FILES 2

static log_file *files[FILES];

static void *log_lines(void *data)
{
    log_channels channels = {0};
    char line[64];

    for (int i = 0; i < LINES; i++) {
        int len = snprintf(line, sizeof line, "%d %d\n", (int)(intptr_t)data, i);
        log_parcel *parcel = log_parcel_get(&channels, files[i % FILES], (apr_size_t)len, 1);

        if (!parcel)
            abort();
        memcpy(parcel->data, line, (size_t)len);
        parcel->used = (apr_size_t)len;
        log_parcel_hand_over(parcel);
    }
    log_channels_end(&channels);
    return NULL;
}

static int file_lines(const char *path, int which)
{
    int next[THREADS], n = 0, thread, line;
    FILE *f = fopen(path, "r");

    assert_non_null(f);
    for (int i = 0; i < THREADS; i++)
        next[i] = which;
    while (fscanf(f, "%d %d\n", &thread, &line) == 2) {
        assert_in_range(thread, 0, THREADS - 1);
        assert_int_equal(line, next[thread]);
        next[thread] += FILES;
        n++;
    }
    assert_true(feof(f));
    fclose(f);
    return n;
}

static void test_every_line_in_order(void **state)
{
    char folder[] = "/tmp/brigade-log-XXXXXX", path[FILES][64];
    server_rec s = {0};
    pthread_t threads[THREADS];

    assert_non_null(mkdtemp(folder));
    log_file_reset(test_pool);
    log_writers_overflow(LOG_OVERFLOW_WAIT); /* more than a thread may have pending */
    for (int i = 0; i < FILES; i++) {
        snprintf(path[i], sizeof path[i], "%s/%d", folder, i);
        files[i] = log_file_open(test_pool, &s, path[i]);
        assert_non_null(files[i]);
        assert_ptr_equal(log_file_open(test_pool, &s, path[i]), files[i]);
    }
    log_writers_start(log_files_list());
    assert_ptr_equal(files[0]->writer, files[1]->writer); /* of one file system */
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, log_lines, (void *)(intptr_t)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    log_writers_stop(log_files_list());
    for (int i = 0; i < FILES; i++) {
        assert_null(files[i]->writer);
        assert_int_equal(file_lines(path[i], i), THREADS * LINES / FILES);
        unlink(path[i]);
    }
    rmdir(folder);
    log_writers_overflow(LOG_OVERFLOW_DROP);
}

static void hand_over(log_channels *channels, log_file *file, size_t len)
{
    log_parcel *parcel = log_parcel_get(channels, file, len, 1);

    assert_non_null(parcel);
    memset(parcel->data, 'x', len);
    parcel->used = len;
    log_parcel_hand_over(parcel);
}

static void read_all(int fd, size_t len)
{
    char data[4096];

    while (len) {
        ssize_t n = read(fd, data, sizeof data);

        assert_true(n > 0);
        assert_true((size_t)n <= len);
        len -= (size_t)n;
    }
}

static int comes_within(int fd, int ms)
{
    return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, ms) > 0;
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* One line is written at once. What comes in the pause behind it waits for its end, or until it is much. A machine may be slow in some tries. */
static void test_a_writer_pauses_while_few_lines_wait(void **state)
{
    char path[] = "/tmp/brigade-log-XXXXXX";
    const int made = mkstemp(path);
    server_rec s = {0};
    log_channels channels = {0};
    double soonest = 1;
    int ends[2], paused = 0;

    assert_true(made >= 0);
    assert_int_equal(pipe(ends), 0);
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) > 0);
    log_file_reset(test_pool);
    files[0] = log_file_open(test_pool, &s, path);
    assert_non_null(files[0]);
    assert_true(dup2(ends[1], files[0]->fd) >= 0);
    log_writers_start(log_files_list());
    for (int i = 0; i < 4; i++) {
        double began;

        hand_over(&channels, files[0], 10);
        read_all(ends[0], 10);
        hand_over(&channels, files[0], 30000);
        paused += !comes_within(ends[0], 10);
        began = now_s();
        hand_over(&channels, files[0], 30000);
        read_all(ends[0], 60000);
        soonest = now_s() - began < soonest ? now_s() - began : soonest;
        assert_false(comes_within(ends[0], 250)); /* until it sleeps */
    }
    assert_true(paused > 0);
    assert_true(soonest < .04);
    log_channels_end(&channels);
    log_writers_stop(log_files_list());
    close(made);
    close(ends[0]);
    close(ends[1]);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST_WITH_POOL(test_every_line_in_order),
                                       TEST_WITH_POOL(test_a_writer_pauses_while_few_lines_wait)};

    return cmocka_run_group_tests_name("log_config_channel", tests, NULL, NULL);
}
