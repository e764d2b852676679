/* SPDX-License-Identifier: BSD-2-Clause */
/* Flips random bits of a store's file. It then opens with all values as they were and takes a
 * commit, or it is refused: never a wrong value, never a crash. HEDDLE_SEED replays a run. */
#include "store/test_util.h"

#include <errno.h>
#include <sys/wait.h>
#include <time.h>

#include "store/internal.h"
#include "store/ledger.h"

#define ROUNDS 500
#define COMMITS 60

static char *dir;
static char *data_file;
static GRand *rng;
static char *intact;
static gsize intact_len;
static const char *const tables[] = {"switch", "endport", "lid"};
static char *expected[G_N_ELEMENTS(tables)];

/* With history: old pages with right checksums lie about in the file. */
static void build(void)
{
    struct store *s = test_open(dir, 0);
    for (int n = 0; n < COMMITS; n++) {
        struct store_batch *b = store_batch_create();
        for (int i = 0; i < 20; i++) {
            g_autofree char *key = g_strdup_printf("k%03d", g_rand_int_range(rng, 0, 300));
            g_autofree char *value = g_strnfill((gsize)g_rand_int_range(rng, 0, 80), 'a' + n % 26);
            test_put(b, tables[g_rand_int_range(rng, 0, 3)], key, value);
        }
        g_autofree char *large = g_strnfill(6000 + (gsize)n * 100, 'A' + n % 26);
        test_put(b, "lid", n % 2 ? "large" : "larger", large);
        store_batch_delete_prefix(b, "switch", "k1", 2);
        assert_int_equal(store_commit(s, b), 0);
        store_batch_destroy(b);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
        expected[i] = test_list(s, tables[i], "");
    }
    store_close(s);
    assert_true(g_file_get_contents(data_file, &intact, &intact_len, NULL));
}

static int set_up(void **state)
{
    dir = test_dir();
    data_file = g_build_filename(dir, "data.mdb", NULL);
    const char *text = g_getenv("HEDDLE_SEED");
    guint32 seed = text ? (guint32)g_ascii_strtoull(text, NULL, 10) : (guint32)time(NULL);
    printf("HEDDLE_SEED=%u\n", seed);
    rng = g_rand_new_with_seed(seed);
    return 0;
}

static int tear_down(void **state)
{
    test_remove_tree(dir);
    g_clear_pointer(&dir, g_free);
    g_clear_pointer(&data_file, g_free);
    g_clear_pointer(&intact, g_free);
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
        g_clear_pointer(&expected[i], g_free);
    }
    g_rand_free(rng);
    return 0;
}

enum outcome { OPENED, REFUSED, WRONG_VALUE, WRONG_ERROR, SPOILT };

static bool all_as_expected(struct store *s)
{
    bool right = true;
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
        GString *out = g_string_new(NULL);
        right = right && store_each(s, tables[i], "", 0, test_collect, out) == 0 &&
                strcmp(out->str, expected[i]) == 0;
        g_string_free(out, TRUE);
    }
    return right;
}

static enum outcome try_it(void)
{
    struct store_config config = {dir, "test", "c1", 0};
    struct store *s;
    char error[512] = "";
    int rc = store_open(&config, &s, error, sizeof(error));
    if (rc != 0) {
        return rc == EILSEQ && error[0] != '\0' ? REFUSED : WRONG_ERROR;
    }
    bool right = all_as_expected(s);
    struct store_batch *b = store_batch_create();
    g_autofree char *large = g_strnfill(9000, 'z');
    test_put(b, "other", "k", large);
    int committed = store_commit(s, b);
    store_batch_destroy(b);
    store_close(s);
    if (!right) {
        return WRONG_VALUE;
    }
    if (committed != 0) {
        return SPOILT;
    }
    rc = store_open(&config, &s, error, sizeof(error));
    if (rc == 0) {
        right = all_as_expected(s);
        store_close(s);
    }
    return rc != 0 ? SPOILT : right ? OPENED : WRONG_VALUE;
}

