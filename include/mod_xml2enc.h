/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOD_XML2ENC
#define MOD_XML2ENC

/** @file mod_xml2enc.h  Character sets of markup. Include libxml2's encoding.h before. */
#include "httpd.h"
#include "util_filter.h"
#include "apr_optional.h"
#include "apr_hooks.h"

/* Modes of xml2enc_filter. */
#define ENCIO_INPUT 0x01
#define ENCIO_OUTPUT 0x02
#define ENCIO_INPUT_CHECKS 0x04
#define ENCIO (ENCIO_INPUT | ENCIO_OUTPUT | ENCIO_INPUT_CHECKS)
#define ENCIO_SKIPTO 0x10

/** How functions and data of mod_xml2enc are declared. */
#define XML2ENC_DECLARE(type) AP_DECLARE(type)
#define XML2ENC_DECLARE_NONSTD(type) AP_DECLARE(type)
#define XML2ENC_DECLARE_DATA AP_DECLARE_DATA

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __XML_CHAR_ENCODING_H__
/** Character set of a response, as libxml2 names it and as a string. */
APR_DECLARE_OPTIONAL_FN(apr_status_t, xml2enc_charset,
                        (request_rec * r, xmlCharEncoding *enc, const char **cenc));
#endif
/** Convert a response. */
APR_DECLARE_OPTIONAL_FN(apr_status_t, xml2enc_filter,
                        (request_rec * r, const char *enc, unsigned int mode));
/** Repair content before it is parsed. Run all. */
APR_DECLARE_EXTERNAL_HOOK(xml2enc, XML2ENC, int, preprocess,
                          (ap_filter_t * f, char **bufp, apr_size_t *bytesp))

#ifdef __cplusplus
}
#endif
#endif
