/* SPDX-License-Identifier: Apache-2.0 */
/* The disk tier: what is found is right, whatever happened to processes and files. */
#include "disk_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define NOW apr_time_from_sec(1000)

static char root[64];
static store *s;
static store_reader *r;
static disk *d;
static void *memory;
static size_t memory_bytes;
static const char terms[STORE_TERMS] = "terms";
static disk_limits limits;
static int strict; /* a record that may be served before its sum is known has to be right */

static void open_disk(int scanned)
{
    int was;
    uint64_t secret[2];

    assert_int_equal(disk_open(&d, &limits, &was), APR_SUCCESS);
    assert_int_equal(was, scanned);
    disk_secret(d, secret);
    store_secret_use(s, secret);
}

static int set_up(void **state)
{
    store_limits most;

    (void)state;
    strict = 0;
    strcpy(root, "/tmp/test_disk_XXXXXX");
    assert_non_null(mkdtemp(root));
    limits = (disk_limits){root, 4u << 20, 1u << 20, 2, 0};
    store_limits_default(&most, 16 * STORE_SEGMENT);
    memory_bytes = store_size(&most);
    memory = mmap(NULL, memory_bytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(memory != MAP_FAILED);
    s = store_open(memory, &most);
    r = store_reader_open(s);
    open_disk(1);
    return 0;
}

static void name_of(char *path, size_t len, const char *name)
{
    snprintf(path, len, "%s/brigade-cache.%s", root, name);
}

static int tear_down(void **state)
{
    static const char *const names[] = {"index", "purges", "key", "0", "1"};

    (void)state;
    if (d)
        assert_int_equal(disk_close(&d), APR_SUCCESS);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];

        name_of(path, sizeof path, names[i]);
        unlink(path);
    }
    rmdir(root);
    store_reader_close(&r);
    store_close(&s);
    munmap(memory, memory_bytes);
    return 0;
}

static unsigned descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static store_key key_of(const char *text)
{
    return store_key_of(s, text, strlen(text), NULL, 0);
}

static char byte_at(const char *text, uint64_t off)
{
    return (char)(off * 31 + (off >> 10) + (unsigned char)text[strlen(text) - 1]);
}

/* Into the store, and from there to the disk. */
static apr_status_t put_at(const char *text, uint64_t length, apr_time_t when, uint64_t mark)
{
    const store_head head = {.key = key_of(text),
                             .text = text,
                             .text_len = (uint32_t)strlen(text),
                             .terms = terms,
                             .head = text,
                             .head_len = (uint32_t)strlen(text),
                             .length = length,
                             .marks = &mark,
                             .marks_n = mark != 0,
                             .epoch = store_epoch(s)};
    const char *why;
    store_writer *w = store_write_begin(r, &head, 0, &why);
    store_found found;
    apr_status_t rv;
    char *p;

    assert_non_null(w);
    for (uint64_t off = 0, n; (n = store_write_room(w, &p)); off += n) {
        for (uint64_t i = 0; i < n; i++)
            p[i] = byte_at(text, off + i);
        store_write_commit(w, n);
    }
    assert_int_equal(store_write_end(&w), APR_SUCCESS);
    assert_true(store_find(r, &head.key, NOW, &found));
    rv = disk_write(d, &head.key, &found.view, when);
    store_release(&found.view);
    return rv;
}

static apr_status_t put(const char *text, uint64_t length)
{
    return put_at(text, length, apr_time_now(), 0);
}

