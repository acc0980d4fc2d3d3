/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of mod_evasive and mod_qos in a configuration, and the RequestLimit lines that do the same.
 */
#include "main_parts.h"
#include "http_config.h"
#include "httpd.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <stdio.h>
#include <string.h>

/* $1 and $2 are the words of the line. */
static const struct {
    const char *directive, *instead;
} takeover_limits[] = {
    {"DOSPageCount",
     "RequestLimit page by=client,path rate=$1/s burst=$1 (of DOSPageInterval seconds: 1)"},
    {"DOSSiteCount",
     "RequestLimit site by=client rate=$1/s burst=$1 (of DOSSiteInterval seconds: 1)"},
    {"DOSPageInterval", "the time of rate= in the line for DOSPageCount"},
    {"DOSSiteInterval", "the time of rate= in the line for DOSSiteCount"},
    {"DOSBlockingPeriod", "nothing: who goes on asking too often stays refused"},
    {"DOSWhitelist", "\"when=! -R '$1'\" in each RequestLimit"},
    {"DOSHTTPStatus", "status=$1 in each RequestLimit"},
    {"DOSHashTableSize", "RequestLimitKeys: 65536 keys, and no more memory"},
    {"DOSLogDir", "nothing: the error log tells, and SetHandler metrics"},
    {"DOSEmailNotify", "an alert on brigade_limit_refused_total of SetHandler metrics"},
    {"DOSSystemCommand", "an alert on brigade_limit_refused_total of SetHandler metrics"},
    {"QS_SrvMaxConn", "RequestLimit all by=all connections=$1"},
    {"QS_SrvMaxConnPerIP", "RequestLimit connections by=client connections=$1"},
    {"QS_SrvMaxConnClose", "nothing: idle connections are closed first where there are too many"},
    {"QS_SrvMinDataRate", "RequestReadTimeout body=20,MinRate=$1"},
    {"QS_SrvRequestRate", "RequestReadTimeout body=20,MinRate=$1"},
    {"QS_LocRequestLimit", "<Location $1> RequestLimit place by=all inflight=$2"},
    {"QS_LocRequestLimitMatch", "<LocationMatch $1> RequestLimit place by=all inflight=$2"},
    {"QS_LocRequestLimitDefault", "RequestLimit place by=path inflight=$1"},
    {"QS_LocRequestPerSecLimit",
     "<Location $1> RequestLimit rate by=all rate=$2/s excess=delay burst=$2"},
    {"QS_LocRequestPerSecLimitMatch",
     "<LocationMatch $1> RequestLimit rate by=all rate=$2/s excess=delay burst=$2"},
    {"QS_LocKBytesPerSecLimit", "<Location $1> RequestLimit bytes by=all bandwidth=$2K"},
    {"QS_LocKBytesPerSecLimitMatch", "<LocationMatch $1> RequestLimit bytes by=all bandwidth=$2K"},
    {"QS_CondLocRequestLimitMatch",
     "<LocationMatch $1> RequestLimit place by=all inflight=$2 \"when=CONDITION\""},
    {"QS_EventPerSecLimit", "RequestLimit event by=all rate=$2/s \"when=-n env('$1')\""},
    {"QS_EventRequestLimit", "RequestLimit event by=all inflight=$1 \"when=CONDITION\""},
    {"QS_ClientEventPerSecLimit", "RequestLimit event by=client rate=$1/s \"when=CONDITION\""},
    {"QS_ClientEventRequestLimit", "RequestLimit event by=client inflight=$1 \"when=CONDITION\""},
    {"QS_ClientEventLimitCount",
     "RequestLimit event by=client rate=N/h burst=$1 \"when=CONDITION\" (N: $1 of $2 seconds)"},
    {"QS_ClientEventBlockCount",
     "RequestLimit event by=client rate=N/h burst=$1 excess=close \"when=CONDITION\""},
    {"QS_ClientEntries", "RequestLimitKeys $1"},
    {"QS_ErrorResponseCode", "status=$1 in each RequestLimit"},
    {"QS_LogOnly", "dry-run in each RequestLimit"},
};

static void limits_print(const char *text, const char *const word[2])
{
    for (; *text; text++)
        if (*text == '$' && (text[1] == '1' || text[1] == '2'))
            fputs(word[*++text - '1'], stdout);
        else
            putchar(*text);
    putchar('\n');
}

static int limits_line(apr_pool_t *p, const ap_directive_t *d, int found)
{
    for (size_t i = 0; i < sizeof takeover_limits / sizeof *takeover_limits; i++) {
        const char *args = d->args, *word[2];

        if (ap_cstr_casecmp(d->directive, takeover_limits[i].directive))
            continue;
        if (!found)
            printf("Limits, by the built-in RequestLimit:\n");
        for (int k = 0; k < 2; k++)
            word[k] = ap_getword_conf(p, &args);
        printf("  %s %s: ", d->directive, d->args);
        limits_print(takeover_limits[i].instead, word);
        return 1;
    }
    return found;
}

int main_takeover_limits(apr_pool_t *p, const ap_directive_t *d, int found)
{
    BRG_ASSERT(p != NULL);
    for (; d; d = d->next) {
        found = limits_line(p, d, found);
        found = main_takeover_limits(p, d->first_child, found);
    }
    return found;
}
