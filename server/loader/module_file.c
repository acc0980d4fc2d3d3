/* SPDX-License-Identifier: Apache-2.0 */
/* The dynamic symbols of a shared object, read from the file. Every size and offset is checked against the file: it
 * may be damaged, or no module at all. */
#include "module_file.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "apr_file_io.h"
#include "apr_mmap.h"
#include "apr_strings.h"
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct elf_image {
    const char *base;
    apr_size_t size;
    const ElfW(Ehdr) * head;
    const ElfW(Shdr) * sections;
} elf_image;

/* The program's own, by the linker. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/* NULL where it would lie outside of the file. */
static const void *elf_at(const elf_image *e, uint64_t offset, uint64_t size)
{
    return offset <= e->size && size <= e->size - offset ? e->base + offset : NULL;
}

/* The same for entries of a table, which have to be aligned. */
static const void *elf_table(const elf_image *e, uint64_t offset, uint64_t size)
{
    return offset % sizeof(void *) ? NULL : elf_at(e, offset, size);
}

static const char *elf_text(const elf_image *e, const ElfW(Shdr) * strings, uint64_t at)
{
    const char *text = at < strings->sh_size ? elf_at(e, strings->sh_offset + at, 1) : NULL;
    apr_size_t most = text ? e->size - (apr_size_t)(text - e->base) : 0;

    return text && memchr(text, '\0', most) ? text : "";
}

static const ElfW(Shdr) * elf_section(const elf_image *e, unsigned n)
{
    return n < e->head->e_shnum ? &e->sections[n] : NULL;
}

static const void *elf_content(const elf_image *e, const ElfW(Sym) * symbol)
{
    const ElfW(Shdr) *s = elf_section(e, symbol->st_shndx);

    if (!s || s->sh_type == SHT_NOBITS || symbol->st_value < s->sh_addr ||
        symbol->st_value - s->sh_addr > s->sh_size)
        return NULL;
    return elf_at(e, s->sh_offset + (symbol->st_value - s->sh_addr), symbol->st_size);
}

static void elf_symbol(module_file *out, const elf_image *e, const ElfW(Sym) * symbol,
                       const char *name, apr_pool_t *p)
{
    const int bind = symbol->st_info >> 4, type = symbol->st_info & 15;
    module_file_symbol *s;

    BRG_ASSERT(name != NULL);
    if (!*name || bind == STB_LOCAL)
        return;
    s = apr_array_push(symbol->st_shndx == SHN_UNDEF ? out->wanted : out->defined);
    s->name = apr_pstrdup(p, name);
    s->weak = bind == STB_WEAK;
    s->is_data = type == STT_OBJECT;
    s->size = symbol->st_size;
    s->content = symbol->st_shndx == SHN_UNDEF ? NULL : elf_content(e, symbol);
}

static void elf_symbols(module_file *out, const elf_image *e, const ElfW(Shdr) * s, apr_pool_t *p)
{
    const ElfW(Shdr) *strings = elf_section(e, s->sh_link);
    const ElfW(Sym) *symbols = elf_table(e, s->sh_offset, s->sh_size);

    for (uint64_t i = 0; symbols && strings && i < s->sh_size / sizeof *symbols; i++)
        elf_symbol(out, e, &symbols[i], elf_text(e, strings, symbols[i].st_name), p);
}

static void elf_dynamic(module_file *out, const elf_image *e, const ElfW(Shdr) * s, apr_pool_t *p)
{
    const ElfW(Shdr) *strings = elf_section(e, s->sh_link);
    const ElfW(Dyn) *entries = elf_table(e, s->sh_offset, s->sh_size);

    for (uint64_t i = 0; entries && strings && i < s->sh_size / sizeof *entries; i++) {
        const char *text = elf_text(e, strings, entries[i].d_un.d_val);

        if (entries[i].d_tag == DT_NEEDED)
            APR_ARRAY_PUSH(out->libraries, const char *) = apr_pstrdup(p, text);
        else if (entries[i].d_tag == DT_RUNPATH || entries[i].d_tag == DT_RPATH)
            out->run_path = apr_pstrdup(p, text);
        else if (entries[i].d_tag == DT_FLAGS_1 && (entries[i].d_un.d_val & DF_1_PIE))
            out->is_program = 1;
    }
}

