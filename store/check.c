/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole or damaged: reads all of a store's file, in a child, before anyone believes it.
 *
 * LMDB trusts its pages: damaged ones answer with wrong entries, SIGBUS or SIGSEGV. What the child
 * demands: both meta pages are of neighbouring transactions; each table has as many entries as it
 * says, in ascending order, each with its right checksum; their total is what the last transaction
 * wrote; pages' heads are right and each page is in one place: leaf, branch, overflow or free. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/internal.h"

#define META_TXN_ID_AT 144 /* in a meta page of a 64-bit LMDB 0.9 */
#define FIRST_DATA_PAGE 2
#define FREE_PAGES_DBI 0
#define CHILD_SECONDS 300

/* LMDB 0.9's pages and nodes, as far as they are looked at. */
#define PAGE_BRANCH 1
#define PAGE_LEAF 2
#define PAGE_OVERFLOW 4
#define NODE_BIG_DATA 1
#define NODE_TABLE 2

struct page_head {
    uint64_t number;
    uint16_t pad, flags;
    uint16_t lower, upper; /* of an overflow page: together how many pages it has */
};

struct node_head {
    uint16_t low, high, flags, key_size; /* of a branch the first three are the child's number */
};

enum page_use { UNSEEN, LEAF, OVERFLOWN, FREE };

enum verdict { WHOLE, DAMAGED, NOT_JUDGED };

struct check {
    MDB_txn *txn;
    size_t page_size;
    uint64_t last_page;
    uint64_t total;
    uint64_t last_freed; /* the transaction of the last list of free pages */
    uint64_t pages;      /* that the tables say they use */
    uint64_t branches;   /* likewise */
    uint64_t children;   /* pages that must have a parent: all but the roots */
    uint8_t *use;        /* enum page_use of each page; what stays UNSEEN must be a branch */
    const uint8_t *map;
    const uint8_t *leaf; /* the one being walked, its nodes so far and the lowest of them */
    size_t leaf_nodes;
    size_t leaf_lowest;
};

static bool metas_agree(const char *file, size_t page_size)
{
    uint64_t ids[2] = {0, 0};
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    bool whole = fd >= 0;
    for (int i = 0; i < 2 && whole; i++) {
        whole = pread(fd, &ids[i], sizeof(ids[i]), (off_t)page_size * i + META_TXN_ID_AT) ==
                    (ssize_t)sizeof(ids[i]) &&
                ids[i] % 2 == (uint64_t)i;
    }
    if (fd >= 0) {
        close(fd);
    }
    return whole && (ids[0] + 1 == ids[1] || ids[1] + 1 == ids[0]);
}

static bool mark(struct check *c, uint64_t page, enum page_use use)
{
    if (page < FIRST_DATA_PAGE || page > c->last_page || c->use[page] != UNSEEN) {
        return false;
    }
    c->use[page] = (uint8_t)use;
    return true;
}

/* A page's head says its number; all must agree on where the map begins. */
static bool mark_page(struct check *c, const uint8_t *page, enum page_use use)
{
    struct page_head head;
    memcpy(&head, page, sizeof(head));
    const uint8_t *map = page - head.number * c->page_size;
    if (c->map == NULL) {
        c->map = map;
    }
    return map == c->map && head.flags == (use == LEAF ? PAGE_LEAF : PAGE_OVERFLOW) &&
           mark(c, head.number, use);
}

static const uint8_t *page_of(const struct check *c, const void *p)
{
    return (const uint8_t *)p - (uintptr_t)p % c->page_size;
}

/* All nodes of a page lie without a gap between upper and its end, as many as lower tells. */
static bool head_is_right(const uint8_t *page, size_t nodes, size_t lowest)
{
    struct page_head head;
    memcpy(&head, page, sizeof(head));
    return head.lower == sizeof(head) + nodes * sizeof(uint16_t) && head.upper == lowest &&
           head.lower <= head.upper;
}

static bool leave_leaf(struct check *c)
{
    bool right = c->leaf == NULL || head_is_right(c->leaf, c->leaf_nodes, c->leaf_lowest);
    c->leaf = NULL;
    return right;
}

