#include "common/wire/wire.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/parts/verdict.h"

#include <stdlib.h>
#include <string.h>

/* "TQ1\0" read as little-endian */
static const uint32_t magic = 0x00315154;

typedef enum payload_kind { NONE, PROTO, FLOATS } payload_kind;

/* roles as bits, for the grammar table */
enum { M = 1 << ROLE_MASTER, W = 1 << ROLE_WORKER, P = 1 << ROLE_PS };

static const struct {
    const char *name;
    int from, to;
    payload_kind payload;
} grammar[WIRE_TYPE_END] = {
#define MESSAGE(n, number, f, t, phase, p) [number] = {.name = #n, .from = f, .to = t, .payload = p},
#include "proto/messages.def"
#undef MESSAGE
};

const char *wire_type_name(wire_type type)
{
    return type > 0 && type < WIRE_TYPE_END && grammar[type].name ? grammar[type].name : "?";
}

bool wire_may_say(wire_type type, role from, role to)
{
    return type > 0 && type < WIRE_TYPE_END && grammar[type].from & 1 << from &&
           grammar[type].to & 1 << to;
}

static void put(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

void wire_head_encode(const wire_head *h, unsigned char ret[NET_HEAD])
{
    memset(ret, 0, NET_HEAD);
    put(ret, magic, 4);
    put(ret + 4, (uint64_t)h->type, 1);
    put(ret + 5, h->flags, 1);
    put(ret + 6, (uint64_t)h->encoding, 1);
    put(ret + 8, h->job_id, 8);
    put(ret + 16, h->era, 4);
    put(ret + 20, h->incarnation, 4);
    put(ret + 24, (uint64_t)h->part, 4);
    put(ret + 28, h->slots, 4);
    put(ret + 32, (uint64_t)h->step, 8);
    put(ret + 40, h->node.index, 4);
    put(ret + 44, h->node.level, 1);
    put(ret + 48, h->bytes, 8);
    put(ret + 56, h->tag, 8);
}

/* A small payload can unpack to forty times its size. Only what describes a whole model, or carries
 * data, may be large; whoever may say that is known by then. */
static size_t proto_limit(wire_type type)
{
    switch (type) {
    case WIRE_DECLARE:
    case WIRE_SETUP:
    case WIRE_VIEW:
    case WIRE_SHARD:
    case WIRE_HISTOGRAM:
        return NET_PAYLOAD_MAX;
    default:
        return WIRE_SMALL_MAX;
    }
}

static bool is_count(uint64_t tag)
{
    return tag <= INT64_MAX;
}

static bool is_scale(uint64_t tag)
{
    loss_scale scale;
    return loss_scale_unpack(tag, &scale);
}

/* Places of a head, which a message has or has not. */
enum {
    PART = 1,
    STEP = 2,
    SLOTS = 4,
    NODE_LEVEL = 8,
    NODE_INDEX = 16,
    TAG = 32,
    AGAIN = 64,
    PLACES = 7,
    NODE = NODE_LEVEL | NODE_INDEX
};

static uint64_t wire_value_at(const wire_head *h, int place)
{
    switch (place) {
    case PART:
        return (uint64_t)h->part;
    case STEP:
        return (uint64_t)h->step;
    case SLOTS:
        return h->slots;
    case NODE_LEVEL:
        return h->node.level;
    case NODE_INDEX:
        return h->node.index;
    case TAG:
        return h->tag;
    default:
        return h->flags & WIRE_AGAIN;
    }
}

/* Of the places that are not empty those that say what the message's rows let them say. */
static int places_explained(const wire_head *h)
{
    int fits = 0;
#define IS_COUNT(value) is_count(value)
#define IS_INDEX(value) is_count(value)
#define IS_NUMBER(value) true
#define IS_BOOL(value) ((value) <= 1)
#define IS_SCALE(value) is_scale(value)
#define IS_VERDICT(value) verdict_is_packed(value)
#define MESSAGE(name, number, from, to, phase, payload)
#define PLAIN(message, places) fits |= h->type == WIRE_##message ? (places) : 0;
#define FIELD(message, field, place, kind)                                                         \
    fits |= h->type == WIRE_##message && IS_##kind(wire_value_at(h, place)) ? (place) : 0;
#include "proto/messages.def"
#undef MESSAGE
    return fits;
}

static status check_fields(const wire_head *h, error *err)
{
    static const char *const names[PLACES] = {"part",       "step", "number of slots", "node's level",
                                              "node's index", "tag",  "flag AGAIN"};
    int fits = places_explained(h);
    for (int i = 0; i < PLACES; i++)
        if (wire_value_at(h, 1 << i) && !(fits & 1 << i))
            return FAIL(err, E_PROTOCOL, "%s: its %s cannot be %llu", wire_type_name(h->type), names[i],
                        (unsigned long long)wire_value_at(h, 1 << i));
    return OK;
}

static status check_payload(const wire_head *h, size_t payload_bytes, error *err)
{
    const char *name = wire_type_name(h->type);
    if (h->bytes != payload_bytes)
        return FAIL(err, E_PROTOCOL, "%s: the head says %llu bytes of payload, %zu came", name,
                    (unsigned long long)h->bytes, payload_bytes);
    switch (grammar[h->type].payload) {
    case NONE:
        if (payload_bytes)
            return FAIL(err, E_PROTOCOL, "%s: a payload where none belongs", name);
        break;
    case FLOATS:
        if (!payload_bytes || payload_bytes % sizeof(float) || payload_bytes > PART_WHOLE_MAX * sizeof(float))
            return FAIL(err, E_PROTOCOL, "%s: %zu bytes are not a part", name, payload_bytes);
        break;
    case PROTO:
        if (payload_bytes > proto_limit(h->type))
            return FAIL(err, E_PROTOCOL, "%s: %zu bytes are too many", name, payload_bytes);
        break;
    }
    return OK;
}

status wire_head_decode(const unsigned char head[NET_HEAD], size_t payload_bytes, wire_head *ret,
                        error *err)
{
    if (get(head, 4) != magic)
        return FAIL(err, E_PROTOCOL, "not a message of ours");
    wire_head h = {
        .type = (wire_type)head[4],
        .flags = head[5],
        .encoding = (wire_encoding)head[6],
        .job_id = get(head + 8, 8),
        .era = (uint32_t)get(head + 16, 4),
        .incarnation = (uint32_t)get(head + 20, 4),
        .part = (int32_t)get(head + 24, 4),
        .slots = (uint32_t)get(head + 28, 4),
        .step = (int64_t)get(head + 32, 8),
        .node = {.level = head[44], .index = (uint32_t)get(head + 40, 4)},
        .bytes = get(head + 48, 8),
        .tag = get(head + 56, 8),
    };
    if (strcmp(wire_type_name(h.type), "?") == 0)
        return FAIL(err, E_PROTOCOL, "no message has type %u", head[4]);
    if (h.flags & ~(WIRE_LENT | WIRE_AGAIN) || h.encoding != WIRE_F32 || head[7] || get(head + 45, 3))
        return FAIL(err, E_PROTOCOL, "%s: flags or reserved bytes are set", wire_type_name(h.type));
    if (h.part < 0 || h.step < 0 || h.node.level > 31)
        return FAIL(err, E_PROTOCOL, "%s: part, step or node out of range", wire_type_name(h.type));
    TRY(check_fields(&h, err));
    TRY(check_payload(&h, payload_bytes, err));
    *ret = h;
    return OK;
}

void wire_pack(const ProtobufCMessage *m, buf *ret)
{
    buf_clear(ret);
    buf_reserve(ret, protobuf_c_message_get_packed_size(m));
    ret->size = protobuf_c_message_pack(m, (uint8_t *)ret->data);
}

static const ProtobufCMessageDescriptor *descriptor_of(wire_type type)
{
    switch (type) {
    case WIRE_HELLO:
        return &wire__hello__descriptor;
    case WIRE_WELCOME:
        return &wire__welcome__descriptor;
    case WIRE_REFUSED:
        return &wire__refused__descriptor;
    case WIRE_DECLARE:
        return &wire__declaration__descriptor;
    case WIRE_SETUP:
        return &wire__setup__descriptor;
    case WIRE_READY:
        return &wire__ready__descriptor;
    case WIRE_VIEW:
        return &wire__view__descriptor;
    case WIRE_REPORT:
        return &wire__report__descriptor;
    case WIRE_DELIVERED:
        return &wire__delivered__descriptor;
    case WIRE_STATUS:
        return &wire__status__descriptor;
    case WIRE_NORM:
        return &wire__norm__descriptor;
    case WIRE_VERDICT:
        return &wire__verdict__descriptor;
    case WIRE_CUT:
        return &wire__cut__descriptor;
    case WIRE_CUT_DONE:
        return &wire__cut_done__descriptor;
    case WIRE_CUT_LATE:
        return &wire__cut_late__descriptor;
    case WIRE_SHARD:
        return &wire__shard__descriptor;
    case WIRE_HISTOGRAM:
        return &wire__histogram__descriptor;
    case WIRE_HEARTBEAT:
        return &wire__heartbeat__descriptor;
    case WIRE_ALIVE:
        return &wire__alive__descriptor;
    case WIRE_TRACE:
        return &wire__trace__descriptor;
    case WIRE_FAILED:
    case WIRE_STOP:
        return &wire__stop__descriptor;
    default:
        return NULL;
    }
}

/* Is there a field, at any depth, that the descriptors do not have? Both sides speak one version of
 * the protocol, so such a message is none of ours. */
static bool has_unknown(const ProtobufCMessage *m)
{
    if (m->n_unknown_fields)
        return true;
    for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
        if (f->type != PROTOBUF_C_TYPE_MESSAGE)
            continue;
        const char *at = (const char *)m + f->offset;
        bool is_list = f->label == PROTOBUF_C_LABEL_REPEATED;
        size_t n = is_list ? *(const size_t *)(const void *)((const char *)m + f->quantifier_offset) : 1;
        const ProtobufCMessage *const *items = (const ProtobufCMessage *const *)(const void *)at;
        if (is_list)
            items = *(const ProtobufCMessage *const *const *)(const void *)at;
        for (size_t k = 0; k < n; k++)
            if (items[k] && has_unknown(items[k]))
                return true;
    }
    return false;
}

