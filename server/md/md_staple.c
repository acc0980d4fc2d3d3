/* SPDX-License-Identifier: Apache-2.0 */
/* OCSP responses in memory that the daemon writes and all processes read. */
#include "md_staple.h"
#include "md_shared.h"
#include "tls_conf.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/one_writer.h"
#include <stdatomic.h>
#include <string.h>

typedef struct staple_text {
    md_staple_state state;
    unsigned len;
    unsigned char der[MD_OCSP_MOST];
} staple_text;

typedef struct staple_slot {
    _Atomic unsigned version; /* odd while it is written */
    staple_text text;
} staple_slot;

apr_array_header_t *md_staples;
static brg_one_writer *staple_memory;
static int staple_slots;

/* ---- which ---- */

void md_staple_reset(apr_pool_t *p)
{
    md_staples = apr_array_make(p, 4, sizeof(md_staple));
}

/* Apache's mod_ssl has settings of its own. */
static int staple_is_said(const server_rec *s)
{
    return ssl_module.module_index >= 0 && tls_conf_of(s)->stapling == 1;
}

int md_staple_is_wanted(server_rec *main_server)
{
    for (const server_rec *s = main_server; s; s = s->next)
        if (md_conf_of(s)->set->stapling == 1 || staple_is_said(s))
            return 1;
    for (int i = 0; i < md_domains->nelts; i++)
        if (APR_ARRAY_IDX(md_domains, i, const md_domain *)->own->stapling == 1)
            return 1;
    return 0;
}

static int staple_is_on(const server_rec *s, const md_domain *domain)
{
    const md_settings *set = domain ? domain->set : md_conf_of(s)->set;

    if (staple_is_said(s))
        return 1;
    return set->stapling == 1 && (domain || set->staple_others != 0);
}

static int staple_has(const md_domain *domain, const char *pem)
{
    for (int i = 0; i < md_staples->nelts; i++) {
        const md_staple *one = &APR_ARRAY_IDX(md_staples, i, md_staple);

        if (pem ? one->pem && !strcmp(one->pem, pem) : one->domain == domain && one->spec)
            return 1;
    }
    return 0;
}

/* The daemon reads these out of the store, as they come and go. */
static void staple_take_domain(const md_domain *domain)
{
    const apr_array_header_t *keys = domain->set->keys;

    for (int i = 0; i < keys->nelts && keys->nelts; i++)
        APR_ARRAY_PUSH(md_staples, md_staple) =
            (md_staple){.name = domain->name,
                        .domain = domain,
                        .spec = &APR_ARRAY_IDX(keys, i, md_key_spec),
                        .set = domain->set};
}

int md_staple_prime(server_rec *s, apr_pool_t *p, const char *id, apr_size_t id_len,
                    const char *pem)
{
    const md_domain *domain = md_conf_of(s)->domain;
    const int is_stored = domain && !domain->static_certs && md_conf_of(s)->stored;
    md_ocsp_cert cert;

    if (!md_staples || id_len != MD_OCSP_ID || !staple_is_on(s, domain))
        return DECLINED;
    if (is_stored) {
        if (!staple_has(domain, NULL))
            staple_take_domain(domain);
        if (ssl_module.module_index >= 0)
            tls_conf_of(s)->staple_follows = 1;
        return OK;
    }
    if (md_ocsp_cert_read(p, pem, &cert) || !cert.url || !cert.issuer)
        return DECLINED;
    if (!staple_has(NULL, pem))
        APR_ARRAY_PUSH(md_staples, md_staple) =
            (md_staple){.name = domain ? domain->name : MD_STAPLE_OTHER,
                        .domain = domain,
                        .pem = apr_pstrdup(p, pem),
                        .set = domain ? domain->set : md_conf_of(s)->set};
    return OK;
}

/* ---- shared ---- */

static apr_status_t staple_end(void *unused)
{
    staple_memory = NULL;
    staple_slots = 0;
    return APR_SUCCESS;
}

apr_status_t md_staple_share(apr_pool_t *p)
{
    apr_status_t rv;

    BRG_ASSERT(!staple_memory);
    if (!md_staples->nelts)
        return APR_SUCCESS;
    rv = brg_one_writer_create(&staple_memory, "brigade-md-ocsp",
                               sizeof(staple_slot) * (apr_size_t)md_staples->nelts, p);
    if (rv != APR_SUCCESS)
        return rv;
    staple_slots = md_staples->nelts;
    apr_pool_cleanup_register(p, NULL, staple_end, apr_pool_cleanup_null);
    return APR_SUCCESS;
}

void md_staple_hand(int on)
{
    if (staple_memory)
        brg_one_writer_hand(staple_memory, on);
}

void md_staple_tell(int index, const md_staple_state *state, const unsigned char *der,
                    apr_size_t len)
{
    staple_slot *slot;

    BRG_ASSERT(index >= 0 && index < staple_slots && len <= MD_OCSP_MOST);
    slot = (staple_slot *)brg_one_writer_write(staple_memory) + index;
    atomic_fetch_or(&slot->version, 1); /* a job may have died while it wrote */
    slot->text.state = *state;
    if (der) {
        memcpy(slot->text.der, der, len);
        slot->text.len = (unsigned)len;
    }
    atomic_fetch_add(&slot->version, 1);
}

static const staple_slot *staple_read(int index)
{
    return staple_memory && index >= 0 && index < staple_slots
               ? (const staple_slot *)brg_one_writer_read(staple_memory) + index
               : NULL;
}

int md_staple_state_of(int index, md_staple_state *state)
{
    const staple_slot *slot = staple_read(index);

    for (int i = 0; slot && i < 3; i++)
        if (md_shared_copy(state, &slot->text.state, sizeof *state, &slot->version))
            return 0;
    return -1;
}

/* @return 0: it is just being written, or another one, or over */
static int staple_copy(const staple_slot *slot, const unsigned char *id, apr_time_t now,
                       unsigned char *der)
{
    staple_text text;

    if (!md_shared_copy(&text, &slot->text, sizeof text, &slot->version) ||
        memcmp(text.state.id, id, MD_OCSP_ID) != 0 || text.state.until <= now)
        return 0;
    BRG_ASSERT(text.len <= MD_OCSP_MOST);
    memcpy(der, text.der, text.len);
    return (int)text.len;
}

int md_staple_response(const unsigned char *id, apr_time_t now, unsigned char *der)
{
    const staple_slot *slot;
    int found = -1;

    for (int i = 0; found <= 0 && (slot = staple_read(i)) != NULL; i++)
        if (!memcmp(slot->text.state.id, id, MD_OCSP_ID))
            found = staple_copy(slot, id, now, der);
    return found;
}
