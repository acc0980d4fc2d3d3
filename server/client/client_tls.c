/* SPDX-License-Identifier: Apache-2.0 */
/* TLS of outgoing connections. */
#include "client_private.h"

apr_status_t client_handshake(client_conn *cc)
{
    cc->failure = CLIENT_NO_HANDSHAKE;
    cc->error = APR_ENOTIMPL;
    cc->why = "TLS is not built in";
    return cc->error;
}