status wire_unpack(wire_type type, const void *data, size_t bytes, ProtobufCMessage **ret, error *err)
{
    const ProtobufCMessageDescriptor *descriptor = descriptor_of(type);
    if (!descriptor)
        return FAIL(err, E_PROTOCOL, "%s carries no fields", wire_type_name(type));
    ProtobufCMessage *m = protobuf_c_message_unpack(descriptor, NULL, bytes, data);
    if (!m)
        return FAIL(err, E_PROTOCOL, "%s: %zu bytes that do not decode", wire_type_name(type), bytes);
    if (has_unknown(m)) {
        protobuf_c_message_free_unpacked(m, NULL);
        return FAIL(err, E_PROTOCOL, "%s: fields that protocol %d does not have", wire_type_name(type),
                    WIRE_PROTOCOL);
    }
    *ret = m;
    return OK;
}

void wire_free(ProtobufCMessage *m)
{
    if (m)
        protobuf_c_message_free_unpacked(m, NULL);
}

void wire_declaration_fill(const flat *f, int64_t examples_per_epoch, const steps_kinds *kinds,
                           Wire__Declaration *ret)
{
    wire__declaration__init(ret);
    ret->examples_per_epoch = examples_per_epoch;
    ret->digest = xcalloc(1, SHA256_HEX);
    flat_digest(f, ret->digest);
    ret->n_tensors = (size_t)f->n_tensors;
    ret->tensors = xcalloc(ret->n_tensors, sizeof *ret->tensors);
    for (size_t i = 0; i < ret->n_tensors; i++) {
        const tensor_decl *d = &f->tensors[i];
        Wire__Tensor *t = xmalloc(sizeof *t);
        wire__tensor__init(t);
        t->name = (char *)(uintptr_t)d->name;
        t->n_dim = (size_t)d->rank;
        t->dim = (int64_t *)(uintptr_t)d->dim;
        t->kind = d->kind;
        t->init = d->init.kind;
        t->init_a = d->init.a;
        t->init_b = d->init.b;
        t->momentum = d->momentum;
        t->decay = d->decay;
        t->group = (uint32_t)d->group;
        t->whole = d->whole;
        ret->tensors[i] = t;
    }
    ret->n_batch_kinds = 2 * kinds->n;
    ret->batch_kinds = xcalloc(ret->n_batch_kinds + 1, sizeof *ret->batch_kinds);
    for (size_t i = 0; i < kinds->n; i++) {
        ret->batch_kinds[2 * i] = kinds->at[i].examples;
        ret->batch_kinds[2 * i + 1] = kinds->at[i].batch_size;
    }
}