static bool mark_overflow(struct check *c, const MDB_val *value)
{
    const uint8_t *page = page_of(c, value->mv_data);
    uint32_t count;
    if (!mark_page(c, page, OVERFLOWN)) {
        return false;
    }
    memcpy(&count, page + offsetof(struct page_head, lower), sizeof(count));
    uint64_t first = (uint64_t)(page - c->map) / c->page_size;
    for (uint32_t i = 1; i < count; i++) {
        if (!mark(c, first + i, OVERFLOWN)) {
            return false;
        }
    }
    return count == (sizeof(struct page_head) + value->mv_size + c->page_size - 1) / c->page_size;
}

static bool mark_entry(struct check *c, const MDB_val *key, const MDB_val *value, bool table)
{
    const uint8_t *node = (const uint8_t *)key->mv_data - sizeof(struct node_head);
    const uint8_t *page = page_of(c, node);
    struct node_head head;
    memcpy(&head, node, sizeof(head));
    if (page != c->leaf) {
        if (!leave_leaf(c) || !mark_page(c, page, LEAF)) {
            return false;
        }
        c->leaf = page;
        c->leaf_nodes = 0;
        c->leaf_lowest = c->page_size;
    }
    c->leaf_nodes++;
    c->leaf_lowest = MIN(c->leaf_lowest, (size_t)(node - page));
    bool big = (head.flags & NODE_BIG_DATA) != 0;
    return (head.flags & ~NODE_BIG_DATA) == (table ? NODE_TABLE : 0) &&
           (!big || mark_overflow(c, value));
}

/* Counts the children of a page that is neither leaf, overflow nor free. */
static bool check_branch(struct check *c, uint64_t number, uint8_t *has_parent)
{
    const uint8_t *page = c->map + number * c->page_size;
    struct page_head head;
    struct node_head node;
    size_t lowest = c->page_size;
    memcpy(&head, page, sizeof(head));
    if (head.number != number || head.flags != PAGE_BRANCH || head.lower > head.upper ||
        head.upper > c->page_size || head.lower < sizeof(head) + 2 * sizeof(uint16_t)) {
        return false;
    }
    size_t nodes = (head.lower - sizeof(head)) / sizeof(uint16_t);
    for (size_t i = 0; i < nodes; i++) {
        uint16_t at;
        memcpy(&at, page + sizeof(head) + i * sizeof(at), sizeof(at));
        if (at < head.upper || at > c->page_size - sizeof(node)) {
            return false;
        }
        memcpy(&node, page + at, sizeof(node));
        uint64_t child = node.low | (uint64_t)node.high << 16 | (uint64_t)node.flags << 32;
        if (child < FIRST_DATA_PAGE || child > c->last_page || has_parent[child] != 0 ||
            (c->use[child] != LEAF && c->use[child] != UNSEEN)) {
            return false;
        }
        has_parent[child] = 1;
        c->children--;
        lowest = MIN(lowest, at);
    }
    return head_is_right(page, nodes, lowest);
}

/* After all tables and the free pages: what is left are the branches. */
static bool check_branches(struct check *c)
{
    g_autofree uint8_t *has_parent = g_malloc0(c->last_page + 1);
    uint64_t found = 0;
    for (uint64_t page = FIRST_DATA_PAGE; page <= c->last_page; page++) {
        if (c->use[page] == UNSEEN &&
            (++found > c->branches || c->map == NULL || !check_branch(c, page, has_parent))) {
            return false;
        }
    }
    return found == c->branches && c->children == 0;
}

static bool ascends(GByteArray *last, const MDB_val *key)
{
    size_t common = MIN(last->len, key->mv_size);
    int order = common == 0 ? 0 : memcmp(last->data, key->mv_data, common);
    bool right = order < 0 || (order == 0 && last->len < key->mv_size);
    g_byte_array_set_size(last, 0);
    g_byte_array_append(last, key->mv_data, (guint)key->mv_size);
    return right && key->mv_size <= STORE_MAX_KEY;
}

/* An entry must also be found by its key: the branches' keys lead there. */
static bool is_found(MDB_cursor *probe, const MDB_val *key, const MDB_val *value)
{
    MDB_val k = *key, found;
    return mdb_cursor_get(probe, &k, &found, MDB_SET_KEY) == 0 && found.mv_data == value->mv_data;
}

typedef bool entry_check(struct check *c, const char *table, MDB_val *key, MDB_val *value);

