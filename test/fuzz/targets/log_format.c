/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of access and error logs. The first byte chooses the kind; up to the first NUL stands the format, behind
 * it what clients sent: what is logged of that must not add lines or control characters.
 * Covers: modules/log_config/log_config_format.c modules/log_config/log_config_items.c server/log/log_format.c
 *     server/log/log_items.c
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "apr_strings.h"
#include "http_main.h"
#include "log_config_private.h"
#include "log_private.h"
#include "test_config.h"
#include "test_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { KIND_ACCESS, KIND_ERROR, KIND_ERROR_ONCE, KINDS };

static void check(int right)
{
    if (!right)
        abort();
}

static request_rec *request_of_client(apr_pool_t *p, const char *text)
{
    request_rec *r = test_request(p);

    r->server = r->connection->base_server = ap_server_conf;
    r->connection->conn_config = ap_create_conn_config(p);
    r->request_config = ap_create_request_config(p);
    r->per_dir_config = ap_server_conf->lookup_defaults;
    r->parsed_uri.hostname = (char *)"www.example.com";
    r->hostname = "www.example.com";
    r->connection->local_ip = (char *)"10.1.2.4";
    r->connection->local_addr = r->connection->client_addr;
    r->trailers_in = apr_table_make(p, 1);
    r->trailers_out = apr_table_make(p, 1);
    r->user = r->uri = r->filename = r->args = r->the_request = apr_pstrdup(p, text);
    r->method = r->handler = r->uri;
    apr_table_setn(r->headers_in, "H", text);
    apr_table_setn(r->headers_in, "Cookie", text);
    apr_table_setn(r->headers_in, "Referer", text);
    apr_table_setn(r->headers_out, "H", text);
    apr_table_setn(r->trailers_in, "H", text);
    apr_table_setn(r->subprocess_env, "H", text);
    apr_table_setn(r->notes, "H", text);
    return r;
}

/* Control characters of a line are the format's own: written there, or by strftime for %{...%t...}t. A line of JSON holds
 * the UTF-8 of clients as it is. */
static void check_line(const char *line, apr_size_t len, const char *format)
{
    int own = strchr(format, '\\') != NULL, braces = 0;
    const unsigned char last = strncmp(format, "json:", 5) ? 0x7e : 0xff;

    for (const char *f = format; *f; f++) {
        braces = *f == '{' || (braces && *f != '}');
        own |= (unsigned char)*f < 0x20 || (unsigned char)*f >= 0x7f || (braces && *f == '%');
    }
    for (apr_size_t i = 0; i < len && !own; i++)
        check((unsigned char)line[i] >= 0x20 && (unsigned char)line[i] <= last);
}

static void access_log(apr_pool_t *p, const char *format, const char *client)
{
    brg_transaction t;
    log_entry entry = {.first = &t, .last = &t};
    log_out out = {0};
    const char *err;
    apr_array_header_t *items = logconf_format_parse(p, format, &err);

    check((items == NULL) == (err != NULL));
    if (!items)
        return;
    brg_transaction_of(&t, request_of_client(p, client));
    log_plan_emit(&out, log_plan_make(p, items, 1), &entry);
    check(out.used <= out.size && out.used > 0 && out.data[out.used - 1] == '\n');
    check_line(out.data, out.used - 1, format);
    free(out.data);
}

static void error_log(apr_pool_t *p, const char *format, const char *client, int once)
{
    char line[LOG_LINE_BYTES], message[LOG_LINE_BYTES];
    apr_array_header_t *items;
    ap_errorlog_info info = {.file = "dir/file.c",
                             .line = 1,
                             .module_index = -1,
                             .level = APLOG_ERR,
                             .status = APR_ENOENT};
    const char *err = log_format_parse(p, format, once, &items);

    if (err)
        return;
    ap_escape_errorlog_item(message, client, sizeof message);
    for (int records = 0; records < 3; records++) {
        request_rec *r = request_of_client(p, client);

        info.s = records > 0 ? r->server : NULL;
        info.c = records > 0 ? r->connection : NULL;
        info.r = info.rmain = records > 1 ? r : NULL;
        for (int size = sizeof line; size > 0; size = size > 64 ? size / 4 : size - 9) {
            int n;

            memset(line, 'x', sizeof line);
            n = log_format_line(items, &info, once ? NULL : message, line, size);
            check(n >= 0 && n < size);
            check_line(line, (apr_size_t)n, format);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *format, *client;
    apr_pool_t *p;
    int kind;

    if (!test_process && (test_config_setup(NULL) || !test_config_read("")))
        abort();
    if (size < 1)
        return 0;
    apr_pool_create(&p, NULL);
    kind = data[0] % KINDS;
    format = apr_pstrmemdup(p, (const char *)data + 1, size - 1);
    client = size - 1 > strlen(format) ? format + strlen(format) + 1 : "";
    if (kind == KIND_ACCESS)
        access_log(p, format, client);
    else
        error_log(p, format, client, kind == KIND_ERROR_ONCE);
    apr_pool_destroy(p);
    return 0;
}