/* 1: there, and right; 0: not there; -1: wrong */
static int has(const char *text, uint64_t length)
{
    const store_key key = key_of(text);
    char *bytes = malloc(length + 8192);
    size_t n = sizeof(disk_record);
    disk_place place;
    disk_head head;
    disk_sum sum;
    apr_status_t rv;
    int right = 0;

    if (disk_find(d, &key, &place)) {
        rv = APR_INCOMPLETE;
        while (rv == APR_INCOMPLETE) {
            if (disk_read(d, &place, 0, bytes, n, 1))
                break;
            rv = disk_head_read(d, &key, &place, bytes, &n, &head);
        }
        if (!rv && !disk_read(d, &place, head.body, bytes + n, head.body_bytes, 1)) {
            disk_sum_begin(&sum);
            disk_sum_add(&sum, bytes + n, head.body_bytes / 3);
            disk_sum_add(&sum, bytes + n + head.body_bytes / 3,
                         head.body_bytes - head.body_bytes / 3);
            right = !disk_body_check(d, &key, &place, &head, &sum);
        }
        if (right) {
            right = head.body_bytes == length && head.text_len == strlen(text) &&
                            !memcmp(head.text, text, head.text_len) &&
                            head.head_len == strlen(text) && !memcmp(head.terms, terms, STORE_TERMS)
                        ? 1
                        : -1;
            for (uint64_t i = 0; right > 0 && i < length; i++)
                if (bytes[n + i] != byte_at(text, i))
                    right = -1;
        }
    } else
        place.verified = 0;
    free(bytes);
    return !right && strict && place.verified && disk_is_current(d, &place) ? -1 : right;
}

static void test_what_is_written_is_read(void **state)
{
    const store_key key = key_of("http://a/1");
    disk_place place;
    char byte;

    (void)state;
    assert_int_equal(put("http://a/1", 1), APR_SUCCESS);
    assert_int_equal(put("http://a/2", 100000), APR_SUCCESS);
    assert_int_equal(put("http://a/3", 0), APR_SUCCESS);
    assert_int_equal(has("http://a/1", 1), 1);
    assert_true(disk_find(d, &key, &place));
    errno = EIO; /* of something else, before */
    assert_int_equal(disk_read(d, &place, 0, &byte, 1, 1), APR_SUCCESS);
    assert_int_equal(has("http://a/2", 100000), 1);
    assert_int_equal(has("http://a/3", 0), 1);
    assert_int_equal(has("http://a/4", 0), 0);
    assert_int_equal(put("http://a/2", 500), APR_SUCCESS);
    assert_int_equal(has("http://a/2", 500), 1);
    assert_int_not_equal(put("http://a/5", 900000), APR_SUCCESS); /* a quarter of a file at most */
}

/* Another program finds and purges what is there; it makes nothing, and takes no files of another form. */
static void test_another_program_attaches(void **state)
{
    const uint64_t red = store_mark_of(s, "red", 3);
    const store_key key = key_of("http://a/1");
    disk_limits other = limits;
    disk_place place;
    char path[128];
    unsigned before;
    disk *theirs;

    (void)state;
    assert_int_equal(put_at("http://a/1", 3000, apr_time_now(), red), APR_SUCCESS);
    other.bytes *= 2;
    before = descriptors();
    assert_int_not_equal(disk_attach(&theirs, &other), APR_SUCCESS);
    assert_int_equal(descriptors(), before);
    assert_int_equal(disk_attach(&theirs, &limits), APR_SUCCESS);
    assert_true(disk_find(theirs, &key, &place));
    assert_int_equal(disk_purge(theirs, red, apr_time_now() + 1), APR_SUCCESS);
    disk_close(&theirs);
    assert_int_equal(has("http://a/1", 3000), 0);
    name_of(path, sizeof path, "purges");
    unlink(path);
    assert_int_not_equal(disk_attach(&theirs, &limits), APR_SUCCESS);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* nor what is no file */
    assert_int_not_equal(disk_attach(&theirs, &limits), APR_SUCCESS);
    assert_int_equal(descriptors(), before);
}

static void test_round_and_round(void **state)
{
    char text[40];
    int there = 0;

    (void)state;
    for (int i = 0; i < 400; i++) {
        snprintf(text, sizeof text, "http://a/%d", i);
        assert_int_equal(put(text, 30000), APR_SUCCESS);
        assert_int_equal(has(text, 30000), 1);
    }
    for (int i = 0; i < 400; i++) {
        int found;

        snprintf(text, sizeof text, "http://a/%d", i);
        found = has(text, 30000);
        assert_true(found >= 0);
        there += found;
    }
    assert_true(there > 80 && there < 140);
}

