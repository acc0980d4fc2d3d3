/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of VirtualDocumentRootIP and VirtualScriptAliasIP in the first line, and the name that fills them in the second: a folder comes
 * of both, or an error.
 * Covers: modules/mapping/mod_vhost_alias.c
 */
#include "test_request.h"
#include "http_config.h"
#include "http_request.h"
#include "core_settings.h"
#include "apr_general.h"
#include "apr_hooks.h"
#include "apr_strings.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern module vhost_alias_module;

static void check(int right)
{
    if (!right)
        abort();
}

static void map(apr_pool_t *p, const char *format, const char *name)
{
    enum {
        SCRIPTS = 2,
        DOCUMENTS = 3
    }; /* the directives by address, whose name is any text here */
    request_rec *r = test_request(p);
    void *configs[] = {NULL, NULL, vhost_alias_module.create_server_config(p, r->server)};
    void *of_request[] = {apr_pcalloc(p, sizeof(core_request_config)), NULL, NULL};
    void *of_folder[] = {apr_pcalloc(p, sizeof(core_dir_config)), NULL, NULL};
    cmd_parms cmd = {.pool = p, .temp_pool = p, .server = r->server};
    int status;

    r->server->module_config = (ap_conf_vector_t *)(void *)configs;
    r->request_config = (ap_conf_vector_t *)(void *)of_request;
    r->per_dir_config = (ap_conf_vector_t *)(void *)of_folder;
    r->connection->local_addr = apr_pcalloc(p, sizeof(apr_sockaddr_t));
    r->connection->local_ip = apr_pstrdup(p, name);
    r->uri = apr_pstrdup(p, strlen(name) % 2 ? "/cgi-bin/a" : "/a");
    for (int i = SCRIPTS; i <= DOCUMENTS; i++) {
        const char *error;

        cmd.cmd = &vhost_alias_module.cmds[i];
        cmd.info = cmd.cmd->cmd_data;
        error = cmd.cmd->AP_TAKE1(&cmd, NULL, format);
        if (error) {
            check(*error);
            return;
        }
    }
    status = ap_run_translate_name(r);
    check(status == DECLINED || status == HTTP_INTERNAL_SERVER_ERROR ||
          (status == OK && *r->filename == '/' && r->filename[strlen(r->filename) - 1] == 'a'));
    check(status != DECLINED || *format != '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *root;
    apr_pool_t *p;
    char *text, *newline;

    if (!root) {
        if (apr_initialize() || apr_pool_create(&root, NULL))
            abort();
        apr_hook_global_pool = root;
        vhost_alias_module.module_index = 2; /* slot 1 is of the lists of hooks */
        vhost_alias_module.register_hooks(root);
    }
    apr_pool_create(&p, root);
    text = apr_pstrmemdup(p, (const char *)data, size);
    if ((newline = strchr(text, '\n')) != NULL) {
        *newline++ = '\0';
        map(p, text, newline);
    }
    apr_pool_destroy(p);
    return 0;
}
