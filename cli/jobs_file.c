/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of jobs. */
#include "cli/jobs_file.h"

#include <string.h>

#include "base/parse.h"
#include "cli/text.h"
#include "fabric/load.h"

#define SHOWN_BYTES 60u /* of a word in an error */

struct reader {
    const char *name;
    unsigned line;
    const struct fabric *fabric;
    const struct rt_graph *graph;
    GHashTable *ports;       /* name -> GArray of uint32_t: destinations */
    GHashTable *job_names;   /* borrowed from names */
    GPtrArray *names;        /* of jobs */
    GArray *jobs;            /* struct building */
    GHashTable *in_this_job; /* destination + 1 */
    char *error;
};

struct building {
    GArray *first, *dests; /* uint32_t */
    unsigned line;
};

/* False, for callers to return. */
static bool complain(struct reader *r, unsigned line, const char *word, const char *what)
{
    g_autofree char *cut = g_strndup(word, SHOWN_BYTES), *shown = text_quoted(cut);
    if (r->error == NULL)
        r->error = g_strdup_printf("%s:%u: %s %s", r->name, line, shown, what);
    return false;
}

/* -- names of hosts -------------------------------------------------------------------------- */

static void add_port(struct reader *r, const char *name, uint32_t dest)
{
    GArray *ports = g_hash_table_lookup(r->ports, name);
    if (ports == NULL) {
        ports = g_array_new(FALSE, FALSE, sizeof dest);
        g_hash_table_insert(r->ports, g_strdup(name), ports);
    }
    g_array_append_val(ports, dest);
}

/* "h00001" of "h00001-r2"; NULL = there is no such end. */
static char *without_rail(const char *word)
{
    const char *end = word + strlen(word);
    while (end > word && g_ascii_isdigit(end[-1]))
        end--;
    if (*end == '\0' || end < word + 3 || strncmp(end - 2, "-r", 2) != 0)
        return NULL;
    return g_strndup(word, (gsize)(end - 2 - word));
}

static uint32_t dest_of(const struct reader *r, const struct fabric_node *n, unsigned port)
{
    uint32_t dest = rt_find_dest_by_guid(r->graph, n->ports[port].guid);
    return dest != RT_NONE && r->graph->dests[dest].kind == RT_DEST_HOST ? dest : RT_NONE;
}

static void index_names(struct reader *r)
{
    for (uint32_t i = 0; i < r->fabric->node_count; i++) {
        const struct fabric_node *n = &r->fabric->nodes[i];
        g_autofree char *first = g_strndup(n->desc, strcspn(n->desc, " \t"));
        g_autofree char *stem = without_rail(first);
        for (unsigned p = 1; n->type == FABRIC_CA && p <= n->nports; p++) {
            uint32_t dest = dest_of(r, n, p);
            if (dest == RT_NONE)
                continue;
            add_port(r, n->desc, dest);
            if (strcmp(first, n->desc) != 0)
                add_port(r, first, dest);
            if (stem != NULL)
                add_port(r, stem, dest);
        }
    }
}

/* -- servers --------------------------------------------------------------------------------- */

static bool add_rail(struct reader *r, struct building *b, uint32_t dest, const char *word)
{
    if (!g_hash_table_add(r->in_this_job, GUINT_TO_POINTER(dest + 1)))
        return complain(r, r->line, word, "is in this job already; name each server once");
    if (b->dests->len - g_array_index(b->first, uint32_t, b->first->len - 1) >= JOBS_MAX_RAILS)
        return complain(r, r->line, word,
                        "stands for more than 64 ports; it is no name of one host, write GUIDs");
    g_array_append_val(b->dests, dest);
    return true;
}

static bool add_named(struct reader *r, struct building *b, const GArray *ports, const char *word)
{
    for (guint i = 0; i < ports->len; i++)
        if (!add_rail(r, b, g_array_index(ports, uint32_t, i), word))
            return false;
    return true;
}

