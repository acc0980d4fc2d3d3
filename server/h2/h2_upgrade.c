/* SPDX-License-Identifier: Apache-2.0 */
/* The change from HTTP/1.1 by an Upgrade field (RFC 7540, 3.2), as Apache still offers it in the clear.
 *
 *   propose    a request without a body names h2c and has HTTP2-Settings: h2_upgrade_fits()
 *   switch     101 is on its way, the request becomes a field block in the connection's pool: h2_upgrade_begin()
 *   driver     when the request is over the driver of HTTP/2 has the connection: the block is stream 1
 */
#include "h2_private.h"
#include "connection.h"
#include "hpack_encode.h"
#include "http_field_traits.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

#define UPGRADE_SETTINGS_MOST 192 /* bytes: 32 settings */

struct h2_upgrade {
    uint32_t tag;
    uint8_t *settings, *block;
    uint32_t settings_len, block_len;
};

/* ---- HTTP2-Settings ---- */

static int base64url_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

/* @return bytes; -1: it is not base64url, or too long */
static int base64url_decode(uint8_t *out, size_t room, const char *text)
{
    uint32_t bits = 0;
    size_t n = 0, len = strcspn(text, "=");
    int have = 0;

    if (len % 4 == 1 || strspn(text + len, "=") != strlen(text + len))
        return -1;
    for (size_t i = 0; i < len; i++) {
        const int v = base64url_value(text[i]);

        if (v < 0)
            return -1;
        bits = bits << 6 | (uint32_t)v;
        have += 6;
        if (have < 8)
            continue;
        have -= 8;
        if (n == room)
            return -1;
        out[n++] = (uint8_t)(bits >> have);
    }
    return (int)n;
}

/* Exactly one such field: several lines are one value here, with commas. */
static int upgrade_settings(const request_rec *r, uint8_t *out)
{
    const char *value = apr_table_get(r->headers_in, "HTTP2-Settings");
    int n = value ? base64url_decode(out, UPGRADE_SETTINGS_MOST, value) : -1;

    return n % 6 == 0 ? n : -1;
}

/* Connection has to name HTTP2-Settings (RFC 7540, 3.2.1): a proxy in front that lets Upgrade
 * through removes other fields only where they are named, so an unnamed one does not come from the
 * peer that asks for the change. */
int h2_upgrade_fits(const request_rec *r)
{
    const h2_dir_conf *dc = ap_get_module_config(r->per_dir_config, &http2_module);
    const brg_conn *bc = connection_of(r->connection);
    uint8_t settings[UPGRADE_SETTINGS_MOST];

    return bc && !bc->master && !bc->transport && !bc->module_driven && dc->upgrade != 0 &&
           ap_find_token(r->pool, apr_table_get(r->headers_in, "Connection"), "HTTP2-Settings") &&
           r->unparsed_uri && r->unparsed_uri[0] == '/' &&
           !ap_request_has_body((request_rec *)(uintptr_t)r) && upgrade_settings(r, settings) >= 0;
}

/* ---- the request ---- */

typedef struct upgrade_text {
    uint8_t *at; /* NULL: sizes are counted */
    size_t size;
    apr_pool_t *pool;
} upgrade_text;

static void upgrade_put(upgrade_text *t, const char *name, const char *value)
{
    const size_t name_len = strlen(name), len = strlen(value);
    char *lower;

    t->size += STREAM_LINE_ROOM(name_len, len);
    if (!t->at)
        return;
    lower = apr_pstrmemdup(t->pool, name, name_len);
    ap_str_tolower(lower);
    t->at = hpack_put_line(t->at, lower, name_len, value, len, 0);
}

/* Fields of the former connection, and those that HTTP/2 sends in another form. */
static int upgrade_leaves_out(const char *name)
{
    return http_field_traits_of(name, strlen(name), HTTP_FIELD_OF_CONNECTION) ||
           !ap_cstr_casecmp(name, "TE") || !ap_cstr_casecmp(name, "HTTP2-Settings") ||
           !ap_cstr_casecmp(name, "Host");
}

static int upgrade_put_field(void *t, const char *name, const char *value)
{
    if (!upgrade_leaves_out(name))
        upgrade_put(t, name, value);
    return 1;
}

static void upgrade_put_all(upgrade_text *t, const request_rec *r)
{
    const char *host = apr_table_get(r->headers_in, "Host");

    BRG_ASSERT(r->method != NULL && r->unparsed_uri != NULL);

    upgrade_put(t, ":method", r->method);
    upgrade_put(t, ":scheme", "http");
    upgrade_put(t, ":path", r->unparsed_uri);
    if (host)
        upgrade_put(t, ":authority", host);
    apr_table_do(upgrade_put_field, t, r->headers_in, NULL);
}

void h2_upgrade_begin(const request_rec *r)
{
    brg_conn *bc = connection_of(r->connection);
    apr_pool_t *p = r->connection->pool;
    h2_upgrade *up = apr_pcalloc(p, sizeof *up);
    upgrade_text text = {.pool = p};
    int n;

    up->tag = H2_UPGRADE_TAG;
    up->settings = apr_palloc(p, UPGRADE_SETTINGS_MOST);
    n = upgrade_settings(r, up->settings);
    BRG_ASSERT(n >= 0); /* h2_upgrade_fits() */
    up->settings_len = (uint32_t)n;
    upgrade_put_all(&text, r);
    up->block = text.at = apr_palloc(p, text.size);
    upgrade_put_all(&text, r);
    up->block_len = (uint32_t)(text.at - up->block);
    BRG_ASSERT(up->block_len <= text.size / 2);
    bc->above = up;
    bc->becomes = CONN_HTTP2;
}

/* ---- on the loop ---- */

h2_upgrade *h2_upgrade_of(brg_conn *bc)
{
    h2_upgrade *up = bc->above;

    if (!up || up->tag != H2_UPGRADE_TAG)
        return NULL;
    bc->above = NULL;
    bc->close_after = CONN_KEEP;
    return up;
}

void h2_upgrade_settings(h2_session *h)
{
    BRG_ASSERT(h->upgrade != NULL && h->upgrade->tag == H2_UPGRADE_TAG);
    h2_input_settings(h, h->upgrade->settings, h->upgrade->settings_len);
}

void h2_upgrade_run(h2_session *h)
{
    const h2_upgrade *up = h->upgrade;

    h->upgrade = NULL;
    if (up && !h->streams.ending)
        h2_take_block(h, 1, H2_END_HEADERS | H2_END_STREAM, up->block, up->block_len);
}