/* Calls f for each entry. table: its name, NULL for the table of tables or of free pages. */
static bool walk(struct check *c, MDB_dbi dbi, const char *table, entry_check *f)
{
    MDB_stat stat;
    MDB_cursor *cursor, *probe;
    MDB_val key, value;
    size_t count = 0;
    bool whole = mdb_stat(c->txn, dbi, &stat) == 0 && mdb_cursor_open(c->txn, dbi, &cursor) == 0 &&
                 mdb_cursor_open(c->txn, dbi, &probe) == 0;
    if (!whole) {
        return false;
    }
    size_t tree = stat.ms_branch_pages + stat.ms_leaf_pages;
    c->pages += tree + stat.ms_overflow_pages;
    c->branches += stat.ms_branch_pages;
    c->children += tree > 0 ? tree - 1 : 0;
    g_autoptr(GByteArray) last = g_byte_array_new();
    int rc = MDB_NOTFOUND;
    while (whole && (rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
        whole = ++count <= stat.ms_entries && (dbi == FREE_PAGES_DBI || ascends(last, &key)) &&
                mark_entry(c, &key, &value, table == NULL && dbi != FREE_PAGES_DBI) &&
                is_found(probe, &key, &value) && f(c, table, &key, &value);
    }
    mdb_cursor_close(probe);
    mdb_cursor_close(cursor);
    return whole && rc == MDB_NOTFOUND && count == stat.ms_entries && leave_leaf(c);
}

static bool value_is_whole(struct check *c, const char *table, MDB_val *key, MDB_val *value)
{
    if (strcmp(table, STORE_HEADER_TABLE) == 0) {
        return true; /* the header record is judged by who opens, the total below */
    }
    c->total += store_sealed_sum(value);
    return store_unseal(table, key, value);
}

static bool table_record(struct check *c, const char *table, MDB_val *key, MDB_val *value)
{
    return true;
}

static bool free_pages(struct check *c, const char *table, MDB_val *key, MDB_val *value)
{
    const uint8_t *at = value->mv_data;
    uint64_t count, page, txn_id, before = UINT64_MAX;
    if (key->mv_size != sizeof(txn_id) || value->mv_size < sizeof(count)) {
        return false;
    }
    memcpy(&count, at, sizeof(count));
    memcpy(&txn_id, key->mv_data, sizeof(txn_id));
    if (count > value->mv_size / sizeof(page) - 1 || txn_id <= c->last_freed ||
        txn_id > mdb_txn_id(c->txn)) {
        return false;
    }
    c->last_freed = txn_id;
    c->pages += count;
    for (uint64_t i = 1; i <= count; i++) {
        memcpy(&page, at + i * sizeof(page), sizeof(page));
        if (page >= before || !mark(c, page, FREE)) {
            return false;
        }
        before = page;
    }
    return true;
}

/* A whole header of another version: its table may be laid out otherwise. */
static bool is_of_another_schema(struct check *c, MDB_dbi header)
{
    MDB_val key = {.mv_size = strlen(STORE_HEADER_KEY), .mv_data = STORE_HEADER_KEY}, value;
    g_autofree char *ours = g_strdup_printf("heddle-store\nschema=%u\n", STORE_SCHEMA);
    if (mdb_get(c->txn, header, &key, &value) != 0) {
        return false;
    }
    g_autofree char *text = g_strndup(value.mv_data, value.mv_size);
    bool first = g_str_has_prefix(text, "heddle-store\nschema=1\n") && strstr(text, "sum=") == NULL;
    return first || (store_header_is_whole(text) && !g_str_has_prefix(text, ours));
}

/* One flipped bit in the name of the header's table must not make a store of ours a stranger, which
 * nobody would set aside. */
static bool has_our_header_somewhere(const char *file)
{
    static const char words[] = "heddle-store\nschema=";
    g_autoptr(GMappedFile) mapped = g_mapped_file_new(file, FALSE, NULL);
    return mapped != NULL && memmem(g_mapped_file_get_contents(mapped),
                                    g_mapped_file_get_length(mapped), words, strlen(words)) != NULL;
}

static enum verdict check_tables(struct check *c, const char *file)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    MDB_dbi main_dbi, dbi, header = 0;
    uint64_t total, txn_id;
    int rc = store_list_tables(c->txn, names);
    bool ours = rc != MDB_DBS_FULL;
    for (guint i = 0; rc == 0 && i < names->len; i++) {
        unsigned flags = 0;
        rc = mdb_dbi_open(c->txn, names->pdata[i], 0, &dbi);
        ours = ours && rc != MDB_INCOMPATIBLE && rc != MDB_BAD_VALSIZE && rc != MDB_NOTFOUND;
        if (rc == 0 && (mdb_dbi_flags(c->txn, dbi, &flags) != 0 || flags != 0)) {
            rc = MDB_CORRUPTED;
        }
        if (strcmp(names->pdata[i], STORE_HEADER_TABLE) == 0) {
            header = dbi;
        }
    }
    if (!ours || (rc == 0 && header == 0)) {
        return has_our_header_somewhere(file) ? DAMAGED : NOT_JUDGED;
    }
    if (rc == 0 && is_of_another_schema(c, header)) {
        return NOT_JUDGED;
    }
    bool whole = rc == 0 && mdb_dbi_open(c->txn, NULL, 0, &main_dbi) == 0 &&
                 walk(c, main_dbi, NULL, table_record);
    for (guint i = 0; whole && i < names->len; i++) {
        whole = mdb_dbi_open(c->txn, names->pdata[i], 0, &dbi) == 0 &&
                walk(c, dbi, names->pdata[i], value_is_whole);
    }
    whole = whole && store_total_read(c->txn, header, &total, &txn_id) == 0 && total == c->total;
    /* A compacted copy begins anew with transaction 1. */
    whole = whole && (mdb_txn_id(c->txn) == 1 || mdb_txn_id(c->txn) == txn_id);
    whole = whole && walk(c, FREE_PAGES_DBI, NULL, free_pages);
    whole = whole && c->pages + FIRST_DATA_PAGE == c->last_page + 1 && check_branches(c);
    return whole ? WHOLE : DAMAGED;
}