static void test_an_overtaken_reader_learns_it(void **state)
{
    const store_key key = key_of("http://a/0");
    disk_place place;
    char text[40];

    (void)state;
    assert_int_equal(put("http://a/0", 30000), APR_SUCCESS);
    assert_true(disk_find(d, &key, &place) && disk_is_current(d, &place) && place.verified);
    for (int i = 1; i < 300; i++) {
        snprintf(text, sizeof text, "http://a/%d", i);
        assert_int_equal(put(text, 30000), APR_SUCCESS);
    }
    assert_false(disk_is_current(d, &place));
    assert_int_equal(disk_read(d, &place, 0, text, 10, 1), APR_EGENERAL);
}

static void remove_file(const char *name)
{
    char path[128];

    name_of(path, sizeof path, name);
    assert_int_equal(unlink(path), 0);
}

static void test_opened_again(void **state)
{
    const store_key key = key_of("http://a/1");
    disk_place place;

    (void)state;
    assert_int_equal(put("http://a/1", 5000), APR_SUCCESS);
    assert_int_equal(put("http://a/2", 6000), APR_SUCCESS);
    assert_int_equal(disk_close(&d), APR_SUCCESS);
    open_disk(0);
    assert_int_equal(has("http://a/1", 5000), 1);
    assert_int_equal(disk_close(&d), APR_SUCCESS);
    remove_file("index");
    open_disk(1); /* found again by their heads */
    assert_true(disk_find(d, &key, &place) && !place.verified);
    assert_int_equal(has("http://a/1", 5000), 1);
    assert_int_equal(has("http://a/2", 6000), 1);
    assert_int_equal(put("http://a/3", 6000), APR_SUCCESS);
    assert_int_equal(has("http://a/2", 6000), 1);
    assert_int_equal(disk_close(&d), APR_SUCCESS);
    remove_file("key");
    remove_file("index");
    open_disk(1);
    assert_int_equal(has("http://a/1", 5000), 0);
}

static void test_purges_outlive_a_restart(void **state)
{
    const store_key key = key_of("http://a/1");

    (void)state;
    assert_int_equal(put_at("http://a/1", 10, apr_time_now(), 0), APR_SUCCESS);
    assert_int_equal(put_at("http://a/2", 10, apr_time_now(), 77), APR_SUCCESS);
    assert_int_equal(put_at("http://a/3", 10, apr_time_now(), 79), APR_SUCCESS);
    assert_int_equal(disk_purge(d, store_mark_of_key(&key), apr_time_now()), APR_SUCCESS);
    assert_int_equal(disk_purge(d, 77, apr_time_now()), APR_SUCCESS);
    assert_int_equal(disk_close(&d), APR_SUCCESS);
    remove_file("index");
    open_disk(1);
    assert_int_equal(has("http://a/1", 10), 0);
    assert_int_equal(has("http://a/2", 10), 0);
    assert_int_equal(has("http://a/3", 10), 1);
    assert_int_equal(put_at("http://a/2", 10, apr_time_now() + 1, 77), APR_SUCCESS);
    assert_int_equal(has("http://a/2", 10), 1);
    for (uint64_t mark = 1001; mark < 400000;
         mark += 2) { /* more than there is room for: too much is purged, not too little */
        disk_mark *m = &d->purges->mark[(mark * 0x9e3779b97f4a7c15ull >> 40) % DISK_PURGES];

        if (!atomic_load(&m->mark))
            atomic_store(&m->mark, mark);
    }
    assert_int_equal(disk_purge(d, 500001, apr_time_now()), APR_SUCCESS);
    assert_int_equal(disk_purge(d, 0, apr_time_now()), APR_SUCCESS);
    assert_int_equal(has("http://a/3", 10), 0);
    assert_int_equal(disk_close(&d), APR_SUCCESS);
    assert_int_equal((remove_file("purges"), open_disk(0), has("http://a/2", 10)), 0);
}

