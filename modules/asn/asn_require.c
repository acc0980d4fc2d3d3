/* SPDX-License-Identifier: Apache-2.0 */
/* Require asn 64496 64511-64520 */
#include <stdlib.h>
#include "apr_strings.h"
#include "http_request.h"
#include "mod_auth.h"
#include "brigade/response_cache.h"
#include "asn_module.h"

typedef struct asn_range {
    uint32_t first, last;
} asn_range;

/* The numbers of Require asn. */
typedef struct asn_ranges {
    apr_array_header_t *ranges; /* of asn_range */
    int lasts;                  /* as long as the configuration: not of an .htaccess file */
} asn_ranges;

static int parse_number(const char **text, uint32_t *to)
{
    unsigned long long n;
    char *end;

    if (**text < '0' || **text > '9')
        return 0;
    n = strtoull(*text, &end, 10);
    *text = end;
    *to = (uint32_t)n;
    return n <= 0xffffffff;
}

static int parse_range(const char *word, asn_range *range)
{
    if ((word[0] == 'A' || word[0] == 'a') && (word[1] == 'S' || word[1] == 's'))
        word += 2;
    if (!parse_number(&word, &range->first))
        return 0;
    range->last = range->first;
    if (*word == '-' && (word++, !parse_number(&word, &range->last)))
        return 0;
    return !*word && range->first && range->first <= range->last;
}

static const char *asn_require_parse(cmd_parms *cmd, const char *line, const void **parsed)
{
    asn_ranges *list = apr_palloc(cmd->pool, sizeof *list);
    const char *word;

    list->ranges = apr_array_make(cmd->pool, 4, sizeof(asn_range));
    list->lasts = cmd->pool != cmd->temp_pool;
    while (*(word = ap_getword_conf(cmd->temp_pool, &line)))
        if (!parse_range(word, apr_array_push(list->ranges)))
            return apr_psprintf(cmd->pool,
                                "Require asn: %s is no AS number, and no range such as 64496-64511",
                                word);
    if (!list->ranges->nelts)
        return "Require asn takes AS numbers, or ranges such as 64496-64511";
    *parsed = list;
    return NULL;
}

/* 1 if the client is in one of the networks; -1: there is no table. A brg_cache_client_fn. */
static apr_int64_t asn_require_is_in(const void *data, apr_sockaddr_t *client)
{
    const apr_array_header_t *ranges = ((const asn_ranges *)data)->ranges;
    brg_asn_route route;

    if (!asn_is_ready())
        return -1;
    if (!asn_client_route(client, &route, NULL))
        return 0;
    for (int i = 0; i < ranges->nelts; i++) {
        const asn_range *range = &APR_ARRAY_IDX(ranges, i, asn_range);

        if (route.origin >= range->first && route.origin <= range->last)
            return 1;
    }
    return 0;
}

static authz_status asn_require_check(request_rec *r, const char *line, const void *parsed)
{
    const asn_ranges *list = parsed;

    if (!asn_client_ready(r)) { /* before it is asked: that is logged */
        brg_cache_depends_on(r, NULL);
        return AUTHZ_DENIED;
    }
    if (list->lasts)
        return brg_cache_vary_client(r, asn_require_is_in, list) > 0 ? AUTHZ_GRANTED : AUTHZ_DENIED;
    brg_cache_depends_on(r, NULL);
    return asn_require_is_in(list, r->useragent_addr) > 0 ? AUTHZ_GRANTED : AUTHZ_DENIED;
}

void asn_require_register(apr_pool_t *p)
{
    static const authz_provider provider = {asn_require_check, asn_require_parse};

    ap_register_auth_provider(p, AUTHZ_PROVIDER_GROUP, "asn", AUTHZ_PROVIDER_VERSION, &provider,
                              AP_AUTH_INTERNAL_PER_CONF);
    ap_register_auth_provider(p, BRG_CACHE_AUTHZ_GROUP, "asn", "0", &provider,
                              AP_AUTH_INTERNAL_PER_CONF);
}