void wire_declaration_clear(Wire__Declaration *m)
{
    for (size_t i = 0; i < m->n_tensors; i++)
        free(m->tensors[i]);
    free(m->tensors);
    free(m->batch_kinds);
    free(m->digest);
    wire__declaration__init(m);
}

static status wire_read_tensor(const Wire__Tensor *t, tensor_decl *ret, error *err)
{
    if (t->n_dim > TENSOR_RANK || t->kind > TENSOR_FROZEN || t->init > INIT_PUSHED || t->group > INT32_MAX)
        return FAIL(err, E_PROTOCOL, "declaration of '%s': rank, kind, rule or group out of range", t->name);
    *ret = (tensor_decl){
        .name = t->name,
        .rank = (int32_t)t->n_dim,
        .kind = (tensor_kind)t->kind,
        .init = {.kind = (init_kind)t->init, .a = t->init_a, .b = t->init_b},
        .momentum = t->momentum,
        .decay = t->decay,
        .group = (int32_t)t->group,
        .whole = t->whole,
    };
    for (size_t i = 0; i < t->n_dim; i++)
        ret->dim[i] = t->dim[i];
    return OK;
}

/* Together they are all examples of an epoch. */
static status wire_read_kinds(const Wire__Declaration *m, steps_kinds *ret, error *err)
{
    int64_t left = m->examples_per_epoch;
    bool fits = m->n_batch_kinds % 2 == 0 && m->n_batch_kinds <= 2 * (size_t)STEPS_KINDS;
    *ret = (steps_kinds){.n = 0};
    for (size_t i = 0; fits && i < m->n_batch_kinds; i += 2) {
        steps_kind k = {m->batch_kinds[i], m->batch_kinds[i + 1]};
        fits = k.examples > 0 && k.examples <= left && k.batch_size > 0;
        left -= k.examples;
        ret->at[ret->n++] = k;
    }
    fits = fits && (ret->n == 0 || left == 0);
    return fits ? OK : FAIL(err, E_PROTOCOL, "declaration: kinds of batches that do not fit");
}

