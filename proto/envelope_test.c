/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of messages: round trips, other versions, bounds of fields, damaged input. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <glib.h>

#include "proto/check.h"
#include "proto/envelope.h"

static uint8_t zeros[4096];

static struct envelope header(uint32_t type)
{
    struct envelope e = {.cluster = "c1",
                         .sender = "shard-1",
                         .incarnation = 0x1122334455667788,
                         .boot_id = 42,
                         .type = type,
                         .domain = 7,
                         .epoch = 1ull << 40,
                         .seq = 99};
    return e;
}

/* Seeds for envelope_fuzz: with HEDDLE_CORPUS=DIR each message of a round trip is kept there. */
static void keep_seed(uint32_t type, const uint8_t *bytes, size_t len)
{
    const char *dir = getenv("HEDDLE_CORPUS");
    if (!dir)
        return;
    g_autofree char *path = g_strdup_printf("%s/type-%u", dir, type);
    assert_true(g_file_set_contents(path, (const char *)bytes, (gssize)len, NULL));
}

static int decode_of(const struct envelope *e, struct envelope *out, char *error, size_t size)
{
    uint8_t *bytes;
    size_t len;
    assert_int_equal(envelope_encode(e, &bytes, &len), 0);
    keep_seed(e->type, bytes, len);
    int rc = envelope_decode(bytes, len, out, error, size);
    g_free(bytes);
    return rc;
}

/* Fills every scalar, string and bytes field of a message with a value in its bounds; repeated and
 * nested ones get one element, to full depth. Freed by protobuf_c_message_free_unpacked. */
static ProtobufCMessage *filled(const ProtobufCMessageDescriptor *d);

static size_t wanted_bytes(const char *field)
{
    static const struct {
        const char *field;
        size_t len;
    } sizes[] = {{"portinfo", 64},   {"nodeinfo", 40},  {"switchinfo", 20}, {"description", 64},
                 {"sealed_key", 80}, {"signature", 64}, {"grant", 300}};
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        if (strcmp(field, sizes[i].field) == 0)
            return sizes[i].len;
    return 32; /* keys and digests */
}

static void fill_value(const ProtobufCFieldDescriptor *f, void *value)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        *(ProtobufCMessage **)value = filled(f->descriptor);
        break;
    case PROTOBUF_C_TYPE_STRING:
        *(char **)value = g_strdup("name-\xc3\xa9");
        break;
    case PROTOBUF_C_TYPE_BYTES: {
        ProtobufCBinaryData *b = value;
        b->len = wanted_bytes(f->name);
        b->data = g_malloc(b->len);
        memset(b->data, 0xa5, b->len);
        break;
    }
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        *(uint64_t *)value = 0x8000000000000001;
        break;
    case PROTOBUF_C_TYPE_SINT32:
        *(int32_t *)value = -5;
        break;
    default: /* uint32, bool, enum: 1 is in the bounds of all */
        *(uint32_t *)value = 1;
        break;
    }
}

static ProtobufCMessage *filled(const ProtobufCMessageDescriptor *d)
{
    char *m = g_malloc0(d->sizeof_message);
    protobuf_c_message_init(d, m);
    for (unsigned i = 0; i < d->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &d->fields[i];
        if (f->label != PROTOBUF_C_LABEL_REPEATED) {
            fill_value(f, m + f->offset);
            continue;
        }
        *(size_t *)(m + f->quantifier_offset) = 1;
        *(void **)(m + f->offset) = g_malloc0(sizeof(ProtobufCBinaryData));
        fill_value(f, *(void **)(m + f->offset));
    }
    return (ProtobufCMessage *)m;
}

static void assert_same_body(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
    size_t n = protobuf_c_message_get_packed_size(a);
    assert_int_equal(protobuf_c_message_get_packed_size(b), n);
    g_autofree uint8_t *pa = g_malloc(n + 1), *pb = g_malloc(n + 1);
    protobuf_c_message_pack(a, pa);
    protobuf_c_message_pack(b, pb);
    assert_memory_equal(pa, pb, n);
}

