/* SPDX-License-Identifier: Apache-2.0 */
/* The key of %{salt}a: one for all processes, kept over reloads and upgrades, and on no disk. The
 * copy for the next program is the only shared mapping: no server process can change it. */
#include "httpd.h"
#include "http_log.h"
#include "scoreboard.h"
#include "brigade/client_mask.h"
#include "core_private.h"
#include "kept_memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/random.h>

APLOG_USE_MODULE(core);

typedef struct client_salt {
    int made;
    unsigned char key[BRG_CLIENT_SALT_BYTES];
} client_salt;

static int salt_begin(apr_pool_t *p, ap_scoreboard_e type)
{
    static client_salt own;
    client_salt *kept;

    if (own.made)
        return OK;
    kept = kept_memory_map("client-salt-1", sizeof *kept);
    if (kept && !kept->made) /* else of the program that this one replaced */
        kept->made = getrandom(kept->key, sizeof kept->key, 0) == sizeof kept->key;
    if (kept) {
        own = *kept;
        munmap(kept, sizeof *kept);
    }
    if (own.made)
        brg_client_salt_set(own.key);
    else
        ap_log_error(APLOG_MARK, APLOG_WARNING, errno, NULL,
                     "no random key for %%{salt}a: it is logged as \"-\"");
    return OK;
}

void core_client_salt_register(void)
{
    ap_hook_pre_mpm(salt_begin, NULL, NULL, APR_HOOK_MIDDLE);
}
