/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of clients for logs: masked, or as a keyed hash. */
#include "brigade/client_mask.h"
#include "brigade/assert.h"
#include "brigade/decimal.h"

#include "apr_siphash.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static struct {
    brg_client_mask mask;
    int is_set;
    const unsigned char *key; /* NULL: no server process runs */
} masking;

BRG_DECLARE(const brg_client_mask *) brg_client_mask_of_logs(void)
{
    return masking.is_set ? &masking.mask : NULL;
}

BRG_DECLARE(void) brg_client_mask_set(const brg_client_mask *mask)
{
    masking.is_set = mask != NULL;
    if (mask)
        masking.mask = *mask;
}

BRG_DECLARE(void) brg_client_salt_set(const unsigned char *key)
{
    masking.key = key;
}

static int mask_number(const char *text, unsigned most, unsigned char *out)
{
    size_t digits = strspn(text, "0123456789");
    unsigned long n = strtoul(text, NULL, 10);

    *out = (unsigned char)n;
    return digits && digits <= 3 && !text[digits] && n <= most;
}

BRG_DECLARE(int) brg_client_mask_parse(const char *v4, const char *v6, brg_client_mask *out)
{
    return mask_number(v4, 32, &out->ipv4) && mask_number(v6, 128, &out->ipv6);
}

/* @return how many bytes @a ip has; 0: it is no address */
static unsigned mask_bytes(const char *ip, unsigned char *bytes)
{
    static const unsigned char mapped[12] = {[10] = 0xff, 0xff};
    char text[INET6_ADDRSTRLEN];
    size_t n = ip ? strcspn(ip, "%") : 0;

    if (!n || n >= sizeof text)
        return 0;
    memcpy(text, ip, n);
    text[n] = '\0';
    if (inet_pton(AF_INET, text, bytes) == 1)
        return 4;
    if (inet_pton(AF_INET6, text, bytes) != 1)
        return 0;
    if (memcmp(bytes, mapped, sizeof mapped))
        return 16;
    memmove(bytes, bytes + sizeof mapped, 4);
    return 4;
}

static apr_size_t mask_none(char *out)
{
    memcpy(out, "-", 2);
    return 1;
}

static apr_size_t mask_text(const unsigned char *bytes, unsigned n, char *out)
{
    char *d = out;

    if (n == 16)
        return inet_ntop(AF_INET6, bytes, out, BRG_CLIENT_MASK_ROOM) ? strlen(out) : mask_none(out);
    for (unsigned i = 0; i < n; i++) {
        if (i)
            *d++ = '.';
        d += brg_decimal_put(d, bytes[i]);
    }
    *d = '\0';
    return (apr_size_t)(d - out);
}

BRG_DECLARE(apr_size_t) brg_client_masked(const brg_client_mask *mask, const char *ip, char *out)
{
    unsigned char bytes[16];
    unsigned n = mask_bytes(ip, bytes), bits = n == 4 ? mask->ipv4 : mask->ipv6;

    BRG_ASSERT(mask->ipv4 <= 32 && mask->ipv6 <= 128);
    if (!n)
        return mask_none(out);
    for (unsigned i = 0; i < n; i++)
        if (bits < 8 * (i + 1))
            bytes[i] = bits <= 8 * i ? 0 : bytes[i] & (unsigned char)(0xff00u >> (bits - 8 * i));
    return mask_text(bytes, n, out);
}

BRG_DECLARE(apr_size_t) brg_client_salted(const char *ip, apr_time_t when, char *out)
{
    static const char hex[] = "0123456789abcdef";
    struct {
        apr_int64_t day;
        unsigned char address[16];
    } text = {.day = when / apr_time_from_sec(86400)};
    apr_uint64_t hash;

    unsigned n = mask_bytes(ip, text.address);

    if (!masking.key || !n)
        return mask_none(out);
    hash = apr_siphash24(&text, sizeof text.day + n, masking.key);
    for (int i = 0; i < 16; i++)
        out[i] = hex[hash >> (60 - 4 * i) & 15];
    out[16] = '\0';
    return 16;
}