static void each_type_survives_a_round_trip(void **state)
{
    unsigned known = 0;
    for (uint32_t type = 0; type < 256; type++) {
        const ProtobufCEnumValue *v =
            protobuf_c_enum_descriptor_get_value(&heddle__message_type__descriptor, (int)type);
        assert_int_equal(envelope_type_known(type), v != NULL && type != 0);
        if (!envelope_type_known(type))
            continue;
        const ProtobufCMessageDescriptor *d = envelope_body_descriptor(type);
        struct envelope e = header(type), out;
        char error[256];
        e.body = d ? filled(d) : NULL;
        int rc = decode_of(&e, &out, error, sizeof error);
        assert_string_equal(error, "");
        assert_int_equal(rc, 0);
        assert_string_equal(out.cluster, e.cluster);
        assert_string_equal(out.sender, e.sender);
        assert_true(out.incarnation == e.incarnation && out.boot_id == e.boot_id);
        assert_int_equal(out.type, type);
        assert_true(out.domain == e.domain && out.epoch == e.epoch && out.seq == e.seq);
        assert_int_equal(out.body != NULL, d != NULL);
        if (d) {
            assert_ptr_equal(out.body->descriptor, d);
            assert_same_body(e.body, out.body);
        }
        envelope_clear(&out);
        envelope_clear(&out); /* twice is allowed */
        envelope_clear(&e);
        known++;
    }
    assert_int_equal(known, heddle__message_type__descriptor.n_values - 1);
}

static void an_empty_body_is_a_message_of_defaults(void **state)
{
    struct envelope e = header(HEDDLE__MESSAGE_TYPE__MSG_HELLO), out;
    char error[256];
    assert_int_equal(decode_of(&e, &out, error, sizeof error), 0);
    assert_non_null(out.body);
    assert_string_equal(((Heddle__Hello *)out.body)->software, "");
    envelope_clear(&out);
}

static uint8_t *pack_wire(const Heddle__Envelope *w, size_t *len)
{
    uint8_t *bytes = g_malloc(heddle__envelope__get_packed_size(w) + 16);
    *len = heddle__envelope__pack(w, bytes);
    return bytes;
}

static void another_major_is_refused_with_a_reason(void **state)
{
    Heddle__Envelope w = HEDDLE__ENVELOPE__INIT;
    struct envelope out;
    char error[256];
    size_t len;
    w.version = PROTO_MAJOR + 1;
    w.type = HEDDLE__MESSAGE_TYPE__MSG_PULL;
    g_autofree uint8_t *bytes = pack_wire(&w, &len);
    assert_int_equal(envelope_decode(bytes, len, &out, error, sizeof error), EPROTO);
    assert_string_equal(error, "the peer speaks protocol version 2, this process speaks 1: "
                               "run the same major version of heddle everywhere");
    assert_null(out.body);
    assert_int_equal(envelope_decode(bytes, 0, &out, error, sizeof error), EBADMSG);
}

static void an_unknown_type_keeps_its_header(void **state)
{
    struct envelope e = header(200), out;
    char error[256];
    assert_int_equal(decode_of(&e, &out, error, sizeof error), EPROTONOSUPPORT);
    assert_string_equal(error, "unknown message type 200");
    assert_string_equal(out.sender, "shard-1");
    assert_null(out.body);
    e.type = HEDDLE__MESSAGE_TYPE__MSG_NONE;
    assert_int_equal(decode_of(&e, &out, error, sizeof error), EPROTONOSUPPORT);
}

