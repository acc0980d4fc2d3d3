/* SPDX-License-Identifier: Apache-2.0 */
/* A digest of the files with authorities for clients' certificates and with revocations. It is part
 * of the session id context: a session that was made under other files is not resumed. */
#include "tls_context_private.h"
#include "apr_file_io.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

/* Its name and length keep it apart from the next one. The user of an unreadable file reports it.
 */
static void digest_file(EVP_MD_CTX *md, const char *path, const char *name, apr_pool_t *p)
{
    char data[16384];
    apr_size_t n = sizeof data;
    apr_uint64_t bytes = 0;
    apr_file_t *f;

    EVP_DigestUpdate(md, name, strlen(name) + 1);
    if (apr_file_open(&f, path, APR_FOPEN_READ | APR_FOPEN_BINARY, APR_OS_DEFAULT, p) !=
        APR_SUCCESS)
        return;
    while (apr_file_read(f, data, &n) == APR_SUCCESS && n) {
        EVP_DigestUpdate(md, data, n);
        bytes += n;
        n = sizeof data;
    }
    apr_file_close(f);
    EVP_DigestUpdate(md, &bytes, sizeof bytes);
}

/* HASH.NUMBER, HASH.rNUMBER: OpenSSL looks at no others. */
static int digest_is_hashed(const char *name)
{
    size_t hash = strspn(name, "0123456789abcdef");

    if (hash != 8 || name[hash] != '.')
        return 0;
    name += hash + 1;
    name += *name == 'r';
    return *name && !name[strspn(name, "0123456789")];
}

static int digest_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void digest_folder(EVP_MD_CTX *md, const char *path, apr_pool_t *p)
{
    apr_array_header_t *names = apr_array_make(p, 64, sizeof(char *));
    apr_finfo_t info;
    apr_dir_t *dir;

    if (apr_dir_open(&dir, path, p) != APR_SUCCESS)
        return;
    while (apr_dir_read(&info, APR_FINFO_NAME, dir) == APR_SUCCESS)
        if (digest_is_hashed(info.name))
            APR_ARRAY_PUSH(names, const char *) = apr_pstrdup(p, info.name);
    apr_dir_close(dir);
    qsort(names->elts, (size_t)names->nelts, sizeof(char *), digest_order);
    for (int i = 0; i < names->nelts; i++) {
        const char *name = APR_ARRAY_IDX(names, i, const char *);

        digest_file(md, apr_pstrcat(p, path, "/", name, NULL), name, p);
    }
}

void tls_trust_digest(const tls_server_conf *sc, unsigned char digest[TLS_TRUST_DIGEST],
                      apr_pool_t *ptemp)
{
    const char *const files[] = {sc->ca_file, sc->crl_file, sc->ocsp.signers_file};
    const char *const folders[] = {sc->ca_path, sc->crl_path};
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    unsigned len = TLS_TRUST_DIGEST;
    apr_pool_t *p;

    memset(digest, 0, TLS_TRUST_DIGEST);
    apr_pool_create(&p, ptemp);
    if (md && EVP_DigestInit_ex(md, EVP_sha256(), NULL)) {
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
            if (files[i])
                digest_file(md, files[i], "", p);
        for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
            if (folders[i])
                digest_folder(md, folders[i], p);
        EVP_DigestFinal_ex(md, digest, &len);
        BRG_ASSERT(len == TLS_TRUST_DIGEST);
    }
    EVP_MD_CTX_free(md);
    apr_pool_destroy(p);
}
