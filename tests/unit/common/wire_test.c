/*
 * Heads survive the trip, nothing doubtful is taken; the grammar is messages.def; every control
 * message packs and unpacks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/parts/verdict.h"
#include "common/wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 1 << ROLE_MASTER, W = 1 << ROLE_WORKER, P = 1 << ROLE_PS };
enum { NONE, PROTO, FLOATS };

static const struct row {
    const char *name;
    int type, from, to, payload;
} rows[] = {
#define MESSAGE(n, number, f, t, phase, p) {#n, number, f, t, p},
#include "proto/messages.def"
#undef MESSAGE
};

static size_t payload_for(const struct row *row, uint64_t draw)
{
    return row->payload == NONE     ? 0
           : row->payload == FLOATS ? 4 * (size_t)(1 + draw % PART_MAX)
                                    : (size_t)(draw % 10000);
}

/* --- heads --- */

enum { PART = 1, STEP = 2, SLOTS = 4, NODE_LEVEL = 8, NODE_INDEX = 16, TAG = 32, AGAIN = 64 };
enum { NODE = NODE_LEVEL | NODE_INDEX };

/* Any that the type can have. */
static uint64_t tag_of(wire_type type, uint32_t high, uint32_t low)
{
    uint64_t any = (uint64_t)high << 32 | low;
#define A_COUNT (any & INT64_MAX)
#define A_INDEX (any & INT64_MAX)
#define A_NUMBER any
#define A_BOOL (any & 1)
#define A_SCALE (any & ~(uint64_t)255) + low % (LOSS_SCALE_MOST + 1)
#define A_VERDICT ((uint64_t)(high % 2 ? 3 : 1) << 32 | low)
#define MESSAGE(name, number, from, to, phase, payload)
#define FIELD(message, field, place, kind)                                                         \
    if (type == WIRE_##message && (place) == TAG)                                                  \
        return A_##kind;
#include "proto/messages.def"
#undef MESSAGE
    return 0;
}

/* What of a head the type has; *ret_bools: what of it is 0 or 1. */
static int places_of(wire_type type, int *ret_bools)
{
    int places = 0;
    enum { COUNT, INDEX, NUMBER, BOOL, SCALE, VERDICT };
    *ret_bools = 0;
#define MESSAGE(name, number, from, to, phase, payload)
#define PLAIN(message, its) places |= type == WIRE_##message ? (its) : 0;
#define FIELD(message, field, place, kind)                                                         \
    places |= type == WIRE_##message ? (place) : 0;                                                \
    *ret_bools |= type == WIRE_##message && (kind) == BOOL ? (place) : 0;
#include "proto/messages.def"
#undef MESSAGE
    return places;
}

static wire_head random_head(uint64_t number, size_t *ret_payload)
{
    rng r = rng_make(3, RNG_TEST, number);
    uint32_t x[16];
    for (uint64_t i = 0; i < 16; i++)
        x[i] = rng_u32(&r, i);
    const struct row *row = &rows[x[0] % COUNT_OF(rows)];
    *ret_payload = payload_for(row, x[1]);
    int bools, has = places_of((wire_type)row->type, &bools);
    uint64_t step = (uint64_t)(x[9] & INT32_MAX) << 32 | x[10];
    return (wire_head){
        .type = (wire_type)row->type,
        .flags = (uint8_t)(x[2] & (has & AGAIN ? WIRE_LENT | WIRE_AGAIN : WIRE_LENT)),
        .job_id = (uint64_t)x[3] << 32 | x[4],
        .era = x[5],
        .incarnation = x[6],
        .part = has & PART ? (int32_t)(x[7] & INT32_MAX) : 0,
        .slots = has & SLOTS ? x[8] : 0,
        .step = has & STEP ? (int64_t)(bools & STEP ? step % 2 : step) : 0,
        .node = {.level = has & NODE_LEVEL ? x[11] % 32 : 0, .index = has & NODE_INDEX ? x[12] : 0},
        .bytes = *ret_payload,
        .tag = tag_of((wire_type)row->type, x[13], x[14]),
    };
}

static void test_heads_round_trip(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        size_t payload;
        wire_head h = random_head(i, &payload), back;
        unsigned char head[NET_HEAD], again[NET_HEAD];
        wire_head_encode(&h, head);
        assert_int_equal(wire_head_decode(head, payload, &back, NULL), OK);
        wire_head_encode(&back, again);
        assert_memory_equal(head, again, NET_HEAD);
        assert_true(back.type == h.type && back.flags == h.flags && back.job_id == h.job_id &&
                    back.era == h.era && back.incarnation == h.incarnation && back.part == h.part &&
                    back.slots == h.slots && back.step == h.step &&
                    back.node.level == h.node.level && back.node.index == h.node.index &&
                    back.bytes == h.bytes && back.tag == h.tag);
    }
}

