/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands: each with right and with wrong words, and hostile lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after those four */
#include <cmocka.h>

#include "sim/script/fixture.h"

static void assert_answer(struct sim *s, const char *line, const char *wanted)
{
    assert_string_equal(run(s, line), wanted);
}

/* The error must hold this text, and the line be refused without running, too. */
static void assert_wrong(struct sim *s, const char *line, const char *wanted)
{
    g_autoptr(GString) checked = g_string_new(NULL);
    const char *answer = run(s, line);
    if (g_str_has_suffix(answer, "ok\n") || strstr(answer, wanted) == NULL)
        fail_msg("%s: \"%s\" instead of \"%s\"", line, answer, wanted);
    assert_false(sim_script_check(s, line, checked));
    assert_string_equal(checked->str, answer);
}

/* -- words ------------------------------------------------------------------------------------- */

static void assert_words(const char *line, const char *joined)
{
    const char *error = NULL;
    g_autoptr(GPtrArray) words = script_split(line, &error);
    assert_non_null(words);
    g_autofree char *got = g_strjoinv("|", (char **)words->pdata);
    assert_string_equal(got, joined);
}

static void assert_no_words(const char *line, const char *wanted)
{
    const char *error = NULL;
    assert_null(script_split(line, &error));
    assert_non_null(strstr(error, wanted));
}

static void test_words(void **state)
{
    assert_words("", "");
    assert_words(" \t# nothing", "");
    assert_words("a b\tc\r", "a|b|c");
    assert_words("a#b #c", "a#b");
    assert_words("\"a b\"[3] \"#\" \"\"", "a b[3]|#|");
    assert_words("x\"\\\"\\\\\\x41\\n\\t\"y", "x\"\\A\n\ty");
    assert_no_words("a \"b", "not closed");
    assert_no_words("\"\\", "backslash");
    assert_no_words("\"\\q\"", "backslash");
    assert_no_words("\"\\x0", "backslash");
    assert_no_words("\"\\x00\"", "backslash");
    g_autofree char *many = g_strnfill(SIM_COMMAND_BYTES - 1, ' ');
    for (unsigned i = 0; i < SIM_COMMAND_BYTES - 1; i += 2)
        many[i] = 'a';
    assert_no_words(many, "too many words");
    g_autofree char *longer = g_strnfill(SIM_COMMAND_BYTES, ' ');
    assert_no_words(longer, "too long");
    longer[SIM_COMMAND_BYTES - 1] = '\0';
    assert_words(longer, "");
}

static void test_nearest(void **state)
{
    struct sim *s = *state;
    assert_answer(s, "lnik hostb down",
                  "error: lnik: there is no such command: did you mean link? See help\n");
    assert_answer(s, "statsu",
                  "error: statsu: there is no such command: did you mean status? See "
                  "help\n");
    assert_answer(s, "x", "error: x: there is no such command: see help\n");
    assert_answer(s, "\"\\x1b[2J\"", "error: \\x1b[2J: there is no such command: see help\n");
    assert_answer(s, "help sohw",
                  "error: sohw: there is no such command: did you mean show? See help\n");
    assert_wrong(s, "disturb hostb los=1%", "did you mean loss=?");
    assert_wrong(s, "disturb hostb colour=red", "see help disturb");
    g_autofree char *endless = g_strnfill(4000, 'z');
    assert_wrong(s, endless, "there is no such command");
}

