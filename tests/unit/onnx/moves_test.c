/*
 * What of a file moves: what its metadata say, what an exporter noted, what is guessed from names and
 * readers, and what overrides all of that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx/moves.h"
#include "unit/onnx/support_import.h"

#include <string.h>

/* A file with an initializer of that name and shape, read by that operator. */
static file *read_by(const char *name, const char *shape, const char *type)
{
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "4,6");
    file_weights(f, name, shape);
    char inputs[96] = "x ";
    strcat(inputs, name);
    file_node(f, type, strcmp(type, "Exp") == 0 ? name : inputs, "y");
    file_output(f, "y");
    return f;
}

static void say(file *f, const char *key, const char *value)
{
    Onnx__ModelProto *p = &f->proto;
    Onnx__StringStringEntryProto **all =
        arena_alloc(f->a, (p->n_metadata_props + 1) * sizeof *all);
    if (p->n_metadata_props)
        memcpy(all, p->metadata_props, p->n_metadata_props * sizeof *all);
    Onnx__StringStringEntryProto *one = arena_alloc(f->a, sizeof *one);
    onnx__string_string_entry_proto__init(one);
    one->key = arena_strdup(f->a, key);
    one->value = arena_strdup(f->a, value);
    all[p->n_metadata_props++] = one;
    p->metadata_props = all;
}

static onnx_move move_of(const file *f, const char *name, const char *train)
{
    onnx_moves *r = NULL;
    error err = ERROR_INIT;
    onnx_model *m = file_open(f);
    if (onnx_moves_create(m, &train, train != NULL, &r, &err) != OK)
        fail_msg("%s", err.text);
    onnx_move move = onnx_moves_of(r, name, m->proto->graph->initializer[0]);
    onnx_moves_destroy(&r);
    onnx_close(&m);
    return move;
}

