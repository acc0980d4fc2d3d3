/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a name is a host's: it has a folder, an expression says so, or a server that is asked answers with 200. */
#include "md_demand.h"
#include "md_http.h"
#include "expr_subject.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/vhost_alias.h"
#include <string.h>
#include <sys/stat.h>

APLOG_USE_MODULE(md);

#define ASK_SECONDS 10

static int ask_folder(const md_demand *demand, const char *name, apr_pool_t *p)
{
    APR_OPTIONAL_FN_TYPE(brg_vhost_alias_folder) *folder_of =
        APR_RETRIEVE_OPTIONAL_FN(brg_vhost_alias_folder);
    const char *folder =
        folder_of ? folder_of(demand->server, demand->text, name, md_all.port_https, p) : NULL;
    struct stat st;

    return folder && !stat(folder, &st) && S_ISDIR(st.st_mode);
}

/* The name is that of a request's Host field. */
static int ask_expr(const md_demand *demand, const char *name, apr_pool_t *p)
{
    http_head *head = apr_pcalloc(p, sizeof *head);
    const expr_subject subject = {.asked = head, .server = demand->server, .pool = p};
    const char *error = NULL;
    int rc;

    BRG_ASSERT(demand->expr != NULL);
    head->method = "GET";
    head->method_len = 3;
    for (int i = 0; i < HTTP_FIELD_IDS; i++)
        head->known[i] = -1;
    head->known[HTTP_F_HOST] = 0;
    head->field = head->own;
    head->field[0] = (http_field){"Host", name, 4, (uint32_t)strlen(name), HTTP_F_HOST};
    head->n_fields = 1;
    rc = expr_subject_exec(&subject, demand->expr, &error);
    if (rc < 0)
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, demand->server, "MDOnDemand expr=%s: %s",
                     demand->text, error ? error : "it cannot be evaluated");
    return rc > 0;
}

int md_demand_allows(const md_demand *demand, const char *name, apr_pool_t *p)
{
    BRG_ASSERT(demand->kind != MD_ASK_URL);
    return demand->kind == MD_ASK_FOLDER ? ask_folder(demand, name, p) : ask_expr(demand, name, p);
}

int md_demand_allows_url(const md_demand *demand, const char *name, apr_pool_t *p)
{
    const md_settings *set = demand->like->set;
    const md_http http = {
        .ca_file = set->ca_file, .agent = ap_get_server_banner(), .seconds = ASK_SECONDS};
    const char *url =
        apr_pstrcat(p, demand->text, strchr(demand->text, '?') ? "&" : "?", "domain=", name, NULL);
    const char *error = NULL;
    const md_answer *answer = md_http_ask(&http, p, "GET", url, NULL, NULL, &error);

    BRG_ASSERT(demand->kind == MD_ASK_URL);
    if (!answer)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, demand->server,
                     "%s: nobody says whether the name is one of this host's: %s", name, error);
    return answer && answer->status == 200;
}

int md_demand_allows_still(const md_demand *demand, const char *name, apr_pool_t *p)
{
    return demand->kind == MD_ASK_URL ? md_demand_allows_url(demand, name, p)
                                      : md_demand_allows(demand, name, p);
}