static void write_at(const char *name, off_t at, const void *bytes, size_t n)
{
    char path[128];
    int fd;

    name_of(path, sizeof path, name);
    assert_true((fd = open(path, O_WRONLY)) >= 0);
    assert_int_equal(pwrite(fd, bytes, n, at), (ssize_t)n);
    close(fd);
}

/* Marks were made of another text: no purge of a tag would find those records. */
static void test_files_of_another_form(void **state)
{
    const uint64_t magic = 0x3165686361636462ull, record = 0x64726f6365726462ull;
    const store_key key = key_of("http://a/1");
    disk_place place;

    (void)state;
    assert_int_equal(put_at("http://a/1", 10, apr_time_now() + apr_time_from_sec(9), 77),
                     APR_SUCCESS);
    assert_true(disk_find(d, &key, &place));
    write_at(place.file ? "1" : "0", (off_t)disk_offset(d, place.at), &record, sizeof record);
    assert_int_equal(has("http://a/1", 10), 0);
    assert_int_equal(put_at("http://a/2", 10, apr_time_now() - apr_time_from_sec(9), 77),
                     APR_SUCCESS);
    assert_int_equal(disk_close(&d), APR_SUCCESS);
    write_at("index", 0, &magic, sizeof magic);
    write_at("purges", 0, &magic, sizeof magic);
    open_disk(1);
    assert_int_equal(has("http://a/1", 10), 0);
    assert_int_equal(has("http://a/2", 10), 0); /* of before the list of purges */
    assert_int_equal(put_at("http://a/1", 10, apr_time_now() + apr_time_from_sec(9), 77),
                     APR_SUCCESS);
    assert_int_equal(has("http://a/1", 10), 1);
    assert_int_equal(disk_close(&d), APR_SUCCESS);
    open_disk(0);
    assert_int_equal(has("http://a/1", 10), 1);
}

/* Each byte of a record, changed. */
static void test_damaged_records(void **state)
{
    const store_key key = key_of("http://a/1");
    disk_place place;

    (void)state;
    for (uint64_t at = 0; at < 400; at++) {
        char byte;
        off_t off;

        assert_int_equal(put("http://a/1", 200), APR_SUCCESS);
        assert_true(disk_find(d, &key, &place));
        off = (off_t)(disk_offset(d, place.at) + at);
        assert_int_equal(pread(d->fd[place.file], &byte, 1, off), 1);
        byte ^= 4;
        assert_int_equal(pwrite(d->fd[place.file], &byte, 1, off), 1);
        if (at < sizeof(disk_record) + 10 + 32 + 10 + 200 && has("http://a/1", 200))
            fail_msg("byte %d was changed", (int)at);
    }
}

static void test_damaged_index(void **state)
{
    char text[40];

    (void)state;
    srand(3);
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "http://a/%d", i);
        assert_int_equal(put(text, 3000), APR_SUCCESS);
    }
    for (int round = 0; round < 2000; round++) {
        ((char *)d->shared)[sizeof(disk_shared) +
                            (size_t)rand() % (d->map_bytes - sizeof(disk_shared))] = (char)rand();
        if (rand() % 2)
            ((char *)d->entry)[(size_t)rand() % (d->map_bytes - 4096)] = (char)rand();
        snprintf(text, sizeof text, "http://a/%d", rand() % 100);
        assert_true(has(text, 3000) >= 0);
    }
    assert_int_equal(put("http://a/1", 3000), APR_SUCCESS);
    assert_int_equal(has("http://a/1", 3000), 1);
}

