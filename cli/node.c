/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle node list, topology export: from the view of a shard. */
#include "cli/client.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/topology.h"

#define SHARD_HELP "ask this shard (else the first live one that answers)"

/* Gets a status and a view and hands them to `use`, whose exit status it returns. */
static int with_view(struct cli *c, const char *shard,
                     int (*use)(struct cli *c, const struct view *v, const Heddle__Status *s,
                                void *data),
                     void *data)
{
    struct client *cl = client_open(c);
    if (cl == NULL)
        return CLI_FAILED;
    Heddle__Status *s = client_status(cl, c->timeout_s);
    struct view *v = s != NULL ? client_view(cl, s, shard) : NULL;
    int result = v != NULL ? use(c, v, s, data) : cli_fail("%s", client_error(cl));
    view_destroy(v);
    if (s != NULL)
        heddle__status__free_unpacked(s, NULL);
    client_destroy(cl);
    return result;
}

static int print_nodes(struct cli *c, const struct view *v, const Heddle__Status *s, void *data)
{
    const gboolean *problems = data;
    g_autoptr(GArray) rows = *problems ? nodes_problems(v, s) : nodes_list(v, s);
    if (*problems)
        output_of(c)->problems(stdout, rows);
    else
        output_of(c)->nodes(stdout, rows);
    return cli_end(CLI_OK);
}

int node_list_run(struct cli *c, int argc, char **argv)
{
    static const char details[] =
        "Lists switches, and CA and router ports. With --problems only ports that are not ACTIVE\n"
        "although they have a link or should have one, and why.";
    gboolean problems = FALSE;
    g_autofree char *shard = NULL;
    const GOptionEntry entries[] = {
        {"problems", 0, 0, G_OPTION_ARG_NONE, &problems, "only what is wrong, and why", NULL},
        {"shard", 0, 0, G_OPTION_ARG_FILENAME, &shard, SHARD_HELP, "NAME"},
        {0}};
    if (!cli_parse(c, "", details, entries, 0, 0, &argc, &argv))
        return CLI_USAGE;
    return with_view(c, shard, print_nodes, &problems);
}

static int export_view(struct cli *c, const struct view *v, const Heddle__Status *s, void *data)
{
    struct fabric *f = topology_of_view(v);
    int result = save_fabric(f, data);
    fabric_destroy(f);
    return result;
}

int topology_export_run(struct cli *c, int argc, char **argv)
{
    static const char details[] =
        "Writes what a shard sees, as ibnetdiscover prints it: ibsim and heddle read it again.";
    g_autofree char *out = NULL, *shard = NULL;
    const GOptionEntry entries[] = {
        {"out", 0, 0, G_OPTION_ARG_FILENAME, &out, "file to write (stdout)", "FILE"},
        {"shard", 0, 0, G_OPTION_ARG_FILENAME, &shard, SHARD_HELP, "NAME"},
        {0}};
    if (!cli_parse(c, "", details, entries, 0, 0, &argc, &argv))
        return CLI_USAGE;
    return with_view(c, shard, export_view, out != NULL ? out : "-");
}
