/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UTIL_XML_H
#define UTIL_XML_H

/** @file util_xml.h  Request bodies that are XML. */
#include "apr_xml.h"
#include "httpd.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Read and parse the body. OK, with *pdoc NULL if there is no body, or a status. Blocks. */
AP_DECLARE(int) ap_xml_parse_input(request_rec *r, apr_xml_doc **pdoc);

#ifdef __cplusplus
}
#endif
#endif
