/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of workers: "key=value" of ProxyPass, BalancerMember, ProxySet and <Proxy>. */
#include "proxy_private.h"
#include "ap_mmn.h"
#include "apr_strings.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PROXY_FLUSH_WAIT_DEFAULT 10000
#define PROXY_BUFFER_LEAST 512
#define PROXY_NAME_SIZE 16 /* of a flusher and of a protocol */
#define PROXY_SECRET_SIZE 64

typedef struct param_call {
    apr_pool_t *p;
    proxy_params *to;
    const char *value;
} param_call;

typedef const char *param_fn(param_call *c);

/* ---- kinds of values ---- */

/* As Apache: text behind the digits is left out of account. */
static int param_int(const char *value)
{
    const long n = strtol(value, NULL, 10);

    return n > INT_MAX ? INT_MAX : n < INT_MIN ? INT_MIN : (int)n;
}

const char *proxy_param_switch(const char *value, const char *message, int *to)
{
    if (!strcasecmp(value, "on"))
        *to = 1;
    else if (!strcasecmp(value, "off"))
        *to = 0;
    else
        return message;
    return NULL;
}

static const char *param_time(const char *value, const char *unit, const char *format,
                              const char *too_short, apr_interval_time_t *to)
{
    if (ap_timeout_parameter_parse(value, to, unit) != APR_SUCCESS)
        return format;
    return *to < 1000 ? too_short : NULL;
}

static const char *param_text(param_call *c, const char *what, size_t size, const char **to)
{
    if (strlen(c->value) >= size)
        return apr_psprintf(c->p, "%s length must be < %d characters", what, (int)size);
    *to = apr_pstrdup(c->p, c->value);
    return NULL;
}

static const char *param_buffer(const char *value, const char *message, apr_size_t *to)
{
    const int n = param_int(value);

    if (n < PROXY_BUFFER_LEAST && n)
        return message;
    *to = (apr_size_t)n;
    return NULL;
}

/* ---- parameters ---- */

static const char *param_loadfactor(param_call *c)
{
    const double n = atof(c->value) * 100;

    if (!(n >= 100 && n <= 10000))
        return "LoadFactor must be a number between 1..100";
    c->to->loadfactor = (int)n;
    return NULL;
}

static const char *param_retry(param_call *c)
{
    const int n = param_int(c->value);

    if (n < 0)
        return "Retry must be a positive value";
    c->to->retry = apr_time_from_sec(n);
    return NULL;
}

static const char *param_ttl(param_call *c)
{
    const int n = param_int(c->value);

    if (n < 1)
        return "TTL must be at least one second";
    c->to->ttl = apr_time_from_sec(n);
    return NULL;
}

static const char *param_min(param_call *c)
{
    c->to->min = param_int(c->value);
    return c->to->min < 0 ? "Min must be a positive number" : NULL;
}

static const char *param_max(param_call *c)
{
    c->to->max = param_int(c->value);
    return c->to->max < 0 ? "Max must be a positive number" : NULL;
}

static const char *param_smax(param_call *c)
{
    c->to->smax = param_int(c->value);
    return c->to->smax < 0 ? "Smax must be a positive number" : NULL;
}

static const char *param_acquire(param_call *c)
{
    return param_time(c->value, "ms", "Acquire timeout has wrong format",
                      "Acquire must be at least one millisecond", &c->to->acquire);
}

static const char *param_timeout(param_call *c)
{
    const int n = param_int(c->value);

    if (n < 1)
        return "Timeout must be at least one second";
    c->to->timeout = apr_time_from_sec(n);
    return NULL;
}

static const char *param_io_buffer(param_call *c)
{
    return param_buffer(c->value, "IOBufferSize must be >= 512 bytes, or 0 for system default.",
                        &c->to->io_buffer);
}

static const char *param_receive_buffer(param_call *c)
{
    return param_buffer(c->value,
                        "ReceiveBufferSize must be >= 512 bytes, or 0 for system default.",
                        &c->to->receive_buffer);
}

static const char *param_keepalive(param_call *c)
{
    int on = 0;
    const char *error = proxy_param_switch(c->value, "KeepAlive must be On|Off", &on);

    c->to->keepalive = on != 0;
    return error;
}

static const char *param_disablereuse(param_call *c)
{
    int on = 0;
    const char *error = proxy_param_switch(c->value, "DisableReuse must be On|Off", &on);

    c->to->no_reuse = on != 0;
    return error;
}

static const char *param_enablereuse(param_call *c)
{
    int on = 0;
    const char *error = proxy_param_switch(c->value, "EnableReuse must be On|Off", &on);

    c->to->no_reuse = !on;
    return error;
}

