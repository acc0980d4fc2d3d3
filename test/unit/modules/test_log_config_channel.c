/* SPDX-License-Identifier: Apache-2.0 */
/* Lines from several threads through writers to files: all of them, each thread's in its order, whole. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {TEST_WITH_POOL(test_every_line_in_order)};

    return cmocka_run_group_tests_name("log_config_channel", tests, NULL, NULL);
}