static void names_and_readers_let_guess(void **state)
{
    (void)state;
    static const struct {
        const char *name, *shape, *type;
        bool is_weight, moves, is_guess;
    } cases[] = {
        {"fc.weight", "6", "Add", true, true, false},
        {"attn.in_proj_bias", "6", "Add", true, true, false},
        {"lstm.weight_hh_l0", "6", "Add", true, true, false},
        {"weight", "6", "Add", true, true, false},
        {"final_logits_bias", "6", "Add", true, true, true},
        {"cls_token", "6", "Add", true, true, true},
        {"valve", "6", "Add", true, true, true},
        {"logit_scale", "", "Exp", true, true, true},
        {"scale", "", "Mul", true, true, true},
        {"temperature", "", "Div", true, true, true},
        {"offset", "", "Add", false, false, true},
        {"onnx::Mul_7", "", "Mul", false, false, false},
        {"val_3", "", "Div", false, false, false},
        {"/Constant_output_0", "", "Mul", false, false, false},
        {"truediv/y:0", "", "Div", false, false, false},
        {"gelu/half", "", "Mul", false, false, false},
        {"onnx::MatMul_7", "6,3", "MatMul", true, true, true},
        {"31", "6,3", "MatMul", true, true, true},
        {"val_7", "6", "Add", false, false, true},
        {"empty.weight", "0", "Add", false, false, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        file *f = read_by(cases[i].name, cases[i].shape, cases[i].type);
        onnx_move m = move_of(f, cases[i].name, NULL);
        if (m.is_weight != cases[i].is_weight || m.moves != cases[i].moves ||
            m.is_guess != cases[i].is_guess)
            fail_msg("%s, read by %s: %s", cases[i].name, cases[i].type, m.why);
        file_destroy(&f);
    }
}

static void metadata_come_before_any_rule(void **state)
{
    (void)state;
    file *f = read_by("pe", "6", "Add");
    say(f, "tequio.parameters", "{\"pe\": true}");
    onnx_move m = move_of(f, "pe", NULL);
    assert_true(m.is_weight && m.moves && !m.is_guess);
    file_destroy(&f);
    f = read_by("pe", "6", "Add");
    say(f, "tequio.parameters", "{\"pe\": false, \"other\": true}");
    m = move_of(f, "pe", NULL);
    assert_true(m.is_weight && !m.moves && !m.is_guess);
    m = move_of(f, "pe", "p?"); /* but trainer.train */
    assert_true(m.is_weight && m.moves && !m.is_guess);
    file_destroy(&f);
    f = read_by("fc.weight", "6", "Add");
    say(f, "tequio.parameters", "{}");
    say(f, "tequio.buffers", "[\"fc.weight\"]");
    m = move_of(f, "fc.weight", NULL);
    assert_true(m.is_weight && !m.moves && !m.is_guess);
    m = move_of(f, "scale", NULL); /* listed nowhere */
    assert_true(!m.is_weight && !m.moves && !m.is_guess);
    file_destroy(&f);
}

/* What PyTorch's newer exporter writes about an initializer. */
static void note(file *f, const char *name, const char *kind)
{
    file *notes = file_inside(f);
    file_input(notes, name, FILE_FLOAT, "6");
    Onnx__ValueInfoProto *v = notes->graph.input[0];
    Onnx__StringStringEntryProto *one = arena_alloc(f->a, sizeof *one);
    onnx__string_string_entry_proto__init(one);
    one->key = arena_strdup(f->a, "pkg.torch.export.graph_signature.InputSpec.kind");
    one->value = arena_strdup(f->a, kind);
    v->metadata_props = arena_alloc(f->a, sizeof *v->metadata_props);
    v->metadata_props[0] = one;
    v->n_metadata_props = 1;
    f->graph.value_info = notes->graph.input;
    f->graph.n_value_info = 1;
}

static void the_exporters_notes_come_before_guesses(void **state)
{
    (void)state;
    file *f = read_by("fc.bias", "6", "Add");
    note(f, "fc.bias", "BUFFER");
    onnx_move m = move_of(f, "fc.bias", NULL);
    assert_true(m.is_weight && !m.moves && !m.is_guess);
    note(f, "fc.bias", "PARAMETER");
    m = move_of(f, "fc.bias", NULL);
    assert_true(m.is_weight && m.moves && !m.is_guess);
    say(f, "tequio.parameters", "{\"fc.bias\": false}");
    m = move_of(f, "fc.bias", NULL);
    assert_false(m.moves);
    file_destroy(&f);
}

/* An Identity gives a merged weight its name back, or only passes one on. */
static void names_that_can_be_weights(void **state)
{
    (void)state;
    file *f = read_by("fc.bias", "6", "Add");
    onnx_model *m = file_open(f);
    onnx_moves *r = NULL;
    assert_int_equal(onnx_moves_create(m, NULL, 0, &r, NULL), OK);
    assert_true(onnx_moves_names(r, "other.bias"));
    assert_true(onnx_moves_names(r, "scale"));
    static const char *const values[] = {"getitem_3", "clone", "clone_12", "/fc/Identity_output_0", "12"};
    for (size_t i = 0; i < COUNT_OF(values); i++)
        assert_false(onnx_moves_names(r, values[i]));
    onnx_moves_destroy(&r);
    onnx_close(&m);
    note(f, "fc.bias", "PARAMETER");
    m = file_open(f);
    assert_int_equal(onnx_moves_create(m, NULL, 0, &r, NULL), OK);
    assert_true(onnx_moves_names(r, "fc.bias"));
    assert_false(onnx_moves_names(r, "other.bias"));
    onnx_moves_destroy(&r);
    onnx_close(&m);
    file_destroy(&f);
}

static void metadata_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *parameters, *buffers, *says;
    } cases[] = {
        {"{\"fc.bias\": tru}", "[]", "tequio.parameters"},
        {"[\"fc.bias\"]", "[]", "tequio.parameters must be an object of names to true"},
        {"{\"fc.bias\": 1}", "[]", "tequio.parameters must be an object of names to true"},
        {"{\"fc.bias\": true}", "{}", "tequio.buffers must be an array of names"},
        {"{\"fc.bias\": true}", "[1]", "tequio.buffers must be an array of names"},
        {"{\"fc.bias\": true}", "[\"fc.bias\"]", "'fc.bias' is among tequio.parameters and among"},
        {"{\"m.fc.bias\": true}", "[]",
         "names no initializer of the file: there it says 'm.fc.bias', here one is called 'fc.bias'"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        file *f = read_by("fc.bias", "6", "Add");
        say(f, "tequio.parameters", cases[i].parameters);
        say(f, "tequio.buffers", cases[i].buffers);
        expect_error(f, E_DATA, cases[i].says);
        file_destroy(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_readers_let_guess),
        cmocka_unit_test(metadata_come_before_any_rule),
        cmocka_unit_test(the_exporters_notes_come_before_guesses),
        cmocka_unit_test(names_that_can_be_weights),
        cmocka_unit_test(metadata_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
