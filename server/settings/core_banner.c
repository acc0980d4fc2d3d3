/* SPDX-License-Identifier: Apache-2.0 */
/* The server's name and version. ServerTokens says how much of it clients see. Modules may add words until the
 * configuration is read. */
#include "httpd.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "http_core.h"
#include "apr_strings.h"
#include "configuration.h"
#include "core_settings.h"

#ifndef BRIGADE_PLATFORM
#define BRIGADE_PLATFORM "Unix"
#endif

enum { TOKENS_MAJOR, TOKENS_MINOR, TOKENS_MIN, TOKENS_OS, TOKENS_FULL, TOKENS_PROD };

static int core_tokens = TOKENS_FULL;
static const char *core_banner, *core_description; /* NULL: not yet composed */
static const char *core_software_said;             /* ServerSoftware; NULL: nothing */
static apr_pool_t *core_banner_pool;

static apr_status_t core_banner_forget(void *unused)
{
    core_banner = core_description = core_software_said = NULL;
    core_banner_pool = NULL;
    core_tokens = TOKENS_FULL;
    return APR_SUCCESS;
}

/* The first `parts` numbers of the version. */
static const char *core_version_prefix(apr_pool_t *p, int parts)
{
    const char *end = BRIGADE_VERSION;

    BRG_ASSERT(parts > 0);
    while (parts-- && *end) {
        end += strcspn(end, ".");
        end += parts && *end;
    }
    return apr_pstrcat(p, BRG_PRODUCT "/",
                       apr_pstrndup(p, BRIGADE_VERSION, (apr_size_t)(end - BRIGADE_VERSION)), NULL);
}

static void core_banner_compose(void)
{
    static const char full[] = BRG_PRODUCT "/" BRIGADE_VERSION;
    static const char with_os[] = BRG_PRODUCT "/" BRIGADE_VERSION " (" BRIGADE_PLATFORM ")";

    BRG_ASSERT(core_banner_pool != NULL);
    core_description = with_os;
    switch (core_tokens) {
    case TOKENS_PROD:
        core_banner = BRG_PRODUCT;
        break;
    case TOKENS_MAJOR:
        core_banner = core_version_prefix(core_banner_pool, 1);
        break;
    case TOKENS_MINOR:
        core_banner = core_version_prefix(core_banner_pool, 2);
        break;
    case TOKENS_MIN:
        core_banner = full;
        break;
    default:
        core_banner = with_os;
    }
}

void core_banner_reset(apr_pool_t *pconf)
{
    core_banner_pool = pconf;
    core_tokens = TOKENS_FULL;
    core_banner = core_description = core_software_said = NULL;
    apr_pool_cleanup_register(pconf, NULL, core_banner_forget, apr_pool_cleanup_null);
}

void core_banner_complete(void)
{
    if (!core_banner)
        core_banner_compose();
}

const char *core_set_tokens(cmd_parms *cmd, void *unused, const char *arg)
{
    static const struct {
        const char *name;
        int tokens;
    } names[] = {{"OS", TOKENS_OS},
                 {"Min", TOKENS_MIN},
                 {"Minimal", TOKENS_MIN},
                 {"Major", TOKENS_MAJOR},
                 {"Minor", TOKENS_MINOR},
                 {"Prod", TOKENS_PROD},
                 {"ProductOnly", TOKENS_PROD},
                 {"Full", TOKENS_FULL}};
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (error)
        return error;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (!ap_cstr_casecmp(arg, names[i].name)) {
            core_tokens = names[i].tokens;
            core_banner = NULL;
            return NULL;
        }
    }
    return "ServerTokens takes 1 argument: 'Prod(uctOnly)', 'Major', 'Minor', 'Min(imal)', 'OS', "
           "or 'Full'";
}

/* ---- SERVER_SOFTWARE ---- */

const char *core_set_software(cmd_parms *cmd, void *unused, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (!error)
        core_software_said = arg;
    return error;
}

/* Applications look for "Apache" to find out whether there are .htaccess files and rewriting. */
const char *core_software(void)
{
    static const char apache[] =
        "Apache/" AP_SERVER_BASEREVISION " (" BRG_PRODUCT "/" BRIGADE_VERSION ")";
    const char *said = core_software_said;

    if (!said)
        return conf_loads_stock() ? apache : ap_get_server_banner();
    if (!ap_cstr_casecmp(said, "apache"))
        return apache;
    return ap_cstr_casecmp(said, "brigade") ? said : ap_get_server_banner();
}

AP_DECLARE(void) ap_add_version_component(apr_pool_t *pconf, const char *component)
{
    /* Outside a generation (a module's registration) there is nothing that could be added to. */
    if (!core_banner_pool)
        core_banner_reset(pconf);
    core_banner_complete();
    BRG_ASSERT(core_banner != NULL && core_description != NULL);
    if (core_tokens == TOKENS_FULL)
        core_banner = apr_pstrcat(core_banner_pool, core_banner, " ", component, NULL);
    core_description = apr_pstrcat(core_banner_pool, core_description, " ", component, NULL);
}

AP_DECLARE(const char *) ap_get_server_banner(void)
{
    return core_banner ? core_banner : BRG_PRODUCT "/" BRIGADE_VERSION;
}

AP_DECLARE(const char *) ap_get_server_description(void)
{
    return core_description ? core_description : BRG_PRODUCT "/" BRIGADE_VERSION;
}

AP_DECLARE(const char *) ap_get_server_built(void)
{
    return __DATE__ " " __TIME__;
}

AP_DECLARE(void) ap_get_server_revision(ap_version_t *version)
{
    version->major = AP_SERVER_MAJORVERSION_NUMBER;
    version->minor = AP_SERVER_MINORVERSION_NUMBER;
    version->patch = AP_SERVER_PATCHLEVEL_NUMBER;
    version->add_string = AP_SERVER_ADD_STRING;
}
