/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request methods: numbers of Apache's and of modules' methods, sets of them, and the Allow field.
 *
 * Numbers are bits in a 64-bit mask, so at most METHOD_NUMBER_LAST are given out. Registration
 * happens while the configuration is read, by one thread; later calls only look up.
 */
#include "http_error.h"
#include "core_settings.h"
#include "http_config.h"
#include "http_log.h"
#include "http_request.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <stdarg.h>
#include <string.h>

APLOG_USE_MODULE(http);

#define METHOD_NUMBER_FIRST (M_INVALID + 1)
#define METHOD_NUMBER_LAST 62

typedef struct method_name {
    const char *name;
    int number;
} method_name;

static const method_name methods_known[] = {
    {"GET", M_GET},
    {"POST", M_POST},
    {"OPTIONS", M_OPTIONS},
    {"HEAD", M_GET},
    {"PUT", M_PUT},
    {"DELETE", M_DELETE},
    {"CONNECT", M_CONNECT},
    {"PATCH", M_PATCH},
    {"PROPFIND", M_PROPFIND},
    {"PROPPATCH", M_PROPPATCH},
    {"MKCOL", M_MKCOL},
    {"COPY", M_COPY},
    {"MOVE", M_MOVE},
    {"LOCK", M_LOCK},
    {"UNLOCK", M_UNLOCK},
    {"VERSION-CONTROL", M_VERSION_CONTROL},
    {"CHECKOUT", M_CHECKOUT},
    {"UNCHECKOUT", M_UNCHECKOUT},
    {"CHECKIN", M_CHECKIN},
    {"UPDATE", M_UPDATE},
    {"LABEL", M_LABEL},
    {"REPORT", M_REPORT},
    {"MKWORKSPACE", M_MKWORKSPACE},
    {"MKACTIVITY", M_MKACTIVITY},
    {"BASELINE-CONTROL", M_BASELINE_CONTROL},
    {"MERGE", M_MERGE},
    {"TRACE", M_TRACE},
};

#define METHODS_KNOWN ((int)(sizeof(methods_known) / sizeof(methods_known[0])))

/* From M_INVALID + 1 on, in order of registration. Lives in the pool of the configuration. */
static char *methods_extra[METHOD_NUMBER_LAST - METHOD_NUMBER_FIRST + 1];
static int methods_extra_n;

static apr_status_t method_registry_forget(void *unused)
{
    methods_extra_n = 0;
    return APR_SUCCESS;
}

AP_DECLARE(void) ap_method_registry_init(apr_pool_t *p)
{
    methods_extra_n = 0;
    apr_pool_cleanup_register(p, NULL, method_registry_forget, apr_pool_cleanup_null);
}

static int method_lookup(const char *name)
{
    BRG_ASSERT(name != NULL);
    for (int i = 0; i < METHODS_KNOWN; i++)
        if (strcmp(methods_known[i].name, name) == 0)
            return methods_known[i].number;
    for (int i = 0; i < methods_extra_n; i++)
        if (strcmp(methods_extra[i], name) == 0)
            return METHOD_NUMBER_FIRST + i;
    return M_INVALID;
}

AP_DECLARE(int) ap_method_number_of(const char *method)
{
    if (method[0] == 'G' && strcmp(method, "GET") == 0)
        return M_GET;
    return method_lookup(method);
}

AP_DECLARE(int) ap_method_register(apr_pool_t *p, const char *methname)
{
    int number;

    if (!methname)
        return M_INVALID;
    number = method_lookup(methname);
    if (number != M_INVALID)
        return number;
    if (METHOD_NUMBER_FIRST + methods_extra_n > METHOD_NUMBER_LAST) {
        ap_log_perror(
            APLOG_MARK, APLOG_ERR, 0, p,
            APLOGNO(01610) "Maximum new request methods %d reached while registering method %s.",
            METHOD_NUMBER_LAST, methname);
        return M_INVALID;
    }
    methods_extra[methods_extra_n] = apr_pstrdup(p, methname);
    return METHOD_NUMBER_FIRST + methods_extra_n++;
}

AP_DECLARE(const char *) ap_method_name_of(apr_pool_t *p, int methnum)
{
    for (int i = 0; i < METHODS_KNOWN; i++)
        if (methods_known[i].number == methnum)
            return methods_known[i].name;
    if (methnum >= METHOD_NUMBER_FIRST && methnum < METHOD_NUMBER_FIRST + methods_extra_n)
        return methods_extra[methnum - METHOD_NUMBER_FIRST];
    return NULL;
}

/* ---- sets ---- */

/* A list, its array and that one's first room: each request has one. */
typedef struct method_set {
    ap_method_list_t list;
    apr_array_header_t names;
    char *room[];
} method_set;