/* The layout is a promise to other builds: byte for byte. */
static void test_head_bytes(void **state)
{
    (void)state;
    static const unsigned char want[NET_HEAD] = {
        'T',  'Q',  '1', 0, 9, 1, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
        7,    0,    0,   0, 3, 0, 0, 0, 0x05, 0x01, 0,    0,    8,    0,    0,    0,
        0x39, 0x30, 0,   0, 0, 0, 0, 0, 2,    0,    0,    0,    1,    0,    0,    0,
        0x00, 0x01, 0,   0, 0, 0, 0, 0, 0xff, 0,    0,    0,    0,    0,    0,    0x80,
    };
    unsigned char head[NET_HEAD];
    wire_head_encode(&(wire_head){.type = WIRE_PUSH,
                                  .flags = WIRE_LENT,
                                  .job_id = 0x1122334455667788,
                                  .era = 7,
                                  .incarnation = 3,
                                  .part = 0x105,
                                  .slots = 8,
                                  .step = 12345,
                                  .node = {.level = 1, .index = 2},
                                  .bytes = 256,
                                  .tag = 0x80000000000000ff},
                     head);
    assert_memory_equal(head, want, NET_HEAD);
}

/* A tag says what its message's rows let it say, and of all others nothing. */
static void test_tags(void **state)
{
    (void)state;
    const loss_scale scale = {.exponent = 16, .good = 3, .skipped = 1};
    loss_scale got = {.exponent = 0};
    wire_head h = {.type = WIRE_STATE};
    wire_set_state_scale(&h, scale);
    assert_true(wire_state_scale(&h, &got) && loss_scale_equal(got, scale));
    h = (wire_head){.type = WIRE_PUSHED};
    wire_set_pushed_row(&h, 0);
    assert_int_equal(h.tag, 1);
    assert_int_equal(wire_pushed_row(&h), 0);
    h.tag = 0;
    assert_int_equal(wire_pushed_row(&h), -1);
    h = (wire_head){.type = WIRE_PULL};
    wire_set_pull_floor(&h, INT64_MAX);
    assert_int_equal(wire_pull_floor(&h), INT64_MAX);

    static const struct {
        wire_type type;
        uint64_t tag;
        size_t bytes;
        bool fits;
    } cases[] = {
        {WIRE_LIMIT, 0, 0, true},
        {WIRE_LIMIT, 1, 0, false},
        {WIRE_REPORT, 1, 0, false},
        {WIRE_PULL, INT64_MAX, 0, true},
        {WIRE_PULL, (uint64_t)INT64_MAX + 1, 0, false},
        {WIRE_PUSHED, UINT64_MAX, 0, false},
        {WIRE_ALIVE, WIRE_NO_VIEW, 0, true},
        {WIRE_STATE, LOSS_SCALE_MOST, 4, true},
        {WIRE_STATE, LOSS_SCALE_MOST + 1, 4, false},
        {WIRE_PART, LOSS_SCALE_MOST + 1, 4, true},  /* a batch */
        {WIRE_PART, (uint64_t)1 << 63 | 16, 4, true},   /* a scale */
        {WIRE_PART, (uint64_t)1 << 63 | 255, 4, false}, /* neither */
        {WIRE_PUSH, 0, 4, true},
        {WIRE_PUSH, 1, 4, true},                        /* a worker's: so long was the last one on its way */
        {WIRE_PUSH, (uint64_t)5 << 32, 4, true},        /* or a server's: a verdict */
        {WIRE_PUSH, (uint64_t)1 << 63, 4, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        unsigned char head[NET_HEAD];
        wire_head sent = {.type = cases[i].type, .tag = cases[i].tag, .bytes = cases[i].bytes};
        wire_head_encode(&sent, head);
        status st = wire_head_decode(head, cases[i].bytes, &h, NULL);
        assert_int_equal(st, cases[i].fits ? OK : E_PROTOCOL);
    }
}

/* What a server takes as the verdict of another one. */
static void test_verdicts(void **state)
{
    (void)state;
    static const struct {
        uint64_t packed;
        bool is_one;
    } cases[] = {
        {1, false},
        {(uint64_t)1 << 32, true},
        {((uint64_t)1 << 54) - 1, true},                /* 2^20 - 1 reductions of the learning rate */
        {(uint64_t)1 << 33, false},
        {(uint64_t)5 << 32, true},
        {(uint64_t)1 << 54 | (uint64_t)1 << 32, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(verdict_is_packed(cases[i].packed), cases[i].is_one);
}

/* The same of all other fields; what is refused is named. */
static void test_fields(void **state)
{
    (void)state;
    wire_head h = {.type = WIRE_LEASE};
    wire_set_lease_batch(&h, 9);
    wire_set_lease_lane(&h, 3);
    assert_true(h.step == 9 && h.node.index == 3 && wire_lease_batch(&h) == 9 && wire_lease_lane(&h) == 3);
    h = (wire_head){.type = WIRE_HEARTBEAT};
    assert_int_equal(wire_heartbeat_held(&h), -1);
    wire_set_heartbeat_held(&h, 0);
    assert_int_equal(h.step, 1);

    static const struct {
        wire_head head;
        const char *refused; /* NULL: it decodes */
    } cases[] = {
        {{.type = WIRE_LIMIT, .step = INT64_MAX}, NULL},
        {{.type = WIRE_LIMIT, .part = 1}, "LIMIT: its part cannot be 1"},
        {{.type = WIRE_PREEMPT, .step = 2}, "PREEMPT: its step cannot be 2"},
        {{.type = WIRE_PULL, .part = 3, .step = 4, .flags = WIRE_AGAIN}, NULL},
        {{.type = WIRE_PULL, .slots = 4}, "PULL: its number of slots cannot be 4"},
        {{.type = WIRE_GONE, .flags = WIRE_AGAIN}, "GONE: its flag AGAIN cannot be 2"},
        {{.type = WIRE_PUSHED, .node = {.level = 1, .index = 2}}, NULL},
        {{.type = WIRE_LEASE, .node = {.level = 1}}, "LEASE: its node's level cannot be 1"},
        {{.type = WIRE_LOAD, .node = {.index = 5}}, "LOAD: its node's index cannot be 5"},
        {{.type = WIRE_BACKED, .step = 1, .tag = 7}, NULL},
        {{.type = WIRE_BACKED, .step = 2}, "BACKED: its step cannot be 2"},
        {{.type = WIRE_LIMIT, .tag = 1}, "LIMIT: its tag cannot be 1"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        unsigned char head[NET_HEAD];
        error err = ERROR_INIT;
        wire_head_encode(&cases[i].head, head);
        status st = wire_head_decode(head, 0, &h, &err);
        assert_int_equal(st, cases[i].refused ? E_PROTOCOL : OK);
        assert_string_equal(err.text, cases[i].refused ? cases[i].refused : "");
    }
}

static void check_refused(const unsigned char head[NET_HEAD], size_t payload, const char *text)
{
    wire_head h = {.tag = 77};
    error err = ERROR_INIT;
    assert_int_equal(wire_head_decode(head, payload, &h, &err), E_PROTOCOL);
    assert_string_equal(err.text, text);
    assert_int_equal(h.tag, 77);
}

static void check_byte_refused(size_t at, unsigned char value, const char *text)
{
    unsigned char head[NET_HEAD];
    wire_head_encode(&(wire_head){.type = WIRE_PUSH, .bytes = 8}, head);
    head[at] = value;
    check_refused(head, 8, text);
}

static void test_heads_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++)
        check_byte_refused(i, 'x', "not a message of ours");
    check_byte_refused(4, 0, "no message has type 0");
    char text[64];
    snprintf(text, sizeof text, "no message has type %d", WIRE_TYPE_END);
    check_byte_refused(4, WIRE_TYPE_END, text);
    check_byte_refused(4, 255, "no message has type 255");
    const char *reserved = "PUSH: flags or reserved bytes are set";
    check_byte_refused(5, 4, reserved);
    check_byte_refused(6, 1, reserved);
    for (size_t at = 45; at < 48; at++)
        check_byte_refused(at, 1, reserved);
    check_byte_refused(7, 1, reserved);
    const char *range = "PUSH: part, step or node out of range";
    check_byte_refused(27, 0x80, range);
    check_byte_refused(39, 0x80, range);
    check_byte_refused(44, 32, range);
    check_byte_refused(48, 4, "PUSH: the head says 4 bytes of payload, 8 came");
    check_byte_refused(55, 0x80,
                       "PUSH: the head says 9223372036854775816 bytes of payload, 8 came");
}

static void check_payload_refused(wire_type type, size_t bytes, const char *text)
{
    unsigned char head[NET_HEAD];
    wire_head_encode(&(wire_head){.type = type, .bytes = bytes}, head);
    check_refused(head, bytes, text);
}

static void test_payload_sizes(void **state)
{
    (void)state;
    check_payload_refused(WIRE_PULL, 4, "PULL: a payload where none belongs");
    check_payload_refused(WIRE_REPORTED, 1, "REPORTED: a payload where none belongs");
    check_payload_refused(WIRE_PUSH, 0, "PUSH: 0 bytes are not a part");
    check_payload_refused(WIRE_PART, 6, "PART: 6 bytes are not a part");
    check_payload_refused(WIRE_PART, 4 * PART_WHOLE_MAX + 4, "PART: 67108868 bytes are not a part");
    check_payload_refused(WIRE_HELLO, WIRE_SMALL_MAX + 1, "HELLO: 1048577 bytes are too many");
    check_payload_refused(WIRE_FAILED, NET_PAYLOAD_MAX, "FAILED: 67108864 bytes are too many");
}

/* Any single bit that is wrong is refused or comes back as it was: nothing is silently dropped. */
static void test_no_bit_is_ignored(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 200; i++) {
        size_t payload;
        wire_head h = random_head(i, &payload), back;
        for (size_t bit = 0; bit < NET_HEAD * 8; bit++) {
            unsigned char head[NET_HEAD], again[NET_HEAD];
            wire_head_encode(&h, head);
            head[bit / 8] ^= (unsigned char)(1 << bit % 8);
            if (wire_head_decode(head, payload, &back, NULL) != OK)
                continue;
            wire_head_encode(&back, again);
            assert_memory_equal(head, again, NET_HEAD);
        }
    }
}

/* --- the grammar --- */

static void test_grammar(void **state)
{
    (void)state;
    for (int type = -1; type < WIRE_TYPE_END + 2; type++) {
        const struct row *row = NULL;
        for (size_t i = 0; i < COUNT_OF(rows); i++)
            if (rows[i].type == type)
                row = &rows[i];
        assert_string_equal(wire_type_name((wire_type)type), row ? row->name : "?");
        for (int from = 0; from < ROLE_COUNT; from++)
            for (int to = 0; to < ROLE_COUNT; to++)
                assert_int_equal(wire_may_say((wire_type)type, (role)from, (role)to),
                                 row && row->from >> from & 1 && row->to >> to & 1);
    }
    assert_true(wire_may_say(WIRE_PUSH, ROLE_WORKER, ROLE_PS));
    assert_false(wire_may_say(WIRE_PUSH, ROLE_MASTER, ROLE_PS));
    assert_false(wire_may_say(WIRE_STOP, ROLE_WORKER, ROLE_PS));
    assert_false(wire_may_say(WIRE_SETUP, ROLE_WORKER, ROLE_PS));
    assert_false(wire_may_say(WIRE_HELLO, ROLE_EVALUATOR, ROLE_MASTER));
}

/* --- control messages --- */

/* Sets a scalar of a message or of a list, drawn from `r`. */
static void fill_scalar(const ProtobufCFieldDescriptor *f, void *at, uint64_t draw)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)at = draw & 1;
        break;
    case PROTOBUF_C_TYPE_UINT32:
        *(uint32_t *)at = (uint32_t)draw;
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        *(float *)at = (float)draw * 0x1p-40f - 100;
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        *(double *)at = (double)draw * 0x1p-40 - 100;
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
        *(uint64_t *)at = draw;
        break;
    default:
        fail_msg("field %s has a type this test does not know", f->name);
    }
}