static const char *param_address_ttl(param_call *c)
{
    apr_interval_time_t ttl = 0;

    if (!strcmp(c->value, "-1"))
        ttl = -1;
    else if (*c->value && (ap_timeout_parameter_parse(c->value, &ttl, "s") != APR_SUCCESS ||
                           ttl < 0 || apr_time_sec(ttl) > INT_MAX))
        return "AddressTTL must be -1 or a number of seconds not exceeding (2147483647)";
    c->to->address_ttl = ttl;
    return NULL;
}

static const char *param_route(param_call *c)
{
    return param_text(c, "Route", PROXY_ROUTE_SIZE, &c->to->route);
}

static const char *param_redirect(param_call *c)
{
    return param_text(c, "Redirect", PROXY_ROUTE_SIZE, &c->to->redirect);
}

static const char *param_status(param_call *c)
{
    int on = 1;

    for (const char *v = c->value; *v; v++) {
        uint32_t bit;

        if (*v == '+' || *v == '-') {
            on = *v == '+';
            if (v[1])
                continue;
            return "Unknown status parameter option";
        }
        bit = proxy_status_bit(*v);
        if (!bit)
            return "Unknown status parameter option";
        c->to->status = on ? c->to->status | bit : c->to->status & ~bit;
    }
    return NULL;
}

static const char *param_flush(param_call *c)
{
    if (!strcasecmp(c->value, "on"))
        c->to->flush = PROXY_FLUSH_ON;
    else if (!strcasecmp(c->value, "off"))
        c->to->flush = PROXY_FLUSH_OFF;
    else if (!strcasecmp(c->value, "auto"))
        c->to->flush = PROXY_FLUSH_AUTO;
    else
        return "flushpackets must be on|off|auto";
    return NULL;
}

static const char *param_flush_wait(param_call *c)
{
    const int n = param_int(c->value);

    if (n > 1000 || n < 0)
        return "flushwait must be <= 1000, or 0 for system default of 10 millseconds.";
    c->to->flush_wait = n ? n * 1000 : PROXY_FLUSH_WAIT_DEFAULT;
    return NULL;
}

static const char *param_ping(param_call *c)
{
    return param_time(c->value, "s", "Ping/Pong timeout has wrong format",
                      "Ping/Pong timeout must be at least one millisecond", &c->to->ping);
}

static const char *param_lbset(param_call *c)
{
    const int n = param_int(c->value);

    if (n < 0 || n > 99)
        return "lbset must be between 0 and 99";
    c->to->lbset = n;
    return NULL;
}

static const char *param_connect_timeout(param_call *c)
{
    return param_time(c->value, "s", "Connectiontimeout has wrong format",
                      "Connectiontimeout must be at least one millisecond.",
                      &c->to->connect_timeout);
}

static const char *param_flusher(param_call *c)
{
    if (strlen(c->value) >= PROXY_NAME_SIZE)
        return apr_psprintf(c->p, "flusher name length must be < %d characters", PROXY_NAME_SIZE);
    c->to->flusher = apr_pstrdup(c->p, c->value);
    return NULL;
}

static const char *param_upgrade(param_call *c)
{
    if (strlen(c->value) >= PROXY_NAME_SIZE)
        return apr_psprintf(c->p, "upgrade protocol length must be < %d characters",
                            PROXY_NAME_SIZE);
    c->to->upgrade = !strcasecmp(c->value, "ANY") ? "*" : apr_pstrdup(c->p, c->value);
    return NULL;
}

static const char *param_field_size(param_call *c)
{
    const int n = param_int(c->value);

    if (n < 0)
        return "ResponseFieldSize must be greater than 0 bytes, or 0 for system default.";
    c->to->field_size = (apr_size_t)n;
    return NULL;
}

static const char *param_secret(param_call *c)
{
    return param_text(c, "Secret", PROXY_SECRET_SIZE, &c->to->secret);
}

static const char *param_slow_start(param_call *c)
{
    return param_time(c->value, "s", "SlowStart has wrong format",
                      "SlowStart must be at least one millisecond", &c->to->slow_start);
}

static const char *param_eject(param_call *c)
{
    c->to->eject = param_int(c->value);
    return c->to->eject < 1 ? "Eject must be a number of failures" : NULL;
}

