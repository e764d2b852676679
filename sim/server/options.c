/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading the command line. */
#include "sim/server/options.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "sim/server/address.h"

enum {
    DEFAULT_CLIENTS = 128,
    DEFAULT_QUEUE = 4096,
    MIN_QUEUE = 16,
    MAX_QUEUE = 1 << 20,
    MAX_TRAIN_MS = 3600 * 1000,
};

static const char usage[] =
    "Usage: heddle-sim [options] FABRIC\n"
    "\n"
    "Simulates the InfiniBand fabric FABRIC (a net file, ibnetdiscover's output, or a generator\n"
    "such as pgft:2:8,6:1,4:1,1) for programs that run with libheddle-umad.so or libumad2sim.so.\n"
    "\n"
    "      --name BASE        base of the local socket names (default $IBSIM_SOCKNAME, else sim)\n"
    "      --udp PORT         clients by UDP, too; slot N has PORT + N + 1\n"
    "      --udp-address A    IPv4 address to bind for --udp (default 127.0.0.1)\n"
    "      --clients N        client slots (default 128, at most 1024)\n"
    "      --queue N          packets kept for each slow client (default 4096)\n"
    "      --console PATH     unix socket for commands\n"
    "      --interactive      commands on stdin\n"
    "      --script FILE      commands to start with\n"
    "      --log FILE         the judge's log of each Set\n"
    "      --seed N           of everything random (default 1)\n"
    "      --train-ms N       from cable to link (default 0)\n"
    "      --service TIME     per SMP and node, such as 5us\n"
    "      --vl15 N           SMPs that a node's VL15 buffer holds\n"
    "      --hosts SPEC       modelled hosts from the start: \"\" or such as \"groups=2 paths=8\"\n"
    "      --log-level LEVEL  error, warning, notice (default), info or debug\n"
    "      --version          print the version and exit\n"
    "  -h, --help             print this text and exit\n"
    "\n"
    "Prints \"heddle-sim: ready: ...\" when clients may attach. SIGTERM and SIGINT end it.\n";

enum option_id {
    OPT_NAME = 256,
    OPT_UDP,
    OPT_UDP_ADDRESS,
    OPT_CLIENTS,
    OPT_QUEUE,
    OPT_CONSOLE,
    OPT_INTERACTIVE,
    OPT_SCRIPT,
    OPT_LOG,
    OPT_SEED,
    OPT_TRAIN,
    OPT_SERVICE,
    OPT_VL15,
    OPT_HOSTS,
    OPT_LEVEL,
    OPT_VERSION,
};