static void unknown_fields_are_skipped(void **state)
{
    /* field 1000 (varint) and field 1001 (bytes), as a later minor version may add them */
    static const uint8_t later[] = {0xc0, 0x3e, 0x05, 0xca, 0x3e, 0x02, 0xff, 0xff};
    Heddle__Pull pull = HEDDLE__PULL__INIT;
    uint8_t body[64];
    pull.from_seq = 12;
    size_t n = heddle__pull__pack(&pull, body);
    memcpy(body + n, later, sizeof later);
    Heddle__Envelope w = HEDDLE__ENVELOPE__INIT;
    w.version = PROTO_MAJOR;
    w.type = HEDDLE__MESSAGE_TYPE__MSG_PULL;
    w.body.data = body;
    w.body.len = n + sizeof later;
    size_t len;
    g_autofree uint8_t *bytes = pack_wire(&w, &len);
    memcpy(bytes + len, later, sizeof later);
    struct envelope out;
    char error[256];
    assert_int_equal(envelope_decode(bytes, len + sizeof later, &out, error, sizeof error), 0);
    assert_true(((Heddle__Pull *)out.body)->from_seq == 12);
    envelope_clear(&out);
}

/* Found by the fuzzer: it would be read, kept as unknown, and be unreadable when sent on. */
static void a_field_of_number_0_is_refused(void **state)
{
    static const uint8_t zero_in_two_bytes[] = {0x80, 0x00, 0x05};
    ProtobufCMessage *m;
    char error[256];
    assert_int_equal(check_unpack(&heddle__pull__descriptor, zero_in_two_bytes,
                                  sizeof zero_in_two_bytes, &m, error, sizeof error),
                     EINVAL);
    assert_string_equal(error, "Pull: a field of number 0");
}

/* Decodes a Delta that is made of one switch with one port, and one end port. */
struct records {
    Heddle__PortRecord port, *ports[1];
    Heddle__SwitchRecord sw, *switches[1];
    Heddle__EndPortRecord end, *ends[1];
    Heddle__DomainState domain;
    Heddle__Delta delta;
};

static void make_records(struct records *r)
{
    heddle__port_record__init(&r->port);
    heddle__switch_record__init(&r->sw);
    heddle__end_port_record__init(&r->end);
    heddle__domain_state__init(&r->domain);
    heddle__delta__init(&r->delta);
    r->ports[0] = &r->port;
    r->sw.ports = r->ports;
    r->sw.n_ports = 1;
    r->switches[0] = &r->sw;
    r->delta.switches = r->switches;
    r->delta.n_switches = 1;
    r->ends[0] = &r->end;
    r->delta.end_ports = r->ends;
    r->delta.n_end_ports = 1;
    r->delta.state = &r->domain;
}

static int decode_delta(struct records *r, char *error, size_t size)
{
    struct envelope e = header(HEDDLE__MESSAGE_TYPE__MSG_DELTA), out;
    e.body = &r->delta.base;
    int rc = decode_of(&e, &out, error, size);
    envelope_clear(&out);
    return rc;
}

static void raw_attributes_have_their_size(void **state)
{
    struct records r;
    make_records(&r);
    const struct {
        ProtobufCBinaryData *field;
        size_t allowed[4]; /* ends with 0, which is always allowed */
        bool up_to;
    } cases[] = {
        {&r.port.portinfo, {64}, false},
        {&r.end.portinfo, {64}, false},
        {&r.sw.nodeinfo, {40}, false},
        {&r.end.nodeinfo, {40}, false},
        {&r.sw.switchinfo, {20}, false},
        {&r.sw.description, {64}, true},
        {&r.end.description, {64}, true},
        {&r.domain.intent_digest, {32}, false},
        {&r.domain.programmed_digest, {32}, false},
        {&r.delta.grant, {1024}, true},
    };
    char error[256];
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        size_t allowed = cases[i].allowed[0];
        for (size_t len = 0; len <= allowed + 2; len++) {
            cases[i].field->data = zeros;
            cases[i].field->len = len;
            bool ok = len == 0 || len == allowed || (cases[i].up_to && len < allowed);
            assert_int_equal(decode_delta(&r, error, sizeof error), ok ? 0 : EINVAL);
        }
        assert_non_null(strstr(error, "bytes, allowed are"));
        cases[i].field->len = 0;
    }
}

