/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle lab: hands over to the lab's own program, which stands beside this one. */
#include <errno.h>
#include <unistd.h>

#include "cli/cli.h"

/* Where it is, seen from the directory of this program: installed, or in a build tree. */
static const char *const places[] = {"../libexec/heddle-lab", "../lab/heddle-lab"};

static char *find_lab(void)
{
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *dir = self ? g_path_get_dirname(self) : NULL;
    for (size_t i = 0; dir != NULL && i < G_N_ELEMENTS(places); i++) {
        g_autofree char *joined = g_build_filename(dir, places[i], NULL);
        char *path = g_canonicalize_filename(joined, NULL);
        if (g_file_test(path, G_FILE_TEST_EXISTS))
            return path;
        g_free(path);
    }
    return g_build_filename(HEDDLE_LAB_DIR, "heddle-lab", NULL);
}

int lab_run(struct cli *c, int argc, char **argv)
{
    if (c->config || c->dir || c->timeout_given || c->json)
        return cli_usage(c, "options of the lab stand after its command, as in heddle lab up "
                            "FABRIC --dir D");
    g_autofree char *path = find_lab();
    argv[0] = path;
    execv(path, argv);
    return cli_fail("cannot start the lab, %s: %s%s", path, g_strerror(errno),
                    errno == ENOENT ? "; it needs python3 and heddle's lab files" : "");
}