static void test_times_and_shares(void **state)
{
    struct sim *s = *state;
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"0ns", 0},
                {"7ns", 7},
                {"1.5us", 1500},
                {"250ms", 250 * MS},
                {"0.25s", S / 4},
                {"2min", 120 * S},
                {"8760h", 8760 * 3600 * S},
                {"0.000000001s", 1}};
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        g_autofree char *line = g_strdup_printf("service hostb %s", good[i].text);
        assert_ok(s, line);
        assert_int_equal(s->nodes[HOST_B].service_ns, good[i].ns);
    }
    static const char *const bad[] = {"",
                                      "1",
                                      "s",
                                      "1 s",
                                      "-1s",
                                      "1.s",
                                      ".5s",
                                      "1e3s",
                                      "0x1s",
                                      "1sec",
                                      "1S",
                                      "8761h",
                                      "1.5.5s",
                                      "+1s",
                                      "nanms",
                                      "9999999999999999999999s",
                                      "0.0000000001s",
                                      "1s "};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *line = g_strdup_printf("service hostb \"%s\"", bad[i]);
        assert_wrong(s, line, "it must be a time");
    }
    static const char *const shares[] = {"", "1", "%", "101%", "-1%", "100.1%", "1%%", "0x1%"};
    for (size_t i = 0; i < G_N_ELEMENTS(shares); i++) {
        g_autofree char *line = g_strdup_printf("disturb hostb \"loss=%s\"", shares[i]);
        assert_wrong(s, line, "it must be a share");
    }
    assert_ok(s, "disturb hostb loss=100% duplicate=0.5% reorder=0.0001% delay=1ms jitter=2us");
    const struct sim_disturbance *d = sim_port(s, HOST_B, 1)->disturbance;
    assert_int_equal(d->loss_ppm, 1000000);
    assert_int_equal(d->duplicate_ppm, 5000);
    assert_int_equal(d->reorder_ppm, 1);
    assert_int_equal(d->delay_ns, MS);
    assert_int_equal(d->jitter_ns, 2000);
}

static void test_ports(void **state)
{
    struct sim *s = *state;
    assert_ok(s, "link hostb down");
    assert_ok(s, "link H-0000000000000030 up");
    assert_ok(s, "link 0x30[1] down");
    assert_ok(s, "link \"leaf [1]\"[3] up");
    assert_ok(s, "link \"leaf [1][3]\" down");
    assert_ok(s, "link \"leaf [1]:3\" up");
    assert_ok(s, "link \"host a\"[2] down");
    assert_wrong(s, "link \"host a\" down", "has 2 ports: name one");
    assert_wrong(s, "link \"leaf [1]\" down", "is a switch: name one of its ports 1 to 4");
    assert_wrong(s, "link \"leaf [1]\"[0] down", "is a switch");
    assert_wrong(s, "link \"leaf [1]\"[5] down", "has ports");
    assert_wrong(s, "link hostb[0] down", "has ports");
    assert_wrong(s, "link nobody down", "no node has");
    assert_wrong(s, "link \"\" down", "names no node");
    assert_wrong(s, "link 0x99 down", "no node has");
}

/* -- each command ------------------------------------------------------------------------------ */

static void test_right(void **state)
{
    static const char *const lines[] = {
        "",
        "# only a comment",
        "help",
        "help ping",
        "status",
        "show hostb",
        "show \"host a\"[2]",
        "show 0x10",
        "move \"host a\"[2] \"leaf [1]\"[4]",
        "move \"host a\"[2] \"leaf [1]\"[2]",
        "power hostb off",
        "power hostb on",
        "reboot hostb",
        "reboot hostb 5ms",
        "leave 1",
        "join",
        "cut hostb \"host a\"",
        "heal",
        "traps off",
        "traps on",
        "mute hostb on",
        "mute \"leaf [1]\" off",
        "flap hostb 2 10ms 5ms",
        "flap hostb 1 1ms",
        "flap hostb 0",
        "guid hostb 0x20",
        "guid hostb own",
        "describe hostb \"a new name\"",
        "describe hostb hostb",
        "disturb all loss=1%",
        "disturb \"leaf [1]\" delay=1us",
        "disturb all",
        "service all 5us buffer=10",
        "service switches 1us",
        "service cas 0ns",
        "counter hostb SymbolErrorCounter 7",
        "counter \"leaf [1]\"[2] PortXmitWait 0xffffffff",
        "trap \"leaf [1]\" 128",
        "trap \"leaf [1]\"[1] 129",
        "trap hostb 144",
        "trap hostb 145",
        "trap hostb 256",
        "trap hostb 257",
        "trap hostb 258",
        "trap \"leaf [1]\"[2] 259",
        "key hostb",
        "key hostb 0x1 protect=1 lease=10",
        "key hostb 0",
        "capability hostb",
        "capability hostb 0x0040084c",
        "send hostb dlid=2",
        "send hostb dlid=0xc001 pkey=0x7fff qkey=5 sl=1",
        "hosts start",
        "hosts start hostb groups=2 services=1 paths=3 inform=yes timeout=500ms retries=2",
        "hosts start spread=1s lease=1min",
        "hosts start groups=1",
        "hosts status",
        "hosts status hostb",
        "hosts kill hostb",
        "hosts revive hostb",
        "hosts stop hostb",
        "hosts stop",
        "log off",
        "snapshot one",
        "compare one now",
        "compare one now limit=5",
        "forget one",
        "random 0.5",
        "random off",
        "at 1s status",
        "every 10ms status",
        "cancel",
        "ping stop",
        "ping status",
        "ping losses",
    };
    struct sim *s = *state;
    for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_autoptr(GString) checked = g_string_new(NULL);
        assert_true(sim_script_check(s, lines[i], checked));
        assert_string_equal(checked->str, "ok\n");
        assert_ok(s, lines[i]);
    }
}

