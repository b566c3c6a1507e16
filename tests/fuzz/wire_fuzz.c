/*
 * A message from a stranger: 64 bytes of head, the rest is its payload. Whatever they are, a
 * refusal with a message, or a head that encodes to the same bytes and a payload that packs and
 * unpacks to itself. A declaration that is taken hangs together and survives being said again.
 */
#include "common/base/hash.h"
#include "common/wire/trace_wire.h"
#include "common/wire/wire.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_declaration(const Wire__Declaration *m)
{
    wire_declaration first = {.flat = NULL}, second = {.flat = NULL};
    error err = ERROR_INIT;
    if (wire_declaration_read(m, &first, &err) != OK) {
        BUG_ON(!err.text[0]);
        return;
    }
    Wire__Declaration again;
    wire_declaration_fill(first.flat, first.examples_per_epoch, &first.kinds, &again);
    BUG_ON(strcmp(again.digest, m->digest) != 0);
    if (wire_declaration_read(&again, &second, &err) != OK)
        BUG("what was taken is refused: %s", err.text);
    BUG_ON(second.flat->n_parts != first.flat->n_parts);
    wire_declaration_clear(&again);
    wire_declaration_fini(&first);
    wire_declaration_fini(&second);
}

/* A digest no fuzzer guesses would hide the checks behind it: here it is put right. */
static void try_declaration(Wire__Declaration *m)
{
    check_declaration(m);
    tensor_decl decls[64];
    if (m->n_tensors > 64)
        return;
    for (size_t i = 0; i < m->n_tensors; i++) {
        const Wire__Tensor *t = m->tensors[i];
        if (t->n_dim > TENSOR_RANK)
            return;
        decls[i] = (tensor_decl){.name = t->name,
                                 .rank = (int32_t)t->n_dim,
                                 .kind = (tensor_kind)t->kind,
                                 .init = {(init_kind)t->init, t->init_a, t->init_b},
                                 .momentum = t->momentum,
                                 .decay = t->decay};
        if (t->n_dim)
            memcpy(decls[i].dim, t->dim, t->n_dim * sizeof *t->dim);
    }
    flat *f = NULL;
    if (flat_create(decls, m->n_tensors, &f, NULL) != OK)
        return;
    char digest[SHA256_HEX];
    flat_digest(f, digest);
    flat_destroy(&f);
    char *given = m->digest;
    m->digest = digest;
    check_declaration(m);
    m->digest = given;
}

static void check_packs(wire_type type, const ProtobufCMessage *m)
{
    buf first = BUF_INIT, second = BUF_INIT;
    ProtobufCMessage *again = NULL;
    wire_pack(m, &first);
    if (wire_unpack(type, first.data, first.size, &again, NULL) != OK)
        BUG("%s does not survive being said again", wire_type_name(type));
    wire_pack(again, &second);
    BUG_ON(first.size != second.size ||
           (first.size && memcmp(first.data, second.data, first.size)));
    wire_free(again);
    buf_fini(&first);
    buf_fini(&second);
}

static void try_payload(wire_type type, const uint8_t *data, size_t size)
{
    ProtobufCMessage *m = NULL;
    error err = ERROR_INIT;
    if (wire_unpack(type, data, size, &m, &err) != OK) {
        BUG_ON(!err.text[0]);
        return;
    }
    check_packs(type, m);
    if (type == WIRE_TRACE && trace_wire_check((Wire__Trace *)m, &err) != OK)
        BUG_ON(!err.text[0]);
    if (type == WIRE_DECLARE)
        try_declaration((Wire__Declaration *)m);
    if (type == WIRE_SETUP && ((Wire__Setup *)m)->declaration)
        try_declaration(((Wire__Setup *)m)->declaration);
    wire_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < NET_HEAD)
        return 0;
    const uint8_t *payload = data + NET_HEAD;
    size_t bytes = size - NET_HEAD;
    wire_head h;
    error err = ERROR_INIT;
    if (wire_head_decode(data, bytes, &h, &err) != OK) {
        BUG_ON(!err.text[0]);
    } else {
        unsigned char again[NET_HEAD];
        wire_head_encode(&h, again);
        BUG_ON(memcmp(again, data, NET_HEAD) != 0);
    }
    /* the payload stands for itself: few inputs get past the head */
    try_payload((wire_type)data[4], payload, bytes);
    return 0;
}
