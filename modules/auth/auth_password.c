/* SPDX-License-Identifier: Apache-2.0 */
#include "auth_password.h"
#include "auth_hashes.h"
#include "http_log.h"
#include "brigade/loop.h"
#include "apr_md5.h"
#include "apr_strings.h"
#include <string.h>

APLOG_USE_MODULE(auth_basic);

#define PASSWORD_RIGHT 'p'

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
    if (until) {
        auth_note_file(note, file->path, &file->state);
        auth_note_until(note, until);
    }
    return until != 0;
}

static int password_is_refused(request_rec *r, const char *user)
{
    if (!auth_guess_is_refused(r->useragent_ip, user))
        return 0;
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                  "user %s: too many wrong passwords from this client: this one was not checked",
                  user);
    return 1;
}

authn_status auth_password_check(request_rec *r, const auth_file *file, const char *user,
                                 const char *password, const char *hash, const auth_known *known)
{
    auth_note *note = auth_note_of(r);

    if (password_is_refused(r, user))
        return AUTH_DENIED;
    if (apr_password_validate(password, hash) != APR_SUCCESS) {
        auth_guess_was_wrong(r->useragent_ip, user);
        return AUTH_DENIED;
    }
    if (file)
        auth_note_file(note, file->path, &file->state);
    if (known && known->set) {
        const apr_time_t until = brg_monotonic_now() + AUTH_MEMORY_US;

        auth_memory_learn(&known->mark, until);
        auth_note_until(note, until);
    } else {
        auth_note_open(note);
    }
    return AUTH_GRANTED;
}

void auth_password_of_nobody(request_rec *r, const char *user, const char *password)
{
    const auth_note *note = auth_note_of(r);

    if (!note || !note->like || password_is_refused(r, user))
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
