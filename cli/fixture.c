/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of cli/ share. */
#include "cli/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <glib/gstdio.h>
#include <sodium.h>

#define SWITCH_PORTS 4u
#define CHUNK_BYTES 200u /* so that a domain has several */

/* -- the view ---------------------------------------------------------------------------------- */

void fixture_port(uint8_t portinfo[64], unsigned state, unsigned physical)
{
    portinfo[31] = 2; /* 4x */
    portinfo[32] = (uint8_t)state;
    portinfo[33] = (uint8_t)(physical << 4);
    portinfo[35] = 4 << 4; /* QDR */
}

static void put_guid(uint8_t *at, uint64_t guid)
{
    for (unsigned i = 0; i < 8; i++)
        at[i] = (uint8_t)(guid >> (56 - 8 * i));
}

static void fill_nodeinfo(uint8_t nodeinfo[40], unsigned type, unsigned ports, uint64_t node,
                          uint64_t port_guid)
{
    nodeinfo[2] = (uint8_t)type;
    nodeinfo[3] = (uint8_t)ports;
    put_guid(nodeinfo + 4, node);
    put_guid(nodeinfo + 12, node);
    put_guid(nodeinfo + 20, port_guid);
}

static void add_switch(struct view *v, uint32_t domain, uint64_t guid, uint16_t lid, uint64_t peer,
                       uint64_t host)
{
    struct view_port ports[SWITCH_PORTS + 1] = {0};
    struct view_switch s = {
        .guid = guid, .nports = SWITCH_PORTS, .reachable = true, .ports = ports};
    snprintf(s.description, sizeof(s.description), "switch %c", (int)('a' + (guid >> 4) - 10));
    fill_nodeinfo(s.nodeinfo, 2, SWITCH_PORTS, guid, guid);
    for (unsigned i = 0; i <= SWITCH_PORTS; i++) {
        ports[i].have_info = true;
        fixture_port(ports[i].portinfo, i <= 2 ? 4 : 1, i <= 2 ? 5 : 2);
    }
    ports[0].portinfo[17] = (uint8_t)lid;
    ports[1].peer_guid = peer;
    ports[2].peer_guid = host;
    ports[1].peer_port = ports[2].peer_port = 1;
    Heddle__Delta d = HEDDLE__DELTA__INIT;
    view_delta_add_switch(&d, view_pack_switch(&s));
    view_apply(v, domain, &d);
    heddle__switch_record__free_unpacked(d.switches[0], NULL);
    g_free(d.switches);
}

static void add_host(struct view *v, uint32_t domain, uint64_t guid, uint16_t lid, uint64_t sw)
{
    struct view_end_port e = {.node_guid = guid,
                              .port_guid = guid + 1,
                              .switch_guid = sw,
                              .lid = lid,
                              .num = 1,
                              .switch_port = 2,
                              .present = true};
    snprintf(e.description, sizeof(e.description), "h%u", (unsigned)(guid >> 8));
    fill_nodeinfo(e.nodeinfo, 1, 1, guid, guid + 1);
    fixture_port(e.portinfo, 4, 5);
    e.portinfo[17] = (uint8_t)lid;
    Heddle__Delta d = HEDDLE__DELTA__INIT;
    view_delta_add_end_port(&d, view_pack_end_port(&e));
    view_apply(v, domain, &d);
    heddle__end_port_record__free_unpacked(d.end_ports[0], NULL);
    g_free(d.end_ports);
}

static void set_state(struct view *v, uint32_t domain)
{
    Heddle__Delta d = HEDDLE__DELTA__INIT;
    Heddle__DomainState state = HEDDLE__DOMAIN_STATE__INIT;
    state.phase = HEDDLE__DOMAIN_PHASE__PHASE_RUNNING;
    d.state = &state;
    view_apply(v, domain, &d);
    view_set_position(v, domain, 1, 7);
}

struct view *fixture_view(void)
{
    struct view *v = view_create();
    Heddle__Status *s = fixture_status();
    view_assign(v, s->assignment);
    heddle__status__free_unpacked(s, NULL);
    add_switch(v, 1, FIXTURE_A, 1, FIXTURE_B, FIXTURE_H1);
    add_switch(v, 2, FIXTURE_B, 2, FIXTURE_A, FIXTURE_H2);
    add_host(v, 1, FIXTURE_H1, 3, FIXTURE_A);
    add_host(v, 2, FIXTURE_H2, 4, FIXTURE_B);
    set_state(v, 1);
    set_state(v, 2);
    return v;
}

