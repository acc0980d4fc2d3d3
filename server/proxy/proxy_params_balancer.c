/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of balancers: "key=value" of ProxyPass, ProxySet and <Proxy>. */
#include "proxy_private.h"
#include "apr_strings.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct balancer_call {
    apr_pool_t *p;
    proxy_balancer *to;
    const char *value;
} balancer_call;

typedef const char *balancer_fn(balancer_call *c);

static const char *balancer_percent(const char *value, const char *message, int *to)
{
    const long n = strtol(value, NULL, 10);

    if (n < 1 || n > 100)
        return message;
    *to = (int)n;
    return NULL;
}

/* "cookie|path parameter", or one name for both. */
static const char *balancer_sticky(balancer_call *c)
{
    char *name = apr_pstrdup(c->p, c->value), *bar = strchr(name, '|');

    if (bar)
        *bar++ = '\0';
    else
        bar = name;
    name[strnlen(name, BALANCER_STICKY_SIZE - 1)] = '\0';
    bar[strnlen(bar, BALANCER_STICKY_SIZE - 1)] = '\0';
    c->to->sticky = name;
    c->to->sticky_path = bar;
    return NULL;
}

static const char *balancer_separator(balancer_call *c)
{
    if (c->value[0] && !c->value[1])
        c->to->separator = c->value[0];
    else if (!strcasecmp(c->value, "off"))
        c->to->separator = '\0';
    else
        return "stickysessionsep must be a single character or Off";
    return NULL;
}

static const char *balancer_force(balancer_call *c)
{
    return proxy_param_switch(c->value, "failover must be On|Off", &c->to->force);
}

static const char *balancer_timeout(balancer_call *c)
{
    const long n = strtol(c->value, NULL, 10);

    if (n < 1)
        return "timeout must be at least one second";
    c->to->timeout = apr_time_from_sec(n > INT_MAX ? INT_MAX : n);
    return NULL;
}

static const char *balancer_attempts(balancer_call *c)
{
    const long n = strtol(c->value, NULL, 10);

    if (n < 0)
        return "maximum number of attempts must be a positive number";
    c->to->attempts = n > INT_MAX ? INT_MAX : (int)n;
    return NULL;
}

static const char *balancer_method(balancer_call *c)
{
    const int method = proxy_method_of(c->value);

    if (method < 0)
        return "unknown lbmethod";
    c->to->method = (proxy_method)method;
    return NULL;
}

static const char *balancer_scolon(balancer_call *c)
{
    return proxy_param_switch(c->value, "scolonpathdelim must be On|Off", &c->to->scolon);
}

static const char *balancer_fail_on_status(balancer_call *c)
{
    char *last, *text = apr_pstrdup(c->p, c->value);

    c->to->fail_statuses = apr_array_make(c->p, 1, sizeof(int));
    for (char *word = apr_strtok(text, ", ", &last); word; word = apr_strtok(NULL, ", ", &last)) {
        const int status = atoi(word);

        if (status < 100 || status >= 600)
            return "failonstatus must be one or more HTTP response codes";
        APR_ARRAY_PUSH(c->to->fail_statuses, int) = status;
    }
    return NULL;
}

static const char *balancer_fail_on_timeout(balancer_call *c)
{
    return proxy_param_switch(c->value, "failontimeout must be On|Off", &c->to->fail_on_timeout);
}

static const char *balancer_nonce(balancer_call *c)
{
    if (!strcasecmp(c->value, "None"))
        c->to->nonce = "";
    else if (strlen(c->value) >= BALANCER_NONCE_SIZE)
        return "Provided nonce is too large";
    else
        c->to->nonce = apr_pstrdup(c->p, c->value);
    return NULL;
}

static const char *balancer_growth(balancer_call *c)
{
    return balancer_percent(c->value, "growth must be between 1 and 100", &c->to->growth);
}

static const char *balancer_recovery(balancer_call *c)
{
    return proxy_param_switch(c->value, "forcerecovery must be On|Off", &c->to->recovery);
}

static const char *balancer_hash_key(balancer_call *c)
{
    if (!*c->value)
        return "hashkey must be uri, client or the name of a request field";
    c->to->hash_key = apr_pstrdup(c->p, c->value);
    return NULL;
}

static const char *balancer_retry_budget(balancer_call *c)
{
    return balancer_percent(c->value, "retrybudget must be between 1 and 100 percent",
                            &c->to->retry_budget);
}

static const struct {
    const char *name;
    balancer_fn *fn;
    uint32_t bit;
} balancer_params[] = {
    {"stickysession", balancer_sticky, BALANCER_SET_STICKY},
    {"stickysessionsep", balancer_separator, BALANCER_SET_SEPARATOR},
    {"nofailover", balancer_force, BALANCER_SET_FORCE},
    {"timeout", balancer_timeout, BALANCER_SET_TIMEOUT},
    {"maxattempts", balancer_attempts, BALANCER_SET_ATTEMPTS},
    {"lbmethod", balancer_method, BALANCER_SET_METHOD},
    {"scolonpathdelim", balancer_scolon, BALANCER_SET_SCOLON},
    {"failonstatus", balancer_fail_on_status, 0},
    {"failontimeout", balancer_fail_on_timeout, 0},
    {"nonce", balancer_nonce, BALANCER_SET_NONCE},
    {"growth", balancer_growth, BALANCER_SET_GROWTH},
    {"forcerecovery", balancer_recovery, BALANCER_SET_RECOVERY},
    {"hashkey", balancer_hash_key, 0},
    {"retrybudget", balancer_retry_budget, 0},
};

const char *proxy_param_balancer(apr_pool_t *p, proxy_balancer *balancer, const char *key,
                                 const char *value)
{
    balancer_call call = {p, balancer, value};

    for (size_t i = 0; i < sizeof balancer_params / sizeof *balancer_params; i++) {
        const char *error;

        if (strcasecmp(key, balancer_params[i].name) != 0)
            continue;
        error = balancer_params[i].fn(&call);
        if (!error)
            balancer->set |= balancer_params[i].bit;
        return error;
    }
    return "unknown Balancer parameter";
}

/* ---- names of methods ---- */

static const char *const proxy_methods[] = {"byrequests", "bytraffic", "bybusyness", "random2",
                                            "hash"};

int proxy_method_of(const char *name)
{
    for (int i = 0; i < (int)(sizeof proxy_methods / sizeof *proxy_methods); i++)
        if (!strcmp(name, proxy_methods[i]))
            return i;
    return -1;
}

const char *proxy_method_name(int method)
{
    return method >= 0 && method < (int)(sizeof proxy_methods / sizeof *proxy_methods)
               ? proxy_methods[method]
               : "";
}