static bool add_guid(struct reader *r, struct building *b, uint64_t guid, const char *word)
{
    uint32_t node = fabric_find(r->fabric, guid), dest = rt_find_dest_by_guid(r->graph, guid);
    guint before = b->dests->len;
    if (node == FABRIC_NONE || r->fabric->nodes[node].type != FABRIC_CA) {
        if (dest == RT_NONE || r->graph->dests[dest].kind != RT_DEST_HOST)
            return complain(r, r->line, word,
                            "is no host of this fabric; write the GUID of a CA or of its port");
        return add_rail(r, b, dest, word);
    }
    const struct fabric_node *n = &r->fabric->nodes[node];
    for (unsigned p = 1; p <= n->nports; p++) {
        dest = dest_of(r, n, p);
        if (dest != RT_NONE && !add_rail(r, b, dest, word))
            return false;
    }
    if (b->dests->len == before)
        return complain(r, r->line, word, "has no port on a switch; leave it out");
    return true;
}

static bool add_part(struct reader *r, struct building *b, const char *word)
{
    const GArray *ports = g_hash_table_lookup(r->ports, word);
    uint64_t guid;
    if (ports != NULL)
        return add_named(r, b, ports, word);
    if (parse_guid(word, &guid))
        return add_guid(r, b, guid, word);
    return complain(r, r->line, word,
                    "is no host of this fabric; write its name as the fabric's file has it, or a "
                    "GUID");
}

static bool add_server(struct reader *r, const char *word, bool quoted)
{
    if (r->jobs->len == 0)
        return complain(r, r->line, word, "stands before any job; begin with \"NAME:\"");
    struct building *b = &g_array_index(r->jobs, struct building, r->jobs->len - 1);
    bool whole = quoted || strchr(word, '+') == NULL || g_hash_table_contains(r->ports, word);
    g_auto(GStrv) parts = g_strsplit(word, whole ? "\n" : "+", -1); /* no \n is in a word */
    if (*word == '\0')
        return complain(r, r->line, word, "is no host; write a name between the quotes");
    for (char **part = parts; *part != NULL; part++)
        if (!add_part(r, b, *part))
            return false;
    g_array_append_val(b->first, b->dests->len);
    return true;
}

/* -- lines ----------------------------------------------------------------------------------- */

static bool finish_job(struct reader *r)
{
    if (r->jobs->len == 0)
        return true;
    const struct building *b = &g_array_index(r->jobs, struct building, r->jobs->len - 1);
    if (b->first->len == 1)
        return complain(r, b->line, g_ptr_array_index(r->names, r->names->len - 1),
                        "is a job without servers; write them behind the colon");
    return true;
}

static bool begin_job(struct reader *r, char *word)
{
    uint32_t none = 0;
    struct building b = {.line = r->line};
    word[strlen(word) - 1] = '\0';
    if (!finish_job(r))
        return false;
    if (*word == '\0')
        return complain(r, r->line, ":", "has no name before it; write \"NAME:\"");
    if (g_hash_table_contains(r->job_names, word))
        return complain(r, r->line, word, "is the name of an earlier job, too; give it another");
    if (r->jobs->len == JOBS_MAX_JOBS)
        return complain(r, r->line, word, "is one job too many; 10000 are the most in a file");
    g_ptr_array_add(r->names, g_strdup(word));
    g_hash_table_add(r->job_names, r->names->pdata[r->names->len - 1]);
    g_hash_table_remove_all(r->in_this_job);
    b.first = g_array_new(FALSE, FALSE, sizeof none);
    b.dests = g_array_new(FALSE, FALSE, sizeof none);
    g_array_append_val(b.first, none);
    g_array_append_val(r->jobs, b);
    return true;
}

static bool read_line(struct reader *r, char *line)
{
    static const char between[] = " \t\r\v\f,";
    bool begins = true;
    for (char *at = line + strspn(line, between); *at != '\0' && *at != '#';
         at += strspn(at, between), begins = false) {
        bool quoted = *at == '"';
        char *word = at + quoted, *end = word + strcspn(word, quoted ? "\"" : " \t\r\v\f,#");
        if (quoted && *end == '\0')
            return complain(r, r->line, word, "has no closing quote; write one");
        at = end + quoted;
        g_autofree char *copy = g_strndup(word, (gsize)(end - word));
        if (!quoted && begins && g_str_has_suffix(copy, ":")) {
            if (!begin_job(r, copy))
                return false;
        } else if (!add_server(r, copy, quoted)) {
            return false;
        }
    }
    return true;
}

