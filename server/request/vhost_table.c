/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of virtual hosts, and the look-ups that every request makes.
 *
 * Chains are searched from the most to the least specific: address and port, address, port,
 * neither. Within a chain the first server in the order of the configuration that has the name
 * wins, whether by an exact name or a pattern. Exact names are hashed; only patterns of servers
 * before the found one are tried.
 */
#include "vhosts.h"
#include "http_vhost.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"

typedef struct vhost_member {
    server_rec *server;
    server_addr_rec *sar;
    struct vhost_member *next;
} vhost_member;

typedef struct vhost_name {
    const char *name; /* lower case; NULL = free slot */
    size_t len;
    server_rec *server;
    unsigned hash, rank; /* rank: of the server in its chain */
} vhost_name;

typedef struct vhost_pattern {
    const char *pattern;
    server_rec *server;
    unsigned rank;
} vhost_pattern;

struct vhost_chain {
    apr_sockaddr_t *addr; /* NULL = any */
    apr_port_t port;      /* 0 = any */
    server_rec *base;
    vhost_member *members, **tail;
    vhost_name *names; /* open addressing */
    unsigned names_size;
    apr_array_header_t *patterns; /* vhost_pattern, by rank */
    struct vhost_chain *next;     /* in the same bucket */
    struct vhost_chain *listed;   /* all, in the order of the configuration */
};

/* Names in <VirtualHost name:port> count only if no ServerName or ServerAlias does. */
#define VHOST_RANK_TEXT 0x80000000u

#define VHOST_BUCKETS 64u

static struct {
    vhost_chain *by_addr[VHOST_BUCKETS];
    vhost_chain *any; /* any address: those for a port first */
    vhost_chain *all, **tail;
    server_rec *main_server;
    int wants_address;
} vhost_tables;

/* ---- hashing ---- */

/* The same for an IPv4 address and its form within IPv6. */
static unsigned vhost_addr_bucket(const apr_sockaddr_t *sa)
{
    const unsigned char *last = (const unsigned char *)sa->ipaddr_ptr + sa->ipaddr_len - 4;
    uint32_t word;

    memcpy(&word, last, sizeof word);
    return (word * 2654435761u >> 16) % VHOST_BUCKETS;
}

static unsigned vhost_name_hash(const char *name, size_t len)
{
    unsigned hash = 2166136261u;

    while (len--) {
        hash = (hash ^ (unsigned char)apr_tolower(*name)) * 16777619u;
        name++;
    }
    return hash;
}

/* ---- building ---- */

static vhost_chain **vhost_bucket_of(const apr_sockaddr_t *addr)
{
    return addr ? &vhost_tables.by_addr[vhost_addr_bucket(addr)] : &vhost_tables.any;
}

static vhost_chain *vhost_chain_get(apr_pool_t *p, apr_sockaddr_t *addr, apr_port_t port)
{
    vhost_chain **link = vhost_bucket_of(addr), *chain;

    BRG_ASSERT(vhost_tables.tail && !*vhost_tables.tail);
    for (; (chain = *link) != NULL; link = &chain->next)
        if (chain->port == port && (!addr || apr_sockaddr_equal(chain->addr, addr)))
            return chain;
    /* Those for any port go to the end, the others before them. */
    link = vhost_bucket_of(addr);
    while (*link && (!port || (*link)->port))
        link = &(*link)->next;
    chain = apr_pcalloc(p, sizeof *chain);
    chain->addr = addr;
    chain->port = port;
    chain->tail = &chain->members;
    chain->next = *link;
    *link = chain;
    *vhost_tables.tail = chain;
    vhost_tables.tail = &chain->listed;
    return chain;
}

static void vhost_chain_add(apr_pool_t *p, vhost_chain *chain, server_rec *s, server_addr_rec *sar)
{
    vhost_member *member = apr_pcalloc(p, sizeof *member);

    if (!chain->base) {
        chain->base = s;
    } else if (!s->keep_alive_timeout_set) {
        /* Before the name is known, the first server's timeout is in force; a change would
         * surprise. */
        s->keep_alive_timeout = chain->base->keep_alive_timeout;
    }
    member->server = s;
    member->sar = sar;
    *chain->tail = member;
    chain->tail = &member->next;
}

