/* SPDX-License-Identifier: Apache-2.0 */
/* The Date value, formatted at most once a second by each thread. */
#include "h1_response.h"
#include "apr_time.h"

const char *h1_date_now(apr_time_t now)
{
    static _Thread_local apr_time_t second = -1;
    static _Thread_local char text[APR_RFC822_DATE_LEN];

    if (apr_time_sec(now) != second) {
        apr_rfc822_date(text, now);
        second = apr_time_sec(now);
    }
    return text;
}
