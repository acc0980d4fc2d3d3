/* SPDX-License-Identifier: Apache-2.0 */
/* ap_log_*data: blocks of bytes in the error log, sixteen to a line, in hexadecimal and as text. */
#include "log_private.h"
#include "brigade/assert.h"

#include "apr_strings.h"

#include <string.h>

#define DATA_PER_LINE 16
#define DATA_LINE_BYTES 100

/* Where the lines go: exactly one of r, c (with s) and s alone. */
typedef struct data_target {
    const char *file;
    int line, module_index, level;
    const server_rec *s;
    const conn_rec *c;
    const request_rec *r;
} data_target;

static void data_say(const data_target *t, const char *text)
{
    BRG_ASSERT(!t->r || (!t->c && !t->s));
    if (t->r)
        ap_log_rerror_(t->file, t->line, t->module_index, t->level, 0, t->r, "%s", text);
    else if (t->c)
        ap_log_cserror_(t->file, t->line, t->module_index, t->level, 0, t->c, t->s, "%s", text);
    else
        ap_log_error_(t->file, t->line, t->module_index, t->level, 0, t->s, "%s", text);
}

static char *data_hex(char *at, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";

    *at++ = digits[byte >> 4];
    *at++ = digits[byte & 15];
    return at;
}

static void data_line(const data_target *t, const unsigned char *data, apr_size_t len,
                      apr_size_t offset, unsigned flags)
{
    char line[DATA_LINE_BYTES], *at = line;

    BRG_ASSERT(len > 0 && len <= DATA_PER_LINE);
    if (flags & AP_LOG_DATA_SHOW_OFFSET)
        at += apr_snprintf(at, 16, "%04" APR_UINT64_T_HEX_FMT ": ", (apr_uint64_t)offset);
    for (apr_size_t i = 0; i < DATA_PER_LINE; i++) {
        if (i < len)
            at = data_hex(at, data[i]);
        else
            at = (char *)memset(at, ' ', 2) + 2;
        *at++ = i == DATA_PER_LINE / 2 - 1 ? '-' : ' ';
    }
    *at++ = ' ';
    for (apr_size_t i = 0; i < len; i++)
        *at++ = data[i] >= 0x20 && data[i] < 0x7f ? (char)data[i] : '.';
    BRG_ASSERT(at < line + sizeof line);
    *at = '\0';
    data_say(t, line);
}

static void data_write(const data_target *t, const char *label, const void *data, apr_size_t len,
                       unsigned flags)
{
    char head[LOG_LINE_BYTES];

    if (label) {
        apr_snprintf(head, sizeof head, "%s (%" APR_SIZE_T_FMT " bytes)", label, len);
        data_say(t, head);
    }
    for (apr_size_t at = 0; at < len; at += DATA_PER_LINE)
        data_line(t, (const unsigned char *)data + at,
                  len - at < DATA_PER_LINE ? len - at : DATA_PER_LINE, at, flags);
}

AP_DECLARE(void)
ap_log_data_(const char *file, int line, int module_index, int level, const server_rec *s,
             const char *label, const void *data, apr_size_t len, unsigned int flags)
{
    data_target t = {file, line, module_index, level, s, NULL, NULL};
    data_write(&t, label, data, len, flags);
}

AP_DECLARE(void)
ap_log_rdata_(const char *file, int line, int module_index, int level, const request_rec *r,
              const char *label, const void *data, apr_size_t len, unsigned int flags)
{
    data_target t = {file, line, module_index, level, NULL, NULL, r};
    data_write(&t, label, data, len, flags);
}

AP_DECLARE(void)
ap_log_cdata_(const char *file, int line, int module_index, int level, const conn_rec *c,
              const char *label, const void *data, apr_size_t len, unsigned int flags)
{
    data_target t = {file, line, module_index, level, c->base_server, c, NULL};
    data_write(&t, label, data, len, flags);
}

AP_DECLARE(void)
ap_log_csdata_(const char *file, int line, int module_index, int level, const conn_rec *c,
               const server_rec *s, const char *label, const void *data, apr_size_t len,
               unsigned int flags)
{
    data_target t = {file, line, module_index, level, s, c, NULL};
    data_write(&t, label, data, len, flags);
}