static vhost_name *vhost_name_slot(const vhost_chain *chain, const char *name, size_t len,
                                   unsigned hash)
{
    BRG_ASSERT(chain->names_size > 0);
    for (unsigned at = hash;; at++) {
        vhost_name *slot = &chain->names[at & (chain->names_size - 1)];

        if (!slot->name ||
            (slot->hash == hash && slot->len == len && !strncasecmp(slot->name, name, len)))
            return slot;
    }
}

static void vhost_name_add(vhost_chain *chain, const char *name, server_rec *s, unsigned rank)
{
    size_t len = strlen(name);
    unsigned hash = vhost_name_hash(name, len);
    vhost_name *slot = vhost_name_slot(chain, name, len, hash);

    if (!slot->name || rank < slot->rank)
        *slot = (vhost_name){name, len, s, hash, rank};
}

static unsigned vhost_names_n(const vhost_chain *chain)
{
    unsigned n = 0;

    for (const vhost_member *m = chain->members; m; m = m->next)
        n += 2 + (m->server->names ? (unsigned)m->server->names->nelts : 0);
    return n;
}

static void vhost_chain_index(apr_pool_t *p, vhost_chain *chain)
{
    unsigned rank = 0, needed = vhost_names_n(chain) * 2;

    BRG_ASSERT(!chain->names && chain->members);
    for (chain->names_size = 8; chain->names_size < needed; chain->names_size *= 2) {
    }
    chain->names = apr_pcalloc(p, chain->names_size * sizeof *chain->names);
    chain->patterns = apr_array_make(p, 4, sizeof(vhost_pattern));
    for (const vhost_member *m = chain->members; m; m = m->next, rank++) {
        server_rec *s = m->server;

        if (s->server_hostname)
            vhost_name_add(chain, s->server_hostname, s, rank);
        for (int i = 0; s->names && i < s->names->nelts; i++)
            vhost_name_add(chain, APR_ARRAY_IDX(s->names, i, const char *), s, rank);
        for (int i = 0; s->wild_names && i < s->wild_names->nelts; i++) {
            const char *pattern = APR_ARRAY_IDX(s->wild_names, i, const char *);

            APR_ARRAY_PUSH(chain->patterns, vhost_pattern) = (vhost_pattern){pattern, s, rank};
        }
        if (m->sar->virthost)
            vhost_name_add(chain, m->sar->virthost, s, rank | VHOST_RANK_TEXT);
    }
    BRG_ASSERT(rank < VHOST_RANK_TEXT);
}

static unsigned vhost_number = 1; /* vhost_tables_number() */

static apr_status_t vhost_tables_forget(void *data)
{
    memset(&vhost_tables, 0, sizeof vhost_tables);
    vhost_tables.tail = &vhost_tables.all;
    vhost_number += 2; /* odd: never 0 */
    return APR_SUCCESS;
}

void vhost_tables_build(apr_pool_t *p, server_rec *main_server)
{
    vhost_tables_forget(NULL);
    apr_pool_cleanup_register(p, NULL, vhost_tables_forget, apr_pool_cleanup_null);
    vhost_tables.main_server = main_server;
    for (server_rec *s = main_server->next; s; s = s->next) {
        for (server_addr_rec *sar = s->addrs; sar; sar = sar->next) {
            int any = apr_sockaddr_is_wildcard(sar->host_addr);

            vhost_chain_add(p, vhost_chain_get(p, any ? NULL : sar->host_addr, sar->host_port), s,
                            sar);
            vhost_tables.wants_address |= !any;
        }
    }
    for (vhost_chain *chain = vhost_tables.all; chain; chain = chain->listed)
        vhost_chain_index(p, chain);
}

/* ---- look-ups ---- */

unsigned vhost_tables_number(void)
{
    return vhost_number;
}

int vhost_wants_local_address(void)
{
    return vhost_tables.wants_address;
}

const void *vhost_chain_of(const apr_sockaddr_t *local, server_rec **base)
{
    vhost_chain *chain = NULL;

    if (local) {
        for (chain = vhost_tables.by_addr[vhost_addr_bucket(local)]; chain; chain = chain->next)
            if ((!chain->port || chain->port == local->port) &&
                apr_sockaddr_equal(chain->addr, local))
                break;
    }
    if (!chain) {
        chain = vhost_tables.any;
        while (chain && chain->port && (!local || chain->port != local->port))
            chain = chain->next;
    }
    *base = chain ? chain->base : vhost_tables.main_server;
    return chain;
}