static size_t scalar_bytes(const ProtobufCFieldDescriptor *f)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_BOOL:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FLOAT:
        return 4;
    case PROTOBUF_C_TYPE_MESSAGE:
    case PROTOBUF_C_TYPE_STRING:
        return sizeof(void *);
    default:
        return 8;
    }
}

static ProtobufCMessage *random_message(const ProtobufCMessageDescriptor *d, uint64_t number);

static void fill_one(const ProtobufCFieldDescriptor *f, void *at, uint64_t draw)
{
    if (f->type == PROTOBUF_C_TYPE_MESSAGE) {
        *(ProtobufCMessage **)at = random_message(f->descriptor, draw);
    } else if (f->type == PROTOBUF_C_TYPE_STRING) {
        *(char **)at = xasprintf("%s %llx", f->name, (unsigned long long)draw);
    } else if (f->type == PROTOBUF_C_TYPE_BYTES) {
        ProtobufCBinaryData *b = at;
        b->len = draw % 100;
        b->data = xmalloc(b->len + 1);
        memset(b->data, (int)(draw >> 8 & 255), b->len + 1);
    } else {
        fill_scalar(f, at, draw);
    }
}

/* A message with every field set, made as the library makes them, so that it frees it. */
static ProtobufCMessage *random_message(const ProtobufCMessageDescriptor *d, uint64_t number)
{
    rng r = rng_make(9, RNG_TEST, number);
    ProtobufCMessage *m = xmalloc(d->sizeof_message);
    d->message_init(m);
    for (uint64_t i = 0; i < d->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &d->fields[i];
        char *at = (char *)m + f->offset;
        uint64_t draw = (uint64_t)rng_u32(&r, 2 * i) << 32 | rng_u32(&r, 2 * i + 1);
        if (f->label != PROTOBUF_C_LABEL_REPEATED) {
            fill_one(f, at, draw);
            continue;
        }
        size_t n = draw % 5;
        *(size_t *)(void *)((char *)m + f->quantifier_offset) = n;
        char *items = n ? xcalloc(n, scalar_bytes(f)) : NULL;
        for (size_t k = 0; k < n; k++)
            fill_one(f, items + k * scalar_bytes(f), rng_mix(draw, k));
        *(void **)(void *)at = items;
    }
    return m;
}

