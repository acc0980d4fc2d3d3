/* SPDX-License-Identifier: Apache-2.0 */
/* Dates and numbers as text, without printf. */
#include "program_thread.h"
#include "http_text.h"
#include "apr_time.h"
#include "brigade/assert.h"
#include "brigade/decimal.h"

const char *http_date_now(apr_time_t now)
{
    static PROGRAM_THREAD_LOCAL apr_time_t second = -1;
    static PROGRAM_THREAD_LOCAL char text[APR_RFC822_DATE_LEN];

    if (apr_time_sec(now) != second) {
        apr_rfc822_date(text, now);
        second = apr_time_sec(now);
    }
    return text;
}

size_t http_put_number(char *buf, apr_uint64_t n)
{
    BRG_ASSERT(buf);
    return brg_decimal_put(buf, n);
}