static void test_wrong(void **state)
{
    static const char *const lines[][2] = {
        {"status now", "too many words: it is status"},
        {"help a b", "too many words"},
        {"help nothing", "no such command"},
        {"show", "too few words: it is show NODE|PORT"},
        {"show nobody", "no node has"},
        {"link hostb", "too few words: it is link PORT down|up"},
        {"link hostb off", "must be up or down"},
        {"move hostb", "too few words"},
        {"move hostb nobody", "no node has"},
        {"power hostb", "too few words"},
        {"power hostb down", "must be on or off"},
        {"reboot", "too few words"},
        {"reboot hostb soon", "it must be a time"},
        {"leave", "too few words"},
        {"leave 0", "from 1 to 3"},
        {"leave 4", "from 1 to 3"},
        {"leave -1", "from 1 to 3"},
        {"join 3", "too many words"},
        {"cut", "too few words"},
        {"cut hostb nobody", "no node has"},
        {"heal all", "too many words"},
        {"mute hostb yes", "must be on or off"},
        {"mute \"host a\" on", "has 2 ports"},
        {"flap hostb", "too few words"},
        {"flap hostb x", "the count is \"x\""},
        {"flap hostb 1 0s 0s", "a flap takes time"},
        {"guid hostb 0", "must be own or a GUID"},
        {"guid hostb 0x00", "must be own or a GUID"},
        {"guid hostb mine", "must be own or a GUID"},
        {"describe hostb", "too few words"},
        {"describe hostb 0123456789012345678901234567890123456789012345678901234567890123x",
         "64 bytes at most"},
        {"disturb", "too few words"},
        {"disturb hostb loss", "loss needs a value"},
        {"disturb hostb loss=1% loss=2%", "is there twice"},
        {"disturb hostb delay=1", "it must be a time"},
        {"service hostb", "too few words"},
        {"service routers 1ms", "no node has"},
        {"service all 1ms buffer=-1", "it must be a number"},
        {"service all 1ms space=1", "unknown option"},
        {"counter hostb Nothing 1", "there is no counter \"Nothing\""},
        {"counter hostb SymbolErrorCounter many", "the value is \"many\""},
        {"trap hostb", "too few words"},
        {"capability", "too few words"},
        {"capability hostb all", "the mask is \"all\""},
        {"capability hostb 0x100000000", "the mask is \"0x100000000\""},
        {"trap hostb 1", "from 128 to 259"},
        {"trap hostb 146", "no agent sends trap 146"},
        {"trap hostb 128", "only switches send trap 128"},
        {"trap hostb 259", "only switches send trap 259"},
        {"trap \"leaf [1]\" 129", "name one, as NODE[1]"},
        {"trap \"leaf [1]\" 259", "name one, as NODE[1]"},
        {"key hostb x", "the key is \"x\""},
        {"key hostb 1 protect=4", "from 0 to 3"},
        {"key hostb 1 lease=70000", "from 0 to 65535"},
        {"key hostb protect=1", "the key is \"protect=1\""},
        {"send hostb", "too few words"},
        {"send hostb sl=1", "say where to"},
        {"send hostb dlid=0", "from 1 to 65534"},
        {"send hostb dlid=1 sl=16", "from 0 to 15"},
        {"ping", "too few words"},
        {"ping pong", "must be start, stop, status or losses"},
        {"ping start", "it is ping start FROM TO|mlid"},
        {"ping start hostb nobody", "no node has"},
        {"ping start hostb mlid=5", "from 49152 to 65534"},
        {"ping start hostb hostb mlid=0xc001", "leave one out"},
        {"ping start hostb hostb rate=0", "from 1 to 1000000"},
        {"ping stop x", "the stream is \"x\""},
        {"ping stop 1 2", "too many words"},
        {"hosts", "too few words"},
        {"hosts dance", "must be start, stop, status, kill or revive"},
        {"hosts start nobody", "no node has"},
        {"hosts start timeout=1us", "at least 1ms"},
        {"hosts start inform=perhaps", "must be yes or no"},
        {"hosts kill", "it is hosts kill NODE"},
        {"hosts kill \"leaf [1]\"", "is no host"},
        {"hosts stop hostb hostb", "it is hosts stop [NODE]"},
        {"log", "too few words"},
        {"log \"\"", "name a file"},
        {"snapshot now", "is no name of a snapshot"},
        {"snapshot \"\"", "is no name of a snapshot"},
        {"forget now", "is no name of a snapshot"},
        {"compare a", "too few words"},
        {"compare a now limit=x", "limit is \"x\""},
        {"dump lft", "too few words"},
        {"dump rft /tmp/x", "must be lft, mft or all"},
        {"dump lft /tmp/x hostb", "is no switch"},
        {"dump lft /tmp/x nobody", "no node has"},
        {"random", "too few words"},
        {"random 0", "above 0"},
        {"random -1", "above 0"},
        {"random 10001", "up to 10000"},
        {"random 1x", "above 0"},
        {"clients all", "too many words: it is clients"},
        {"drop", "too few words: it is drop SLOT"},
        {"at 1s", "too few words"},
        {"at soon status", "the time is \"soon\""},
        {"at 1s nothing", "no such command"},
        {"at 1s link hostb off", "must be up or down"},
        {"at 1s at 1s status", "neither at nor every"},
        {"at 1s every 1s status", "neither at nor every"},
        {"every 1us status", "at least 1ms"},
        {"cancel all", "too many words"},
        {"run", "too few words"},
        {"run /nowhere", "/nowhere"},
        {"quit now", "too many words"},
    };
    struct sim *s = *state;
    for (size_t i = 0; i < G_N_ELEMENTS(lines); i++)
        assert_wrong(s, lines[i][0], lines[i][1]);
    assert_int_equal(s->script->pending.length, 0);
}

