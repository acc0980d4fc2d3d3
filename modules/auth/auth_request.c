/* SPDX-License-Identifier: Apache-2.0 */
/* The note that authentication leaves with a request (auth_request.h). */
#include "auth_request.h"
#include "brigade/assert.h"
#include "brigade/auth.h"
#include "brigade/files.h"
#include "brigade/loop.h"
#include "apr_strings.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Requests of a chain share a pool: the notes of all of them are a list there. */
static const char note_key[] = "auth-note";

static auth_note *note_first(const request_rec *r)
{
    void *first = NULL;

    apr_pool_userdata_get(&first, note_key, r->pool);
    return first;
}

auth_note *auth_note_of(const request_rec *r)
{
    auth_note *note = note_first(r);

    while (note && note->r != r)
        note = note->next;
    return note;
}

auth_note *auth_note_begin(request_rec *r, const char *scheme)
{
    auth_note *note = auth_note_of(r), *next;

    if (note) {
        next = note->next;
        memset(note, 0, sizeof *note);
        note->next = next;
    } else {
        note = apr_pcalloc(r->pool, sizeof *note);
        note->next = note_first(r);
        apr_pool_userdata_setn(note, note_key, NULL, r->pool);
    }
    note->r = r;
    note->scheme = scheme;
    note->how = "";
    return note;
}

/* A redirect's or sub-request's access control may have been left out if it has the configuration
 * of the request that led to it. */
auth_note *auth_note_for(const request_rec *r)
{
    auth_note *note;

    while (!(note = auth_note_of(r))) {
        const request_rec *from = r->prev ? r->prev : r->main;

        if (!from || from->per_dir_config != r->per_dir_config)
            return NULL;
        r = from;
    }
    return note;
}

void auth_note_open(auth_note *note)
{
    if (note)
        note->open = 1;
}

void auth_note_asked(request_rec *r, auth_note *note, const char *what)
{
    if (!note)
        return;
    note->asked_n++;
    note->how = apr_pstrcat(r->pool, note->how, what, "\n", NULL);
}

void auth_note_until(auth_note *note, apr_time_t until)
{
    if (note && (!note->until || until < note->until))
        note->until = until;
}

/* ---- files ---- */

/* Time stamps are of a clock that ticks a hundred times a second or more often. */
#define FILE_TICKS_NS 100000000

static apr_uint64_t file_ns(struct timespec t)
{
    return (apr_uint64_t)t.tv_sec * 1000000000 + (apr_uint64_t)t.tv_nsec;
}

/* A change from now on would show. */
static int file_rests(const auth_file_state *state)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return state->ctime_ns + FILE_TICKS_NS < file_ns(now);
}

apr_status_t auth_file_look(auth_file_state *state, const char *path)
{
    struct stat st;

    if (stat(path, &st))
        return APR_FROM_OS_ERROR(errno);
    *state = (auth_file_state){.device = st.st_dev,
                               .inode = st.st_ino,
                               .size = (apr_uint64_t)st.st_size,
                               .mtime_ns = file_ns(st.st_mtim),
                               .ctime_ns = file_ns(st.st_ctim)};
    state->rests = file_rests(state);
    return APR_SUCCESS;
}

void auth_note_file(auth_note *note, const char *path, const auth_file_state *state)
{
    if (!note)
        return;
    if (note->files_n == AUTH_FILES_MOST || !state->rests)
        note->open = 1;
    else
        note->file[note->files_n++] = (auth_file){path, *state};
}

static int absent_mark(auth_mark *mark, const auth_file *file, const char *user)
{
    const auth_piece piece[] = {
        {file->path, strlen(file->path)}, {&file->state, AUTH_STATE_BYTES}, {user, strlen(user)}};

    return file->state.rests && auth_mark_make(mark, 'n', piece, 3);
}

int auth_note_is_absent(auth_note *note, const auth_file *file, const char *user)
{
    auth_mark mark;
    apr_time_t until;

    if (!note || !absent_mark(&mark, file, user) || !(until = auth_memory_knows(&mark)))
        return 0;
    auth_note_file(note, file->path, &file->state);
    auth_note_until(note, until);
    return 1;
}

void auth_note_absent(auth_note *note, const auth_file *file, const char *user)
{
    auth_note_file(note, file->path, &file->state);
    if (!note || note->open || note->absent_n == AUTH_FILES_MOST)
        return;
    if (absent_mark(&note->absent[note->absent_n], file, user))
        note->absent_n++;
    else
        note->open = 1;
}

void auth_note_grant(auth_note *note)
{
    note->granted = 1;
    for (int i = 0; i < note->absent_n && note->until; i++)
        auth_memory_learn(&note->absent[i], note->until);
    note->absent_n = 0;
    if (note->until && !strcmp(note->scheme, "Basic"))
        auth_field_is_right(note->r, note->until);
}

/* ---- where ---- */

static int field_mark(auth_mark *mark, char kind, const char *field)
{
    const auth_piece piece = {field, strlen(field)};

    return auth_mark_make(mark, kind, &piece, 1);
}

#define FIELD_RIGHT 'f'
#define FIELD_SLOW 's' /* somewhere it had to be checked on a loop */

int auth_leaves_loop(request_rec *r)
{
    const char *field;
    auth_mark mark;

    if (brg_auth_may_defer(r)) {
        brg_auth_would_wait(r);
        return 1;
    }
    if (brg_thread_is_loop() && (field = apr_table_get(r->headers_in, "Authorization")) != NULL &&
        field_mark(&mark, FIELD_SLOW, field))
        auth_memory_learn(&mark, brg_monotonic_now() + AUTH_MEMORY_US);
    return 0;
}

int auth_field_waits(const request_rec *r, const char *field)
{
    auth_mark mark;

    (void)r;
    if (ap_cstr_casecmpn(field, "Basic", 5))
        return 0;
    return !field_mark(&mark, FIELD_RIGHT, field) || !auth_memory_knows(&mark) ||
           (field_mark(&mark, FIELD_SLOW, field) && auth_memory_knows(&mark));
}

void auth_field_is_right(const request_rec *r, apr_time_t until)
{
    const char *field = apr_table_get(r->headers_in, "Authorization");
    auth_mark mark;

    if (field && field_mark(&mark, FIELD_RIGHT, field) && !auth_memory_knows(&mark))
        auth_memory_learn(&mark, until);
}
