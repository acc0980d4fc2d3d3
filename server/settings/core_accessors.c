/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of other modules about the core's settings for a request. */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "core_settings.h"

#undef ap_get_core_module_config
#undef ap_set_core_module_config

/* The core is always the first module. */
AP_DECLARE(void *) ap_get_core_module_config(const ap_conf_vector_t *cv)
{
    return ((void *const *)cv)[0];
}

AP_DECLARE(void) ap_set_core_module_config(ap_conf_vector_t *cv, void *val)
{
    ((void **)cv)[0] = val;
}

static const core_dir_config *core_dir_of(const request_rec *r)
{
    return ap_get_core_module_config(r->per_dir_config);
}

AP_DECLARE(int) ap_allow_options(request_rec *r)
{
    return core_dir_of(r)->opts;
}

AP_DECLARE(int) ap_allow_overrides(request_rec *r)
{
    return (int)core_dir_of(r)->override;
}

#define CORE_DEFAULT_BODY_LIMIT (1024 * 1024 * 1024)
#define CORE_DEFAULT_XML_LIMIT 1000000
#define CORE_DEFAULT_READ_SIZE AP_IOBUFSIZE

AP_DECLARE(apr_off_t) ap_get_limit_req_body(const request_rec *r)
{
    apr_off_t n = core_dir_of(r)->limit_req_body;

    return n < 0 ? CORE_DEFAULT_BODY_LIMIT : n;
}

/* 0 in the configuration stands for "as much as can be". */
AP_DECLARE(apr_size_t) ap_get_limit_xml_body(const request_rec *r)
{
    long n = core_dir_of(r)->limit_xml_body;

    if (n < 0)
        return CORE_DEFAULT_XML_LIMIT;
    return n ? (apr_size_t)n : APR_SIZE_MAX / 4;
}

AP_DECLARE(apr_size_t) ap_get_read_buf_size(const request_rec *r)
{
    apr_size_t n = core_dir_of(r)->read_buf_size;

    return n ? n : CORE_DEFAULT_READ_SIZE;
}
