/* SPDX-License-Identifier: BSD-2-Clause */
/* The judge's counts and its log. A bring-up of a large fabric passes hundreds of thousands of Sets
 * through here, so lines are put together by hand and written a megabyte at a time. */
#include "sim/judge/judge.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "sim/core/timers.h"
#include "sim/judge/private.h"

struct sim_judge *sim_judge_create(void)
{
    struct sim_judge *j = g_new0(struct sim_judge, 1);
    j->log_fd = -1;
    j->senders = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    j->unknown.node = j->others.node = SIM_NONE;
    g_strlcpy(j->unknown.name, "?", sizeof(j->unknown.name));
    g_strlcpy(j->others.name, "others", sizeof(j->others.name));
    j->unknown.name_len = strlen(j->unknown.name);
    j->others.name_len = strlen(j->others.name);
    return j;
}

static bool write_all(int fd, const uint8_t *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

static void close_log(struct sim_judge *j)
{
    if (j->log_fd >= 0)
        close(j->log_fd);
    j->log_fd = -1;
    j->log_used = 0;
    g_clear_pointer(&j->log, g_free);
}

void sim_judge_destroy(struct sim_judge *j)
{
    if (j == NULL)
        return;
    if (j->log_fd >= 0)
        write_all(j->log_fd, j->log, j->log_used);
    close_log(j);
    judge_snapshots_free(j);
    g_hash_table_destroy(j->senders);
    g_free(j->lids);
    g_free(j);
}

void sim_judge_flush(struct sim *s)
{
    struct sim_judge *j = s->judge;
    if (j->log_fd < 0 || j->log_used == 0)
        return;
    if (!write_all(j->log_fd, j->log, j->log_used)) {
        int why = errno;
        close_log(j);
        sim_note(s, "the judge's log has ended: its file cannot be written: %s", g_strerror(why));
    }
    j->log_used = 0;
}

static void flush_due(struct sim *s, void *arg)
{
    s->judge->flush = NULL;
    sim_judge_flush(s);
}

/* Opens what may be appended to without waiting: a regular file, or one that is made. */
static int open_log(const char *path)
{
    char text[128];
    if (!file_is_regular(path, text, sizeof(text)) && errno != ENOENT)
        return -1;
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}

int sim_judge_log(struct sim *s, const char *path)
{
    struct sim_judge *j = s->judge;
    int fd = -1;
    if (path != NULL) {
        errno = 0;
        fd = open_log(path);
        if (fd < 0)
            return errno != 0 ? errno : EINVAL;
    }
    sim_judge_flush(s);
    close_log(j);
    if (fd >= 0) {
        j->log_fd = fd;
        j->log = g_malloc(JUDGE_LOG_BYTES);
    }
    return 0;
}

bool sim_judge_wanted(const struct sim *s)
{
    return s->judge->log_fd >= 0;
}

/* -- lines ------------------------------------------------------------------------------------- */

static char *add_text(char *at, const char *text, size_t len)
{
    memcpy(at, text, len);
    return at + len;
}
#define ADD(at, literal) add_text(at, literal, sizeof(literal) - 1)

static char *add_hex(char *at, uint64_t value, unsigned digits)
{
    for (unsigned i = digits; i-- > 0;)
        *at++ = "0123456789abcdef"[value >> (4 * i) & 0xf];
    return at;
}

static char *add_decimal(char *at, uint64_t value)
{
    char digits[20];
    unsigned n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    while (n > 0)
        *at++ = digits[--n];
    return at;
}

static bool is_smp(const uint8_t *mad)
{
    return mad[MAD_CLASS] == CLASS_SUBN_LID || mad[MAD_CLASS] == CLASS_SUBN_DIRECTED;
}

static char *add_details(char *at, const struct sim_judged *d)
{
    const uint8_t *mad = d->packet->mad, *data = mad + SMP_DATA;
    unsigned attribute = get16(mad + MAD_ATTRIBUTE);
    if (!is_smp(mad)) {
        at = ADD(at, " class=");
        return add_hex(at, mad[MAD_CLASS], 2);
    }
    if (mad[MAD_METHOD] == METHOD_TRAP_REPRESS) {
        at = ADD(at, " trap="); /* IBA 13.4.8.2: the Notice repeats the trap's number */
        return add_decimal(at, get16(data + 4));
    }
    if (attribute == ATTR_PORT_INFO) {
        at = add_decimal(ADD(at, " lid="), get16(data + 16));
        at = add_decimal(ADD(at, " smlid="), get16(data + 18));
        return add_decimal(ADD(at, " state="), data[32] & 0x0f);
    }
    if (attribute == ATTR_LFT || attribute == ATTR_MFT)
        at = add_decimal(ADD(at, " changed="), d->changed);
    return at;
}

static char *add_line(char *at, const struct sim *s, const struct judge_sender *from,
                      const struct sim_judged *d)
{
    const uint8_t *mad = d->packet->mad;
    at = add_decimal(at, s->now > 0 ? (uint64_t)s->now : 0);
    at = mad[MAD_METHOD] == METHOD_TRAP_REPRESS ? ADD(at, " repress") : ADD(at, " set");
    at = d->accepted ? ADD(at, " accepted ") : ADD(at, " refused ");
    at = add_text(at, d->reason, strnlen(d->reason, 16));
    at = add_text(ADD(at, " from="), from->name, from->name_len);
    at = add_decimal(ADD(at, " slid="), d->packet->slid);
    at = add_hex(ADD(at, " to=0x"), s->nodes[d->node].guid, 16);
    at = add_decimal(ADD(at, " port="), d->port);
    at = add_hex(ADD(at, " attr="), get16(mad + MAD_ATTRIBUTE), 4);
    at = add_hex(ADD(at, " mod="), get32(mad + MAD_MODIFIER), 8);
    at = add_hex(ADD(at, " key="), is_smp(mad) ? get64(mad + SMP_MKEY) : 0, 16);
    at = add_hex(ADD(at, " status="), d->status, 4);
    at = add_details(at, d);
    *at++ = '\n';
    return at;
}

/* -- counts ------------------------------------------------------------------------------------ */

static void count(struct sim_judge_counts *c, const struct sim_judged *d)
{
    const uint8_t *mad = d->packet->mad;
    if (mad[MAD_METHOD] == METHOD_TRAP_REPRESS)
        c->represses++;
    else
        c->sets++;
    if (d->accepted)
        c->accepted++;
    else if (strcmp(d->reason, "mkey") == 0)
        c->refused_mkey++;
    else if (strcmp(d->reason, "mute") == 0)
        c->refused_mute++;
    else
        c->refused_status++;
    if (!d->accepted || !is_smp(mad) || mad[MAD_METHOD] == METHOD_TRAP_REPRESS)
        return;
    unsigned attribute = get16(mad + MAD_ATTRIBUTE);
    if (attribute == ATTR_PORT_INFO)
        c->port_infos++;
    if (attribute == ATTR_LFT) {
        c->lft_sets++;
        c->lft_changed += d->changed > 0;
    }
    if (attribute == ATTR_MFT) {
        c->mft_sets++;
        c->mft_changed += d->changed > 0;
    }
}

void sim_judge_set(struct sim *s, const struct sim_judged *d)
{
    struct sim_judge *j = s->judge;
    struct judge_sender *from = judge_find_sender(s, d);
    j->judged++;
    count(&j->total, d);
    count(&from->counts, d);
    if (d->accepted && is_smp(d->packet->mad) &&
        get16(d->packet->mad + MAD_ATTRIBUTE) == ATTR_PORT_INFO)
        judge_note_lid(s, d);
    if (j->log_fd < 0)
        return;
    if (j->log_used + JUDGE_LINE_BYTES > JUDGE_LOG_BYTES) {
        sim_judge_flush(s);
        if (j->log_fd < 0)
            return;
    }
    judge_name_sender(s, from);
    if (j->flush == NULL)
        j->flush = sim_timer_at(s, s->now + JUDGE_FLUSH_NS, flush_due, NULL);
    char *start = (char *)j->log;
    j->log_used = (size_t)(add_line(start + j->log_used, s, from, d) - start);
}

static void print_counts(GString *out, const struct sim_judge_counts *c)
{
    g_string_append_printf(
        out,
        "sets=%" G_GUINT64_FORMAT " accepted=%" G_GUINT64_FORMAT " mkey=%" G_GUINT64_FORMAT
        " status=%" G_GUINT64_FORMAT " mute=%" G_GUINT64_FORMAT " represses=%" G_GUINT64_FORMAT
        " port_infos=%" G_GUINT64_FORMAT " lft_sets=%" G_GUINT64_FORMAT
        " lft_changed=%" G_GUINT64_FORMAT " mft_sets=%" G_GUINT64_FORMAT
        " mft_changed=%" G_GUINT64_FORMAT,
        c->sets, c->accepted, c->refused_mkey, c->refused_status, c->refused_mute, c->represses,
        c->port_infos, c->lft_sets, c->lft_changed, c->mft_sets, c->mft_changed);
}

void sim_judge_totals(const struct sim *s, GString *out)
{
    print_counts(out, &s->judge->total);
}

static int by_number(gconstpointer a, gconstpointer b)
{
    const struct judge_sender *x = *(struct judge_sender *const *)a;
    const struct judge_sender *y = *(struct judge_sender *const *)b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->port < y->port ? -1 : x->port > y->port;
}

static void print_sender(GString *out, const char *name, const struct sim_judge_counts *c)
{
    g_string_append_printf(out, "from=%s ", name);
    print_counts(out, c);
    g_string_append_c(out, '\n');
}

void sim_judge_senders(const struct sim *s, GString *out)
{
    const struct sim_judge *j = s->judge;
    g_autoptr(GPtrArray) senders = g_ptr_array_new();
    GHashTableIter it;
    gpointer value;
    g_hash_table_iter_init(&it, j->senders);
    while (g_hash_table_iter_next(&it, NULL, &value))
        g_ptr_array_add(senders, value);
    g_ptr_array_sort(senders, by_number);
    for (guint i = 0; i < senders->len; i++) {
        const struct judge_sender *sender = g_ptr_array_index(senders, i);
        print_sender(out, sim_port_name(s, sender->node, sender->port), &sender->counts);
    }
    if (j->unknown.counts.sets + j->unknown.counts.represses > 0)
        print_sender(out, j->unknown.name, &j->unknown.counts);
    if (j->others.counts.sets + j->others.counts.represses > 0)
        print_sender(out, j->others.name, &j->others.counts);
}

bool sim_judge_counts(const struct sim *s, uint32_t node, unsigned port,
                      struct sim_judge_counts *counts)
{
    if (node == SIM_NONE) {
        *counts = s->judge->total;
        return true;
    }
    gint64 key = (gint64)node << 8 | (uint8_t)port;
    const struct judge_sender *sender = g_hash_table_lookup(s->judge->senders, &key);
    if (sender == NULL)
        return false;
    *counts = sender->counts;
    return true;
}
