/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration text: the first byte says whether it is an .htaccess file ('h') or a server's
 * configuration. Lines that would open other files are left out.
 * Covers: server/config/config_parse.c server/config/config_line.c server/config/config_tree.c
 *     server/config/config_args.c server/config/config_vars.c server/config/config_htaccess.c
 *     server/config/config_commands.c
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "test_config.h"
#include "configuration.h"
#include "apr_strings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int opens_files(const char *text)
{
    static const char *const words[] = {"include", "load", "typesconfig", "root", "dir"};

    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (ap_strcasestr(text, words[i]))
            return 1;
    return 0;
}

static void read_server(const char *text)
{
    if (!opens_files(text))
        test_config_read(text);
}

static void read_htaccess(const char *text, size_t size)
{
    const conf_htaccess_scope scope = {OR_ALL, OPT_ALL, NULL};
    const ap_directive_t *err;
    ap_directive_t *tree;
    request_rec *r;
    conn_rec *c;
    apr_pool_t *p;

    if (!ap_server_conf && !test_config_read(""))
        abort();
    apr_pool_create(&p, test_process->pool);
    r = apr_pcalloc(p, sizeof *r);
    c = apr_pcalloc(p, sizeof *c);
    r->pool = c->pool = p;
    r->connection = c;
    r->server = c->base_server = ap_server_conf;
    if (!conf_htaccess_parse(p, r, &scope, "/d/", conf_open_memory(p, "fuzz", text, size), &tree,
                             &err))
        conf_htaccess_apply(p, r, &scope, "/d/", tree, ap_create_per_dir_config(p), &err);
    apr_pool_destroy(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;

    if (!test_process && test_config_setup(NULL))
        abort();
    if (!size)
        return 0;
    text = malloc(size);
    if (!text)
        abort();
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] == 'h')
        read_htaccess(text, size - 1);
    else
        read_server(text);
    free(text);
    return 0;
}