static bool read_lines(struct reader *r, const char *text, gsize len)
{
    for (const char *end = text + len; text < end;) {
        const char *stop = memchr(text, '\n', (gsize)(end - text));
        gsize size = (gsize)((stop != NULL ? stop : end) - text);
        g_autofree char *line = g_strndup(text, size);
        r->line++;
        if (strlen(line) < size)
            return complain(r, r->line, line, "is before a byte of value 0: this is no text");
        if (!read_line(r, line))
            return false;
        text += size + (stop != NULL);
    }
    if (r->jobs->len == 0) {
        r->error =
            g_strdup_printf("%s:%u: no job is in it; write lines such as \"NAME: HOST HOST\"",
                            r->name, MAX(r->line, 1u));
        return false;
    }
    return finish_job(r);
}

/* -------------------------------------------------------------------------------------------- */

static struct jobs_file *finish(struct reader *r)
{
    struct jobs_file *j = g_new0(struct jobs_file, 1);
    j->count = r->jobs->len;
    j->jobs = g_new0(struct rt_job, j->count);
    j->names = g_new0(char *, j->count + 1);
    for (uint32_t i = 0; i < j->count; i++) {
        struct building *b = &g_array_index(r->jobs, struct building, i);
        j->names[i] = g_strdup(r->names->pdata[i]);
        j->jobs[i].server_count = b->first->len - 1;
        j->jobs[i].first = (const uint32_t *)(void *)g_array_free(b->first, FALSE);
        j->jobs[i].dests = (const uint32_t *)(void *)g_array_free(b->dests, FALSE);
        b->first = b->dests = NULL;
    }
    return j;
}

static void unref_array(gpointer array)
{
    g_array_unref(array);
}

struct jobs_file *jobs_read_text(const char *name, const char *text, gsize len,
                                 const struct fabric *f, const struct rt_graph *g, char **error)
{
    struct reader r = {.name = name, .fabric = f, .graph = g};
    r.ports = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, unref_array);
    r.job_names = g_hash_table_new(g_str_hash, g_str_equal);
    r.names = g_ptr_array_new_with_free_func(g_free);
    r.jobs = g_array_new(FALSE, FALSE, sizeof(struct building));
    r.in_this_job = g_hash_table_new(NULL, NULL);
    index_names(&r);
    struct jobs_file *j = read_lines(&r, text, len) ? finish(&r) : NULL;
    for (guint i = 0; i < r.jobs->len; i++) {
        struct building *b = &g_array_index(r.jobs, struct building, i);
        g_clear_pointer(&b->first, g_array_unref);
        g_clear_pointer(&b->dests, g_array_unref);
    }
    g_array_unref(r.jobs);
    g_hash_table_destroy(r.in_this_job);
    g_hash_table_destroy(r.job_names);
    g_hash_table_destroy(r.ports);
    g_ptr_array_unref(r.names);
    *error = r.error;
    return j;
}

struct jobs_file *jobs_load(const char *path, const struct fabric *f, const struct rt_graph *g,
                            char **error)
{
    g_autofree char *text = NULL;
    size_t len;
    int rc = fabric_read_file(path, &text, &len);
    if (rc == 0)
        return jobs_read_text(path, text, len, f, g, error);
    *error =
        g_strdup_printf("%s: cannot be read: %s; give a file of jobs", path, fabric_file_error(rc));
    return NULL;
}

void jobs_free(struct jobs_file *j)
{
    if (j == NULL)
        return;
    for (uint32_t i = 0; i < j->count; i++) {
        g_free((uint32_t *)j->jobs[i].first);
        g_free((uint32_t *)j->jobs[i].dests);
    }
    g_free(j->jobs);
    g_strfreev(j->names);
    g_free(j);
}
