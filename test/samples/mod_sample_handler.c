/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A content handler: tells what it was asked, and what came in the body.
 *
 *     brigade-apxs -c -i -a mod_sample_handler.c
 *
 *     <Location "/ask">
 *         SetHandler sample-handler
 *         SampleGreeting "Good morning"
 *     </Location>
 *
 *     curl 'http://localhost/ask?name=Ada'        curl -d name=Ada http://localhost/ask
 *
 * It shows a directive with a configuration per directory, the arguments of the URI, a form in the
 * body, and escaping.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"
#include "util_script.h"
#include "apr_strings.h"

module AP_MODULE_DECLARE_DATA sample_handler_module;

typedef struct handler_conf {
    const char *greeting; /* NULL: not set here */
} handler_conf;

static void *handler_create_conf(apr_pool_t *p, char *dir)
{
    return apr_pcalloc(p, sizeof(handler_conf));
}

/* What is set in an inner section goes before what is set outside of it. */
static void *handler_merge_conf(apr_pool_t *p, void *outer, void *inner)
{
    const handler_conf *in = inner;

    return in->greeting ? inner : outer;
}

static const char *handler_set_greeting(cmd_parms *cmd, void *dir_conf, const char *text)
{
    handler_conf *conf = dir_conf;

    if (strlen(text) > 60)
        return "SampleGreeting takes at most 60 characters"; /* refused, with file and line */
    conf->greeting = text;
    return NULL;
}

static const command_rec handler_commands[] = {
    AP_INIT_TAKE1("SampleGreeting", handler_set_greeting, NULL, ACCESS_CONF | OR_OPTIONS, "a text"),
    {.name = NULL}};

/* Everything that came from outside is escaped before it goes into a page. */
static void handler_say(request_rec *r, const char *name)
{
    const handler_conf *conf = ap_get_module_config(r->per_dir_config, &sample_handler_module);

    ap_rprintf(r, "<p>%s, %s!</p>\n",
               ap_escape_html(r->pool, conf->greeting ? conf->greeting : "Hello"),
               ap_escape_html(r->pool, name));
}

static const char *handler_name_of_form(request_rec *r)
{
    apr_array_header_t *pairs = NULL;
    char *value = NULL;
    apr_off_t len;
    apr_size_t n;

    if (ap_parse_form_data(r, NULL, &pairs, 10, 8192) != OK || !pairs)
        return NULL;
    for (int i = 0; i < pairs->nelts && !value; i++) {
        ap_form_pair_t *pair = &((ap_form_pair_t *)pairs->elts)[i];

        if (strcmp(pair->name, "name") || apr_brigade_length(pair->value, 1, &len) != APR_SUCCESS)
            continue;
        n = (apr_size_t)len;
        value = apr_palloc(r->pool, n + 1);
        apr_brigade_flatten(pair->value, value, &n);
        value[n] = '\0';
    }
    return value;
}

static int handler_answer(request_rec *r)
{
    apr_table_t *args;
    const char *name;

    if (!r->handler || strcmp(r->handler, "sample-handler"))
        return DECLINED; /* another handler's */
    r->allowed |= (AP_METHOD_BIT << M_GET) | (AP_METHOD_BIT << M_POST);
    if (r->method_number != M_GET && r->method_number != M_POST)
        return HTTP_METHOD_NOT_ALLOWED;
    ap_args_to_table(r, &args);
    name = r->method_number == M_POST ? handler_name_of_form(r) : apr_table_get(args, "name");
    if (!name)
        return HTTP_BAD_REQUEST;
    ap_set_content_type(r, "text/html; charset=utf-8");
    if (!r->header_only)
        handler_say(r, name);
    return OK;
}

static void handler_register_hooks(apr_pool_t *p)
{
    ap_hook_handler(handler_answer, NULL, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(sample_handler) = {STANDARD20_MODULE_STUFF,
                                     handler_create_conf,
                                     handler_merge_conf,
                                     NULL,
                                     NULL,
                                     handler_commands,
                                     handler_register_hooks,
                                     0};