static const struct option long_options[] = {
    {"name", required_argument, NULL, OPT_NAME},
    {"udp", required_argument, NULL, OPT_UDP},
    {"udp-address", required_argument, NULL, OPT_UDP_ADDRESS},
    {"clients", required_argument, NULL, OPT_CLIENTS},
    {"queue", required_argument, NULL, OPT_QUEUE},
    {"console", required_argument, NULL, OPT_CONSOLE},
    {"interactive", no_argument, NULL, OPT_INTERACTIVE},
    {"script", required_argument, NULL, OPT_SCRIPT},
    {"log", required_argument, NULL, OPT_LOG},
    {"seed", required_argument, NULL, OPT_SEED},
    {"train-ms", required_argument, NULL, OPT_TRAIN},
    {"service", required_argument, NULL, OPT_SERVICE},
    {"vl15", required_argument, NULL, OPT_VL15},
    {"hosts", required_argument, NULL, OPT_HOSTS},
    {"log-level", required_argument, NULL, OPT_LEVEL},
    {"version", no_argument, NULL, OPT_VERSION},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static int wrong(const char *option, const char *value, const char *expected)
{
    char quoted[160];

    fprintf(stderr, "heddle-sim: %s %s: it must be %s\n", option,
            log_quote(quoted, sizeof quoted, value), expected);
    return OPTIONS_USAGE;
}

static int number(const char *option, const char *value, uint64_t min, uint64_t max, uint64_t *out)
{
    char expected[80];

    if (parse_uint(value, min, max, out))
        return -1;
    snprintf(expected, sizeof expected, "a number from %" PRIu64 " to %" PRIu64, min, max);
    return wrong(option, value, expected);
}

static int take_number(struct options *o, int id, const char *value)
{
    uint64_t n = 0;
    int status = -1;

    switch (id) {
    case OPT_UDP:
        status = number("--udp", value, 1, UINT16_MAX - 1, &n);
        o->udp_port = (uint16_t)n;
        break;
    case OPT_CLIENTS:
        status = number("--clients", value, 1, OPTIONS_MAX_CLIENTS, &n);
        o->clients = (unsigned)n;
        break;
    case OPT_QUEUE:
        status = number("--queue", value, MIN_QUEUE, MAX_QUEUE, &n);
        o->queue = (uint32_t)n;
        break;
    case OPT_SEED:
        status = number("--seed", value, 0, UINT64_MAX, &o->seed);
        break;
    case OPT_TRAIN:
        status = number("--train-ms", value, 0, MAX_TRAIN_MS, &n);
        o->train_ms = (unsigned)n;
        break;
    default: /* OPT_VL15 */
        status = number("--vl15", value, 0, UINT32_MAX, &n);
        o->vl15 = (int64_t)n;
        break;
    }
    return status;
}

static int take(struct options *o, int id, const char *value)
{
    switch (id) {
    case OPT_NAME:
        o->name = value;
        return -1;
    case OPT_UDP_ADDRESS:
        if (inet_pton(AF_INET, value, &o->udp_address) != 1)
            return wrong("--udp-address", value, "an IPv4 address");
        return -1;
    case OPT_CONSOLE:
        o->console = value;
        if (!*value || strlen(value) >= sizeof((struct sockaddr_un *)0)->sun_path)
            return wrong("--console", value, "a path of 1 to 107 bytes");
        return -1;
    case OPT_INTERACTIVE:
        o->interactive = true;
        return -1;
    case OPT_SCRIPT:
        o->script = value;
        return -1;
    case OPT_LOG:
        o->log = value;
        return -1;
    case OPT_SERVICE:
        o->service = value;
        if (!*value || strpbrk(value, " \t\r\n\"#"))
            return wrong("--service", value, "a time such as 5us");
        return -1;
    case OPT_HOSTS:
        o->hosts = value;
        return -1;
    case OPT_LEVEL:
        if (!log_level_parse(value, &o->log_level))
            return wrong("--log-level", value, "error, warning, notice, info or debug");
        return -1;
    case OPT_VERSION:
        printf("heddle-sim %s\n", HEDDLE_VERSION);
        return EXIT_SUCCESS;
    case 'h':
        fputs(usage, stdout);
        return EXIT_SUCCESS;
    default:
        return take_number(o, id, value);
    }
}

static int check(const struct options *o)
{
    if (!*o->name || strlen(o->name) > ADDRESS_BASE_MAX)
        return wrong("the name (--name or IBSIM_SOCKNAME)", o->name, "1 to 80 bytes long");
    if (o->udp_port && o->udp_port + o->clients > UINT16_MAX) {
        fprintf(stderr,
                "heddle-sim: --udp %u with --clients %u: the slots' ports end above 65535\n",
                o->udp_port, o->clients);
        return OPTIONS_USAGE;
    }
    return -1;
}

int options_parse(int argc, char **argv, struct options *o)
{
    const char *name = getenv("IBSIM_SOCKNAME");

    *o = (struct options){.name = name ? name : "sim",
                          .udp_address.s_addr = htonl(INADDR_LOOPBACK),
                          .clients = DEFAULT_CLIENTS,
                          .queue = DEFAULT_QUEUE,
                          .seed = 1,
                          .vl15 = -1,
                          .log_level = HL_NOTICE};
    opterr = 0; /* one line of our own */
    for (int id; (id = getopt_long(argc, argv, "h", long_options, NULL)) != -1;) {
        int status;
        if (id == '?' || id == ':') {
            fprintf(stderr,
                    "heddle-sim: option \"%s\" is unknown or lacks its value; see heddle-sim "
                    "--help\n",
                    argv[optind - 1]);
            return OPTIONS_USAGE;
        }
        status = take(o, id, optarg);
        if (status >= 0)
            return status;
    }
    if (optind + 1 != argc) {
        fprintf(stderr, "heddle-sim: %s; see heddle-sim --help\n",
                optind == argc ? "FABRIC is missing" : "there must be one FABRIC only");
        return OPTIONS_USAGE;
    }
    o->fabric = argv[optind];
    return check(o);
}