static void test_a_full_disk(void **state)
{
    struct rlimit old, small = {1u << 16, 1u << 16};
    disk_limits other = limits;
    disk *none;
    int scanned;

    (void)state;
    assert_int_equal(put("http://a/1", 3000), APR_SUCCESS);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    other.bytes = 64u << 20; /* of another length, for which there is no room */
    assert_int_not_equal(put("http://a/2", 200000), APR_SUCCESS);
    assert_int_equal(has("http://a/2", 200000), 0);
    assert_int_not_equal(put("http://b/2", 200000), APR_SUCCESS);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(put("http://a/2", 200000), APR_SUCCESS);
    assert_int_equal(has("http://a/2", 200000), 1);
    assert_int_equal(has("http://a/1", 3000), 1);
    assert_int_equal(disk_close(&d), APR_SUCCESS);
    setrlimit(RLIMIT_FSIZE, &small);
    assert_int_not_equal(disk_open(&none, &other, &scanned), APR_SUCCESS);
    assert_null(none);
    setrlimit(RLIMIT_FSIZE, &old);
    open_disk(0); /* one of its files is empty now: no record there agrees with the index */
    assert_true(has("http://a/1", 3000) >= 0 && has("http://a/2", 200000) >= 0);
}

static void test_without_waiting(void **state)
{
    const store_key key = key_of("http://a/1");
    disk_place place;
    char bytes[100];

    (void)state;
    assert_int_equal(put("http://a/1", 3000), APR_SUCCESS);
    assert_true(disk_find(d, &key, &place));
    assert_int_equal(disk_read(d, &place, 0, bytes, sizeof bytes, 0),
                     APR_SUCCESS); /* it was just written */
}

static void live(int seed)
{
    char text[40];

    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "http://a/%d", (i * 7 + seed) % 60);
        put(text, (uint64_t)((i * 7 + seed) % 60) * 2000);
    }
    disk_purge(d, 5, apr_time_now());
}

static void check_all(int step)
{
    char text[40];

    for (int i = 0; i < 60; i++) {
        snprintf(text, sizeof text, "http://a/%d", i);
        if (has(text, (uint64_t)i * 2000) < 0)
            fail_msg("%s is wrong at step %d", text, step);
    }
    if (put("http://b/", 10000) || has("http://b/", 10000) != 1)
        fail_msg("nothing can be written behind step %d", step);
}

#ifdef BRG_DEBUG_ASSERTIONS
static int steps_left;

static void die_at_step(const char *where)
{
    (void)where;
    if (!steps_left--)
        _exit(7);
}

static void test_killed_at_each_step(void **state)
{
    int steps = 0, ended = 0;

    (void)state;
    strict = 1;
    for (; !ended && steps < 5000; steps += steps < 60 ? 1 : 17) {
        int status;
        const pid_t pid = fork();

        if (!pid) {
            r = store_reader_open(s);
            steps_left = steps;
            store_test_step = die_at_step;
            live(steps);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        store_process_ended(s, pid);
        ended = WEXITSTATUS(status) == 0;
        check_all(steps);
        if (steps % 10 == 3) { /* and without the index */
            assert_int_equal(disk_close(&d), APR_SUCCESS);
            remove_file("index");
            open_disk(1);
            check_all(steps);
        }
    }
    assert_true(ended && steps > 100);
}
#endif

static void test_killed_at_any_time(void **state)
{
    (void)state;
    strict = 1;
    srand(9);
    for (int round = 0; round < 60; round++) {
        const pid_t pid = fork();
        int status;

        if (!pid) {
            r = store_reader_open(s);
            for (;;)
                live(round);
        }
        usleep((useconds_t)(rand() % 4000));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        store_process_ended(s, pid);
        check_all(round);
    }
}

static void test_two_processes(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    pid = fork();
    if (!pid) {
        r = store_reader_open(s);
        for (int i = 0; i < 20; i++)
            live(i);
        _exit(0);
    }
    for (int i = 0; i < 20; i++)
        check_all(i);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
    store_process_ended(s, pid);
    check_all(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        T(test_what_is_written_is_read),
        T(test_another_program_attaches),
        T(test_round_and_round),
        T(test_an_overtaken_reader_learns_it),
        T(test_opened_again),
        T(test_purges_outlive_a_restart),
        T(test_files_of_another_form),
        T(test_damaged_records),
        T(test_damaged_index),
        T(test_a_full_disk),
        T(test_without_waiting),
        T(test_two_processes),
        T(test_killed_at_any_time),
#ifdef BRG_DEBUG_ASSERTIONS
        T(test_killed_at_each_step),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
