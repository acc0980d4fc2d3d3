/* SPDX-License-Identifier: Apache-2.0 */
/* A table of options; each sets one thing of a peer's configuration. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>
#include "apr_general.h"
#include "apr_network_io.h"
#include "apr_strings.h"
#include "bgp_options.h"

#define HOLD 90
#define RETRY 30
#define KEEP 300
#define MAX_ROUTES 4000000

typedef struct options {
    bgp_conf *conf;
    apr_pool_t *p;
    const char *listen, *source;
} options;

typedef struct bgp_option {
    const char *name;
    const char *(*set)(options *o, const struct bgp_option *option, const char *value);
    size_t offset; /* of the number in bgp_conf */
    uint32_t least, most;
} bgp_option;

static const char *set_number(options *o, const bgp_option *self, const char *value)
{
    char *end;
    unsigned long long n;

    errno = 0;
    n = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || errno || n < self->least || n > self->most)
        return apr_psprintf(o->p, "%s= takes a number from %u to %u", self->name, self->least,
                            self->most);
    memcpy((char *)o->conf + self->offset, &(uint32_t){(uint32_t)n}, sizeof(uint32_t));
    return NULL;
}

static const char *set_as(options *o, const bgp_option *self, const char *value)
{
    const char *err = set_number(o, self, value);
    uint32_t as;

    memcpy(&as, (char *)o->conf + self->offset, sizeof as);
    if (!err && as == BGP_TRANSITION)
        return apr_psprintf(o->p, "%s=23456 is no network's number (AS_TRANS)", self->name);
    return err;
}

static const char *set_hold(options *o, const bgp_option *self, const char *value)
{
    const char *err = set_number(o, self, value);

    if (!err && (o->conf->self.hold == 1 || o->conf->self.hold == 2))
        return "hold= takes 0 (no limit), or 3 to 65535 seconds";
    return err;
}

static const char *set_listen(options *o, const bgp_option *self, const char *value)
{
    o->listen = value;
    return NULL;
}

static const char *set_source(options *o, const bgp_option *self, const char *value)
{
    o->source = value;
    return NULL;
}

static const char *set_id(options *o, const bgp_option *self, const char *value)
{
    struct in_addr id;

    if (inet_pton(AF_INET, value, &id) != 1 || !id.s_addr)
        return "router-id= takes an IPv4 address";
    o->conf->self.id = ntohl(id.s_addr);
    return NULL;
}

static const char *set_password(options *o, const bgp_option *self, const char *value)
{
    if (!*value || strlen(value) > TCP_MD5SIG_MAXKEYLEN)
        return apr_psprintf(o->p, "password= takes 1 to %d characters", TCP_MD5SIG_MAXKEYLEN);
    o->conf->password = apr_pstrdup(o->p, value);
    return NULL;
}

static const char *set_families(options *o, const bgp_option *self, const char *value)
{
    char *rest, *list = apr_pstrdup(o->p, value), *word;

    o->conf->self.families = 0;
    for (word = apr_strtok(list, ",", &rest); word; word = apr_strtok(NULL, ",", &rest))
        if (!strcasecmp(word, "ipv4"))
            o->conf->self.families |= BGP_FAMILY(ASN_IPV4);
        else if (!strcasecmp(word, "ipv6"))
            o->conf->self.families |= BGP_FAMILY(ASN_IPV6);
        else
            return "families= takes ipv4, ipv6, or ipv4,ipv6";
    return o->conf->self.families ? NULL : "families= takes ipv4, ipv6, or ipv4,ipv6";
}

#define NUMBER(name, field, least, most)                         \
    {                                                            \
        name, set_number, offsetof(bgp_conf, field), least, most \
    }

static const bgp_option all[] = {
    {"asn", set_as, offsetof(bgp_conf, self.as), 1, UINT32_MAX - 1},
    {"peer-asn", set_as, offsetof(bgp_conf, peer_as), 1, UINT32_MAX - 1},
    {"hold", set_hold, offsetof(bgp_conf, self.hold), 0, 65535},
    NUMBER("port", port, 1, 65535),
    {"listen", set_listen, 0, 0, 0},
    {"source", set_source, 0, 0, 0},
    {"router-id", set_id, 0, 0, 0},
    {"password", set_password, 0, 0, 0},
    {"families", set_families, 0, 0, 0},
    NUMBER("ttl-security", hops, 1, 254),
    NUMBER("retry", retry, 1, 3600),
    NUMBER("keep", keep, 0, 86400),
    NUMBER("max-routes", max_routes, 1, 100000000),
};

