/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance: the members that every kind's table must have. Asked for each system that is built from a
 * specification. */
#include "sms_private.h"

const char *sms_check_ops(const brg_sms_ops *ops)
{
    if (ops->kind == NULL || ops->kind[0] == '\0')
        return "its table has no name";
    if (ops->allocate == NULL || ops->destroy == NULL)
        return "its table lacks allocate or destroy";
    if (ops->free == NULL && ops->reset == NULL)
        return "its table has neither free nor reset: nothing would ever come back";
    if (ops->threads != BRG_SMS_ONE_THREAD && ops->threads != BRG_SMS_ANY_THREAD)
        return "its table states no rule for threads";
    if (ops->per_block < BRG_SMS_CHUNKED || ops->per_block > BRG_SMS_AS_PARENT)
        return "its table does not say whether it is for chunks or for blocks";
    return NULL;
}