static void check_control(wire_type type, uint64_t number)
{
    ProtobufCMessage *empty = NULL, *back = NULL;
    assert_int_equal(wire_unpack(type, "", 0, &empty, NULL), OK);
    ProtobufCMessage *m = random_message(empty->descriptor, number);
    buf first = BUF_INIT, second = BUF_INIT;
    buf_adds(&second, "what was there before");
    wire_pack(m, &first);
    assert_int_equal(wire_unpack(type, first.data, first.size, &back, NULL), OK);
    assert_ptr_equal(back->descriptor, m->descriptor);
    wire_pack(back, &second);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    wire_free(empty);
    wire_free(m);
    wire_free(back);
    buf_fini(&first);
    buf_fini(&second);
}

static void test_control_messages_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        wire_type type = (wire_type)rows[i].type;
        if (rows[i].payload == PROTO) {
            for (uint64_t number = 0; number < 50; number++)
                check_control(type, 100 * i + number);
            continue;
        }
        ProtobufCMessage *m = NULL;
        error err = ERROR_INIT;
        assert_int_equal(wire_unpack(type, "", 0, &m, &err), E_PROTOCOL);
        char want[64];
        snprintf(want, sizeof want, "%s carries no fields", rows[i].name);
        assert_string_equal(err.text, want);
    }
    wire_free(NULL);
}

static void test_payload_that_does_not_decode(void **state)
{
    (void)state;
    ProtobufCMessage *m = NULL;
    error err = ERROR_INIT;
    assert_int_equal(wire_unpack(WIRE_VIEW, "\x12\x7f", 2, &m, &err), E_PROTOCOL);
    assert_string_equal(err.text, "VIEW: 2 bytes that do not decode");
    assert_null(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads_round_trip),
        cmocka_unit_test(test_head_bytes),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_heads_are_refused),
        cmocka_unit_test(test_payload_sizes),
        cmocka_unit_test(test_no_bit_is_ignored),
        cmocka_unit_test(test_grammar),
        cmocka_unit_test(test_control_messages_round_trip),
        cmocka_unit_test(test_payload_that_does_not_decode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