static void numbers_have_their_range(void **state)
{
    struct records r;
    char error[256];
    make_records(&r);
    r.end.lid = 0x10000;
    assert_int_equal(decode_delta(&r, error, sizeof error), EINVAL);
    assert_string_equal(error, "field EndPortRecord.lid: 65536 is above 65535");
    r.end.lid = 0xffff;
    r.end.lmc = 8;
    assert_int_equal(decode_delta(&r, error, sizeof error), EINVAL);
    r.end.lmc = 7;
    r.port.num = 256;
    assert_int_equal(decode_delta(&r, error, sizeof error), EINVAL);
    r.port.num = 255;
    r.domain.phase = 77;
    assert_int_equal(decode_delta(&r, error, sizeof error), EINVAL);
    assert_string_equal(error, "field DomainState.phase: unknown value");
    r.domain.phase = HEDDLE__DOMAIN_PHASE__PHASE_RUNNING;
    assert_int_equal(decode_delta(&r, error, sizeof error), 0);
}

static void arrays_that_belong_together_have_one_length(void **state)
{
    struct records r;
    char error[256];
    uint32_t two[2] = {1, 2};
    Heddle__LeafNumbers numbers = HEDDLE__LEAF_NUMBERS__INIT, *list[1] = {&numbers};
    make_records(&r);
    r.delta.numbers = list;
    r.delta.n_numbers = 1;
    numbers.ports = numbers.numbers = two;
    numbers.n_ports = numbers.n_numbers = 2;
    assert_int_equal(decode_delta(&r, error, sizeof error), 0);
    numbers.n_numbers = 1;
    assert_int_equal(decode_delta(&r, error, sizeof error), EINVAL);

    Heddle__TopologySwitch t = HEDDLE__TOPOLOGY_SWITCH__INIT;
    uint64_t guids[2] = {1, 2};
    t.neighbours = guids;
    t.n_neighbours = 2;
    t.ports = t.peer_ports = two;
    t.n_ports = t.n_peer_ports = 2;
    assert_int_equal(check_message(&t.base, error, sizeof error), 0);
    t.n_peer_ports = 1;
    assert_int_equal(check_message(&t.base, error, sizeof error), EINVAL);
}

static int decode_owner(const char *owner)
{
    struct envelope e = header(HEDDLE__MESSAGE_TYPE__MSG_PROBE), out;
    Heddle__Probe p = HEDDLE__PROBE__INIT;
    char error[256];
    p.suspect = (char *)owner;
    e.body = &p.base;
    int rc = decode_of(&e, &out, error, sizeof error);
    envelope_clear(&out);
    return rc;
}

static void names_are_short_and_printable(void **state)
{
    char name[80];
    memset(name, 'n', sizeof name);
    name[PROTO_MAX_NAME] = 0;
    assert_int_equal(decode_owner(name), 0);
    name[PROTO_MAX_NAME] = 'n';
    name[PROTO_MAX_NAME + 1] = 0;
    assert_int_equal(decode_owner(name), EINVAL);
    assert_int_equal(decode_owner(""), 0);
    assert_int_equal(decode_owner("rack 7, \xc3\xbc"), 0);
    assert_int_equal(decode_owner("a\xff"), EINVAL);
    assert_int_equal(decode_owner("a\nb"), EINVAL);
    assert_int_equal(decode_owner("a\x1b[2J"), EINVAL);
    assert_int_equal(decode_owner("a\xc2\x9b"), EINVAL); /* a C1 control */

    Heddle__Envelope w = HEDDLE__ENVELOPE__INIT;
    struct envelope out;
    char error[256];
    size_t len;
    w.version = PROTO_MAJOR;
    w.type = HEDDLE__MESSAGE_TYPE__MSG_PULL;
    w.sender = name;
    g_autofree uint8_t *bytes = pack_wire(&w, &len);
    assert_int_equal(envelope_decode(bytes, len, &out, error, sizeof error), EINVAL);
    assert_string_equal(error, "field Envelope.sender: not a valid name");
}

