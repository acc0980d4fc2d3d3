/* SPDX-License-Identifier: Apache-2.0 */
/* Folders and files of the store. */
#include "md_store.h"
#include "md_jose.h"
#include "md_json.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <errno.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORE_PASS 48
#define STORE_FILE_MOST (1 << 20)
#define STORE_LOCK_US 100000

/* ---- files ---- */

const char *md_file_read(apr_pool_t *p, const char *file)
{
    const int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    char *text = NULL;
    ssize_t n = 0;

    if (fd < 0)
        return NULL;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size < STORE_FILE_MOST) {
        text = apr_palloc(p, (apr_size_t)st.st_size + 1);
        n = read(fd, text, (size_t)st.st_size);
    }
    close(fd);
    if (!text || n < 0 || memchr(text, 0, (size_t)n))
        return NULL;
    text[n] = '\0';
    return text;
}

static int file_fill(int fd, const char *text, size_t len)
{
    BRG_ASSERT(fd >= 0);
    while (len) {
        const ssize_t n = write(fd, text, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        text += n;
        len -= (size_t)n;
    }
    return fsync(fd);
}

int md_file_write(apr_pool_t *p, const char *file, const char *text)
{
    const char *made = apr_psprintf(p, "%s.%d", file, (int)getpid());
    int fd, rc, error;

    unlink(made);
    fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    rc = file_fill(fd, text, strlen(text));
    error = errno;
    close(fd);
    if (!rc)
        return rename(made, file);
    unlink(made);
    errno = error;
    return -1;
}

static int folder_make(const char *folder, mode_t mode)
{
    return mkdir(folder, mode) && errno != EEXIST ? -1 : 0;
}

static const char *store_path(apr_pool_t *p, const md_store *store, const char *group,
                              const char *name)
{
    return apr_pstrcat(p, store->folder, "/", group, "/", name, NULL);
}

/* ---- the store ---- */

static int store_key(apr_pool_t *p, md_store *store)
{
    const char *file = apr_pstrcat(p, store->folder, "/md_store.json", NULL);
    const char *text = md_file_read(p, file), *key;
    unsigned char pass[STORE_PASS];

    if (!text && errno == ENOENT) {
        if (RAND_bytes(pass, sizeof pass) != 1)
            return -1;
        text =
            apr_psprintf(p, "{\n  \"store\": {\n    \"version\": 3.0\n  },\n  \"key\": \"%s\"\n}",
                         md_base64url(p, pass, sizeof pass));
        if (md_file_write(p, file, text))
            return -1;
    }
    key = text ? md_json_text(md_json_read(p, text, strlen(text)), "key") : NULL;
    store->pass = key ? md_base64url_decode(p, key, &store->pass_len) : NULL;
    errno = EINVAL;
    return store->pass && store->pass_len ? 0 : -1;
}

int md_store_open(apr_pool_t *p, const char *folder, md_store *store)
{
    static const char *const groups[] = {"accounts", "domains", "archive", "live", "jobs"};

    BRG_ASSERT(*folder == '/');
    store->folder = folder;
    if (folder_make(folder, 0755))
        return -1;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (folder_make(apr_pstrcat(p, folder, "/", groups[i], NULL), 0700))
            return -1;
    return store_key(p, store);
}

int md_store_lock(apr_pool_t *p, const md_store *store, const char *name, apr_interval_time_t wait)
{
    const char *file = apr_pstrcat(p, store->folder, "/", name, NULL);
    const int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
        if (wait <= 0) {
            close(fd);
            errno = EWOULDBLOCK;
            return -1;
        }
        usleep(STORE_LOCK_US);
        wait -= STORE_LOCK_US;
    }
    return fd;
}

/* ---- a managed domain's files ---- */

static const char *file_name(apr_pool_t *p, const char *prefix, const md_key_spec *spec)
{
    return apr_pstrcat(p, prefix, md_key_suffix(p, spec), ".pem", NULL);
}

const char *md_store_file(apr_pool_t *p, const md_store *store, const char *name,
                          const char *prefix, const md_key_spec *spec)
{
    return apr_pstrcat(p, store_path(p, store, "domains", name), "/", file_name(p, prefix, spec),
                       NULL);
}

const char *md_store_link(apr_pool_t *p, const md_store *store, const char *name,
                          const char *prefix, const md_key_spec *spec)
{
    return apr_pstrcat(p, store_path(p, store, "live", name), "/", file_name(p, prefix, spec),
                       NULL);
}