/* What is known to be wrong only when it runs. */
static void test_fails(void **state)
{
    static const char *const lines[][2] = {
        {"link \"leaf [1]\"[4] down", "has no cable"},
        {"move \"leaf [1]\"[4] hostb", "has no cable"},
        {"move hostb \"leaf [1]\"[1]", "has a cable already"},
        {"flap \"leaf [1]\"[4] 3", "has no cable"},
        {"forget nothing", "there is no snapshot"},
        {"compare nothing now", "there is no snapshot"},
        {"log /nowhere/at/all", "name a file that can be written"},
        {"log /", "name a file that can be written"},
        {"dump lft /nowhere/at/all", "name a file that can be written"},
        {"dump lft /", "name a file that can be written"},
        {"ping stop 77", "there is no stream 77"},
        {"clients", "only a running heddle-sim"},
        {"drop 1", "only a running heddle-sim"},
        {"quit", "only a running heddle-sim"},
    };
    struct sim *s = *state;
    for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
        const char *answer = run(s, lines[i][0]);
        if (strstr(answer, lines[i][1]) == NULL || !g_str_has_prefix(answer, "error: "))
            fail_msg("%s: %s", lines[i][0], answer);
    }
}

static bool answer_more(void *user, int argc, char **argv, GString *out, bool *ok)
{
    ++*(unsigned *)user;
    *ok = strcmp(argv[0], "drop") != 0;
    if (!*ok)
        g_string_append(out, "error: drop: nobody is there\n");
    return true;
}

static void test_more(void **state)
{
    struct sim *s = *state;
    unsigned calls = 0;
    sim_script_extend(s, answer_more, &calls);
    assert_answer(s, "clients", "ok\n");
    assert_answer(s, "drop 3", "error: drop: nobody is there\n");
    assert_wrong(s, "quit now", "too many words");
    assert_int_equal(calls, 2);
}

