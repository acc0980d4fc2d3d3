/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FastCGI records: headers, the begin-request body, and name-value pairs of the environment.
 * Lengths of up to 127 bytes take one byte, longer ones four with the top bit set.
 */
#include <string.h>
#include "httpd.h"
#include "apr_tables.h"
#include "util_fcgi.h"

AP_DECLARE(void) ap_fcgi_header_to_array(ap_fcgi_header *h, unsigned char a[])
{
    a[AP_FCGI_HDR_VERSION_OFFSET] = h->version;
    a[AP_FCGI_HDR_TYPE_OFFSET] = h->type;
    a[AP_FCGI_HDR_REQUEST_ID_B1_OFFSET] = h->requestIdB1;
    a[AP_FCGI_HDR_REQUEST_ID_B0_OFFSET] = h->requestIdB0;
    a[AP_FCGI_HDR_CONTENT_LEN_B1_OFFSET] = h->contentLengthB1;
    a[AP_FCGI_HDR_CONTENT_LEN_B0_OFFSET] = h->contentLengthB0;
    a[AP_FCGI_HDR_PADDING_LEN_OFFSET] = h->paddingLength;
    a[AP_FCGI_HDR_RESERVED_OFFSET] = h->reserved;
}

AP_DECLARE(void) ap_fcgi_header_from_array(ap_fcgi_header *h, unsigned char a[])
{
    h->version = a[AP_FCGI_HDR_VERSION_OFFSET];
    h->type = a[AP_FCGI_HDR_TYPE_OFFSET];
    h->requestIdB1 = a[AP_FCGI_HDR_REQUEST_ID_B1_OFFSET];
    h->requestIdB0 = a[AP_FCGI_HDR_REQUEST_ID_B0_OFFSET];
    h->contentLengthB1 = a[AP_FCGI_HDR_CONTENT_LEN_B1_OFFSET];
    h->contentLengthB0 = a[AP_FCGI_HDR_CONTENT_LEN_B0_OFFSET];
    h->paddingLength = a[AP_FCGI_HDR_PADDING_LEN_OFFSET];
    h->reserved = a[AP_FCGI_HDR_RESERVED_OFFSET];
}

static apr_uint16_t util_fcgi_get16(unsigned char high, unsigned char low)
{
    return (apr_uint16_t)(high << 8 | low);
}

AP_DECLARE(void)
ap_fcgi_header_fields_from_array(unsigned char *version, unsigned char *type,
                                 apr_uint16_t *request_id, apr_uint16_t *content_len,
                                 unsigned char *padding_len, unsigned char a[])
{
    *version = a[AP_FCGI_HDR_VERSION_OFFSET];
    *type = a[AP_FCGI_HDR_TYPE_OFFSET];
    *request_id =
        util_fcgi_get16(a[AP_FCGI_HDR_REQUEST_ID_B1_OFFSET], a[AP_FCGI_HDR_REQUEST_ID_B0_OFFSET]);
    *content_len =
        util_fcgi_get16(a[AP_FCGI_HDR_CONTENT_LEN_B1_OFFSET], a[AP_FCGI_HDR_CONTENT_LEN_B0_OFFSET]);
    *padding_len = a[AP_FCGI_HDR_PADDING_LEN_OFFSET];
}

AP_DECLARE(void)
ap_fcgi_begin_request_body_to_array(ap_fcgi_begin_request_body *h, unsigned char a[])
{
    a[AP_FCGI_BRB_ROLEB1_OFFSET] = h->roleB1;
    a[AP_FCGI_BRB_ROLEB0_OFFSET] = h->roleB0;
    a[AP_FCGI_BRB_FLAGS_OFFSET] = h->flags;
    memcpy(a + AP_FCGI_BRB_RESERVED0_OFFSET, h->reserved, sizeof(h->reserved));
}

AP_DECLARE(void)
ap_fcgi_fill_in_header(ap_fcgi_header *header, unsigned char type, apr_uint16_t request_id,
                       apr_uint16_t content_len, unsigned char padding_len)
{
    header->version = AP_FCGI_VERSION_1;
    header->type = type;
    header->requestIdB1 = (unsigned char)(request_id >> 8);
    header->requestIdB0 = (unsigned char)request_id;
    header->contentLengthB1 = (unsigned char)(content_len >> 8);
    header->contentLengthB0 = (unsigned char)content_len;
    header->paddingLength = padding_len;
    header->reserved = 0;
}

AP_DECLARE(void)
ap_fcgi_fill_in_request_body(ap_fcgi_begin_request_body *brb, int role, unsigned char flags)
{
    memset(brb, 0, sizeof(*brb));
    brb->roleB1 = (unsigned char)(role >> 8);
    brb->roleB0 = (unsigned char)role;
    brb->flags = flags;
}

static apr_size_t util_fcgi_length_size(apr_size_t len)
{
    return len < 128 ? 1 : 4;
}

static apr_size_t util_fcgi_pair_size(const apr_table_entry_t *entry, apr_size_t *key,
                                      apr_size_t *val)
{
    *key = strlen(entry->key);
    *val = strlen(entry->val);
    return util_fcgi_length_size(*key) + util_fcgi_length_size(*val) + *key + *val;
}

AP_DECLARE(apr_size_t)
ap_fcgi_encoded_env_len(apr_table_t *env, apr_size_t maxlen, int *starting_elem)
{
    const apr_array_header_t *array = apr_table_elts(env);
    const apr_table_entry_t *entries = (const apr_table_entry_t *)array->elts;
    apr_size_t total = 0, key, val;
    int i;

    if (maxlen > AP_FCGI_MAX_CONTENT_LEN)
        maxlen = AP_FCGI_MAX_CONTENT_LEN;
    for (i = *starting_elem; i < array->nelts; i++) {
        apr_size_t size = entries[i].key ? util_fcgi_pair_size(&entries[i], &key, &val) : 0;

        if (size > maxlen - total)
            break;
        total += size;
    }
    *starting_elem = i;
    return total;
}

static unsigned char *util_fcgi_put_length(unsigned char *d, apr_size_t len)
{
    if (len < 128) {
        *d++ = (unsigned char)len;
        return d;
    }
    *d++ = (unsigned char)(len >> 24 | 0x80);
    *d++ = (unsigned char)(len >> 16);
    *d++ = (unsigned char)(len >> 8);
    *d++ = (unsigned char)len;
    return d;
}

AP_DECLARE(apr_status_t)
ap_fcgi_encode_env(request_rec *r, apr_table_t *env, void *buffer, apr_size_t buflen,
                   int *starting_elem)
{
    const apr_array_header_t *array = apr_table_elts(env);
    const apr_table_entry_t *entries = (const apr_table_entry_t *)array->elts;
    unsigned char *d = buffer, *end = d + buflen;
    apr_size_t key, val;
    int i;

    for (i = *starting_elem; i < array->nelts; i++) {
        if (!entries[i].key)
            continue;
        if (util_fcgi_pair_size(&entries[i], &key, &val) > (apr_size_t)(end - d))
            break;
        d = util_fcgi_put_length(d, key);
        d = util_fcgi_put_length(d, val);
        memcpy(d, entries[i].key, key);
        d += key;
        memcpy(d, entries[i].val, val);
        d += val;
    }
    if (i == *starting_elem && i < array->nelts)
        return APR_ENOSPC;
    *starting_elem = i;
    return APR_SUCCESS;
}
