/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle status, shard list, domain list: what a coordinator tells. */
#include <string.h>

#include "cli/client.h"
#include "cli/output.h"

#define POLL_MS 50
#define LAST_ANSWER_S 0.5

/* Prints what one question brought. */
static int print_status(struct cli *c, void (*print)(FILE *out, const Heddle__Status *s))
{
    struct client *cl = client_open(c);
    if (cl == NULL)
        return CLI_FAILED;
    int result = CLI_OK;
    Heddle__Status *s = client_status(cl, c->timeout_s);
    if (s == NULL)
        result = cli_fail("%s", client_error(cl));
    else
        print(stdout, s);
    if (s != NULL)
        heddle__status__free_unpacked(s, NULL);
    client_destroy(cl);
    return s != NULL ? cli_end(result) : result;
}

int shard_list_run(struct cli *c, int argc, char **argv)
{
    if (!cli_parse(c, "", NULL, NULL, 0, 0, &argc, &argv))
        return CLI_USAGE;
    return print_status(c, output_of(c)->shards);
}

int domain_list_run(struct cli *c, int argc, char **argv)
{
    if (!cli_parse(c, "", NULL, NULL, 0, 0, &argc, &argv))
        return CLI_USAGE;
    return print_status(c, output_of(c)->domains);
}

/* -- waiting ----------------------------------------------------------------------------------- */

static int fail_waiting(const struct cli *c, const Heddle__Status *s)
{
    g_autoptr(GPtrArray) why_not = report_why_not(s);
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_append_printf(line, "not converged after %g s: %s", c->timeout_s,
                           (const char *)g_ptr_array_index(why_not, 0));
    if (why_not->len > 1)
        g_string_append_printf(line, " (and %u more: see heddle status)", why_not->len - 1);
    return cli_fail("%s", line->str);
}

/* The last question before the deadline gets time for an answer too. */
static double patience_s(const struct cli *c, gint64 deadline)
{
    double left_s = (double)(deadline - g_get_monotonic_time()) / G_USEC_PER_SEC;
    return MAX(left_s, MIN(c->timeout_s, LAST_ANSWER_S));
}

/* Asks until it is converged. A coordinator that is away for a while (it restarts) is no reason
 * to stop before the time is over. */
static int wait_converged(struct cli *c, struct client *cl)
{
    gint64 deadline = g_get_monotonic_time() + (gint64)(c->timeout_s * G_USEC_PER_SEC);
    for (;;) {
        Heddle__Status *s = client_status(cl, patience_s(c, deadline));
        if (s == NULL)
            return cli_fail("%s", client_error(cl));
        bool over = g_get_monotonic_time() >= deadline;
        int result = CLI_OK;
        if (s->converged)
            output_of(c)->status(stdout, s);
        else if (over)
            result = fail_waiting(c, s);
        bool done = s->converged || over;
        heddle__status__free_unpacked(s, NULL);
        if (done)
            return result;
        g_usleep(POLL_MS * 1000);
    }
}

int status_run(struct cli *c, int argc, char **argv)
{
    static const char details[] =
        "With --wait converged: asks each 50 ms; the status is 0 when every domain has a live\n"
        "owner and all tables are programmed from one view, 1 with the reason when --timeout is\n"
        "over.";
    g_autofree char *wait = NULL;
    const GOptionEntry entries[] = {{"wait", 0, 0, G_OPTION_ARG_FILENAME, &wait,
                                     "wait for a state; there is one: converged", "STATE"},
                                    {0}};
    if (!cli_parse(c, "", details, entries, 0, 0, &argc, &argv))
        return CLI_USAGE;
    if (wait == NULL)
        return print_status(c, output_of(c)->status);
    if (strcmp(wait, "converged") != 0)
        return cli_usage(c, "--wait %s: the only state to wait for is converged", wait);
    struct client *cl = client_open(c);
    if (cl == NULL)
        return CLI_FAILED;
    int result = wait_converged(c, cl);
    client_destroy(cl);
    return result == CLI_OK ? cli_end(result) : result;
}
