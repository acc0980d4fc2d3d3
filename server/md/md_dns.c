/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of DNS. The question is copied, with the case of its letters, and answers point to its
 * name. A name of the zone without records exists all the same: resolvers that ask label by label
 * must not take its subnames for absent. */
#include "md_dns.h"
#include "md_shared.h"
#include "brigade/assert.h"
#include <ctype.h>
#include <string.h>

#define DNS_HEAD 12
#define DNS_NAME 255 /* bytes on the wire */
#define DNS_OPT 11   /* bytes of an OPT record without options */
#define DNS_POINTER 0xc000

enum { TYPE_NS = 2, TYPE_SOA = 6, TYPE_TXT = 16, TYPE_OPT = 41, CLASS_IN = 1 };
enum {
    CODE_OK,
    CODE_FORMAT,
    CODE_FAILED,
    CODE_NO_NAME,
    CODE_NOT_DONE,
    CODE_REFUSED,
    CODE_VERSION = 16
};

md_dns_zone *md_dns;

typedef struct dns_in {
    const uint8_t *data;
    size_t len, at;
} dns_in;

typedef struct dns_out {
    uint8_t *data;
    size_t room, len;
    int full;
} dns_out;

/** The question. */
typedef struct dns_question {
    char name[DNS_NAME + 1]; /* in lower case, without a dot at its end; "" is the root */
    size_t end;              /* of the question in the message */
    unsigned type, class;
    int has_edns, version, odd; /* odd: its name has other letters than host names */
    size_t takes;               /* bytes, by EDNS */
} dns_question;

/* ---- reading ---- */

/* 0 past the end, which in->at tells then. */
static unsigned in_16(dns_in *in)
{
    const uint8_t *at = in->data + in->at;

    if (in->at > in->len || in->len - in->at < 2) {
        in->at = in->len + 1;
        return 0;
    }
    in->at += 2;
    return (unsigned)at[0] << 8 | at[1];
}

/* @return 0; -1: not a question, or with a pointer, which a question has no use for */
static int in_name(dns_in *in, dns_question *q)
{
    size_t n = 0, begin = in->at;

    while (in->at < in->len) {
        const unsigned label = in->data[in->at++];

        if (!label) {
            q->name[n ? n - 1 : 0] = '\0';
            return 0;
        }
        if (label > 63 || label > in->len - in->at || in->at + label - begin >= DNS_NAME)
            return -1;
        for (unsigned i = 0; i < label; i++) {
            const unsigned char c = in->data[in->at++];

            q->odd |= !isalnum(c) && c != '-' && c != '_';
            q->name[n++] = (char)tolower(c);
        }
        q->name[n++] = '.';
    }
    return -1;
}

/* A name of other records, which is of no interest. */
static void in_skip_name(dns_in *in)
{
    while (in->at < in->len) {
        const unsigned label = in->data[in->at++];

        if (!label)
            return;
        if (label >= 0xc0) {
            in->at++;
            return;
        }
        in->at += label;
    }
    in->at = in->len + 1;
}

/* The OPT record among the additional ones. @return 0; -1: the message is damaged */
static int in_edns(dns_in *in, dns_question *q, unsigned records)
{
    for (unsigned i = 0; i < records; i++) {
        unsigned type, class, high, bytes;

        in_skip_name(in);
        if (in->at > in->len)
            return -1;
        type = in_16(in);
        class = in_16(in);
        high = in_16(in);
        in_16(in);
        bytes = in_16(in);
        if (in->at > in->len || bytes > in->len - in->at)
            return -1;
        in->at += bytes;
        if (type != TYPE_OPT)
            continue;
        if (q->has_edns)
            return -1;
        q->has_edns = 1;
        q->takes = class;
        q->version = high & 0xff;
    }
    return 0;
}

/* ---- writing ---- */

static void out_bytes(dns_out *out, const void *data, size_t len)
{
    if (len > out->room - out->len) {
        out->full = 1;
        return;
    }
    memcpy(out->data + out->len, data, len);
    out->len += len;
}

static void out_16(dns_out *out, unsigned n)
{
    out_bytes(out, (uint8_t[]){(uint8_t)(n >> 8), (uint8_t)n}, 2);
}

static void out_32(dns_out *out, uint32_t n)
{
    out_16(out, n >> 16);
    out_16(out, n & 0xffff);
}

static void out_name(dns_out *out, const char *name)
{
    while (*name) {
        const size_t label = strcspn(name, ".");

        BRG_ASSERT(label > 0 && label < 64);
        out_bytes(out, (uint8_t[]){(uint8_t)label}, 1);
        out_bytes(out, name, label);
        name += label + (name[label] == '.');
    }
    out_bytes(out, "", 1);
}

/* @param at  where its name stands in the message. @return where its length is to be put */
static size_t out_record(dns_out *out, size_t at, unsigned type, uint32_t seconds)
{
    out_16(out, DNS_POINTER | (unsigned)at);
    out_16(out, type);
    out_16(out, CLASS_IN);
    out_32(out, seconds);
    out_16(out, 0);
    return out->len;
}

static void out_record_end(dns_out *out, size_t from)
{
    const size_t len = out->len - from;

    if (out->full)
        return;
    out->data[from - 2] = (uint8_t)(len >> 8);
    out->data[from - 1] = (uint8_t)len;
}

/* The zone's, for negative answers (RFC 2308): nobody is to remember those for long. */
static void out_soa(dns_out *out, const md_dns_zone *zone, size_t at)
{
    const size_t from = out_record(out, at, TYPE_SOA, 1);

    out_name(out, zone->ns ? zone->ns : zone->name);
    out_bytes(out, "\012hostmaster", 11);
    out_name(out, zone->name);
    out_32(out, zone->serial);
    for (int i = 0; i < 3; i++)
        out_32(out, 3600);
    out_32(out, 1);
    out_record_end(out, from);
}