static void test_effects(void **state)
{
    struct sim *s = *state;
    assert_ok(s, "counter hostb SymbolErrorCounter 7");
    assert_int_equal(sim_port(s, HOST_B, 1)->counters[SIM_CNT_SYMBOL_ERRORS], 7);
    assert_ok(s, "key hostb 0x1122 protect=2 lease=30");
    assert_answer(s, "key hostb", "key=0x0000000000001122 protect=2 lease=30 violations=0\nok\n");
    assert_ok(s, "key hostb 5");
    assert_answer(s, "key hostb", "key=0x0000000000000005 protect=2 lease=30 violations=0\nok\n");
    assert_ok(s, "capability hostb 0x0040084e"); /* IsSM stays as it is */
    assert_answer(s, "capability hostb", "capability=0x0040084c\nok\n");
    assert_ok(s, "describe hostb \"new name\"");
    assert_string_equal(s->nodes[HOST_B].description, "new name");
    assert_ok(s, "mute \"new name\" on");
    assert_true(sim_port(s, HOST_B, 1)->mute);
    assert_ok(s, "mute hostb off"); /* the name of before */
    assert_false(sim_port(s, HOST_B, 1)->mute);
    assert_ok(s, "power hostb off");
    assert_false(sim_has_power(s, HOST_B));
    assert_answer(s, "cut \"host a\"", "pulled=2\nok\n");
    assert_answer(s, "heal", "plugged=2\nok\n");
    assert_ok(s, "snapshot a");
    assert_ok(s, "key \"host a\"[1] 9");
    assert_answer(s, "compare a now",
                  "key \"host a\"[1] was=0x0000000000000000 now=0x0000000000000009\n"
                  "lids=0 keys=1 smlids=0 states=0 pkeys=0 lft_blocks=0 lft_entries=0 "
                  "mft_blocks=0 sl2vl=0 vlarb=0\nok\n");
}

/* LIDs 1 to 4 and a table, as a manager would write them. */
static void configure(struct sim *s)
{
    static const uint8_t nodes[] = {LEAF, HOST_A, HOST_A, HOST_B}, ports[] = {0, 1, 2, 1};
    for (unsigned i = 0; i < 4; i++) {
        struct sim_port *ends[] = {sim_port(s, nodes[i], ports[i]), sim_port(s, LEAF, i)};
        for (unsigned j = 0; j < 2; j++)
            ends[j]->info[32] = (uint8_t)((ends[j]->info[32] & 0xf0) | SIM_ACTIVE);
        put16(ends[0]->info + 16, (uint16_t)(i + 1));
        sim_lft_block(s, LEAF, 0)[i + 1] = (uint8_t)i;
    }
    put16(s->nodes[LEAF].sw->info + 6, 4);
    put16(s->nodes[LEAF].sw->info + 18, 0xbfff);
}

static void test_traffic(void **state)
{
    struct sim *s = *state;
    configure(s);
    assert_answer(s, "send hostb dlid=2", "result=arrived\nok\n");
    assert_answer(s, "trap hostb 257", "result=nowhere\nok\n");
    put16(sim_port(s, HOST_B, 1)->info + 18, 2); /* MasterSMLID */
    assert_answer(s, "trap hostb 257", "result=raised\nok\n");
    assert_ok(s, "mute hostb on");
    assert_answer(s, "trap hostb 144", "result=nowhere\nok\n");
    assert_ok(s, "mute hostb off");
    assert_answer(s, "send hostb dlid=9", "result=no-entry\nok\n");
    assert_answer(s, "send hostb dlid=2 pkey=0x7123", "result=pkey\nok\n");
    assert_answer(s, "ping start hostb \"host a\"[1] rate=1000 count=5", "stream=1\nok\n");
    sim_run(s, s->now + 10 * MS);
    assert_non_null(strstr(run(s, "ping status"), "stream=1 sent=5 answered=5 lost=0 doubled=0 "));
    assert_answer(s, "ping start hostb \"host a\"[1] rate=1000", "stream=2\nok\n");
    assert_ok(s, "link \"host a\"[1] down");
    sim_run(s, s->now + 2 * MS);
    assert_ok(s, "ping stop 2");
    const char *answer = run(s, "ping status 2");
    assert_non_null(strstr(answer, "stream=2 "));
    assert_non_null(strstr(answer, " link-down="));
    assert_null(strstr(answer, " lost=0 "));
    assert_non_null(strstr(run(s, "ping losses 2"), "lost at \"leaf [1]\"[1] link-down\n"));
    assert_answer(s, "ping losses 1", "ok\n");
    assert_ok(s, "disturb hostb delay=1ms");
    assert_answer(s, "send hostb dlid=3", "result=under-way\nok\n");
    assert_wrong(s, "ping start hostb mlid=0xbfff", "from 49152");
}

