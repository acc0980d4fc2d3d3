/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that jobs make in the store: certificates replace others, accounts come. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "md_head.h"
#include "md_json.h"
#include "md_store.h"
#include "apr_file_info.h"
#include "apr_file_io.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHANGE_ARCHIVES 1000
#define CHANGE_ACCOUNTS 10000

static const char *change_path(apr_pool_t *p, const md_store *store, const char *group,
                               const char *name)
{
    return apr_pstrcat(p, store->folder, "/", group, "/", name, NULL);
}

/* ---- folders ---- */

/* A folder of files. */
static void folder_remove(apr_pool_t *p, const char *folder)
{
    apr_finfo_t entry;
    apr_dir_t *dir;

    if (apr_dir_open(&dir, folder, p) != APR_SUCCESS)
        return;
    while (apr_dir_read(&entry, APR_FINFO_NAME, dir) == APR_SUCCESS)
        if (strcmp(entry.name, ".") != 0 && strcmp(entry.name, "..") != 0)
            unlink(apr_pstrcat(p, folder, "/", entry.name, NULL));
    apr_dir_close(dir);
    rmdir(folder);
}

const char *md_store_attempt(apr_pool_t *p, const md_store *store, const char *name, int job)
{
    const char *folder = apr_psprintf(p, "%s.%d", change_path(p, store, "jobs", name), job);

    BRG_ASSERT(job > 0);
    folder_remove(p, folder);
    return mkdir(folder, 0700) ? NULL : folder;
}

void md_store_clean(apr_pool_t *p, const md_store *store, const char *name)
{
    const char *jobs = apr_pstrcat(p, store->folder, "/jobs", NULL);
    const size_t len = strlen(name);
    apr_finfo_t entry;
    apr_dir_t *dir;

    if (apr_dir_open(&dir, jobs, p) != APR_SUCCESS)
        return;
    while (apr_dir_read(&entry, APR_FINFO_NAME, dir) == APR_SUCCESS)
        if (!strncmp(entry.name, name, len) && entry.name[len] == '.' &&
            entry.name[len + 1 + strspn(entry.name + len + 1, "0123456789")] == '\0')
            folder_remove(p, apr_pstrcat(p, jobs, "/", entry.name, NULL));
    apr_dir_close(dir);
}

static const char *staged_folder(apr_pool_t *p, const md_store *store, const char *name)
{
    return apr_pstrcat(p, change_path(p, store, "jobs", name), ".staged", NULL);
}

int md_store_stage(apr_pool_t *p, const md_store *store, const char *name, const char *attempt)
{
    md_store_unstage(p, store, name);
    return rename(attempt, staged_folder(p, store, name));
}

void md_store_unstage(apr_pool_t *p, const md_store *store, const char *name)
{
    folder_remove(p, staged_folder(p, store, name));
}

const char *md_store_staged(apr_pool_t *p, const md_store *store, const md_domain *domain,
                            apr_time_t *from)
{
    const char *folder = staged_folder(p, store, domain->name), *suffix, *pem;
    const md_cert *cert;

    BRG_ASSERT(domain->set->keys->nelts > 0);
    suffix = md_key_suffix(p, &APR_ARRAY_IDX(domain->set->keys, 0, md_key_spec));
    pem = md_file_read(p, apr_pstrcat(p, folder, "/pubcert", suffix, ".pem", NULL));
    cert = pem ? md_cert_read(p, pem) : NULL;
    if (!cert || cert->until <= apr_time_now())
        return NULL;
    *from = cert->from;
    return folder;
}

/* The first number that is free; the oldest archives are not touched. */
static void change_archive(apr_pool_t *p, const md_store *store, const char *name,
                           const char *folder)
{
    for (int i = 1; i < CHANGE_ARCHIVES; i++) {
        const char *to = apr_psprintf(p, "%s.%d", change_path(p, store, "archive", name), i);

        if (!renameat2(AT_FDCWD, folder, AT_FDCWD, to, RENAME_NOREPLACE))
            return;
        if (errno == EINVAL && access(to, F_OK) && !rename(folder, to))
            return; /* a file system without RENAME_NOREPLACE */
    }
    folder_remove(p, folder);
}

