/*
 * The wire: heads and control payloads to and from bytes. Pure; trusts nothing it decodes.
 *
 * Every message starts with a head of 64 bytes, little-endian:
 *
 *     0 u32 magic "TQ1\0"     16 u32 era             32 u64 step (or version)
 *     4 u8  type              20 u32 incarnation     40 u32 node index
 *     5 u8  flags             24 u32 part            44 u8  node level, 3 bytes zero
 *     6 u8  encoding          28 u32 slots           48 u64 payload bytes
 *     7 u8  zero               8 u64 job id          56 u64 tag
 *
 * `slots` is the number of slots of the step (so that a server need not know the data). Types, who
 * may send them and what the fields of their heads say are proto/messages.def; control payloads are
 * proto/control.proto.
 *
 * This header is the one place that includes the generated protobuf code.
 * Threads: pure functions.
 */
#ifndef TEQUIO_COMMON_WIRE_WIRE_H
#define TEQUIO_COMMON_WIRE_WIRE_H

#include "common/base/buf.h"
#include "common/base/error.h"
#include "common/cluster/cluster.h"
#include "common/net/net.h"
#include "common/parts/flat.h"
#include "common/parts/loss_scale.h"
#include "common/parts/steps.h"
#include "common/parts/tree.h"

#include "proto/control.pb-c.h"

enum { WIRE_PROTOCOL = 8, WIRE_SMALL_MAX = 1 << 20 };

typedef enum wire_type {
#define MESSAGE(name, number, from, to, phase, payload) WIRE_##name = number,
#include "proto/messages.def"
#undef MESSAGE
    WIRE_TYPE_END
} wire_type;

enum {
    WIRE_LENT = 1,          /* the payload is the sender's memory (same process): read only */
    WIRE_AGAIN = 2,         /* PULL: said on this connection before, and not answered yet */
};

/* ALIVE: for somebody who has to say HELLO (again); no view has this number. */
#define WIRE_NO_VIEW UINT64_MAX

typedef enum wire_encoding { WIRE_F32 = 0 } wire_encoding;

/* Which of its fields a message has, and what they say there, is in the grammar. */
typedef struct wire_head {
    wire_type type;
    uint8_t flags;
    wire_encoding encoding;
    uint64_t job_id;
    uint32_t era, incarnation;
    int32_t part;
    uint32_t slots;
    int64_t step;
    tree_node node;
    uint64_t bytes;
    uint64_t tag;
} wire_head;

/* Of each row FIELD of the grammar wire_<field>(head) is what the head says and wire_set_<field>(head, value)
 * puts it there: COUNT and INDEX are int64_t, NUMBER and VERDICT uint64_t, BOOL a bool, SCALE a loss_scale.
 * Of a place that has two rows ask only for that of the job's schedule (PART's tag) or of who says it (PUSH's). */
#define WIRE_AT_STEP step
#define WIRE_AT_SLOTS slots
#define WIRE_AT_NODE_INDEX node.index
#define WIRE_AT_TAG tag
#define WIRE_FIELD(field, place, type, from, to)                                                   \
    static inline type wire_##field(const wire_head *h) { return (type)(h->place)from; }           \
    static inline void wire_set_##field(wire_head *h, type value)                                  \
    {                                                                                              \
        h->place = (__typeof__(h->place))(value to);                                               \
    }
#define WIRE_FIELD_COUNT(field, place) WIRE_FIELD(field, place, int64_t, , )
#define WIRE_FIELD_INDEX(field, place) WIRE_FIELD(field, place, int64_t, -1, +1)
#define WIRE_FIELD_NUMBER(field, place) WIRE_FIELD(field, place, uint64_t, , )
#define WIRE_FIELD_VERDICT(field, place) WIRE_FIELD_NUMBER(field, place)
#define WIRE_FIELD_BOOL(field, place) WIRE_FIELD(field, place, bool, , )
#define WIRE_FIELD_SCALE(field, place) /* false: it is none */                                     \
    static inline bool wire_##field(const wire_head *h, loss_scale *ret)                           \
    {                                                                                              \
        return loss_scale_unpack(h->place, ret);                                                   \
    }                                                                                              \
    static inline void wire_set_##field(wire_head *h, loss_scale value)                            \
    {                                                                                              \
        h->place = loss_scale_pack(value);                                                         \
    }
#define WIRE_FIELD_OF(field, place, kind) WIRE_FIELD_##kind(field, place)
#define MESSAGE(name, number, from, to, phase, payload)
#define FIELD(message, field, place, kind) WIRE_FIELD_OF(field, WIRE_AT_##place, kind)
#include "proto/messages.def"
#undef MESSAGE

const char *wire_type_name(wire_type type);             /* "PUSH"; "?" for none of ours */

void wire_head_encode(const wire_head *h, unsigned char ret[NET_HEAD]);

/* E_PROTOCOL: magic, type, flags, encoding, reserved bytes, ranges, a field the type does not have or that
 * cannot say that, or a payload whose size is not the head's or not one the type can have. */
MUST_USE status wire_head_decode(const unsigned char head[NET_HEAD], size_t payload_bytes,
                                 wire_head *ret, error *err);

/* May that role say this to that one? The grammar of proto/messages.def. */
bool wire_may_say(wire_type type, role from, role to);

/* Control payloads. pack gives bytes in `ret` (cleared first). unpack: E_PROTOCOL, names the type,
 * also for fields this version does not have;
 * the caller frees with wire_free. */
void wire_pack(const ProtobufCMessage *m, buf *ret);
MUST_USE status wire_unpack(wire_type type, const void *data, size_t bytes, ProtobufCMessage **ret,
                            error *err);
void wire_free(ProtobufCMessage *m);

/* Declarations. */
typedef struct wire_declaration {
    flat *flat;
    int64_t examples_per_epoch;
    steps_kinds kinds;
    char *vocabulary;               /* what the data taught their reader; NULL: nothing */
    buf training_metrics;           /* the recipe; empty: none are counted */
} wire_declaration;

/* The message borrows names from `f`; release with wire_declaration_clear. Whoever says a
 * vocabulary or metrics lends them to the message afterwards. */
void wire_declaration_fill(const flat *f, int64_t examples_per_epoch, const steps_kinds *kinds,
                           Wire__Declaration *ret);
void wire_declaration_clear(Wire__Declaration *m);
/* Checks ranges, recomputes the digest and compares. E_PROTOCOL, E_UNSUPPORTED. */
MUST_USE status wire_declaration_read(const Wire__Declaration *m, wire_declaration *ret, error *err);
void wire_declaration_fini(wire_declaration *d);

#endif
