/* SPDX-License-Identifier: Apache-2.0 */
/* Which field ends where: one table for all that pass fields on, store them or leave them out. */
#include "http_field_traits.h"
#include "http_scan.h"
#include "brigade/assert.h"

#define OF_CONNECTION (HTTP_FIELD_OF_CONNECTION | HTTP_FIELD_HOP_BY_HOP | NOT_KEPT)
#define NOT_KEPT (HTTP_FIELD_NOT_STORED | HTTP_FIELD_KEPT_BY_304)

typedef struct traits_row {
    const char name[28]; /* in lower case */
    uint16_t traits;
} traits_row;

#define ROWS(...)        \
    (const traits_row[]) \
    {                    \
        __VA_ARGS__,     \
        {                \
            "", 0        \
        }                \
    }

/* By length of the name. */
static const traits_row *const traits_rows[HTTP_FIELD_TRAITS_LONGEST + 1] = {
    [2] = ROWS({"te", HTTP_FIELD_HOP_BY_HOP | NOT_KEPT}),
    [3] = ROWS({"uri", HTTP_FIELD_URL}, {"age", NOT_KEPT}),
    [7] = ROWS({"trailer", HTTP_FIELD_HOP_BY_HOP | NOT_KEPT}, {"upgrade", OF_CONNECTION},
               {"expires", HTTP_FIELD_OF_BODY}),
    [8] = ROWS({"location", HTTP_FIELD_URL}),
    [10] = ROWS({"connection", OF_CONNECTION}, {"keep-alive", OF_CONNECTION},
                {"set-cookie", HTTP_FIELD_COOKIE | HTTP_FIELD_KEPT_BY_304}),
    [11] = ROWS({"set-cookie2", HTTP_FIELD_KEPT_BY_304}, {"destination", HTTP_FIELD_URL},
                /* of the bytes, which stay */
                {"content-md5", HTTP_FIELD_KEPT_BY_304 | HTTP_FIELD_OF_BODY}),
    [12] = ROWS({"content-type", HTTP_FIELD_OF_BODY}),
    [13] = ROWS({"content-range", HTTP_FIELD_KEPT_BY_304 | HTTP_FIELD_OF_BODY},
                {"last-modified", HTTP_FIELD_OF_BODY}),
    [14] = ROWS({"content-length", HTTP_FIELD_KEPT_BY_304 | HTTP_FIELD_OF_BODY}),
    [16] = ROWS({"proxy-connection", OF_CONNECTION},
                {"content-encoding", HTTP_FIELD_KEPT_BY_304 | HTTP_FIELD_OF_BODY},
                {"content-language", HTTP_FIELD_OF_BODY},
                {"content-location", HTTP_FIELD_URL | HTTP_FIELD_OF_BODY}),
    [17] = ROWS({"transfer-encoding", OF_CONNECTION | HTTP_FIELD_OF_BODY}),
    [18] = ROWS({"proxy-authenticate", NOT_KEPT}),
    [19] = ROWS({"proxy-authorization", HTTP_FIELD_NOT_STORED}),
    [25] = ROWS({"proxy-authentication-info", NOT_KEPT}),
};

/* The union of the rows of each length; the unit test compares it with them. */
const uint16_t http_field_traits_by_len[HTTP_FIELD_TRAITS_LONGEST + 1] = {
    [2] = HTTP_FIELD_HOP_BY_HOP | HTTP_FIELD_NOT_STORED | HTTP_FIELD_KEPT_BY_304,
    [3] = HTTP_FIELD_NOT_STORED | HTTP_FIELD_KEPT_BY_304 | HTTP_FIELD_URL,
    [7] = HTTP_FIELD_OF_CONNECTION | HTTP_FIELD_HOP_BY_HOP | HTTP_FIELD_NOT_STORED |
          HTTP_FIELD_KEPT_BY_304 | HTTP_FIELD_OF_BODY,
    [8] = HTTP_FIELD_URL,
    [10] = HTTP_FIELD_OF_CONNECTION | HTTP_FIELD_HOP_BY_HOP | HTTP_FIELD_NOT_STORED |
           HTTP_FIELD_KEPT_BY_304 | HTTP_FIELD_COOKIE,
    [11] = HTTP_FIELD_KEPT_BY_304 | HTTP_FIELD_OF_BODY | HTTP_FIELD_URL,
    [12] = HTTP_FIELD_OF_BODY,
    [13] = HTTP_FIELD_KEPT_BY_304 | HTTP_FIELD_OF_BODY,
    [14] = HTTP_FIELD_KEPT_BY_304 | HTTP_FIELD_OF_BODY,
    [16] = HTTP_FIELD_OF_CONNECTION | HTTP_FIELD_HOP_BY_HOP | HTTP_FIELD_NOT_STORED |
           HTTP_FIELD_KEPT_BY_304 | HTTP_FIELD_OF_BODY | HTTP_FIELD_URL,
    [17] = HTTP_FIELD_OF_CONNECTION | HTTP_FIELD_HOP_BY_HOP | HTTP_FIELD_NOT_STORED |
           HTTP_FIELD_KEPT_BY_304 | HTTP_FIELD_OF_BODY,
    [18] = HTTP_FIELD_NOT_STORED | HTTP_FIELD_KEPT_BY_304,
    [19] = HTTP_FIELD_NOT_STORED,
    [25] = HTTP_FIELD_NOT_STORED | HTTP_FIELD_KEPT_BY_304,
};

unsigned http_field_traits_look_up(const char *name, size_t len)
{
    const traits_row *row = traits_rows[len];

    BRG_ASSERT_DEBUG(name && len > 0 && len <= HTTP_FIELD_TRAITS_LONGEST);
    for (; row && row->name[0]; row++)
        if ((name[0] | 0x20) == row->name[0] &&
            (len < 8 ? http_same(name, row->name, len) : http_same_wide(name, row->name, len)))
            return row->traits;
    return 0;
}
