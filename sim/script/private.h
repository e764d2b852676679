/* SPDX-License-Identifier: BSD-2-Clause */
/* How commands are built: a table of them for each theme, each one a function that reads its words,
 * stops there when it is only to check them (`dry`), and else acts. */
#ifndef SIM_SCRIPT_PRIVATE_H
#define SIM_SCRIPT_PRIVATE_H

#include "sim/script/script.h"

#define SCRIPT_MAX_WORDS 1024
#define SCRIPT_MAX_PENDING 100000u /* commands of at and every */
#define SCRIPT_MAX_DEPTH 8u        /* of scripts that run scripts */
#define SCRIPT_MAX_LINES 200000u   /* of a script and those that it runs */
#define SCRIPT_MAX_BYTES (32u << 20)
#define SCRIPT_MIN_EVERY_NS 1000000LL
#define SCRIPT_MAX_TIME_NS (365LL * 24 * 3600 * 1000000000)

struct script_call {
    struct sim *s;
    int argc;
    char **argv;
    GString *out;
    bool dry;           /* only look whether the words are right */
    const char *where;  /* "FILE:LINE", NULL = typed */
    bool timed;         /* within at or every */
    unsigned depth;     /* scripts around this line */
    unsigned *lines;    /* of scripts, looked at so far */
    unsigned script_id; /* of the script that the line stands in, 0 = typed */
};

typedef bool script_fn(struct script_call *c);

struct script_command {
    const char *name, *words, *help;
    int min, max; /* words after the name; max -1 = any number */
    script_fn *fn;
};

struct script_table {
    const struct script_command *commands;
    size_t count;
};

struct sim_script {
    sim_script_more *more;
    void *user;
    GQueue pending; /* struct pending, see later.c */
    unsigned cancels, last_id;
    unsigned last_stream; /* of pings */
};

/* -- script.c -- */
const struct script_command *script_find(const char *name);
const struct script_table *script_tables(size_t *count);
/* Runs (or checks) the words of c. */
bool script_dispatch(struct script_call *c);
/* Splits the line into c's words first. */
bool script_do_line(struct script_call *c, const char *line);
/* Appends `error: [FILE:LINE: ]COMMAND: ...`; returns false. */
bool script_fail(struct script_call *c, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* -- words.c -- */
/* NULL-terminated words of a line; NULL with one line in error. */
GPtrArray *script_split(const char *line, const char **error);
/* The name nearest to text, of an array with this stride; NULL = none is near. */
const char *script_nearest(const char *text, const void *names, size_t count, size_t stride);
/* Bytes that would end the line or move a cursor, escaped; in a ring of static buffers. */
const char *script_shown(const char *text);

/* -- values.c: false = an error was appended -- */
bool script_node(struct script_call *c, const char *text, uint32_t *node);
/* A management port or an end port: "NODE" is a switch's port 0. */
bool script_any_port(struct script_call *c, const char *text, uint32_t *node, unsigned *port);
/* One that may have a cable. */
bool script_port(struct script_call *c, const char *text, uint32_t *node, unsigned *port);
/* Whether the text ends with this port: else it names the node. */
bool script_names_port(const char *text, unsigned port);
bool script_number(struct script_call *c, const char *what, const char *text, uint64_t min,
                   uint64_t max, uint64_t *value);
bool script_time(struct script_call *c, const char *what, const char *text, int64_t *ns);
bool script_on_off(struct script_call *c, const char *text, const char *on, const char *off,
                   bool *value);
/* A number with up to 9 decimals, times 10^9. Appends nothing. */
bool script_decimal(const char *text, const char **end, uint64_t *nano);

enum script_kind { SCRIPT_NUMBER, SCRIPT_TIME, SCRIPT_PERCENT, SCRIPT_YES_NO };
struct script_option { /* NAME=VALUE */
    const char *name;
    enum script_kind kind;
    uint64_t min, max; /* of numbers */
    uint64_t *value;   /* a time in ns, a percentage in millionths of 1, yes = 1 */
    bool given;
};
/* Reads the words from `first` on; each must be one of the options, each at most once. */
bool script_options(struct script_call *c, int first, struct script_option *options, size_t count);

/* -- later.c -- */
script_fn script_at, script_every, script_cancel;
void script_later_free(struct sim_script *c);
/* Ends what a script that failed has put off. */
void script_cancel_id(struct sim *s, unsigned id);

/* -- file.c -- */
script_fn script_run;
/* Checks the file as a whole and, unless c is dry, runs it. */
bool script_file(struct script_call *c, const char *path);

/* -- the tables -- */
extern const struct script_table script_show_table, script_fault_table, script_traffic_table,
    script_judge_table;
#define SCRIPT_TABLE(array) ((struct script_table){(array), G_N_ELEMENTS(array)})

#endif
