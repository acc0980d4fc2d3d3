/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of HTTP/1 requests by server, and the request line on its own. */
#include "h1_request.h"
#include "core_settings.h"
#include "http_protocol.h"
#include "request_parts.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

APLOG_USE_MODULE(core);

void h1_limits_of(const server_rec *s, h1_limits *out)
{
    const core_server_config *conf = core_server_conf_of(s);

    BRG_ASSERT(conf != NULL);
    memset(out, 0, sizeof(*out));
    out->line = (uint32_t)(s->limit_req_line > 0 ? s->limit_req_line : DEFAULT_LIMIT_REQUEST_LINE);
    out->field_size = (uint32_t)(s->limit_req_fieldsize > 0 ? s->limit_req_fieldsize
                                                            : DEFAULT_LIMIT_REQUEST_FIELDSIZE);
    out->fields = (uint32_t)(s->limit_req_fields > 0 ? s->limit_req_fields : 0);
    out->unsafe = conf->http_conformance == AP_HTTP_CONFORMANCE_UNSAFE;
    out->allow_09 = conf->http09_enable != AP_HTTP09_DISABLE;
    h1_fields_room(out);
}

AP_DECLARE(int) ap_parse_request_line(request_rec *r)
{
    h1_limits limits;
    http_head *head = apr_palloc(r->pool, sizeof(*head));
    const char *line = apr_pstrcat(r->pool, r->the_request, CRLF, NULL);
    int status;

    h1_limits_of(r->server, &limits);
    limits.any_major = r->connection->master != NULL;
    if (h1_parse_request_line(head, line, strlen(line), &limits) == H1_MORE)
        head->status = HTTP_BAD_REQUEST;
    status = request_take_line(r, head);
    if (status == OK)
        return 1;
    r->status = status;
    return 0;
}
