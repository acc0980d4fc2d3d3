/* SPDX-License-Identifier: Apache-2.0 */
/* Writing, and a worker's waiting for a client that does not take the output. */
#include "core_output_private.h"
#include "clock.h"

#define OUTPUT_PATIENCE_US 250000 /* a worker's, with the client of one response */

apr_status_t core_output_write(struct core_output *out)
{
    apr_status_t rv = core_spool_is_active(out) ? core_spool_next(out) : APR_SUCCESS;

    return rv == APR_SUCCESS ? core_write(out) : rv;
}

/* Wait for the client until the patience of this response is used up. */
static apr_status_t core_output_be_patient(struct core_output *out, apr_interval_time_t timeout)
{
    apr_interval_time_t left = OUTPUT_PATIENCE_US - out->waited_us;
    apr_time_t began = clock_monotonic();
    apr_status_t rv = core_write_wait(out, timeout < 0 || left < timeout ? left : timeout);

    out->waited_us += clock_monotonic() - began;
    return APR_STATUS_IS_TIMEUP(rv) && (timeout < 0 || left < timeout) ? APR_SUCCESS : rv;
}

/* A worker's output waits for the client: give the worker something better to do. */
static apr_status_t core_output_wait_once(struct core_output *out, apr_interval_time_t timeout)
{
    apr_status_t rv;

    if (core_spool_is_active(out))
        return core_spool_wait(out);
    if (!core_spool_may_begin(out))
        return core_write_wait(out, timeout);
    if (out->waited_us < OUTPUT_PATIENCE_US)
        return core_output_be_patient(out, timeout);
    rv = core_spool_begin(out);
    return rv == CORE_SPOOL_NONE ? core_write_wait(out, timeout) : rv;
}

/* The rest is the loop's to send, and later output waits for that alone. */
static int core_output_is_left(const struct core_output *out)
{
    const apr_bucket *e = APR_BRIGADE_FIRST(out->bb);

    while (e != APR_BRIGADE_SENTINEL(out->bb) && APR_BUCKET_IS_METADATA(e))
        e = APR_BUCKET_NEXT(e);
    return core_spool_is_active(out) && e == APR_BRIGADE_SENTINEL(out->bb);
}

apr_status_t core_output_wait(struct core_output *out, apr_size_t most)
{
    apr_interval_time_t timeout = connection_timeout(out->c);
    apr_status_t rv;

    while ((rv = core_output_write(out)) == APR_EAGAIN) {
        if (conn_on_loop() || (most && out->memory <= most) || core_output_is_left(out))
            return APR_SUCCESS;
        if ((rv = core_output_wait_once(out, timeout)) != APR_SUCCESS)
            return rv;
    }
    return rv;
}