status wire_declaration_read(const Wire__Declaration *m, wire_declaration *ret, error *err)
{
    if (m->examples_per_epoch <= 0)
        return FAIL(err, E_PROTOCOL, "declaration: %lld examples per epoch",
                    (long long)m->examples_per_epoch);
    steps_kinds kinds;
    TRY(wire_read_kinds(m, &kinds, err));
    tensor_decl *decls = xcalloc(m->n_tensors, sizeof *decls);
    flat *f = NULL;
    status st = OK;
    for (size_t i = 0; st == OK && i < m->n_tensors; i++)
        st = wire_read_tensor(m->tensors[i], &decls[i], err);
    if (st == OK)
        st = flat_create(decls, m->n_tensors, &f, err);
    free(decls);
    if (st != OK)
        return st;
    char digest[SHA256_HEX];
    flat_digest(f, digest);
    if (strcmp(digest, m->digest) != 0) {
        flat_destroy(&f);
        return FAIL(err, E_PROTOCOL, "declaration: the digest does not match the tensors");
    }
    *ret = (wire_declaration){.flat = f, .examples_per_epoch = m->examples_per_epoch, .kinds = kinds,
                              .vocabulary = m->vocabulary[0] ? xstrdup(m->vocabulary) : NULL};
    buf_add(&ret->training_metrics, m->training_metrics.data, m->training_metrics.len);
    return OK;
}

void wire_declaration_fini(wire_declaration *d)
{
    flat_destroy(&d->flat);
    free(d->vocabulary);
    d->vocabulary = NULL;
    buf_fini(&d->training_metrics);
}
