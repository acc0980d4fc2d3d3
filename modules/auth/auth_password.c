/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of passwords with hashes, limited for clients that guess (auth_password.h). */
#include "auth_password.h"
#include "auth_flight.h"
#include "auth_hashes.h"
#include "http_log.h"
#include "brigade/loop.h"
#include "apr_md5.h"
#include "apr_strings.h"
#include <string.h>

APLOG_USE_MODULE(auth_basic);

#define PASSWORD_RIGHT 'p'

/* ---- clients that were let in ---- */

static int password_client_mark(auth_mark *mark, const request_rec *r, const auth_mark *known)
{
    const auth_piece piece[] = {{known, sizeof *known}, {r->useragent_ip, strlen(r->useragent_ip)}};

    return auth_mark_make(mark, 'c', piece, 2);
}

/* A known user must not show a guessing client that its guess was right. */
int auth_client_is_refused(const request_rec *r, const char *user, const auth_mark *known)
{
    auth_mark mark;

    return auth_guess_is_refused(r->useragent_ip, user) &&
           !(known && password_client_mark(&mark, r, known) && auth_memory_knows(&mark));
}

/* It is renewed before it ends, so whoever goes on asking stays in while others guess. */
void auth_client_was_let_in(const request_rec *r, const auth_mark *known)
{
    const apr_time_t now = brg_monotonic_now();
    auth_mark mark;

    if (password_client_mark(&mark, r, known) &&
        auth_memory_knows(&mark) < now + AUTH_MEMORY_US / 2)
        auth_memory_learn(&mark, now + AUTH_MEMORY_US);
}

/* ---- passwords ---- */

int auth_password_is_known(request_rec *r, const auth_file *file, const char *user,
                           const char *password, auth_known *known)
{
    const auth_piece piece[] = {{file->path, strlen(file->path)},
                                {&file->state, AUTH_STATE_BYTES},
                                {user, strlen(user)},
                                {password, strlen(password)}};
    auth_note *note = auth_note_of(r);
    apr_time_t until;

    known->set = file->state.rests && auth_mark_make(&known->mark, PASSWORD_RIGHT, piece, 4);
    until = known->set ? auth_memory_knows(&known->mark) : 0;
    if (until && auth_client_is_refused(r, user, &known->mark))
        until = 0;
    if (until) {
        auth_client_was_let_in(r, &known->mark);
        auth_note_file(note, file->path, &file->state);
        auth_note_until(note, until);
    }
    return until != 0;
}

static int password_is_refused(request_rec *r, const char *user, const auth_known *known)
{
    if (!auth_client_is_refused(r, user, known && known->set ? &known->mark : NULL))
        return 0;
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                  "user %s: too many wrong passwords from this client: this one was not checked",
                  user);
    return 1;
}

/* A right password is known before waiting threads are told. */
static int password_is_right(const char *password, const char *hash, const auth_known *known,
                             apr_time_t until)
{
    auth_flight *flight = NULL;
    int right = -1;

    if (known && known->set)
        flight = auth_flight_begin(&known->mark, &right);
    if (right >= 0)
        return right;
    right = apr_password_validate(password, hash) == APR_SUCCESS;
    if (right && known && known->set)
        auth_memory_learn(&known->mark, until);
    if (flight)
        auth_flight_end(flight, right);
    return right;
}

authn_status auth_password_check(request_rec *r, const auth_file *file, const char *user,
                                 const char *password, const char *hash, const auth_known *known)
{
    const apr_time_t until = brg_monotonic_now() + AUTH_MEMORY_US;
    auth_note *note = auth_note_of(r);

    if (password_is_refused(r, user, known))
        return AUTH_DENIED;
    if (!password_is_right(password, hash, known, until)) {
        auth_guess_was_wrong(r->useragent_ip, user);
        return AUTH_DENIED;
    }
    if (file)
        auth_note_file(note, file->path, &file->state);
    if (known && known->set) {
        auth_client_was_let_in(r, &known->mark);
        auth_note_until(note, until);
    } else {
        auth_note_open(note);
    }
    return AUTH_GRANTED;
}

void auth_password_of_nobody(request_rec *r, const char *user, const char *password)
{
    const auth_note *note = auth_note_of(r);

    if (!note || !note->like || password_is_refused(r, user, NULL))
        return;
    (void)apr_password_validate(password, note->like);
    auth_guess_was_wrong(r->useragent_ip, user);
}

/* ---- Digest ---- */

static int realm_hash_key(auth_mark *key, const auth_file *file, const char *user,
                          const char *realm)
{
    const auth_piece piece[] = {{file->path, strlen(file->path)},
                                {&file->state, AUTH_STATE_BYTES},
                                {user, strlen(user)},
                                {realm, strlen(realm)}};

    return file->state.rests && auth_mark_make(key, 'D', piece, 4);
}

int auth_realm_hash_is_known(request_rec *r, const auth_file *file, const char *user,
                             const char *realm, char **hash)
{
    char found[AUTH_HASH_MOST];
    auth_note *note = auth_note_of(r);
    apr_time_t until;
    auth_mark key;

    if (!realm_hash_key(&key, file, user, realm) || !(until = auth_hashes_get(&key, found)))
        return 0;
    *hash = apr_pstrdup(r->pool, found);
    auth_note_file(note, file->path, &file->state);
    auth_note_until(note, until);
    return 1;
}

void auth_realm_hash_learn(request_rec *r, const auth_file *file, const char *user,
                           const char *realm, const char *hash)
{
    const apr_time_t until = brg_monotonic_now() + AUTH_MEMORY_US;
    auth_note *note = auth_note_of(r);
    auth_mark key;

    if (!realm_hash_key(&key, file, user, realm) || !auth_hashes_put(&key, hash, until)) {
        auth_note_open(note);
        return;
    }
    auth_note_file(note, file->path, &file->state);
    auth_note_until(note, until);
}
