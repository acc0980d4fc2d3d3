/* SPDX-License-Identifier: Apache-2.0 */
/* Floods (streams/stream_limits.c): exceeding a limit ends the connection with ENHANCE_YOUR_CALM.
 */
#include "h2_private.h"

int h2_limit_cheap(h2_session *h, const char *what)
{
    if (!stream_limit_cheap(&h->streams))
        return 0;
    h2_fail(h, H2_ENHANCE_YOUR_CALM, what);
    return 1;
}

int h2_limit_fault(h2_session *h, const char *what)
{
    if (!stream_limit_fault(&h->streams))
        return 0;
    h2_fail(h, H2_ENHANCE_YOUR_CALM, what);
    return 1;
}

int h2_limit_waste(h2_session *h, const char *what)
{
    if (!stream_limit_waste(&h->streams))
        return 0;
    h2_fail(h, H2_ENHANCE_YOUR_CALM, what);
    return 1;
}

int h2_limit_streams(const h2_session *h)
{
    return h->streams.open_n >= (unsigned)h->conf.max_streams;
}
