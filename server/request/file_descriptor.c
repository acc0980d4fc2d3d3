/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A descriptor as an apr_file_t that owns it.
 *
 * apr_os_file_put() makes a file without it: with APR_FOPEN_NOCLEANUP set, apr_file_setaside()
 * moves the file to another pool and registers nothing there, so the descriptor would stay open for
 * ever once a slow client's response was set aside. APR has no function that clears the flag. So
 * its place in the struct is searched for once, and checked; if it is not found, the file is opened
 * again through its descriptor.
 */
#include "file_open_private.h"
#include "apr_file_io.h"
#include "apr_portable.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <pthread.h>
#include <unistd.h>

/* APR's own, so that its functions that move a file to another pool find them. */
APR_DECLARE(apr_status_t) apr_unix_file_cleanup(void *file);
APR_DECLARE(apr_status_t) apr_unix_child_file_cleanup(void *file);

#define FLAGS_WITHIN 48 /* bytes of an apr_file_t that are searched; it is larger */

static int flags_at = -1; /* offset of the flags; -1: not found */

/* 1 if these are the flags: a change of them shows in apr_file_flags_get(). */
static int flags_answer(apr_file_t *file, apr_int32_t *at)
{
    apr_int32_t was = *at;
    int is;

    *at = was ^ APR_FOPEN_NOCLEANUP;
    is = apr_file_flags_get(file) == *at;
    *at = was;
    return is;
}

static void flags_find(void)
{
    apr_os_file_t none = -1;
    apr_file_t *file = NULL;
    apr_pool_t *p;

    if (apr_pool_create(&p, NULL) != APR_SUCCESS)
        return;
    if (apr_os_file_put(&file, &none, APR_FOPEN_READ | APR_FOPEN_BINARY, p) == APR_SUCCESS)
        for (int at = 0; at < FLAGS_WITHIN; at += (int)sizeof(apr_int32_t)) {
            apr_int32_t *value = (apr_int32_t *)(void *)((char *)file + at);

            if (*value == apr_file_flags_get(file) && flags_answer(file, value))
                flags_at = at;
        }
    apr_pool_destroy(p);
}

apr_status_t file_of_descriptor(apr_file_t **file, int fd, apr_int32_t flags, apr_pool_t *p)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    apr_status_t rv;

    BRG_ASSERT(fd >= 0 && p);
    pthread_once(&once, flags_find);
    *file = NULL;
    if (flags_at < 0) {
        rv = apr_file_open(file, apr_psprintf(p, "/proc/self/fd/%d", fd), flags,
                           APR_FPROT_OS_DEFAULT, p);
        close(fd);
        return rv;
    }
    BRG_ASSERT(flags_at <= FLAGS_WITHIN - (int)sizeof(apr_int32_t));
    rv = apr_os_file_put(file, &fd, flags, p);
    if (rv != APR_SUCCESS) {
        close(fd);
        return rv;
    }
    *(apr_int32_t *)(void *)((char *)*file + flags_at) &= ~APR_FOPEN_NOCLEANUP;
    apr_pool_cleanup_register(p, *file, apr_unix_file_cleanup, apr_unix_child_file_cleanup);
    return APR_SUCCESS;
}
