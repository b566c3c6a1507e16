/* See moves.h. */
#include "onnx/moves.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "graph/names.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

typedef enum reason {
    WANTED,
    SAID_PARAMETER,
    SAID_FIXED,
    SAID_BUFFER,
    UNSAID,
    NOTED_PARAMETER,
    NOTED_OTHER,
    EMPTY,
    MODULE_NAME,
    OTHER_NAME,
    FACTOR,
    SCALAR,
    MADE_UP_OPERAND,
    MADE_UP,
    MADE_UP_SCALAR,
} reason;

static const onnx_move moves[] = {
    [WANTED] = {true, true, false, "named by trainer.train"},
    [SAID_PARAMETER] = {true, true, false, "parameters, the file's metadata say"},
    [SAID_FIXED] = {true, false, false, "parameters without requires_grad, the file's metadata say"},
    [SAID_BUFFER] = {true, false, false, "buffers, the file's metadata say"},
    [UNSAID] = {false, false, false, "constants, of which the file's metadata say nothing"},
    [NOTED_PARAMETER] = {true, true, false,
                         "parameters, the exporter noted; it does not note requires_grad"},
    [NOTED_OTHER] = {true, false, false, "buffers and constants, the exporter noted"},
    [EMPTY] = {false, false, false, "without elements"},
    [MODULE_NAME] = {true, true, false, "called weight or bias, as PyTorch's modules call theirs"},
    [OTHER_NAME] = {true, true, true, "with a name of their own, which may be parameters or buffers"},
    [FACTOR] = {true, true, true, "scalars that a Mul, Div or Exp reads"},
    [SCALAR] = {false, false, true, "scalars that others read"},
    [MADE_UP_OPERAND] = {true, true, true,
                         "without a name of their own, read where an operator takes weights"},
    [MADE_UP] = {false, false, true, "without a name of their own, read elsewhere"},
    [MADE_UP_SCALAR] = {false, false, false, "scalars without a name of their own"},
};

/* By which nodes of the main graph a value is read. */
enum { AS_OPERAND = 1, AS_FACTOR = 2 };

struct onnx_moves {
    const char *const *train;
    size_t n_train;
    json_t *parameters, *buffers; /* of the metadata; NULL: not there */
    names notes;                  /* name -> value_info with the exporter's note */
    names uses;                   /* name -> AS_ flags */
    const onnx_model *m;
};

/* --- names --- */

static bool is_number(const char *s)
{
    return *s && strspn(s, "0123456789") == strlen(s);
}

/* "val_7", "getitem_3", "clone", "onnx::MatMul_249", "/fc/Transpose_output_0", "31" */
static bool is_made_up(const char *name)
{
    static const char *const bases[] = {"val",   "getitem", "lifted_tensor", "_tensor_constant",
                                        "const", "clone",   "detach",        "alias"};
    if (*name == '/' || strncmp(name, "onnx::", 6) == 0 || is_number(name))
        return true;
    for (size_t i = 0; i < COUNT_OF(bases); i++) {
        size_t n = strlen(bases[i]);
        const char *rest = name + n;
        if (strncmp(name, bases[i], n) == 0 && (!*rest || is_number(rest + (*rest == '_'))))
            return true;
    }
    return false;
}

/* PyTorch's names are words with dots between; constants of other exporters are "add/y:0". */
static bool is_path_of_words(const char *name)
{
    return !strpbrk(name, "/:");
}

/* "fc.weight", "lstm.bias_ih_l0", "attn.in_proj_weight" */
static bool is_module_name(const char *name)
{
    static const char *const bases[] = {"weight", "bias", "in_proj_weight", "in_proj_bias"};
    const char *last = strrchr(name, '.');
    last = last ? last + 1 : name;
    for (size_t i = 0; i < COUNT_OF(bases); i++) {
        size_t n = strlen(bases[i]);
        if (strncmp(last, bases[i], n) == 0 && (!last[n] || last[n] == '_'))
            return true;
    }
    return false;
}