server_rec *vhost_chain_find(const vhost_chain *chain, const char *name, size_t len)
{
    const vhost_name *exact = vhost_name_slot(chain, name, len, vhost_name_hash(name, len));
    unsigned rank = exact->name ? exact->rank : ~0u;
    char text[512];

    if (!chain->patterns->nelts || len >= sizeof text)
        return exact->name ? exact->server : NULL;
    memcpy(text, name, len);
    text[len] = '\0';
    for (int i = 0; i < chain->patterns->nelts; i++) {
        const vhost_pattern *wild = &APR_ARRAY_IDX(chain->patterns, i, vhost_pattern);

        if (wild->rank > rank)
            break;
        if (!ap_strcasecmp_match(text, wild->pattern))
            return wild->server;
    }
    return exact->name ? exact->server : NULL;
}

int vhost_chain_each(const vhost_chain *chain, int (*visit)(void *baton, server_rec *s),
                     void *baton)
{
    const server_rec *last = NULL;

    for (const vhost_member *m = chain->members; m; m = m->next) {
        if (m->server != last) {
            int rv = visit(baton, m->server);

            if (rv)
                return rv;
            last = m->server;
        }
    }
    return 0;
}

int vhost_server_has_name(const server_rec *s, const char *name)
{
    if (s->server_hostname && !strcasecmp(s->server_hostname, name))
        return 1;
    for (int i = 0; s->names && i < s->names->nelts; i++) {
        const char *alias = APR_ARRAY_IDX(s->names, i, const char *);

        if (alias && !strcasecmp(alias, name))
            return 1;
    }
    for (int i = 0; s->wild_names && i < s->wild_names->nelts; i++) {
        const char *pattern = APR_ARRAY_IDX(s->wild_names, i, const char *);

        if (pattern && !ap_strcasecmp_match(name, pattern))
            return 1;
    }
    return 0;
}

/* ---- the dump ---- */

static void vhost_dump_names(apr_file_t *out, const server_rec *s)
{
    for (int i = 0; s->names && i < s->names->nelts; i++)
        apr_file_printf(out, "%16s alias %s\n", "", APR_ARRAY_IDX(s->names, i, const char *));
    for (int i = 0; s->wild_names && i < s->wild_names->nelts; i++) {
        apr_file_printf(out, "%16s wild alias %s\n", "",
                        APR_ARRAY_IDX(s->wild_names, i, const char *));
    }
}

static void vhost_dump_server(apr_file_t *out, const char *what, const server_rec *s)
{
    apr_file_printf(out, "%s %s (%s:%u)\n", what, s->server_hostname, s->defn_name,
                    s->defn_line_number);
}

static void vhost_dump_chain(apr_file_t *out, const vhost_chain *chain)
{
    char addr[64] = "*", port[8] = "*", where[80], padded[96];

    if (chain->addr)
        apr_sockaddr_ip_getbuf(addr, sizeof addr, chain->addr);
    if (chain->port)
        apr_snprintf(port, sizeof port, "%u", chain->port);
    apr_snprintf(where, sizeof where, strchr(addr, ':') ? "[%s]:%s" : "%s:%s", addr, port);
    apr_snprintf(padded, sizeof padded, "%-22s", where);
    BRG_ASSERT(chain->members && chain->base);
    if (!chain->members->next) {
        vhost_dump_server(out, padded, chain->base);
        return;
    }
    apr_file_printf(out, "%s is a NameVirtualHost\n", padded);
    vhost_dump_server(out, "         default server", chain->base);
    for (const vhost_member *m = chain->members; m; m = m->next) {
        apr_snprintf(where, sizeof where, "         port %s namevhost", port);
        vhost_dump_server(out, where, m->server);
        vhost_dump_names(out, m->server);
    }
}

void vhost_dump(apr_file_t *out)
{
    apr_file_printf(out, "VirtualHost configuration:\n");
    for (int any = 0; any < 2; any++) {
        for (const vhost_chain *chain = vhost_tables.all; chain; chain = chain->listed)
            if ((chain->addr == NULL) == any)
                vhost_dump_chain(out, chain);
    }
}
