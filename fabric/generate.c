/* SPDX-License-Identifier: BSD-2-Clause */
/* The registry of generators, and what they share. */
#include "fabric/generate.h"

#include <stdarg.h>
#include <string.h>

#include "base/parse.h"
#include "fabric/generator.h"

static const struct generator *const generators[] = {
    &generator_pgft,      &generator_rail,           &generator_torus, &generator_mesh,
    &generator_dragonfly, &generator_dragonfly_plus, &generator_random};

const struct fabric_generator *fabric_generator_at(size_t index)
{
    return index < G_N_ELEMENTS(generators) ? &generators[index]->about : NULL;
}

/* The generator with the name before the first colon, or NULL. */
static const struct generator *find(const char *spec)
{
    size_t length = strcspn(spec, ":");
    for (size_t i = 0; spec[length] == ':' && i < G_N_ELEMENTS(generators); i++) {
        const char *name = generators[i]->about.name;
        if (strlen(name) == length && strncmp(spec, name, length) == 0)
            return generators[i];
    }
    return NULL;
}

bool fabric_is_generator(const char *spec)
{
    return find(spec) != NULL;
}

/* -- reading a spec -------------------------------------------------------------------------- */

bool generator_fail(struct generator_spec *spec, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_vsnprintf(spec->error, sizeof spec->error, format, args);
    va_end(args);
    return false;
}

/* What was typed, for an error: one line, not too long. */
static char *shown(const char *text, size_t length)
{
    g_autofree char *start = g_strndup(text, length);
    return g_strescape(start, "\\\"");
}

bool generator_value(struct generator_spec *spec, const char *text, const char *what, uint32_t min,
                     uint32_t max, uint32_t *value)
{
    uint64_t v;
    if (!parse_uint(text, min, max, &v)) {
        g_autofree char *found = shown(text, 20);
        return generator_fail(spec, "%s is \"%s\": expected %u to %u, as in %s", what, found, min,
                              max, spec->example);
    }
    *value = v;
    return true;
}

bool generator_field(struct generator_spec *spec, unsigned field, const char *what, uint32_t min,
                     uint32_t max, uint32_t *value)
{
    return field >= spec->count ||
           generator_value(spec, spec->fields[field], what, min, max, value);
}

bool generator_ports_fit(struct generator_spec *spec, const char *node, uint64_t ports)
{
    return ports <= FABRIC_MAX_PORTS ||
           generator_fail(spec, "%s would need %" G_GUINT64_FORMAT " ports, the limit is %d", node,
                          ports, FABRIC_MAX_PORTS);
}

bool generator_lids_fit(struct generator_spec *spec, uint64_t lids)
{
    return lids <= GENERATOR_MAX_LIDS ||
           generator_fail(spec,
                          "the fabric needs more than the %d LIDs of a subnet (each switch and "
                          "each port of a CA needs one)",
                          GENERATOR_MAX_LIDS);
}

static struct fabric *make(const char *text, struct generator_spec *spec)
{
    const struct generator *g = find(text);
    if (g == NULL) {
        g_autoptr(GString) names = g_string_new(NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(generators); i++)
            g_string_append_printf(names, "%s%s", i ? ", " : "", generators[i]->about.name);
        generator_fail(spec, "expected the name of a generator (%s), as in %s", names->str,
                       generator_pgft.about.example);
        return NULL;
    }
    g_auto(GStrv) fields = g_strsplit(text + strlen(g->about.name) + 1, ":", -1);
    spec->fields = fields;
    spec->count = g_strv_length(fields);
    spec->example = g->about.example;
    if (spec->count >= g->min_fields && spec->count <= g->max_fields)
        return g->make(spec);
    generator_fail(spec, "expected %s, as in %s", g->about.grammar, g->about.example);
    return NULL;
}

struct fabric *fabric_generate(const char *text, char *error, size_t error_size)
{
    struct generator_spec spec = {0};
    struct fabric *f = make(text, &spec);
    if (f == NULL) {
        g_autofree char *start = shown(text, 100);
        g_snprintf(error, error_size, "%s: %s", start, spec.error);
    }
    return f;
}

/* -- nodes and cables ------------------------------------------------------------------------ */

static uint32_t add(struct fabric *f, enum fabric_node_type type, unsigned level, uint32_t index,
                    unsigned nports, const char *desc)
{
    uint64_t guid =
        0x0248ull << 48 | (uint64_t)type << 40 | (uint64_t)level << 32 | ((uint64_t)index + 1) << 8;
    uint32_t number = fabric_add_node(f, guid, type, nports, desc);
    g_assert(number != FABRIC_NONE);
    f->nodes[number].sys_guid = guid;
    return number;
}

uint32_t generator_add_switch(struct fabric *f, unsigned level, uint32_t index, unsigned nports)
{
    char desc[32];
    g_snprintf(desc, sizeof desc, "s%u-%05u", level, index + 1);
    return add(f, FABRIC_SWITCH, level, index, nports, desc);
}

uint32_t generator_add_ca(struct fabric *f, unsigned level, uint32_t index, unsigned nports,
                          const char *desc)
{
    return add(f, FABRIC_CA, level, index, nports, desc);
}

uint32_t generator_add_host(struct fabric *f, uint32_t index, unsigned nports)
{
    char desc[32];
    g_snprintf(desc, sizeof desc, "h%05u", index + 1);
    return add(f, FABRIC_CA, 0, index, nports, desc);
}

void generator_join(struct fabric *f, uint32_t a, unsigned port_a, uint32_t b, unsigned port_b)
{
    int rc = fabric_connect(f, a, port_a, b, port_b);
    g_assert(rc == 0);
    struct fabric_port *ends[] = {&f->nodes[a].ports[port_a], &f->nodes[b].ports[port_b]};
    for (unsigned i = 0; i < 2; i++) {
        ends[i]->width = 2; /* 4x */
        ends[i]->speed = FABRIC_HDR;
    }
}