/* In a child: a crash is one of the outcomes looked for. */
static int outcome_of(void)
{
    fflush(stdout);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(try_it());
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void flip(char *bytes, bool in_heads)
{
    gsize at = g_rand_int(rng) % intact_len;
    if (in_heads) { /* of pages: where it hurts more than in values */
        at = at / 4096 * 4096 + (gsize)g_rand_int_range(rng, 0, at < 8192 ? 152 : 48);
    }
    bytes[at] = (char)(bytes[at] ^ (1 << g_rand_int_range(rng, 0, 8)));
}

static void flipped_bits_are_never_believed(void **state)
{
    int opened = 0, refused = 0;
    build();
    for (int round = 0; round < ROUNDS; round++) {
        g_autofree char *bytes = g_memdup2(intact, intact_len);
        int flips = round % 3 == 0 ? 1 : round % 3 == 1 ? 5 : 50;
        for (int i = 0; i < flips; i++) {
            flip(bytes, round % 2 == 0);
        }
        assert_true(g_file_set_contents_full(data_file, bytes, (gssize)intact_len,
                                             G_FILE_SET_CONTENTS_NONE, 0600, NULL));
        int outcome = outcome_of();
        if (outcome != OPENED && outcome != REFUSED) {
            fail_msg("round %d, %d flips: outcome %d", round, flips, outcome);
        }
        opened += outcome == OPENED;
        refused += outcome == REFUSED;
    }
    printf("opened whole %d, refused %d\n", opened, refused);
    assert_true(opened > 0 && refused > 0);
}

/* Bits that flip while the store is open are seen by who reads them. */
static void damage_while_open_is_reported(void **state)
{
    static const char needle[] = "a value to be found in the file";
    struct store_config config = {dir, "ledger", "c1", 0};
    struct ledger *l;
    char error[256];
    uint64_t revision;
    size_t len;
    assert_int_equal(ledger_open(&config, &l, error, sizeof(error)), 0);
    struct ledger_change change = {"k", 0, needle, sizeof(needle)};
    assert_int_equal(ledger_swap(l, &change, 1, &revision), 0);
    assert_true(g_file_get_contents(data_file, &intact, &intact_len, NULL));
    FILE *f = fopen(data_file, "r+");
    assert_non_null(f);
    char *at = intact;
    while ((at = memmem(at, intact_len - (gsize)(at - intact), needle, sizeof(needle))) != NULL) {
        assert_int_equal(fseek(f, at - intact, SEEK_SET), 0);
        fputc('A', f);
        at++;
    }
    fclose(f);
    assert_null(ledger_get(l, "k", &len, &revision));
    assert_int_equal(errno, EILSEQ);
    assert_int_equal(revision, 0);
    assert_int_equal(ledger_swap(l, &change, 1, &revision), EILSEQ);
    assert_null(ledger_get(l, "none", &len, &revision));
    assert_int_equal(errno, 0);
    ledger_close(l);
    assert_int_equal(ledger_open(&config, &l, error, sizeof(error)), EILSEQ);
    assert_non_null(strstr(error, "is damaged"));
}

static void an_absurd_size_is_damage(void **state)
{
    build();
    uint64_t last_page = 1ull << 40; /* LMDB maps that much */
    for (int i = 0; i < 2; i++) {    /* both meta pages */
        memcpy(intact + i * 4096 + 136, &last_page, sizeof(last_page));
    }
    assert_true(g_file_set_contents(data_file, intact, (gssize)intact_len, NULL));
    assert_int_equal(outcome_of(), REFUSED);
    struct store_config config = {dir, "test", "c1", 0};
    struct store *s;
    char error[256] = "";
    char *aside = NULL;
    assert_int_equal(store_open_or_set_aside(&config, &s, &aside, error, sizeof(error)), 0);
    assert_non_null(aside);
    test_expect(s, "lid", "large", NULL);
    store_close(s);
    g_free(aside);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(flipped_bits_are_never_believed),
        TEST(damage_while_open_is_reported),
        TEST(an_absurd_size_is_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