static const char *set(options *o, const char *word)
{
    const char *value = strchr(word, '=');

    for (size_t i = 0; value && i < sizeof all / sizeof *all; i++)
        if (strlen(all[i].name) == (size_t)(value - word) &&
            !strncasecmp(all[i].name, word, (size_t)(value - word)))
            return all[i].set(o, &all[i], value + 1);
    return apr_psprintf(o->p,
                        "%s is no option: asn=, peer-asn=, port=, listen=, source=, router-id=, "
                        "hold=, retry=, keep=, families=, password=, ttl-security=, max-routes=",
                        word);
}

/* ---- addresses ---- */

static int address_of(const char *text, uint32_t port, struct sockaddr_storage *to)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;

    if (getaddrinfo(text, NULL, &hints, &found))
        return 0;
    memset(to, 0, sizeof *to);
    memcpy(to, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    /* sin_port and sin6_port lie at the same place */
    ((struct sockaddr_in *)(void *)to)->sin_port = htons((uint16_t)port);
    return 1;
}

/* ADDRESS, or ADDRESS:PORT with an IPv6 address in brackets */
static const char *local_of(options *o, const char *text, uint32_t port)
{
    char *host, *scope;
    apr_port_t given;

    if (apr_parse_addr_port(&host, &scope, &given, text, o->p) || !host ||
        !address_of(host, given ? given : port, &o->conf->local))
        return apr_psprintf(o->p, "%s is no address of this machine: ADDRESS or ADDRESS:PORT",
                            text);
    if (o->conf->local.ss_family != o->conf->peer.ss_family)
        return apr_psprintf(o->p, "%s and the peer's address are of different families", text);
    return NULL;
}

/* An identifier has to differ from those of other routers only within an AS (RFC 6286). */
static uint32_t id_of_host(apr_pool_t *p)
{
    char name[APRMAXHOSTLEN + 1] = "brigade";
    uint32_t id = 2166136261u;

    (void)apr_gethostname(name, sizeof name, p);
    for (const char *c = name; *c; c++)
        id = (id ^ (unsigned char)*c) * 16777619u;
    return id ? id : 1;
}

/* Better at start than never up: does the kernel sign segments? */
static const char *try_password(const bgp_conf *conf)
{
    struct tcp_md5sig key = {.tcpm_keylen = 1, .tcpm_key = "x"};
    int fd = socket(conf->peer.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

    if (fd < 0)
        return "no socket of the peer's family can be made";
    memcpy(&key.tcpm_addr, &conf->peer, sizeof key.tcpm_addr);
    rc = setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG, &key, sizeof key);
    close(fd);
    return rc ? "password=: this kernel does not sign segments (TCP_MD5SIG)" : NULL;
}

static const char *check(options *o)
{
    bgp_conf *conf = o->conf;
    const char *err = NULL;

    if (!conf->self.as || !conf->peer_as)
        return "asn= (ours) and peer-asn= (the peer's) are needed";
    if (o->listen && (o->source || conf->port))
        return "listen= waits for the peer: source= and port= are for connecting to it";
    if (!address_of(conf->name, conf->port ? conf->port : BGP_PORT, &conf->peer))
        return apr_psprintf(o->p, "%s is no IPv4 or IPv6 address", conf->name);
    if (o->listen) {
        conf->listens = 1;
        err = local_of(o, o->listen, BGP_PORT);
    } else if (o->source) {
        err = local_of(o, o->source, 0);
    }
    if (!err && conf->password)
        err = try_password(conf);
    if (!conf->self.id)
        conf->self.id = id_of_host(o->p);
    return err;
}

const char *bgp_options_read(bgp_conf *conf, char *const words[], int n, apr_pool_t *p)
{
    options o = {.conf = conf, .p = p};
    const char *err = NULL;

    if (n < 1)
        return "bgp: an address of the peer is needed";
    *conf =
        (bgp_conf){.name = apr_pstrdup(p, words[0]),
                   .self = {.hold = HOLD, .families = BGP_FAMILY(ASN_IPV4) | BGP_FAMILY(ASN_IPV6)},
                   .retry = RETRY,
                   .keep = KEEP,
                   .max_routes = MAX_ROUTES};
    for (int i = 1; i < n && !err; i++)
        err = set(&o, words[i]);
    return err ? err : check(&o);
}
