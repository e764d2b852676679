/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle keys: key files of daemons and operators. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "proto/keys.h"

static bool parse_kind(const char *text, enum key_kind *kind)
{
    static const char *const names[] = {
        [KEY_CURVE] = "curve", [KEY_SIGN] = "sign", [KEY_CLUSTER] = "cluster"};
    for (size_t i = 0; text != NULL && i < G_N_ELEMENTS(names); i++)
        if (strcmp(text, names[i]) == 0) {
            *kind = (enum key_kind)i;
            return true;
        }
    return false;
}

int keys_generate_run(struct cli *c, int argc, char **argv)
{
    static const char details[] =
        "Writes DIR/NAME.secret (mode 0400) and, unless the kind is cluster, DIR/NAME.public.\n"
        "  curve    each daemon and operator has one: it proves who it is\n"
        "  sign     the coordinators share one: it signs grants\n"
        "  cluster  the coordinators share one: keys of domains are made from it\n"
        "Nothing is ever overwritten.";
    g_autofree char *kind_text = NULL, *dir = NULL;
    const GOptionEntry entries[] = {
        {"kind", 0, 0, G_OPTION_ARG_FILENAME, &kind_text, "curve, sign or cluster", "KIND"},
        {"dir", 0, 0, G_OPTION_ARG_FILENAME, &dir, "directory of the files (.)", "DIR"},
        {0}};
    if (!cli_parse(c, "NAME", details, entries, 1, 1, &argc, &argv))
        return CLI_USAGE;
    enum key_kind kind;
    if (kind_text == NULL)
        return cli_usage(c, "--kind is missing: curve, sign or cluster");
    if (!parse_kind(kind_text, &kind))
        return cli_usage(c, "--kind %s: expected curve, sign or cluster", kind_text);
    char error[512];
    if (key_generate(dir ? dir : ".", argv[1], kind, error, sizeof(error)) != 0)
        return cli_fail("%s", error);
    return CLI_OK;
}
