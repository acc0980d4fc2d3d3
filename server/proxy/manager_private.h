/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_MANAGER_PRIVATE_H
#define BRIGADE_PROXY_MANAGER_PRIVATE_H

/* Parts of balancer-manager. */
#include "proxy_private.h"

/* Numbers that a form may ask for. */
typedef struct manager_call {
    request_rec *r;
    proxy_server_conf *conf;
    /* of the query or the form; empty where the request came from another site */
    apr_table_t *params;
    proxy_balancer *balancer; /* that b= names; NULL */
    proxy_worker *worker;     /* that w= names; NULL */
} manager_call;

/* Carry out a form. @return OK or a status */
int manager_change(const manager_call *m);
/* The page, or the document with xml=1. */
void manager_page(const manager_call *m);
void manager_modern(const manager_call *m);
/* Its style sheet, where the query asks for it. @return DECLINED: it does not */
int manager_style(request_rec *r);
void manager_xml(const manager_call *m);

/* Texts of a balancer and a worker as they hold now. */
const char *manager_sticky(apr_pool_t *p, balancer_state *s, int with_path);
const char *manager_redirect(apr_pool_t *p, const proxy_worker *w);
const char *manager_route(apr_pool_t *p, const proxy_worker *w);
int manager_attempts(const balancer_state *s);

#endif
