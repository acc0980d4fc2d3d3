/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What brigade -k purge and cache, and the forms of the handler cache-manager name: URLs, beginnings of them, tags. The first byte chooses
 * the configuration of keys; the rest is once more a field with tags, as PURGE has it.
 * Covers: server/cached/cached_key.c server/freshness/fresh_key.c
 */
#include "cached_named_private.h"
#include "apr_general.h"
#include "apr_strings.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

static server_rec *site(apr_pool_t *p, unsigned how)
{
    server_rec *s = apr_pcalloc(p, sizeof *s);
    void **vector = apr_pcalloc(p, sizeof *vector);
    cached_server *conf = cached_server_create(p, s);

    cache_module.module_index = 0;
    vector[0] = conf;
    s->module_config = (void *)vector;
    s->server_hostname = apr_pstrdup(p, "localhost");
    s->wild_names = apr_array_make(p, 1, sizeof(char *));
    APR_ARRAY_PUSH(s->wild_names, const char *) = "*.example.com";
    conf->ignore_query = how & 1 ? CACHED_ON : CACHED_OFF;
    conf->base = how & 2 ? "https://cache.example:8443" : NULL;
    if (how & 4) {
        conf->ignore_sessions = apr_array_make(p, 1, sizeof(char *));
        APR_ARRAY_PUSH(conf->ignore_sessions, const char *) = "sid";
    }
    return s;
}

static void named(apr_pool_t *p, const server_rec *s, const char *arg)
{
    cached_named is, again;

    if (cached_named_read(p, s, arg, &is))
        return;
    check(is.text && is.len <= UINT16_MAX);
    check((is.what == CACHED_TAG) == !strncmp(arg, "tag:", 4));
    check(!cached_named_read(p, s, arg, &again) && again.len == is.len && again.what == is.what &&
          !memcmp(again.text, is.text, is.len));
}

static void tags(apr_pool_t *p, const char *text, size_t len)
{
    static const char *const names[] = {"Cache-Tag", "Surrogate-Key", "xkey"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const http_field field = {.name = names[i],
                                  .name_len = (uint32_t)strlen(names[i]),
                                  .value = apr_pmemdup(p, text, len + 1),
                                  .value_len = (uint32_t)len};
        const fresh_tags kind = fresh_tags_of(&field);
        const char *at = field.value, *end = at + len, *last = at, *tag;
        size_t n;

        check(kind != 0);
        while (fresh_tags_next(kind, &at, end, &tag, &n)) {
            check(n > 0 && tag >= last && tag + n <= end);
            last = tag + n;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *root;
    apr_pool_t *p;
    const char *text;

    if (!root && (apr_initialize() || apr_pool_create(&root, NULL)))
        abort();
    if (!size || size > 70000)
        return 0;
    apr_pool_create(&p, root);
    text = apr_pstrmemdup(p, (const char *)data + 1, size - 1);
    named(p, site(p, data[0]), text);
    tags(p, text, strlen(text));
    apr_pool_destroy(p);
    return 0;
}