static const char *elf_open(elf_image *e, const char *path, apr_pool_t *p)
{
    apr_file_t *file;
    apr_finfo_t info;
    apr_mmap_t *map;
    char text[120];
    apr_status_t rv = apr_file_open(&file, path, APR_FOPEN_READ | APR_FOPEN_BINARY, 0, p);

    if (rv == APR_SUCCESS)
        rv = apr_file_info_get(&info, APR_FINFO_SIZE | APR_FINFO_TYPE, file);
    if (rv != APR_SUCCESS)
        return apr_psprintf(p, "cannot be read: %s", apr_strerror(rv, text, sizeof text));
    if (info.filetype == APR_DIR)
        return "is a directory";
    if (info.filetype != APR_REG || info.size < (apr_off_t)sizeof *e->head ||
        apr_mmap_create(&map, file, 0, (apr_size_t)info.size, APR_MMAP_READ, p) != APR_SUCCESS)
        return "is no shared object";
    e->base = map->mm;
    e->size = (apr_size_t)info.size;
    return NULL;
}

/* To open a file that is shorter than its mapping would be to crash. */
static const char *elf_segments(const elf_image *e)
{
    const ElfW(Phdr) *segments =
        elf_table(e, e->head->e_phoff, (uint64_t)e->head->e_phnum * sizeof *segments);

    for (unsigned i = 0; segments && i < e->head->e_phnum; i++)
        if (!elf_at(e, segments[i].p_offset, segments[i].p_filesz))
            segments = NULL;
    return segments ? NULL : "is a damaged shared object: its segments are not all there";
}

static const char *elf_head(elf_image *e)
{
    static const unsigned char this_machine[EI_NIDENT] = {
        ELFMAG0,
        ELFMAG1,
        ELFMAG2,
        ELFMAG3,
        sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32,
        __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB};

    BRG_ASSERT(e->base != NULL && e->size >= sizeof *e->head);
    e->head = (const void *)e->base;
    if (memcmp(e->head->e_ident, this_machine, SELFMAG))
        return "is no shared object";
    if (memcmp(e->head->e_ident, this_machine, EI_VERSION))
        return "is a shared object for another kind of machine";
    if (e->head->e_type != ET_DYN)
        return "is a program, or a part of one (link a module with -shared)";
    if (e->head->e_machine != __ehdr_start.e_machine)
        return "is a shared object for another kind of machine";
    e->sections = elf_table(e, e->head->e_shoff, (uint64_t)e->head->e_shnum * sizeof *e->sections);
    if (!e->sections || e->head->e_shentsize != sizeof *e->sections)
        return "is a damaged shared object: its sections are not all there";
    return elf_segments(e);
}

const char *module_file_read(module_file *out, const char *path, apr_pool_t *p)
{
    elf_image e = {.base = NULL};
    const char *error = elf_open(&e, path, p);

    if (!error)
        error = elf_head(&e);
    if (error)
        return error;
    BRG_ASSERT(e.head != NULL && e.sections != NULL);
    *out = (module_file){.defined = apr_array_make(p, 16, sizeof(module_file_symbol)),
                         .wanted = apr_array_make(p, 64, sizeof(module_file_symbol)),
                         .libraries = apr_array_make(p, 4, sizeof(const char *))};
    for (unsigned i = 0; i < e.head->e_shnum; i++)
        if (e.sections[i].sh_type == SHT_DYNSYM)
            elf_symbols(out, &e, &e.sections[i], p);
        else if (e.sections[i].sh_type == SHT_DYNAMIC)
            elf_dynamic(out, &e, &e.sections[i], p);
    return out->is_program ? "is a program (link a module with -shared)" : NULL;
}

/* Versions and magic are constants of the file; the rest of a structure is filled in when it is
 * opened. An object named *_module of about that size is taken for a module of another magic. */
int module_file_is_module(const module_file_symbol *symbol, unsigned long *magic, int *version,
                          int *minor)
{
    const apr_size_t len = strlen(symbol->name), least = offsetof(module, rewrite_args);
    module m;

    BRG_ASSERT(symbol->name != NULL && least < sizeof m);
    if (!symbol->is_data || symbol->size < least || symbol->size > 2 * sizeof m || !symbol->content)
        return 0;
    memset(&m, 0, sizeof m);
    memcpy(&m, symbol->content, symbol->size < sizeof m ? symbol->size : sizeof m);
    /* By its name, or by the signature: Shibboleth's is called mod_shib. */
    if (m.magic != MODULE_MAGIC_COOKIE && (len < 8 || strcmp(symbol->name + len - 7, "_module")))
        return 0;
    *magic = m.magic;
    *version = m.version;
    *minor = m.minor_version;
    return 1;
}
