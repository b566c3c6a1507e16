#include "model/trainable.h"

#include "common/base/alloc.h"
#include "model/lora.h"
#include "onnx/import.h"
#include "onnx/moves.h"

#include <stdlib.h>
#include <string.h>

/* --- rows --- */

static trainable_row *row_of(trainable *m, const char *what, const char *why, bool is_guess)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->rows[i].what, what) == 0 && strcmp(m->rows[i].why, why) == 0)
            return &m->rows[i];
    BUG_ON(m->n == TRAINABLE_ROWS);
    trainable_row *row = &m->rows[m->n++];
    *row = (trainable_row){.what = what, .why = why, .is_guess = is_guess};
    return row;
}

static void add(trainable *m, const char *what, const char *why, bool is_guess, const char *name,
                int64_t n_elements)
{
    trainable_row *row = row_of(m, what, why, is_guess);
    row->n_tensors++;
    row->n_elements += n_elements;
    if (is_guess && row->n_names < TRAINABLE_NAMES)
        row->names[row->n_names++] = xstrdup(name);
}

void trainable_fini(trainable *m)
{
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < m->rows[i].n_names; k++)
            free(m->rows[i].names[k]);
    *m = (trainable){.n = 0};
}

/* --- parameters of the graph --- */

static void add_param(trainable *m, const graph_value *value, bool has_lora, const onnx_model *file,
                      const onnx_moves *moves)
{
    const char *why_frozen = has_lora
                                 ? "beside the adapters of model.lora, or named by trainer.freeze or trainer.no_grad"
                                 : "named by trainer.freeze or trainer.no_grad";
    const tensor_decl *d = value->param;
    int64_t n = graph_shape_elements(&value->shape);
    onnx_move move = {.moves = true, .why = file ? "of the new head" : "parameters of the architecture"};
    onnx_weight w;
    if (file && d->init.kind == INIT_PUSHED && onnx_weight_find(file, value->name, &w))
        move = onnx_moves_of(moves, value->name, file->proto->graph->initializer[w.initializer]);
    if (has_lora && lora_is_adapter(d->name))
        move = (onnx_move){.moves = true, .why = "adapters of model.lora"};
    if (d->kind == TENSOR_STATE)
        add(m, "state", "running statistics, which follow the batches", false, value->name, n);
    else if (d->kind == TENSOR_FROZEN && move.moves)
        add(m, "stays", why_frozen, false, value->name, n);
    else
        add(m, d->kind == TENSOR_FROZEN ? "stays" : "moves", move.why, move.is_guess, value->name, n);
}

static void add_params(trainable *m, const graph *g, const config *job, const onnx_model *file,
                       const onnx_moves *moves)
{
    const bool has_lora = config_has(job, "model.lora");
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->kind == VAL_PARAM)
            add_param(m, value, has_lora, file, moves);
    }
}

/* --- constants of a file --- */

static void add_constants(trainable *m, const graph *g, const onnx_model *file, const onnx_moves *moves)
{
    const Onnx__GraphProto *p = file->proto->graph;
    for (size_t i = 0; i < p->n_initializer; i++) {
        const Onnx__TensorProto *t = p->initializer[i];
        dtype type;
        graph_shape shape;
        if (host_describe(t, &type, &shape, NULL) != OK || type != DT_F32 ||
            graph_find(g, onnx_text(t->name)) != GRAPH_NONE)
            continue;
        onnx_move move = onnx_moves_of(moves, t->name, t);
        if (!move.is_weight)
            add(m, "constant", move.why, move.is_guess, t->name, graph_shape_elements(&shape));
    }
}

/* The globs of trainer.train, as the import takes them. */
static const char **globs_of(const config *job, size_t *ret_n)
{
    const json_t *train = config_json(job, "trainer.train");
    size_t n = json_array_size(train);
    const char **globs = xcalloc(n + 1, sizeof *globs);
    for (size_t i = 0; i < n; i++)
        globs[i] = json_string_value(json_array_get(train, i));
    *ret_n = n;
    return globs;
}

static status of_file(const config *job, const graph *g, trainable *m, error *err)
{
    onnx_model *file = NULL;
    onnx_moves *moves = NULL;
    size_t n;
    TRY(onnx_open(config_str(job, "model.path"), &file, err));
    const char **globs = globs_of(job, &n);
    status st = onnx_moves_create(file, globs, n, &moves, err);
    if (st == OK) {
        add_params(m, g, job, file, moves);
        add_constants(m, g, file, moves);
    }
    onnx_moves_destroy(&moves);
    free(globs);
    onnx_close(&file);
    return st;
}

status trainable_of(const config *job, const graph *g, trainable *ret, error *err)
{
    *ret = (trainable){.n = 0};
    if (strcmp(config_str(job, "model.type"), "onnx") == 0)
        return of_file(job, g, ret, err);
    add_params(ret, g, job, NULL, NULL);
    return OK;
}

/* --- for people --- */

static void add_names(const trainable_row *row, buf *ret)
{
    for (size_t k = 0; k < row->n_names; k++)
        buf_addf(ret, "%s%s", k ? ", " : "", row->names[k]);
    if (row->n_tensors > row->n_names)
        buf_addf(ret, " and %zu more", row->n_tensors - row->n_names);
}

void trainable_row_text(const trainable_row *row, buf *ret)
{
    buf_addf(ret, "%zu tensor%s of %lld element%s, %s%s", row->n_tensors,
             row->n_tensors == 1 ? "" : "s", (long long)row->n_elements,
             row->n_elements == 1 ? "" : "s", row->is_guess ? "a guess, " : "", row->why);
    if (row->n_names)
        buf_adds(ret, ": ");
    if (row->n_names)
        add_names(row, ret);
}

char *trainable_guesses(const config *job, const trainable *m)
{
    buf text = BUF_INIT;
    for (size_t i = 0; i < m->n; i++) {
        const trainable_row *row = &m->rows[i];
        if (!row->is_guess)
            continue;
        buf_addf(&text, "%s %s: ", text.size ? ";" : "",
                 strcmp(row->what, "moves") == 0 ? "these move" : "these do not");
        add_names(row, &text);
        buf_addf(&text, " (%s)", row->why);
    }
    if (!text.size)
        return NULL;
    char *sentence = xasprintf(
        "'%s' does not say of all its tensors whether they are trained. By guess%s. trainer.train and "
        "trainer.freeze decide, or metadata in the file: docs/MODELS.md",
        config_str(job, "model.path"), text.data);
    buf_fini(&text);
    return sentence;
}
