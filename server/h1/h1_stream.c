/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Responses of streams: the head as fields and the end as a mark, which the stream's transport encodes. The body stays as it is
 * between them.
 *
 * A program that writes its head by itself, and modules that write to the connection's filters, send bytes of HTTP/1 all the same;
 * these are the transport's to read.
 */
#include "bucket_part.h"
#include "connection.h"
#include "h1_response.h"
#include "http_fields.h"
#include "transport.h"
#include "http_log.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(http);

#define STREAM_FIELDS 64 /* more than that are listed in the request's pool */

static brg_conn *stream_of(const request_rec *r)
{
    brg_conn *bc = r->connection->master ? connection_of(r->connection) : NULL;

    return bc && bc->transport && transport_takes_parts(bc) ? bc : NULL;
}

int h1_stream_is(const request_rec *r)
{
    return stream_of(r) != NULL;
}

static apr_bucket *stream_encode(const request_rec *r, const stream_fields *fields)
{
    brg_conn *bc = stream_of(r);
    shared_ref *part;

    BRG_ASSERT(bc && bc->c == r->connection);
    part = bc->transport->encode(bc, fields);
    return part ? bucket_part_create(part, r->connection->bucket_alloc) : NULL;
}

/* Room for the fields of a table and some more. */
static http_field *stream_room(const request_rec *r, http_field *own, const apr_table_t *table)
{
    const int n = apr_table_elts(table)->nelts + H1_TOP_FIELDS;

    return n <= STREAM_FIELDS ? own : apr_palloc(r->pool, (apr_size_t)n * sizeof *own);
}

apr_bucket *h1_stream_head(request_rec *r, int whole, h1_head_lengths *lengths)
{
    http_field own[STREAM_FIELDS];
    stream_fields fields = {
        .status = r->status, .is_whole = whole, .field = stream_room(r, own, r->headers_out)};

    fields.n = h1_list_head(r, lengths, (http_field *)(uintptr_t)fields.field);
    return stream_encode(r, &fields);
}

/* Removes fields that could split a response, and, of trailers, those that frame a body. */
static int stream_keep_safe(http_field *field, int n)
{
    int kept = 0;

    for (int i = 0; i < n; i++)
        if (http_field_is_safe(field[i].name, field[i].value))
            field[kept++] = field[i];
    return kept;
}

apr_bucket *h1_stream_interim(request_rec *r, int with_fields)
{
    http_field own[STREAM_FIELDS], *field = stream_room(r, own, r->headers_out);
    stream_fields fields = {.status = r->status,
                            .is_wanted = apr_table_get(r->notes, "early-hints") != NULL,
                            .field = field};

    BRG_ASSERT(r->status >= 100 && r->status < 200);
    if (with_fields)
        fields.n = stream_keep_safe(field, h1_list_table(r->headers_out, field));
    return stream_encode(r, &fields);
}

/* Fields that frame a body cannot stand behind it. */
static int stream_drop_frame(http_field *field, int n)
{
    int kept = 0;

    for (int i = 0; i < n; i++)
        switch (http_field_id_of(field[i].name, field[i].name_len)) {
        case HTTP_F_CONTENT_LENGTH:
        case HTTP_F_TRANSFER_ENCODING:
        case HTTP_F_TRAILER:
            break;
        default:
            field[kept++] = field[i];
        }
    return kept;
}

apr_bucket *h1_stream_end(request_rec *r)
{
    http_field own[STREAM_FIELDS], *field;
    stream_fields fields = {.status = 0};

    if (apr_is_empty_table(r->trailers_out))
        return bucket_part_create(NULL, r->connection->bucket_alloc);
    field = stream_room(r, own, r->trailers_out);
    fields.n = stream_drop_frame(field, h1_list_table(r->trailers_out, field));
    fields.field = field;
    if (stream_keep_safe(field, fields.n) == fields.n)
        return stream_encode(r, &fields);
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  "a trailer that cannot be sent: the response stays incomplete");
    return NULL;
}