AP_DECLARE(ap_method_list_t *) ap_make_method_list(apr_pool_t *p, int nelts)
{
    const int room = nelts > 0 ? nelts : 1;
    method_set *set = apr_pcalloc(p, sizeof(*set) + (apr_size_t)room * sizeof(*set->room));

    set->names.pool = p;
    set->names.elt_size = sizeof(*set->room);
    set->names.nalloc = room;
    set->names.elts = (char *)set->room;
    set->list.method_list = &set->names;
    return &set->list;
}

AP_DECLARE(void) ap_copy_method_list(ap_method_list_t *dest, ap_method_list_t *src)
{
    const char *const *from = (const char *const *)src->method_list->elts;

    dest->method_mask = src->method_mask;
    dest->method_list->nelts = 0;
    for (int i = 0; i < src->method_list->nelts; i++) {
        *(const char **)apr_array_push(dest->method_list) =
            apr_pstrdup(dest->method_list->pool, from[i]);
    }
}

static int method_list_index(const ap_method_list_t *list, const char *method)
{
    char *const *names = (char *const *)list->method_list->elts;

    BRG_ASSERT(list && list->method_list);
    for (int i = 0; i < list->method_list->nelts; i++)
        if (strcmp(method, names[i]) == 0)
            return i;
    return -1;
}

AP_DECLARE(int) ap_method_in_list(ap_method_list_t *l, const char *method)
{
    const int number = ap_method_number_of(method);

    if (number != M_INVALID)
        return (l->method_mask & (AP_METHOD_BIT << number)) != 0;
    return method_list_index(l, method) >= 0;
}

AP_DECLARE(void) ap_method_list_add(ap_method_list_t *l, const char *method)
{
    const int number = ap_method_number_of(method);

    if (number != M_INVALID)
        l->method_mask |= AP_METHOD_BIT << number;
    else if (method_list_index(l, method) < 0)
        *(const char **)apr_array_push(l->method_list) = apr_pstrdup(l->method_list->pool, method);
}

AP_DECLARE(void) ap_method_list_remove(ap_method_list_t *l, const char *method)
{
    const int number = ap_method_number_of(method);
    char **names = (char **)l->method_list->elts;
    int at;

    if (number != M_INVALID) {
        l->method_mask &= ~(AP_METHOD_BIT << number);
        return;
    }
    while ((at = method_list_index(l, method)) >= 0) {
        memmove(&names[at], &names[at + 1],
                sizeof(char *) * (size_t)(l->method_list->nelts - at - 1));
        l->method_list->nelts--;
    }
}

AP_DECLARE(void) ap_clear_method_list(ap_method_list_t *l)
{
    l->method_mask = 0;
    l->method_list->nelts = 0;
}

/* ---- Allow ---- */

static void allow_add(apr_array_header_t *names, const char *name)
{
    BRG_ASSERT(name && *name);
    *(const char **)apr_array_push(names) = name;
}

char *http_make_allow(request_rec *r)
{
    const ap_method_list_t *allowed = r->allowed_methods;
    const core_server_config *conf = core_server_conf_of(r->server);
    apr_array_header_t *names = apr_array_make(r->pool, 10, sizeof(char *));
    apr_int64_t mask = allowed->method_mask;

    BRG_ASSERT(r->allowed_methods);
    /* TRACE is answered for any resource, when it is answered at all. */
    if (conf->trace_enable == AP_TRACE_ENABLE || conf->trace_enable == AP_TRACE_EXTENDED)
        mask |= AP_METHOD_BIT << M_TRACE;
    else
        mask &= ~(AP_METHOD_BIT << M_TRACE);
    for (int i = 0; i < METHODS_KNOWN; i++)
        if (mask & (AP_METHOD_BIT << methods_known[i].number))
            allow_add(names, methods_known[i].name);
    for (int i = 0; i < methods_extra_n; i++)
        if (mask & (AP_METHOD_BIT << (METHOD_NUMBER_FIRST + i)))
            allow_add(names, methods_extra[i]);
    apr_array_cat(names, allowed->method_list);
    return apr_array_pstrcat(r->pool, names, ',');
}

/* ---- methods ---- */

AP_DECLARE(void) ap_allow_methods(request_rec *r, int reset, ...)
{
    const char *method;
    va_list methods;

    if (reset)
        ap_clear_method_list(r->allowed_methods);
    va_start(methods, reset);
    while ((method = va_arg(methods, const char *)) != NULL)
        ap_method_list_add(r->allowed_methods, method);
    va_end(methods);
}

AP_DECLARE(void) ap_allow_standard_methods(request_rec *r, int reset, ...)
{
    apr_int64_t mask = 0;
    va_list methods;
    int method;

    if (reset)
        ap_clear_method_list(r->allowed_methods);
    va_start(methods, reset);
    while ((method = va_arg(methods, int)) != -1)
        mask |= AP_METHOD_BIT << method;
    va_end(methods);
    r->allowed_methods->method_mask |= mask;
}