static void texts_are_utf8_and_bounded(void **state)
{
    Heddle__Refused r = HEDDLE__REFUSED__INIT;
    char error[256], *text = g_strnfill(PROTO_MAX_TEXT + 1, 't');
    r.reason = text;
    assert_int_equal(check_message(&r.base, error, sizeof error), EINVAL);
    text[PROTO_MAX_TEXT] = 0;
    assert_int_equal(check_message(&r.base, error, sizeof error), 0);
    text[0] = (char)0xff;
    assert_int_equal(check_message(&r.base, error, sizeof error), EINVAL);
    g_free(text);
}

static void collect_descriptors(const ProtobufCMessageDescriptor *d, GHashTable *seen)
{
    if (!g_hash_table_add(seen, (gpointer)d))
        return;
    for (unsigned i = 0; i < d->n_fields; i++)
        if (d->fields[i].type == PROTOBUF_C_TYPE_MESSAGE)
            collect_descriptors(d->fields[i].descriptor, seen);
}

/* A bytes field without a rule is refused when it is filled; so each must have one. */
static void no_bytes_field_lacks_a_rule(void **state)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    for (uint32_t type = 0; type < 256; type++)
        if (envelope_body_descriptor(type))
            collect_descriptors(envelope_body_descriptor(type), seen);
    collect_descriptors(&heddle__envelope__descriptor, seen);
    collect_descriptors(&heddle__grant__descriptor, seen);
    GHashTableIter it;
    gpointer key;
    char error[256] = "";
    g_hash_table_iter_init(&it, seen);
    while (g_hash_table_iter_next(&it, &key, NULL)) {
        ProtobufCMessage *m = filled(key);
        check_message(m, error, sizeof error);
        assert_string_equal(error, "");
        protobuf_c_message_free_unpacked(m, NULL);
    }
    assert_true(g_hash_table_size(seen) > 25);
}

static void too_large_is_refused_both_ways(void **state)
{
    struct records r;
    make_records(&r);
    uint32_t n = PROTO_MAX_MESSAGE / 8;
    r.delta.removed_switches = g_new0(uint64_t, n);
    r.delta.n_removed_switches = n;
    struct envelope e = header(HEDDLE__MESSAGE_TYPE__MSG_DELTA), out;
    uint8_t *bytes;
    size_t len;
    char error[256];
    e.body = &r.delta.base;
    assert_int_equal(envelope_encode(&e, &bytes, &len), EMSGSIZE);
    assert_null(bytes);
    r.delta.n_removed_switches = n - 100;
    assert_int_equal(decode_of(&e, &out, error, sizeof error), 0);
    envelope_clear(&out);
    g_free(r.delta.removed_switches);
    bytes = g_malloc0(PROTO_MAX_MESSAGE + 1);
    assert_int_equal(envelope_decode(bytes, PROTO_MAX_MESSAGE + 1, &out, error, sizeof error),
                     EBADMSG);
    g_free(bytes);
}

/* Two bytes a piece on the wire, more than a hundred in memory. */
static void a_small_message_cannot_claim_much_memory(void **state)
{
    enum { PIECES = 1000000 };
    g_autofree uint8_t *body = g_malloc(2 * PIECES);
    for (int i = 0; i < PIECES; i++) {
        body[2 * i] = 0x12; /* Delta.end_ports, empty */
        body[2 * i + 1] = 0;
    }
    ProtobufCMessage *m;
    char error[256];
    assert_int_equal(
        check_unpack(&heddle__delta__descriptor, body, 2 * PIECES, &m, error, sizeof error),
        EBADMSG);
    assert_null(m);
}