/* -- the status -------------------------------------------------------------------------------- */

static uint8_t digest[32] = {0xd1, 0x9e};

struct shard_fixture {
    Heddle__Member member;
    Heddle__ShardStatus status;
    Heddle__Heartbeat last;
    Heddle__DomainReport report, *reports[1];
    Heddle__DomainState state;
};

static void fill_shard(struct shard_fixture *x, unsigned number)
{
    static char *const names[] = {"", "shard-1", "shard-2"};
    static uint8_t no_key[32] = {1};
    x->member = (Heddle__Member)HEDDLE__MEMBER__INIT;
    x->status = (Heddle__ShardStatus)HEDDLE__SHARD_STATUS__INIT;
    x->last = (Heddle__Heartbeat)HEDDLE__HEARTBEAT__INIT;
    x->report = (Heddle__DomainReport)HEDDLE__DOMAIN_REPORT__INIT;
    x->state = (Heddle__DomainState)HEDDLE__DOMAIN_STATE__INIT;
    x->member.name = x->status.name = names[number];
    x->member.state = HEDDLE__MEMBER_STATE__MEMBER_LIVE;
    x->member.lid = 2 + number;
    x->member.software = "0.1.0";
    x->member.public_key = (ProtobufCBinaryData){32, no_key};
    x->member.bulk_endpoint = "tcp://127.0.0.1:9"; /* discard: nobody there */
    x->status.last = &x->last;
    x->status.last_seen_ms = 12;
    x->status.clock_offset_ms = -3;
    x->last.routing_digest = (ProtobufCBinaryData){32, digest};
    x->last.domains = x->reports;
    x->last.n_domains = 1;
    x->reports[0] = &x->report;
    x->report.domain = number;
    x->report.epoch = x->report.switches = x->report.end_ports = 1;
    x->report.state = &x->state;
    x->state.phase = HEDDLE__DOMAIN_PHASE__PHASE_RUNNING;
    x->state.programmed_digest = (ProtobufCBinaryData){32, digest};
    x->state.ports_with_link = x->state.ports_active = 2;
}

static Heddle__Domain domain_fixture(uint32_t id, char *name, char *owner, uint64_t *guid)
{
    Heddle__Domain d = HEDDLE__DOMAIN__INIT;
    d.id = id;
    d.name = name;
    d.owner = owner;
    d.epoch = 1;
    d.switches = guid;
    d.n_switches = guid != NULL;
    return d;
}

static void *copy(const ProtobufCMessage *m)
{
    size_t len = protobuf_c_message_get_packed_size(m);
    g_autofree uint8_t *bytes = g_malloc(len);
    protobuf_c_message_pack(m, bytes);
    return protobuf_c_message_unpack(m->descriptor, NULL, len, bytes);
}

Heddle__Status *fixture_status(void)
{
    uint64_t a = FIXTURE_A, b = FIXTURE_B;
    struct shard_fixture one, two;
    fill_shard(&one, 1);
    fill_shard(&two, 2);
    Heddle__Domain domains[] = {domain_fixture(0, "fabric", "shard-1", NULL),
                                domain_fixture(1, "pod-1", "shard-1", &a),
                                domain_fixture(2, "pod-2", "shard-2", &b)};
    Heddle__Domain *domain_list[] = {&domains[0], &domains[1], &domains[2]};
    Heddle__Member *members[] = {&one.member, &two.member};
    Heddle__ShardStatus *shards[] = {&one.status, &two.status};
    Heddle__TakeoverRecord takeover = HEDDLE__TAKEOVER_RECORD__INIT;
    Heddle__TakeoverRecord *takeovers[] = {&takeover};
    Heddle__Assignment assignment = HEDDLE__ASSIGNMENT__INIT;
    Heddle__Status s = HEDDLE__STATUS__INIT;
    takeover.domain = 2;
    takeover.epoch = 1;
    takeover.from = "shard-1";
    takeover.to = "shard-2";
    takeover.detect_ms = 141;
    takeover.at_realtime_ms = UINT64_C(1700000000123);
    takeover.reason = "dead";
    assignment.incarnation = 0x1234;
    assignment.revision = 9;
    assignment.members = members;
    assignment.domains = domain_list;
    assignment.n_members = 2;
    assignment.n_domains = 3;
    s.cluster = FIXTURE_CLUSTER;
    s.assignment = &assignment;
    s.shards = shards;
    s.n_shards = 2;
    s.takeovers = takeovers;
    s.n_takeovers = 1;
    s.converged = true;
    return copy(&s.base);
}