static const struct {
    const char *name;
    param_fn *fn;
    uint32_t bit;
} proxy_param_table[] = {
    {"loadfactor", param_loadfactor, PROXY_PARAM_LOADFACTOR},
    {"retry", param_retry, PROXY_PARAM_RETRY},
    {"ttl", param_ttl, PROXY_PARAM_TTL},
    {"min", param_min, PROXY_PARAM_MIN},
    {"max", param_max, PROXY_PARAM_MAX},
    {"smax", param_smax, PROXY_PARAM_SMAX},
    {"acquire", param_acquire, PROXY_PARAM_ACQUIRE},
    {"timeout", param_timeout, PROXY_PARAM_TIMEOUT},
    {"iobuffersize", param_io_buffer, PROXY_PARAM_IO_BUFFER},
    {"receivebuffersize", param_receive_buffer, PROXY_PARAM_RECEIVE_BUFFER},
    {"keepalive", param_keepalive, PROXY_PARAM_KEEPALIVE},
    {"disablereuse", param_disablereuse, PROXY_PARAM_REUSE},
    {"enablereuse", param_enablereuse, PROXY_PARAM_REUSE},
    {"addressttl", param_address_ttl, PROXY_PARAM_ADDRESS_TTL},
    {"route", param_route, PROXY_PARAM_ROUTE},
    {"redirect", param_redirect, PROXY_PARAM_REDIRECT},
    {"status", param_status, PROXY_PARAM_STATUS},
    {"flushpackets", param_flush, PROXY_PARAM_FLUSH},
    {"flushwait", param_flush_wait, PROXY_PARAM_FLUSH_WAIT},
    {"ping", param_ping, PROXY_PARAM_PING},
    {"lbset", param_lbset, PROXY_PARAM_LBSET},
    {"connectiontimeout", param_connect_timeout, PROXY_PARAM_CONNECT_TIMEOUT},
    {"flusher", param_flusher, 0},
    {"upgrade", param_upgrade, PROXY_PARAM_UPGRADE},
    {"responsefieldsize", param_field_size, PROXY_PARAM_FIELD_SIZE},
    {"secret", param_secret, PROXY_PARAM_SECRET},
    {"slowstart", param_slow_start, 0},
    {"eject", param_eject, 0},
};

const char *proxy_param_set(apr_pool_t *p, server_rec *s, proxy_worker *worker, const char *key,
                            const char *value)
{
    param_call call = {p, &worker->params, value};

    for (size_t i = 0; i < sizeof proxy_param_table / sizeof *proxy_param_table; i++) {
        const char *error;

        if (strcasecmp(key, proxy_param_table[i].name) != 0)
            continue;
        error = proxy_param_table[i].fn(&call);
        if (!error)
            worker->params.set |= proxy_param_table[i].bit;
        return error;
    }
    return proxy_param_check(p, s, &worker->params, key, value);
}

/* ---- status ---- */

static const struct {
    char letter;
    uint32_t bit;
    const char *word;
} proxy_statuses[] = {
    {'O', PROXY_STATUS_INITIALIZED, "Init "}, {'I', PROXY_STATUS_IGNORE_ERRORS, "Ign "},
    {'N', PROXY_STATUS_DRAIN, "Drn "},        {'G', PROXY_STATUS_GENERIC, "Gen "},
    {'U', PROXY_STATUS_IN_SHUTDOWN, "Shut "}, {'D', PROXY_STATUS_DISABLED, "Dis "},
    {'S', PROXY_STATUS_STOPPED, "Stop "},     {'E', PROXY_STATUS_IN_ERROR, "Err "},
    {'H', PROXY_STATUS_HOT_STANDBY, "Stby "}, {'R', PROXY_STATUS_HOT_SPARE, "Spar "},
    {'F', PROXY_STATUS_FREE, "Free "},        {'C', PROXY_STATUS_CHECK_FAILED, "HcFl "},
};

uint32_t proxy_status_bit(char letter)
{
    if (letter >= 'a' && letter <= 'z')
        letter = (char)(letter - 'a' + 'A');
    for (size_t i = 0; i < sizeof proxy_statuses / sizeof *proxy_statuses; i++)
        if (proxy_statuses[i].letter == letter)
            return proxy_statuses[i].bit;
    return 0;
}

const char *proxy_status_words(apr_pool_t *p, uint32_t status)
{
    const char *words = "";

    for (size_t i = 0; i < sizeof proxy_statuses / sizeof *proxy_statuses; i++)
        if (status & proxy_statuses[i].bit)
            words = apr_pstrcat(p, words, proxy_statuses[i].word, NULL);
    if (!(status & PROXY_STATUS_UNUSABLE) && (status & PROXY_STATUS_INITIALIZED))
        words = apr_pstrcat(p, words, "Ok ", NULL);
    return words;
}