/* The densest honest messages fit in the budget: ports that are only a number. */
static void dense_honest_messages_are_read(void **state)
{
    enum { PORTS = 60000 };
    Heddle__SwitchRecord sw = HEDDLE__SWITCH_RECORD__INIT;
    Heddle__PortRecord port = HEDDLE__PORT_RECORD__INIT;
    Heddle__PeerHello hello = HEDDLE__PEER_HELLO__INIT;
    Heddle__Position position = HEDDLE__POSITION__INIT;
    ProtobufCMessage *dense[] = {&sw.base, &hello.base}, *m;
    char error[256] = "";
    port.num = position.domain = 1;
    sw.ports = g_new(Heddle__PortRecord *, PORTS);
    hello.positions = g_new(Heddle__Position *, PORTS);
    sw.n_ports = hello.n_positions = PORTS;
    for (int i = 0; i < PORTS; i++) {
        sw.ports[i] = &port;
        hello.positions[i] = &position;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(dense); i++) {
        size_t len = protobuf_c_message_get_packed_size(dense[i]);
        g_autofree uint8_t *bytes = g_malloc(len);
        protobuf_c_message_pack(dense[i], bytes);
        check_unpack(dense[i]->descriptor, bytes, len, &m, error, sizeof error);
        assert_string_equal(error, "");
        protobuf_c_message_free_unpacked(m, NULL);
    }
    g_free(sw.ports);
    g_free(hello.positions);
}

static void try_decode(const uint8_t *bytes, size_t len)
{
    /* an exact copy, so that a sanitizer sees any read beyond it */
    g_autofree uint8_t *copy = g_malloc(len + (len == 0));
    memcpy(copy, bytes, len);
    struct envelope out;
    char error[64];
    int rc = envelope_decode(copy, len, &out, error, sizeof error);
    assert_true(rc == 0 || rc == EBADMSG || rc == EPROTO || rc == EINVAL || rc == EPROTONOSUPPORT);
    assert_true((rc == 0) == (error[0] == 0));
    assert_true(rc == 0 || !out.body);
    envelope_clear(&out);
}

static void damaged_messages_never_crash(void **state)
{
    const char *given = getenv("HEDDLE_SEED");
    guint32 seed = given ? (guint32)strtoul(given, NULL, 0) : g_random_int();
    print_message("replay with HEDDLE_SEED=%u\n", seed);
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    for (uint32_t type = 1; type < 128; type++) {
        if (!envelope_type_known(type))
            continue;
        struct envelope e = header(type);
        uint8_t *bytes;
        size_t len;
        e.body = envelope_body_descriptor(type) ? filled(envelope_body_descriptor(type)) : NULL;
        assert_int_equal(envelope_encode(&e, &bytes, &len), 0);
        for (size_t cut = 0; cut < len; cut++)
            try_decode(bytes, cut);
        for (size_t bit = 0; bit < 8 * MIN(len, 600u); bit++) {
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            try_decode(bytes, len);
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        for (int round = 0; round < 200; round++) {
            g_autofree uint8_t *copy = g_memdup2(bytes, len);
            for (int k = g_rand_int_range(rand, 1, 8); k; k--)
                copy[g_rand_int_range(rand, 0, (gint32)len)] = (uint8_t)g_rand_int(rand);
            try_decode(copy, len);
        }
        g_free(bytes);
        envelope_clear(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_survives_a_round_trip),
        cmocka_unit_test(an_empty_body_is_a_message_of_defaults),
        cmocka_unit_test(another_major_is_refused_with_a_reason),
        cmocka_unit_test(an_unknown_type_keeps_its_header),
        cmocka_unit_test(unknown_fields_are_skipped),
        cmocka_unit_test(a_field_of_number_0_is_refused),
        cmocka_unit_test(raw_attributes_have_their_size),
        cmocka_unit_test(numbers_have_their_range),
        cmocka_unit_test(arrays_that_belong_together_have_one_length),
        cmocka_unit_test(names_are_short_and_printable),
        cmocka_unit_test(texts_are_utf8_and_bounded),
        cmocka_unit_test(no_bytes_field_lacks_a_rule),
        cmocka_unit_test(too_large_is_refused_both_ways),
        cmocka_unit_test(a_small_message_cannot_claim_much_memory),
        cmocka_unit_test(dense_honest_messages_are_read),
        cmocka_unit_test(damaged_messages_never_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