static bool is_wanted(const onnx_moves *r, const char *name)
{
    for (size_t i = 0; i < r->n_train; i++)
        if (fnmatch(r->train[i], name, 0) == 0)
            return true;
    return false;
}

/* --- what the file says --- */

static bool lists(const json_t *array, const char *name)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        if (strcmp(json_string_value(json_array_get(array, i)), name) == 0)
            return true;
    return false;
}

static status read_entry(const onnx_model *m, const char *key, json_t **ret, error *err)
{
    const Onnx__ModelProto *p = m->proto;
    for (size_t i = 0; i < p->n_metadata_props; i++) {
        const char *text = onnx_text(p->metadata_props[i]->value);
        if (strcmp(onnx_text(p->metadata_props[i]->key), key) == 0)
            return json_parse(text, strlen(text), key, E_DATA, ret, err);
    }
    return OK;
}

static status check_kinds(const onnx_moves *r, error *err)
{
    const char *name;
    json_t *value;
    size_t i;
    bool fits = !r->parameters || json_is_object(r->parameters);
    json_object_foreach(r->parameters, name, value) fits = fits && json_is_boolean(value);
    if (!fits)
        return FAIL(err, E_DATA,
                    "tequio.parameters must be an object of names to true, for those that move, or false");
    fits = !r->buffers || json_is_array(r->buffers);
    json_array_foreach(r->buffers, i, value) fits = fits && json_is_string(value);
    if (!fits)
        return FAIL(err, E_DATA, "tequio.buffers must be an array of names");
    json_array_foreach(r->buffers, i, value)
    {
        name = json_string_value(value);
        if (json_object_get(r->parameters, name))
            return FAIL(err, E_DATA, "'%s' is among tequio.parameters and among tequio.buffers", name);
    }
    return OK;
}

/* Names of another model, or of a part of this one, would leave everything to guesses. */
static status check_names(const onnx_moves *r, error *err)
{
    const Onnx__GraphProto *g = r->m->proto->graph;
    const char *said = NULL, *name;
    json_t *value;
    json_object_foreach(r->parameters, name, value)
    {
        said = said ? said : name;
        if (onnx_initializer(r->m, name) >= 0)
            return OK;
    }
    if (!said || g->n_initializer == 0)
        return OK;
    return FAIL(err, E_DATA,
                "tequio.parameters names no initializer of the file: there it says '%s', here one is "
                "called '%s'; write the names of the module that was exported",
                said, onnx_text(g->initializer[0]->name));
}

static status read_metadata(onnx_moves *r, error *err)
{
    TRY(read_entry(r->m, "tequio.parameters", &r->parameters, err));
    TRY(read_entry(r->m, "tequio.buffers", &r->buffers, err));
    TRY(check_kinds(r, err));
    return check_names(r, err);
}

/* What the newer exporter noted about a name ("PARAMETER", "BUFFER", ...), NULL if nothing. */
static const char *note_of(const onnx_moves *r, const char *name)
{
    int32_t at;
    if (!names_get(&r->notes, name, &at))
        return NULL;
    const Onnx__ValueInfoProto *v = r->m->proto->graph->value_info[at];
    for (size_t k = 0; k < v->n_metadata_props; k++)
        if (strstr(onnx_text(v->metadata_props[k]->key), "InputSpec.kind"))
            return onnx_text(v->metadata_props[k]->value);
    return NULL;
}

static void read_notes(onnx_moves *r)
{
    const Onnx__GraphProto *g = r->m->proto->graph;
    for (size_t i = 0; i < g->n_value_info; i++) {
        const Onnx__ValueInfoProto *v = g->value_info[i];
        for (size_t k = 0; k < v->n_metadata_props; k++)
            if (strstr(onnx_text(v->metadata_props[k]->key), "InputSpec.kind"))
                names_put(&r->notes, onnx_text(v->name), (int32_t)i);
    }
}

/* --- who reads it --- */

