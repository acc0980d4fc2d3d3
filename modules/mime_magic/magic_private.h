/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MAGIC_PRIVATE_H
#define BRIGADE_MAGIC_PRIVATE_H

/**
 * @file magic_private.h
 * Shared by the files of mod_mime_magic: rules of a magic file (magic(5) of
 * file(1), as Apache's module reads it), and the type of a file by its first bytes. Rules are made
 * when the configuration is read, and only read afterwards, by any thread.
 */
#include "httpd.h"
#include "http_config.h"
#include "apr_tables.h"

extern module AP_MODULE_DECLARE_DATA mime_magic_module;

/** Bytes of a file that are looked at, and of the content of a compressed one. */
#define MAGIC_BYTES 4096
/** How many bytes a rule takes at its offset, whatever its type. With fewer behind the offset it does not hold. */
#define MAGIC_VALUE 64
/** Size of the text of a rule, with its NUL; a longer text is cut. */
#define MAGIC_TEXT 50
/** Size of the text of all rules that hold for a file. */
#define MAGIC_RESULT HUGE_STRING_LEN

/** The type of a rule's value at its offset. */
typedef enum magic_type {
    MAGIC_NONE, /**< the line has no type: it never holds */
    MAGIC_BYTE,
    MAGIC_SHORT, /**< in the machine's order, as MAGIC_LONG and MAGIC_DATE, which have the size of a long */
    MAGIC_LONG,
    MAGIC_STRING,
    MAGIC_DATE,
    MAGIC_BESHORT,
    MAGIC_BELONG,
    MAGIC_BEDATE,
    MAGIC_LESHORT,
    MAGIC_LELONG,
    MAGIC_LEDATE
} magic_type;

/** The text of a rule as a format of apr_snprintf(). */
typedef enum magic_print {
    MAGIC_AS_IS,       /**< none */
    MAGIC_NUMBER,      /**< of an int, or of nothing */
    MAGIC_LONG_NUMBER, /**< of a long */
    MAGIC_PRINT_STRING /**< of a string */
} magic_print;

/** A line of a magic file. */
typedef struct magic_rule {
    magic_type type;
    char relation;            /**< one of "x=!<>&^" */
    unsigned is_unsigned : 1; /**< "u" before the type */
    unsigned indirect : 1;    /**< the offset is read at the offset */
    unsigned joined : 1;      /**< its text follows without a blank */
    magic_print print;        /**< how the value is put into the text */
    unsigned depth;           /**< how many ">" it begins with */
    int offset;
    magic_type indirect_type; /**< MAGIC_BYTE, MAGIC_SHORT or MAGIC_LONG */
    long indirect_offset;     /**< added to the number there */
    apr_uint64_t mask;
    apr_uint64_t number;     /**< the value to compare; 0 with MAGIC_STRING */
    char value[MAGIC_VALUE]; /**< the same of MAGIC_STRING, with a NUL behind it */
    int length;              /**< of value */
    char text[MAGIC_TEXT];
} magic_rule;

/**
 * Read a line that is neither empty nor a comment.
 *
 * @param rule    filled, whatever the line is
 * @param faults  of const char *, in @a p: a message for each thing that is wrong with the line
 * @return 1; 0: it has no type (other faults make it another rule, but are no error of the file)
 * Threads: any. Blocking: no.
 */
int magic_parse(apr_pool_t *p, const char *text, magic_rule *rule, apr_array_header_t *faults);

/** Text of a type, in pieces, as it is put together. Longer than its buffer: cut. */
typedef struct magic_result {
    char text[MAGIC_RESULT];
    apr_size_t length;
    int odd;       /**< number of rules whose value is the letter x alone: they hold always */
    int pointless; /**< number of rules without a type that were tried */
} magic_result;

/** No text yet. */
void magic_begin(magic_result *result);

/** Add @a text. */
void magic_put(magic_result *result, const char *text);

/**
 * The texts of the first rule that holds and of those below it that do.
 *
 * @param rules  of magic_rule
 * @param bytes  @a size of them
 * @return 1: a rule held, though maybe without a text; 0: none
 * Threads: any. Blocking: no.
 */
int magic_match(const apr_array_header_t *rules, const unsigned char *bytes, apr_size_t size,
                magic_result *result);

/**
 * The type of a text by its words, or of a tar archive by its checksum: troff, Fortran, HTML, C,
 * mail, news, ...
 *
 * @param bytes  @a size of them, the last one NUL
 * @return 1 and a type in @a result; 0
 * Threads: any. Blocking: no.
 */
int magic_guess(const unsigned char *bytes, apr_size_t size, magic_result *result);

/** How a file is compressed, by its first bytes; NULL: it is not. */
const char *magic_encoding(const unsigned char *bytes, apr_size_t size);

/**
 * The beginning of a compressed file's content.
 *
 * @param in   @a size bytes of a file with magic_encoding()
 * @param out  MAGIC_BYTES of them
 * @return how many bytes there are in @a out; 0: none
 * Threads: any. Blocking: no.
 */
apr_size_t magic_unpack(apr_pool_t *p, const unsigned char *in, apr_size_t size,
                        unsigned char *out);

/** What a text says: "TYPE/SUBTYPE" or "TYPE/SUBTYPE ENCODING ...". */
typedef struct magic_said {
    const char *type, *encoding; /**< in small letters; encoding may be NULL */
} magic_said;

/** @return 1; 0: the text has no type. In @a p. Threads: any. Blocking: no. */
int magic_say(apr_pool_t *p, const char *text, magic_said *said);

#endif