int md_store_install(apr_pool_t *p, const md_store *store, const md_domain *domain,
                     const char *attempt)
{
    const char *to = change_path(p, store, "domains", domain->name);

    BRG_ASSERT(attempt && domain->set);
    if (!renameat2(AT_FDCWD, attempt, AT_FDCWD, to, RENAME_EXCHANGE)) {
        change_archive(p, store, domain->name, attempt);
        return md_store_go_live(p, store, domain);
    }
    if (errno != EINVAL && errno != ENOENT)
        return -1;
    change_archive(p, store, domain->name, to); /* a file system that cannot exchange */
    return rename(attempt, to) ? -1 : md_store_go_live(p, store, domain);
}

/* ---- accounts ---- */

static const char *account_pattern(apr_pool_t *p, const char *authority)
{
    md_url url;

    if (md_url_read(p, authority, &url))
        return NULL;
    return apr_pstrcat(p, "ACME-", url.host, "-", NULL);
}

static int account_read(apr_pool_t *p, const md_store *store, const char *id, const char *authority,
                        md_stored_account *account)
{
    const char *folder = change_path(p, store, "accounts", id);
    const char *text = md_file_read(p, apr_pstrcat(p, folder, "/account.json", NULL));
    const char *pem = md_file_read(p, apr_pstrcat(p, folder, "/account.pem", NULL));
    const md_json *json = text ? md_json_read(p, text, strlen(text)) : NULL;
    const char *url = md_json_text(json, "url"), *at = md_json_text(json, "ca-url"),
               *status = md_json_text(json, "status");

    BRG_ASSERT(store->pass && authority);
    if (!pem || !url || !at || strcmp(at, authority) != 0 ||
        (status && strcmp(status, "valid") != 0))
        return -1;
    account->id = id;
    account->url = url;
    account->key = md_key_of_pem(pem, store->pass, store->pass_len);
    return account->key ? 0 : -1;
}

int md_store_account(apr_pool_t *p, const md_store *store, const char *authority,
                     md_stored_account *account)
{
    const char *pattern = account_pattern(p, authority);

    for (int i = 0; pattern && i < CHANGE_ACCOUNTS; i++) {
        const char *id = apr_psprintf(p, "%s%04d", pattern, i);

        if (!account_read(p, store, id, authority, account))
            return 0;
        if (access(change_path(p, store, "accounts", id), F_OK))
            return -1;
    }
    return -1;
}

int md_store_account_put(apr_pool_t *p, const md_store *store, const char *authority,
                         const char *contact, md_stored_account *account)
{
    const char *pattern = account_pattern(p, authority), *folder = NULL, *text, *pem;

    BRG_ASSERT(account->key && account->url && !account->id);
    for (int i = 0; pattern && i < CHANGE_ACCOUNTS && !folder; i++) {
        account->id = apr_psprintf(p, "%s%04d", pattern, i);
        folder = change_path(p, store, "accounts", account->id);
        if (mkdir(folder, 0700)) {
            folder = NULL;
            if (errno != EEXIST)
                return -1;
        }
    }
    pem = md_key_pem(p, account->key, store->pass, store->pass_len);
    text =
        apr_pstrcat(p, "{\n  \"status\": \"valid\",\n  \"url\": ", md_json_quote(p, account->url),
                    ",\n  \"ca-url\": ", md_json_quote(p, authority), ",\n  \"contact\": [",
                    contact ? md_json_quote(p, contact) : "", "]\n}", NULL);
    return folder && pem && !md_file_write(p, apr_pstrcat(p, folder, "/account.pem", NULL), pem) &&
                   !md_file_write(p, apr_pstrcat(p, folder, "/account.json", NULL), text)
               ? 0
               : -1;
}

void md_store_account_lost(apr_pool_t *p, const md_store *store, const char *id)
{
    const char *file = apr_pstrcat(p, change_path(p, store, "accounts", id), "/account.json", NULL);

    rename(file, apr_pstrcat(p, file, ".lost", NULL));
}