void fixture_set_text(char **field, const char *text)
{
    if (*field != NULL && *field != (char *)protobuf_c_empty_string)
        g_free(*field);
    *field = g_strdup(text);
}

void fixture_add_problem(Heddle__Status *s, const char *text)
{
    s->problems = g_renew(char *, s->problems, s->n_problems + 1);
    s->problems[s->n_problems++] = g_strdup(text);
}

void fixture_add_duplicate(Heddle__Status *s, unsigned shard, uint64_t guid)
{
    Heddle__Heartbeat *h = s->shards[shard]->last;
    h->duplicate_guids = g_renew(uint64_t, h->duplicate_guids, h->n_duplicate_guids + 1);
    h->duplicate_guids[h->n_duplicate_guids++] = guid;
}

/* -- somebody who answers ---------------------------------------------------------------------- */

struct fake {
    GThread *thread;
    GMutex lock;
    char name[64], *dir;
    struct key_pair *keys;
    struct link *link;
    Heddle__Status *status;
    const struct view *view;
    enum fake_mood mood;
    unsigned questions;
    gint stop; /* atomic */
};

static void send_body(struct fake *f, const struct link_event *to, uint32_t type, uint32_t domain,
                      ProtobufCMessage *body)
{
    struct envelope e = {.type = type, .domain = domain, .epoch = 1, .seq = 7, .body = body};
    g_autofree uint8_t *bytes = NULL;
    size_t len;
    g_strlcpy(e.cluster, f->mood == FAKE_OTHER_CLUSTER ? "other" : FIXTURE_CLUSTER,
              sizeof(e.cluster));
    g_strlcpy(e.sender, f->name, sizeof(e.sender));
    if (envelope_encode(&e, &bytes, &len) == 0)
        link_send(f->link, to->channel, to->peer, bytes, len);
}

static void send_chunk(struct fake *f, const struct link_event *to, uint32_t domain, uint32_t chunk,
                       bool last, Heddle__Delta *content)
{
    Heddle__Snapshot s = HEDDLE__SNAPSHOT__INIT;
    s.chunk = f->mood == FAKE_DISORDER ? chunk + 1 : chunk;
    s.last = last;
    s.content = content;
    send_body(f, to, HEDDLE__MESSAGE_TYPE__MSG_SNAPSHOT, domain, &s.base);
}

static void send_view(struct fake *f, const struct link_event *to)
{
    for (uint32_t domain = 1; domain <= 2; domain++) {
        GPtrArray *chunks = view_snapshot(f->view, domain, CHUNK_BYTES);
        for (guint i = 0; i < chunks->len; i++)
            send_chunk(f, to, domain, i, i + 1 == chunks->len, chunks->pdata[i]);
        g_ptr_array_free(chunks, TRUE);
    }
    send_chunk(f, to, UINT32_MAX, 0, true, NULL);
}

/* Answers with what was asked: from SOURCE through switch A to DESTINATION. */
static void send_route(struct fake *f, const struct link_event *to, const Heddle__RouteAsk *ask)
{
    Heddle__Route r = HEDDLE__ROUTE__INIT;
    Heddle__RouteHop hop = HEDDLE__ROUTE_HOP__INIT, *hops[] = {&hop};
    static uint8_t description[] = "a\x1b[2J";
    hop.guid = FIXTURE_A;
    hop.in_port = 2;
    hop.out_port = 1;
    hop.description = (ProtobufCBinaryData){sizeof(description) - 1, description};
    r.hops = hops;
    r.n_hops = 1;
    r.slid = (uint32_t)g_ascii_strtoull(ask->source, NULL, 10);
    r.dlid = (uint32_t)g_ascii_strtoull(ask->destination, NULL, 10);
    if (r.dlid == 0) {
        r.n_hops = 0;
        r.error = "no such destination";
    }
    send_body(f, to, HEDDLE__MESSAGE_TYPE__MSG_ROUTE, 0, &r.base);
}

