/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H1_H1_CONN_H
#define BRIGADE_H1_H1_CONN_H

#include "driver.h"

/** HTTP/1 over any transport, with modules' connection filters where there are some. */
extern const struct conn_driver h1_driver;

#endif