static void test_show(void **state)
{
    struct sim *s = *state;
    assert_ok(s, "power hostb off");
    assert_ok(s, "link \"host a\"[2] down");
    assert_ok(s, "disturb \"leaf [1]\"[1] loss=0.5% delay=3us");
    assert_ok(s, "mute \"leaf [1]\" on");
    put16(sim_port(s, LEAF, 0)->info + 16, 7);
    put16(sim_port(s, LEAF, 0)->info + 18, 3);
    assert_answer(
        s, "show \"leaf [1]\"",
        "node=\"leaf [1]\" type=switch guid=0x0000000000000010 shows_guid=0x0000000000000010 "
        "ports=4 power=on service=0ns buffer=0\n"
        "lft_top=0 mft_top=0x0000 port_state_change=1\n"
        "port=0 state=ACTIVE phys=LinkUp lid=7 lmc=0 smlid=3 smsl=0 key=0x0000000000000000 "
        "protect=0 lease=0 key_violations=0 guid=0x0000000000000010 sm=no mute=yes\n"
        "port=1 state=INIT phys=LinkUp width=4x speed=HDR mtu=2048 cable=plugged peer=\"host "
        "a\"[1] loss=0.5000% duplicate=0.0000% reorder=0.0000% delay=3000ns jitter=0ns\n"
        "port=2 state=DOWN phys=Polling width=4x speed=HDR mtu=2048 cable=pulled peer=\"host "
        "a\"[2]\n"
        "port=3 state=DOWN phys=Polling width=4x speed=HDR mtu=2048 cable=plugged "
        "peer=\"hostb\"[1]\n"
        "port=4 state=DOWN phys=Polling width=4x speed=SDR mtu=2048 cable=none peer=-\n"
        "ok\n");
    const char *answer = run(s, "show \"host a\"[2]");
    assert_non_null(strstr(answer, "port=2 state=DOWN"));
    assert_null(strstr(answer, "port=1 "));
    answer = run(s, "status");
    assert_non_null(strstr(answer, "nodes=3\nswitches=1\ncas=2\nrouters=0\nwithout_power=1\n"));
    assert_non_null(strstr(answer, "links_up=1\nlinks_down=2\nunplugged=1\n"));
    assert_non_null(strstr(answer, "judge: sets=0 "));
}

/* -- hostile lines ----------------------------------------------------------------------------- */

static void test_hostile_lines(void **state)
{
    struct sim *s = *state;
    static const char *const parts[] = {
        "link",     "hostb",    "\"host a\"[", "]",       "[99999999999]",
        "\"",       "\\",       "=",           "loss=",   "%",
        "at",       "1s",       "every",       "5ms",     "ping",
        "start",    "mlid=",    "0xc000",      "-1",      "18446744073709551616",
        "0x",       "\x80\xff", "\x1b[2J",     "show",    "key",
        "protect=", "#",        ":",           "cut",     "compare",
        "now",      "trap",     "256",         "service", "all",
        "dlid=",    "send",     "hosts",       "help",    "random",
        "1e9",
    };
    const guint32 seed = 99;
    g_autoptr(GRand) r = g_rand_new_with_seed(seed);
    print_message("seed %u\n", seed);
    for (unsigned i = 0; i < 20000; i++) {
        g_autoptr(GString) line = g_string_new(NULL), out = g_string_new(NULL);
        for (int j = g_rand_int_range(r, 0, 8); j > 0; j--) {
            g_string_append(line, parts[g_rand_int_range(r, 0, G_N_ELEMENTS(parts))]);
            if (g_rand_boolean(r))
                g_string_append_c(line, ' ');
        }
        bool ok = sim_script_check(s, line->str, out);
        assert_true(ok ? strcmp(out->str, "ok\n") == 0 : g_str_has_prefix(out->str, "error: "));
        assert_ptr_equal(strchr(out->str, '\n'), out->str + out->len - 1); /* one line */
        for (const unsigned char *c = (const unsigned char *)out->str; *c != '\0'; c++)
            assert_true(*c == '\n' || (*c >= 0x20 && *c < 0x7f));
    }
    assert_int_equal(s->script->pending.length, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test_setup_teardown(test_nearest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_times_and_shares, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ports, setup, teardown),
        cmocka_unit_test_setup_teardown(test_right, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(test_more, setup, teardown),
        cmocka_unit_test_setup_teardown(test_effects, setup, teardown),
        cmocka_unit_test_setup_teardown(test_traffic, setup, teardown),
        cmocka_unit_test_setup_teardown(test_show, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hostile_lines, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
