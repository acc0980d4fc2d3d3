/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apache's "pipes of death": one byte per process or thread that is to end, read by whoever comes
 * first. Our own processes are told through a socket each (supervisor.c); these are for modules
 * that start processes.
 */
#include "mpm_settings.h"

static apr_status_t pod_close(void *data)
{
    return ap_mpm_podx_close(data);
}

AP_DECLARE(apr_status_t) ap_mpm_podx_open(apr_pool_t *p, ap_pod_t **pod)
{
    ap_pod_t *new_pod = apr_pcalloc(p, sizeof *new_pod);
    apr_status_t rv =
        apr_file_pipe_create_ex(&new_pod->pod_in, &new_pod->pod_out, APR_READ_BLOCK, p);

    if (rv != APR_SUCCESS)
        return rv;
    apr_file_inherit_unset(new_pod->pod_in);
    apr_file_inherit_unset(new_pod->pod_out);
    apr_file_pipe_timeout_set(new_pod->pod_in, 0);
    new_pod->p = p;
    *pod = new_pod;
    return APR_SUCCESS;
}

AP_DECLARE(int) ap_mpm_podx_check(ap_pod_t *pod)
{
    apr_size_t n = 1;
    char c = '\0';

    if (apr_file_read(pod->pod_in, &c, &n) != APR_SUCCESS || n != 1)
        return AP_MPM_PODX_NORESTART;
    return c == AP_MPM_PODX_GRACEFUL_CHAR  ? AP_MPM_PODX_GRACEFUL
           : c == AP_MPM_PODX_RESTART_CHAR ? AP_MPM_PODX_RESTART
                                           : AP_MPM_PODX_NORESTART;
}

AP_DECLARE(apr_status_t) ap_mpm_podx_close(ap_pod_t *pod)
{
    apr_status_t rv = apr_file_close(pod->pod_out);
    apr_status_t rv_in = apr_file_close(pod->pod_in);

    return rv != APR_SUCCESS ? rv : rv_in;
}

AP_DECLARE(apr_status_t) ap_mpm_podx_signal(ap_pod_t *pod, ap_podx_restart_t graceful)
{
    char c =
        graceful == AP_MPM_PODX_GRACEFUL ? AP_MPM_PODX_GRACEFUL_CHAR : AP_MPM_PODX_RESTART_CHAR;
    apr_size_t n;

    return apr_file_write_full(pod->pod_out, &c, 1, &n);
}

AP_DECLARE(void) ap_mpm_podx_killpg(ap_pod_t *pod, int num, ap_podx_restart_t graceful)
{
    apr_status_t rv = APR_SUCCESS;

    while (num-- > 0 && rv == APR_SUCCESS)
        rv = ap_mpm_podx_signal(pod, graceful);
}

AP_DECLARE(apr_status_t) ap_mpm_pod_open(apr_pool_t *p, ap_pod_t **pod)
{
    apr_status_t rv = ap_mpm_podx_open(p, pod);

    if (rv == APR_SUCCESS)
        apr_pool_cleanup_register(p, *pod, pod_close, apr_pool_cleanup_null);
    return rv;
}

AP_DECLARE(apr_status_t) ap_mpm_pod_check(ap_pod_t *pod)
{
    return ap_mpm_podx_check(pod) == AP_MPM_PODX_NORESTART ? APR_EGENERAL : APR_SUCCESS;
}

AP_DECLARE(apr_status_t) ap_mpm_pod_close(ap_pod_t *pod)
{
    apr_pool_cleanup_kill(pod->p, pod, pod_close);
    return ap_mpm_podx_close(pod);
}

AP_DECLARE(apr_status_t) ap_mpm_pod_signal(ap_pod_t *pod)
{
    return ap_mpm_podx_signal(pod, AP_MPM_PODX_GRACEFUL);
}

AP_DECLARE(void) ap_mpm_pod_killpg(ap_pod_t *pod, int num)
{
    ap_mpm_podx_killpg(pod, num, AP_MPM_PODX_GRACEFUL);
}
