/* A declaration survives the wire; one that was tampered with is refused, and says for what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/wire/wire.h"
#include "unit/common/support_flats.h"

#include <math.h>
#include <stdlib.h>

static flat *flat_or_fail(const tensor_decl *tensors, size_t n)
{
    flat *f = NULL;
    error err = ERROR_INIT;
    if (flat_create(tensors, n, &f, &err) != OK)
        fail_msg("%s", err.text);
    return f;
}

static void test_declarations_round_trip(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 40; number++) {
        flats_case c;
        flats_random(number, 1 << 21, &c);
        flat *f = flat_or_fail(c.tensors, c.n);
        Wire__Declaration m;
        const steps_kinds sent = {number % 3 ? 0 : 2, {{50000, 8}, {10000 + (int64_t)number, 4}}};
        wire_declaration_fill(f, 60000 + (int64_t)number, &sent, &m);
        char vocabulary[] = "{\"tokens\":[\"\303\251\"]}";
        if (number % 2)
            m.vocabulary = vocabulary;
        buf packed = BUF_INIT;
        wire_pack(&m.base, &packed);
        ProtobufCMessage *back = NULL;
        assert_int_equal(wire_unpack(WIRE_DECLARE, packed.data, packed.size, &back, NULL), OK);
        wire_declaration d = {.flat = NULL};
        assert_int_equal(wire_declaration_read((Wire__Declaration *)back, &d, NULL), OK);
        wire_free(back); /* the flat borrows nothing from the message */
        assert_int_equal(d.examples_per_epoch, 60000 + (int64_t)number);
        assert_int_equal(d.kinds.n, sent.n);
        for (size_t i = 0; i < sent.n; i++)
            assert_memory_equal(&d.kinds.at[i], &sent.at[i], sizeof *sent.at);
        if (number % 2)
            assert_string_equal(d.vocabulary, vocabulary);
        else
            assert_null(d.vocabulary);
        char ours[SHA256_HEX], theirs[SHA256_HEX];
        flat_digest(f, ours);
        flat_digest(d.flat, theirs);
        assert_string_equal(ours, theirs);
        assert_int_equal(d.flat->n_parts, f->n_parts);
        for (int32_t i = 0; i < f->n_tensors; i++) {
            assert_string_equal(d.flat->tensors[i].name, f->tensors[i].name);
            assert_int_equal(d.flat->offset[i], f->offset[i]);
        }
        wire_declaration_fini(&d);
        wire_declaration_clear(&m);
        flat_destroy(&f);
        buf_fini(&packed);
    }
}

typedef void tamper_fn(Wire__Declaration *m);

static void other_digest(Wire__Declaration *m)
{
    m->digest[5] = m->digest[5] == 'a' ? 'b' : 'a';
}

static void no_digest(Wire__Declaration *m)
{
    m->digest[0] = '\0';
}

static void other_momentum(Wire__Declaration *m)
{
    m->tensors[1]->momentum = 0.5f;
}

static void one_tensor_less(Wire__Declaration *m)
{
    free(m->tensors[--m->n_tensors]);
}

static void no_examples(Wire__Declaration *m)
{
    m->examples_per_epoch = 0;
}

/* 100 examples, of which the kinds have 99. */
static void kinds_too_small(Wire__Declaration *m)
{
    m->batch_kinds[0] = 99;
    m->batch_kinds[1] = 4;
    m->n_batch_kinds = 2;
}

static void rank_nine(Wire__Declaration *m)
{
    m->tensors[0]->n_dim = TENSOR_RANK + 1;
}

static void kind_three(Wire__Declaration *m)
{
    m->tensors[0]->kind = TENSOR_FROZEN + 1;
}

static void kind_huge(Wire__Declaration *m)
{
    m->tensors[0]->kind = UINT32_MAX;
}

static void rule_four(Wire__Declaration *m)
{
    m->tensors[0]->init = INIT_PUSHED + 1;
}

static void no_name(Wire__Declaration *m)
{
    m->tensors[0]->name = (char *)(uintptr_t) "";
}

static void same_name(Wire__Declaration *m)
{
    m->tensors[0]->name = m->tensors[1]->name;
}

static void negative_size(Wire__Declaration *m)
{
    static int64_t dim[] = {-1};
    m->tensors[0]->dim = dim;
}

static void endless(Wire__Declaration *m)
{
    static int64_t dim[] = {INT64_MAX};
    m->tensors[0]->dim = dim;
}

static void momentum_nan(Wire__Declaration *m)
{
    m->tensors[1]->momentum = NAN;
}

static const struct {
    tamper_fn *tamper;
    status code;
    const char *text;
} tampered[] = {
    {other_digest, E_PROTOCOL, "declaration: the digest does not match the tensors"},
    {no_digest, E_PROTOCOL, "declaration: the digest does not match the tensors"},
    {other_momentum, E_PROTOCOL, "declaration: the digest does not match the tensors"},
    {one_tensor_less, E_PROTOCOL, "declaration: the digest does not match the tensors"},
    {no_examples, E_PROTOCOL, "declaration: 0 examples per epoch"},
    {kinds_too_small, E_PROTOCOL, "declaration: kinds of batches that do not fit"},
    {rank_nine, E_PROTOCOL, "declaration of 'w': rank, kind, rule or group out of range"},
    {kind_three, E_PROTOCOL, "declaration of 'w': rank, kind, rule or group out of range"},
    {kind_huge, E_PROTOCOL, "declaration of 'w': rank, kind, rule or group out of range"},
    {rule_four, E_PROTOCOL, "declaration of 'w': rank, kind, rule or group out of range"},
    {no_name, E_CONFIG, NULL},
    {same_name, E_CONFIG, "tensor 'mean' is declared twice"},
    {negative_size, E_CONFIG, "tensor 'w': dimension 0 is -1, want 0 or more"},
    {endless, E_UNSUPPORTED, "tensor 'w': more than 1099511627776 elements"},
    {momentum_nan, E_CONFIG, NULL},
};

static void test_tampered_declarations(void **state)
{
    (void)state;
    tensor_decl tensors[] = {flats_vector("w", 100, TENSOR_TRAINABLE),
                             flats_vector("mean", 10, TENSOR_STATE),
                             flats_vector("frozen", 10, TENSOR_FROZEN)};
    tensors[1].momentum = 0.9f;
    flat *f = flat_or_fail(tensors, COUNT_OF(tensors));
    for (size_t i = 0; i < COUNT_OF(tampered); i++) {
        Wire__Declaration m;
        wire_declaration_fill(f, 100, &(steps_kinds){1, {{100, 4}}}, &m);
        tampered[i].tamper(&m);
        wire_declaration d = {.flat = NULL};
        error err = ERROR_INIT;
        assert_int_equal(wire_declaration_read(&m, &d, &err), tampered[i].code);
        if (tampered[i].text)
            assert_string_equal(err.text, tampered[i].text);
        assert_true(err.text[0] != '\0');
        assert_null(d.flat);
        wire_declaration_clear(&m);
    }
    flat_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_declarations_round_trip),
        cmocka_unit_test(test_tampered_declarations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
