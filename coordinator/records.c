/* SPDX-License-Identifier: BSD-2-Clause */
/* Helpers over the generated records. */
#include "coordinator/records.h"

#include <stdlib.h>
#include <string.h>

void *record_copy(const void *message)
{
    const ProtobufCMessage *m = message;
    size_t len = protobuf_c_message_get_packed_size(m);
    g_autofree uint8_t *bytes = g_malloc(len + 1);
    protobuf_c_message_pack(m, bytes);
    ProtobufCMessage *copy = protobuf_c_message_unpack(m->descriptor, NULL, len, bytes);
    g_assert(copy != NULL); /* what was packed a line ago can be unpacked */
    return copy;
}

void record_set_string(char **field, const char *value)
{
    if (*field == value)
        return;
    char *copy = g_strdup(value ? value : "");
    if (*field != NULL && *field != protobuf_c_empty_string)
        g_free(*field);
    *field = copy;
}

void record_set_bytes(ProtobufCBinaryData *field, const void *bytes, size_t len)
{
    uint8_t *copy = len ? g_memdup2(bytes, len) : NULL;
    g_free(field->data);
    field->data = copy;
    field->len = len;
}

void record_append(size_t *count, void *list, void *item)
{
    void **items = g_realloc_n(*(void **)list, *count + 1, sizeof(void *));
    items[(*count)++] = item;
    *(void ***)list = items;
}

int record_compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

Heddle__Member *assignment_member(const Heddle__Assignment *a, const char *name)
{
    for (size_t i = 0; i < a->n_members; i++)
        if (strcmp(a->members[i]->name, name) == 0)
            return a->members[i];
    return NULL;
}

Heddle__Domain *assignment_domain(const Heddle__Assignment *a, uint32_t id)
{
    for (size_t i = 0; i < a->n_domains; i++)
        if (a->domains[i]->id == id)
            return a->domains[i];
    return NULL;
}

Heddle__Domain *assignment_domain_named(const Heddle__Assignment *a, const char *name)
{
    for (size_t i = 0; i < a->n_domains; i++)
        if (strcmp(a->domains[i]->name, name) == 0)
            return a->domains[i];
    return NULL;
}

Heddle__Member *assignment_add_member(Heddle__Assignment *a, const char *name)
{
    Heddle__Member *m = g_new(Heddle__Member, 1);
    heddle__member__init(m);
    record_set_string(&m->name, name);
    record_append(&a->n_members, &a->members, m);
    size_t i = a->n_members - 1;
    for (; i > 0 && strcmp(a->members[i - 1]->name, name) > 0; i--)
        a->members[i] = a->members[i - 1];
    a->members[i] = m;
    return m;
}

void assignment_remove_member(Heddle__Assignment *a, const char *name)
{
    for (size_t i = 0; i < a->n_members; i++) {
        if (strcmp(a->members[i]->name, name) != 0)
            continue;
        heddle__member__free_unpacked(a->members[i], NULL);
        memmove(&a->members[i], &a->members[i + 1], (a->n_members - i - 1) * sizeof(a->members[0]));
        a->n_members--;
        return;
    }
}

Heddle__Domain *assignment_add_domain(Heddle__Assignment *a, uint32_t id, const char *name)
{
    Heddle__Domain *d = g_new(Heddle__Domain, 1);
    heddle__domain__init(d);
    d->id = id;
    record_set_string(&d->name, name);
    record_append(&a->n_domains, &a->domains, d);
    size_t i = a->n_domains - 1;
    for (; i > 0 && a->domains[i - 1]->id > id; i--)
        a->domains[i] = a->domains[i - 1];
    a->domains[i] = d;
    return d;
}

uint32_t assignment_next_domain(const Heddle__Assignment *a)
{
    uint32_t next = 1;
    for (size_t i = 0; i < a->n_domains; i++)
        next = MAX(next, a->domains[i]->id + 1);
    return next;
}

bool domain_has_switch(const Heddle__Domain *d, uint64_t guid)
{
    return d->n_switches &&
           bsearch(&guid, d->switches, d->n_switches, sizeof(uint64_t), record_compare_u64) != NULL;
}

bool domain_add_switch(Heddle__Domain *d, uint64_t guid)
{
    if (domain_has_switch(d, guid))
        return false;
    d->switches = g_renew(uint64_t, d->switches, d->n_switches + 1);
    size_t i = d->n_switches++;
    for (; i > 0 && d->switches[i - 1] > guid; i--)
        d->switches[i] = d->switches[i - 1];
    d->switches[i] = guid;
    return true;
}

Heddle__Member *domain_live_owner(const Heddle__Assignment *a, const Heddle__Domain *d)
{
    Heddle__Member *m = *d->owner ? assignment_member(a, d->owner) : NULL;
    if (m == NULL || m->state != HEDDLE__MEMBER_STATE__MEMBER_LIVE ||
        m->boot_id != d->owner_boot_id)
        return NULL;
    return m;
}

uint32_t domain_pool_lids(const Heddle__Domain *d)
{
    uint32_t lids = 0;
    for (size_t i = 0; i < d->n_pools; i++)
        lids += d->pools[i]->count;
    return lids;
}
