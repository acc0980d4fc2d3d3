/* SPDX-License-Identifier: Apache-2.0 */
/* The key of %{salt}a: one for all processes, kept over reloads and upgrades, and on no disk. */
#include "httpd.h"
#include "http_log.h"
#include "scoreboard.h"
#include "brigade/assert.h"
#include "brigade/client_mask.h"
#include "core_private.h"
#include "kept_memory.h"

#include <errno.h>
#include <sys/random.h>

APLOG_USE_MODULE(core);

typedef struct client_salt {
    int made;
    unsigned char key[BRG_CLIENT_SALT_BYTES];
} client_salt;

static int salt_begin(apr_pool_t *p, ap_scoreboard_e type)
{
    static client_salt *salt;

    if (salt)
        return OK;
    salt = kept_memory_map("client-salt-1", sizeof *salt);
    if (salt && !salt->made) /* else of the program that this one replaced */
        salt->made = getrandom(salt->key, sizeof salt->key, 0) == sizeof salt->key;
    if (!salt || !salt->made) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, errno, NULL,
                     "no key for %%{salt}a: it is - in logs");
        salt = NULL;
        return OK;
    }
    BRG_ASSERT(salt->made == 1);
    brg_client_salt_set(salt->key);
    return OK;
}

void core_client_salt_register(void)
{
    ap_hook_pre_mpm(salt_begin, NULL, NULL, APR_HOOK_MIDDLE);
}