static void answer(struct fake *f, const struct link_event *event)
{
    struct envelope e;
    char error[256];
    Heddle__Refused refused = HEDDLE__REFUSED__INIT;
    refused.reason = "not today";
    if (envelope_decode(event->bytes, event->len, &e, error, sizeof(error)) != 0)
        return;
    f->questions++;
    if (f->mood == FAKE_REFUSES)
        send_body(f, event, HEDDLE__MESSAGE_TYPE__MSG_ERROR, 0, &refused.base);
    else if (f->mood == FAKE_GARBAGE)
        link_send(f->link, event->channel, event->peer, (const uint8_t *)"nonsense", 8);
    else if (f->mood != FAKE_SILENT && e.type == HEDDLE__MESSAGE_TYPE__MSG_STATUS_ASK)
        send_body(f, event, HEDDLE__MESSAGE_TYPE__MSG_STATUS, 0, &f->status->base);
    else if (f->mood != FAKE_SILENT && e.type == HEDDLE__MESSAGE_TYPE__MSG_VIEW_ASK)
        send_view(f, event);
    else if (f->mood != FAKE_SILENT && e.type == HEDDLE__MESSAGE_TYPE__MSG_ROUTE_ASK)
        send_route(f, event, (const Heddle__RouteAsk *)(const void *)e.body);
    envelope_clear(&e);
}

static void *run(void *arg)
{
    struct fake *f = arg;
    while (!g_atomic_int_get(&f->stop)) {
        struct link_event event;
        g_mutex_lock(&f->lock);
        while (link_receive(f->link, &event) == 0)
            if (event.kind == LINK_MESSAGE)
                answer(f, &event);
        g_mutex_unlock(&f->lock);
        link_wait(f->link, NULL, 0, 20);
    }
    return NULL;
}

struct fake *fake_start(const char *dir, const char *name, const Heddle__Status *status,
                        const struct view *view, enum fake_mood mood)
{
    char error[512] = "";
    struct fake *f = g_new0(struct fake, 1);
    g_autofree char *path = g_strdup_printf("%s/%s.secret", dir, name);
    g_mutex_init(&f->lock);
    g_strlcpy(f->name, name, sizeof(f->name));
    f->dir = g_strdup(dir);
    f->mood = mood;
    f->view = view;
    f->status = status != NULL ? copy(&status->base) : NULL;
    key_generate(dir, name, KEY_CURVE, error, sizeof(error));
    assert_string_equal(error, "");
    assert_int_equal(key_load(path, KEY_CURVE, &f->keys, error, sizeof(error)), 0);
    struct link_config config = {.name = f->name,
                                 .cluster = FIXTURE_CLUSTER,
                                 .boot_id = randombytes_random(),
                                 .keys = f->keys};
    f->link = link_create(&config, error, sizeof(error));
    assert_non_null(f->link);
    for (unsigned c = LINK_CONTROL; c < LINK_CHANNELS; c++)
        assert_int_equal(link_bind(f->link, c, "tcp://127.0.0.1:0", error, sizeof(error)), 0);
    return f;
}

const char *fake_endpoint(const struct fake *f, enum link_channel channel)
{
    return link_bound_endpoint(f->link, channel);
}

const uint8_t *fake_public_key(const struct fake *f)
{
    return f->keys->public_key;
}

void fake_allow(struct fake *f, const char *name)
{
    uint8_t key[32];
    char error[512];
    g_autofree char *path = g_strdup_printf("%s/%s.public", f->dir, name);
    assert_int_equal(key_public_parse(path, key, error, sizeof(error)), 0);
    link_allow(f->link, name, key);
}

void fake_run(struct fake *f)
{
    f->thread = g_thread_new(f->name, run, f);
}

void fake_set_converged(struct fake *f, bool converged)
{
    g_mutex_lock(&f->lock);
    f->status->converged = converged;
    g_mutex_unlock(&f->lock);
}

unsigned fake_questions(struct fake *f)
{
    g_mutex_lock(&f->lock);
    unsigned n = f->questions;
    g_mutex_unlock(&f->lock);
    return n;
}

void fake_stop(struct fake *f)
{
    g_atomic_int_set(&f->stop, 1);
    if (f->thread != NULL)
        g_thread_join(f->thread);
    link_destroy(f->link);
    key_free(f->keys);
    if (f->status != NULL)
        heddle__status__free_unpacked(f->status, NULL);
    g_mutex_clear(&f->lock);
    g_free(f->dir);
    g_free(f);
}