static int store_fallback(apr_pool_t *p, const md_store *store, const md_domain *domain,
                          const md_key_spec *spec)
{
    const char *key_file = md_store_file(p, store, domain->name, "fallback-privkey", spec);
    const char *cert_file = md_store_file(p, store, domain->name, "fallback-pubcert", spec);
    const char *before = md_file_read(p, cert_file), *pem = NULL, *cert = NULL;
    const md_cert *known = before ? md_cert_read(p, before) : NULL;
    EVP_PKEY *key;

    BRG_ASSERT(domain->set && domain->names->nelts > 0);
    if (known && !access(key_file, R_OK) && known->until > apr_time_now() &&
        !md_cert_lacks(known, domain->names))
        return 0;
    if ((key = md_key_make(spec)) != NULL) {
        pem = md_key_pem(p, key, NULL, 0);
        cert = md_cert_fallback(p, key, domain->names, 14);
    }
    EVP_PKEY_free(key);
    errno = ENOMEM;
    return pem && cert && !md_file_write(p, key_file, pem) && !md_file_write(p, cert_file, cert)
               ? 0
               : -1;
}

static int store_has_pair(apr_pool_t *p, const md_store *store, const char *name,
                          const md_key_spec *spec)
{
    const char *cert = md_file_read(p, md_store_file(p, store, name, "pubcert", spec));
    const char *pem = md_file_read(p, md_store_file(p, store, name, "privkey", spec));
    EVP_PKEY *key = cert && pem ? md_key_of_pem(pem, NULL, 0) : NULL;
    const int has = key && md_cert_is_for_key(cert, key);

    EVP_PKEY_free(key);
    return has;
}

/* One step: a link is made under another name, which then takes its place. */
static int store_point(apr_pool_t *p, const md_store *store, const char *name, const char *prefix,
                       const char *what, const md_key_spec *spec)
{
    const char *link = md_store_link(p, store, name, prefix, spec);
    const char *made = apr_psprintf(p, "%s.%d", link, (int)getpid());
    const char *target =
        apr_pstrcat(p, "../../domains/", name, "/", what, file_name(p, prefix, spec), NULL);

    unlink(made);
    return symlink(target, made) || rename(made, link) ? -1 : 0;
}

int md_store_go_live(apr_pool_t *p, const md_store *store, const md_domain *domain)
{
    BRG_ASSERT(domain->set->keys->nelts > 0);
    if (folder_make(store_path(p, store, "live", domain->name), 0700))
        return -1;
    for (int i = 0; i < domain->set->keys->nelts; i++) {
        const md_key_spec *spec = &APR_ARRAY_IDX(domain->set->keys, i, md_key_spec);
        const char *what = store_has_pair(p, store, domain->name, spec) ? "" : "fallback-";

        if (store_point(p, store, domain->name, "privkey", what, spec) ||
            store_point(p, store, domain->name, "pubcert", what, spec))
            return -1;
    }
    return 0;
}

int md_store_prepare(apr_pool_t *p, const md_store *store, const md_domain *domain)
{
    BRG_ASSERT(store->folder && domain->set);
    if (folder_make(store_path(p, store, "domains", domain->name), 0700))
        return -1;
    for (int i = 0; i < domain->set->keys->nelts; i++) {
        const md_key_spec *spec = &APR_ARRAY_IDX(domain->set->keys, i, md_key_spec);

        if (!store_has_pair(p, store, domain->name, spec) && store_fallback(p, store, domain, spec))
            return -1;
    }
    return md_store_go_live(p, store, domain);
}

static md_cert *store_cert(apr_pool_t *p, const md_store *store, const md_domain *domain,
                           const md_key_spec *spec, int *fits)
{
    const char *pem = md_file_read(p, md_store_file(p, store, domain->name, "pubcert", spec));
    const char *key_pem = md_file_read(p, md_store_file(p, store, domain->name, "privkey", spec));
    md_cert *cert = pem ? md_cert_read(p, pem) : NULL;
    EVP_PKEY *key = cert && key_pem ? md_key_of_pem(key_pem, NULL, 0) : NULL;

    *fits = key && md_cert_is_for_key(pem, key) && md_key_is(key, spec) &&
            !md_cert_lacks(cert, domain->names) &&
            cert->staple == (domain->set->must_staple == 1) && cert->until > apr_time_now();
    EVP_PKEY_free(key);
    return cert;
}

md_cert *md_store_certificate(apr_pool_t *p, const md_store *store, const md_domain *domain,
                              int *complete)
{
    md_cert *first = NULL;

    BRG_ASSERT(domain->set->keys->nelts > 0);
    *complete = 1;
    for (int i = 0; i < domain->set->keys->nelts; i++) {
        int fits;
        md_cert *cert =
            store_cert(p, store, domain, &APR_ARRAY_IDX(domain->set->keys, i, md_key_spec), &fits);

        *complete &= fits;
        if (cert && (!first || cert->until < first->until))
            first = cert;
    }
    return first;
}