static enum verdict check_env(MDB_env *env, const char *file, off_t file_size)
{
    MDB_envinfo info;
    MDB_stat stat;
    struct check c = {.txn = NULL};
    if (mdb_env_info(env, &info) != 0 || mdb_env_stat(env, &stat) != 0 ||
        stat.ms_psize != (unsigned)sysconf(_SC_PAGESIZE) || !metas_agree(file, stat.ms_psize)) {
        return DAMAGED;
    }
    c.page_size = stat.ms_psize;
    c.last_page = info.me_last_pgno;
    /* A file may rightly end before its last page: those that a transaction took and gave back at
     * once are not written. A damaged number is far off. */
    if (c.last_page / 64 > (uint64_t)file_size / c.page_size + (1u << 20)) {
        return DAMAGED;
    }
    c.use = g_malloc0(c.last_page + 1);
    return mdb_txn_begin(env, NULL, MDB_RDONLY, &c.txn) == 0 ? check_tables(&c, file) : DAMAGED;
}

static void be_quiet_when_killed(void)
{
    static const int signals[] = {SIGBUS, SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGALRM};
    const struct rlimit none = {0, 0};
    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++) {
        signal(signals[i], SIG_DFL);
    }
    setrlimit(RLIMIT_CORE, &none);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDERR_FILENO);
    }
    alarm(CHILD_SECONDS);
}

int store_check_in_child(MDB_env *(*open_env)(void *user, unsigned flags, int *rc), void *user,
                         const char *file)
{
    pid_t pid = fork();
    if (pid < 0) {
        return errno;
    }
    if (pid == 0) {
        int rc;
        struct stat st;
        be_quiet_when_killed();
        /* Without LMDB's lock file: ours is held, and mapping that one needs space. */
        MDB_env *env = open_env(user, MDB_RDONLY | MDB_NOLOCK, &rc);
        if (env == NULL) {
            _exit(rc < 0 || rc == ENOMEM || rc == EINVAL || rc == EIO ? DAMAGED : NOT_JUDGED);
        }
        _exit(stat(file, &st) == 0 ? check_env(env, file, st.st_size) : NOT_JUDGED);
    }
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return errno;
        }
    }
    return WIFEXITED(status) && WEXITSTATUS(status) != DAMAGED ? 0 : EILSEQ;
}
