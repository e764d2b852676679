/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle keys: key files of daemons and operators. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
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

/* A name that is more than a file's name would be written elsewhere, or be hard to type. */
static bool is_plain_name(const char *name)
{
    return *name != '\0' && *name != '.' && *name != '-' &&
           strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._-") == strlen(name);
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
    if (!is_plain_name(argv[1])) {
        char quoted[128];
        return cli_usage(c,
                         "NAME %s: only letters, digits, '.', '_' and '-', and first a letter, "
                         "a digit or '_'",
                         log_quote(quoted, sizeof(quoted), argv[1]));
    }
    char error[512];
    if (key_generate(dir ? dir : ".", argv[1], kind, error, sizeof(error)) != 0)
        return cli_fail("%s", error);
    return CLI_OK;
}
