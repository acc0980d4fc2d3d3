/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks that http_request.h declares: the phases of a request. */
#include "httpd.h"
#include "http_request.h"
#include "hook_lists.h"

/* clang-format off */
APR_HOOK_STRUCT(
    APR_HOOK_LINK(create_request)
    APR_HOOK_LINK(pre_translate_name)
    APR_HOOK_LINK(translate_name)
    APR_HOOK_LINK(map_to_storage)
    APR_HOOK_LINK(check_user_id)
    APR_HOOK_LINK(fixups)
    APR_HOOK_LINK(type_checker)
    APR_HOOK_LINK(access_checker)
    APR_HOOK_LINK(access_checker_ex)
    APR_HOOK_LINK(auth_checker)
    APR_HOOK_LINK(insert_filter)
    APR_HOOK_LINK(post_perdir_config)
    APR_HOOK_LINK(force_authn)
    APR_HOOK_LINK(dirwalk_stat)
)

HOOK_IMPLEMENT_RUN_ALL(int, create_request, (request_rec *r), (r), OK, DECLINED)
HOOK_IMPLEMENT_RUN_FIRST(int, pre_translate_name, (request_rec *r), (r), DECLINED)
HOOK_IMPLEMENT_RUN_FIRST(int, translate_name, (request_rec *r), (r), DECLINED)
HOOK_IMPLEMENT_RUN_FIRST(int, map_to_storage, (request_rec *r), (r), DECLINED)
HOOK_IMPLEMENT_RUN_FIRST(int, check_user_id, (request_rec *r), (r), DECLINED)
HOOK_IMPLEMENT_RUN_ALL(int, fixups, (request_rec *r), (r), OK, DECLINED)
HOOK_IMPLEMENT_RUN_FIRST(int, type_checker, (request_rec *r), (r), DECLINED)
HOOK_IMPLEMENT_RUN_ALL(int, access_checker, (request_rec *r), (r), OK, DECLINED)
HOOK_IMPLEMENT_RUN_FIRST(int, access_checker_ex, (request_rec *r), (r), DECLINED)
HOOK_IMPLEMENT_RUN_FIRST(int, auth_checker, (request_rec *r), (r), DECLINED)
HOOK_IMPLEMENT_VOID(insert_filter, (request_rec *r), (r))
HOOK_IMPLEMENT_RUN_ALL(int, post_perdir_config, (request_rec *r), (r), OK, DECLINED)
AP_IMPLEMENT_HOOK_RUN_FIRST(int, force_authn, (request_rec *r), (r), DECLINED)
AP_IMPLEMENT_HOOK_RUN_FIRST(apr_status_t, dirwalk_stat,
                            (apr_finfo_t *finfo, request_rec *r, apr_int32_t wanted),
                            (finfo, r, wanted), AP_DECLINED)
/* clang-format on */