static unsigned out_texts(dns_out *out, const md_dns_zone *zone, const char *name)
{
    char texts[MD_DNS_TEXTS][MD_DNS_TEXT];
    const int n = (zone->texts ? zone->texts : md_shared_dns)(name, texts);

    BRG_ASSERT(n >= 0 && n <= MD_DNS_TEXTS);
    for (int i = 0; i < n; i++) {
        const size_t len = strnlen(texts[i], MD_DNS_TEXT - 1);
        const size_t from = out_record(out, DNS_HEAD, TYPE_TXT, 0);

        out_bytes(out, (uint8_t[]){(uint8_t)len}, 1);
        out_bytes(out, texts[i], len);
        out_record_end(out, from);
    }
    return (unsigned)n;
}

static void out_edns(dns_out *out, unsigned code)
{
    out_bytes(out, "", 1);
    out_16(out, TYPE_OPT);
    out_16(out, MD_DNS_EDNS);
    out_32(out, (uint32_t)(code >> 4) << 24);
    out_16(out, 0);
}

/* ---- answering ---- */

/* @return length of the name before the zone, with the dot; -1: the name is in no zone of ours */
static long zone_has(const md_dns_zone *zone, const char *name)
{
    const size_t n = strlen(name), own = strlen(zone->name);

    if (n < own || strcmp(name + n - own, zone->name) != 0)
        return -1;
    if (n == own)
        return 0;
    return name[n - own - 1] == '.' ? (long)(n - own) : -1;
}

/* @param counts  [out] of answers, and of authorities */
static unsigned answer_zone(dns_out *out, const md_dns_zone *zone, const dns_question *q,
                            unsigned counts[2])
{
    const long before = q->odd ? -1 : zone_has(zone, q->name);
    char name[DNS_NAME + 1] = "";

    if (before < 0 || q->class != CLASS_IN)
        return CODE_REFUSED;
    if (before > 0)
        memcpy(name, q->name, (size_t)before - 1);
    if (!before && q->type == TYPE_SOA) {
        out_soa(out, zone, DNS_HEAD);
        counts[0] = 1;
    } else if (!before && q->type == TYPE_NS && zone->ns) {
        const size_t from = out_record(out, DNS_HEAD, TYPE_NS, 3600);

        out_name(out, zone->ns);
        out_record_end(out, from);
        counts[0] = 1;
    } else if (before > 0 && q->type == TYPE_TXT) {
        counts[0] = out_texts(out, zone, name);
    }
    if (!counts[0]) {
        out_soa(out, zone, DNS_HEAD + (size_t)before);
        counts[1] = 1;
    }
    return CODE_OK;
}

static void head_put(dns_out *out, const uint8_t *asked, unsigned code, int cut,
                     const unsigned counts[2], int has_edns)
{
    uint8_t *to = out->data;

    memcpy(to, asked, 2);
    to[2] = (uint8_t)(0x80 | (asked[2] & 0x79) | (code == CODE_OK ? 4 : 0) | (cut ? 2 : 0));
    to[3] = (uint8_t)(code & 15);
    memset(to + 4, 0, 8);
    to[6] = (uint8_t)(counts[0] >> 8);
    to[7] = (uint8_t)counts[0];
    to[9] = (uint8_t)counts[1];
    to[11] = (uint8_t)has_edns;
}

/* @return a code: CODE_OK if there is a question that can be answered */
static unsigned question_read(dns_in *in, dns_question *q)
{
    unsigned answers, authorities, more;

    if (in->data[2] >> 3 & 15)
        return CODE_NOT_DONE;
    in->at = 4;
    if (in_16(in) != 1)
        return CODE_FORMAT;
    answers = in_16(in);
    authorities = in_16(in);
    more = in_16(in);
    if (in_name(in, q))
        return CODE_FORMAT;
    q->type = in_16(in);
    q->class = in_16(in);
    if (in->at > in->len || answers || authorities)
        return CODE_FORMAT;
    q->end = in->at;
    if (in_edns(in, q, more))
        return CODE_FORMAT;
    return q->version ? CODE_VERSION : CODE_OK;
}

size_t md_dns_answer(const md_dns_zone *zone, const uint8_t *asked, size_t len, uint8_t *to,
                     size_t room, int is_udp, int cut)
{
    dns_in in = {asked, len, 0};
    dns_question q = {.end = 0};
    dns_out out = {to, room, DNS_HEAD, 0};
    unsigned counts[2] = {0, 0}, code;

    BRG_ASSERT(room >= MD_DNS_UDP);
    if (len < DNS_HEAD ||
        asked[2] & 0x80) /* an answer: two servers could answer each other for ever */
        return 0;
    code = question_read(&in, &q);
    if (is_udp) {
        const size_t takes = q.takes < MD_DNS_UDP ? MD_DNS_UDP : q.takes;

        out.room = takes < room ? takes : room;
    }
    out.room -= q.has_edns ? DNS_OPT : 0;
    if (q.end)
        out_bytes(&out, asked + DNS_HEAD, q.end - DNS_HEAD);
    if (code == CODE_OK && !cut)
        code = answer_zone(&out, zone, &q, counts);
    if (out.full || cut || code != CODE_OK) {
        cut = cut || out.full;
        out.len = q.end ? q.end : DNS_HEAD;
        counts[0] = counts[1] = 0;
    }
    out.room += q.has_edns ? DNS_OPT : 0;
    out.full = 0;
    if (q.has_edns)
        out_edns(&out, code);
    head_put(&out, asked, code, cut, counts, q.has_edns);
    to[5] = q.end != 0;
    return out.len;
}