static bool is_one_of(const char *type, const char *const *types, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

/* In subgraphs too: what only the body of a loop reads is a weight all the same. */
static void read_uses(onnx_moves *r, const Onnx__GraphProto *g)
{
    static const char *const weighing[] = {"MatMul", "Gemm", "Conv", "ConvTranspose",
                                           "Gather", "LSTM", "GRU",  "RNN",
                                           "DeformConv"};
    static const char *const scaling[] = {"Mul", "Div", "Exp"};
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnx__NodeProto *n = g->node[i];
        const char *type = onnx_text(n->op_type);
        int32_t use = (is_one_of(type, weighing, COUNT_OF(weighing)) ? AS_OPERAND : 0) |
                      (is_one_of(type, scaling, COUNT_OF(scaling)) ? AS_FACTOR : 0);
        for (size_t k = 0; use && k < n->n_input; k++) {
            int32_t before = 0;
            names_get(&r->uses, n->input[k], &before);
            names_put(&r->uses, n->input[k], before | use);
        }
        for (size_t k = 0; k < n->n_attribute; k++)
            if (n->attribute[k]->g)
                read_uses(r, n->attribute[k]->g);
    }
}

/* --- the judgement --- */

static bool is_empty(const Onnx__TensorProto *t)
{
    bool empty = false;
    for (size_t i = 0; i < t->n_dims; i++)
        empty |= t->dims[i] == 0;
    return empty;
}

static reason guess(const onnx_moves *r, const char *name, const Onnx__TensorProto *t)
{
    int32_t uses = 0;
    names_get(&r->uses, t->name, &uses);
    if (t->n_dims == 0)
        return is_made_up(name) || !is_path_of_words(name) ? MADE_UP_SCALAR
               : uses & AS_FACTOR                          ? FACTOR
                                                           : SCALAR;
    if (is_made_up(name))
        return uses & AS_OPERAND ? MADE_UP_OPERAND : MADE_UP;
    return is_module_name(name) ? MODULE_NAME : OTHER_NAME;
}

static reason reason_of(const onnx_moves *r, const char *name, const Onnx__TensorProto *t)
{
    const json_t *said = json_object_get(r->parameters, name);
    const char *note = note_of(r, name);
    if (is_empty(t))
        return EMPTY;
    if (is_wanted(r, name))
        return WANTED;
    if (said)
        return json_is_true(said) ? SAID_PARAMETER : SAID_FIXED;
    if (lists(r->buffers, name))
        return SAID_BUFFER;
    if ((r->parameters || r->buffers) && !is_made_up(name))
        return UNSAID;
    if (note)
        return strstr(note, "PARAMETER") ? NOTED_PARAMETER : NOTED_OTHER;
    return guess(r, name, t);
}

onnx_move onnx_moves_of(const onnx_moves *r, const char *name, const Onnx__TensorProto *t)
{
    return moves[reason_of(r, name, t)];
}

bool onnx_moves_names(const onnx_moves *r, const char *name)
{
    if (r->parameters || r->buffers)
        return json_object_get(r->parameters, name) || lists(r->buffers, name);
    return r->notes.n ? note_of(r, name) != NULL : !is_made_up(name);
}

status onnx_moves_create(const onnx_model *m, const char *const *train, size_t n_train,
                         onnx_moves **ret, error *err)
{
    onnx_moves *r = xcalloc(1, sizeof *r);
    *r = (onnx_moves){
        .m = m, .train = train, .n_train = n_train, .notes = NAMES_INIT, .uses = NAMES_INIT};
    status st = read_metadata(r, err);
    if (st != OK) {
        error_prepend(err, "its metadata");
        onnx_moves_destroy(&r);
        return st;
    }
    read_notes(r);
    read_uses(r, m->proto->graph);
    *ret = r;
    return OK;
}

void onnx_moves_destroy(onnx_moves **r)
{
    if (!*r)
        return;
    json_decref((*r)->parameters);
    json_decref((*r)->buffers);
    names_fini(&(*r)->notes);
    names_fini(&(*r)->uses);
    free(*r);
    *r = NULL;
}
