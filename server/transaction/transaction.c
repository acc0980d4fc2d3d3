/* SPDX-License-Identifier: Apache-2.0 */
/* Which state of a transaction may follow which. */
#include "transaction.h"

#define TO(state) (1u << TRANSACTION_##state)

const uint8_t transaction_next[TRANSACTION_STATES] = {
    [TRANSACTION_END] = TO(HEAD),
    [TRANSACTION_HEAD] = TO(END) | TO(HEAD) | TO(GATE) | TO(ROUTE) | TO(SOURCE) | TO(SEND),
    [TRANSACTION_GATE] = TO(END) | TO(HEAD) | TO(ROUTE) | TO(SOURCE) | TO(SEND),
    [TRANSACTION_ROUTE] = TO(SOURCE),
    [TRANSACTION_SOURCE] = TO(ROUTE) | TO(SOURCE) | TO(END),
    [TRANSACTION_SEND] = TO(LOG),
    [TRANSACTION_LOG] = TO(END),
};
