/*
 * Einsum as it is imported, its value and its gradient, against sums over every choice of indices
 * in double.
 */
#include "common/base/rng.h"
#include "graph/attrs.h"
#include "numeric/support_compare.h"
#include "numeric/support_gradient.h"
#include "numeric/support_lane.h"
#include "onnx/import.h"
#include "unit/onnx/support_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_IN = 3, MOST = 4096, LABELS = 128 };

static const double TOLERANCE = 1e-5;

/* `plain` says in letters what "..." stands for and what is not said; NULL: the equation does. */
typedef struct row {
    const char *equation, *plain;
    const char *shapes[MOST_IN];
} row;

static const row rows[] = {
    {"ij->ji", NULL, {"3,5"}},
    {"ij->", NULL, {"3,5"}},
    {"i j -> j", "ij->j", {"3,5"}},
    {"ij->ij", NULL, {"3,5"}},
    {"i,i", "i,i->", {"7", "7"}},
    {"i,j->ij", NULL, {"3", "4"}},
    {"ij,jk->ik", NULL, {"3,5", "5,4"}},
    {"ij,kj", "ij,kj->ik", {"3,5", "4,5"}},
    {"ba,cb", "ba,cb->ac", {"3,5", "4,3"}},
    {"ij,ij->ij", NULL, {"3,5", "3,5"}},
    {"bij,bjk->bik", NULL, {"2,3,5", "2,5,4"}},
    {"bi,bi->b", NULL, {"4,6", "4,6"}},
    {"bshd,bthd->bhst", NULL, {"2,3,2,4", "2,5,2,4"}},
    {"bhst,bthd->bshd", NULL, {"2,2,3,5", "2,5,2,4"}},
    {"bsd,dhk->bhsk", NULL, {"2,3,4", "4,2,5"}},
    {"ijk,kl->i", NULL, {"2,3,4", "4,5"}},
    {"i,ij,j->", NULL, {"3", "3,5", "5"}},
    {"ij,jk,kl->il", NULL, {"2,3", "3,4", "4,5"}},
    {"ii->i", NULL, {"4,4"}},
    {"ii", "ii->", {"4,4"}},
    {"...ii->...i", "abii->abi", {"2,3,4,4"}},
    {"...ij,jk->...ik", "abij,jk->abik", {"2,3,4,5", "5,6"}},
    {"...ij,...jk->...ik", "abij,abjk->abik", {"2,3,4,5", "1,3,5,2"}},
    {"...i,...i", "abi,bi->ab", {"2,3,4", "3,4"}},
    {"...->", "ab->", {"2,3"}},
    {"aB,Bc->ac", NULL, {"2,3", "3,4"}},
    {"ij,jk->ik", NULL, {"3,0", "0,4"}},
    {"bij,bjk->bik", NULL, {"0,3,5", "0,5,4"}},
};

typedef struct operand {
    const char *labels;
    int32_t rank;
    int64_t dim[GRAPH_RANK], n;
    double x[MOST], gradient[MOST];
} operand;

typedef struct sums {
    operand in[MOST_IN], y;
    double mix[MOST]; /* what the loss multiplies y with */
    int n_in;
    int64_t size[LABELS], at[LABELS];
    char letters[LABELS], text[64];
} sums;

static int64_t place(const sums *s, const operand *o)
{
    int64_t at = 0;
    for (int32_t i = 0; i < o->rank; i++)
        at = at * o->dim[i] + (o->dim[i] == 1 ? 0 : s->at[(int)o->labels[i]]);
    return at;
}

static void fill(double *x, int64_t n, uint64_t stream)
{
    rng r = rng_make(9, RNG_TEST, stream);
    for (int64_t i = 0; i < n; i++)
        x[i] = (double)rng_normal(&r, (uint64_t)i);
}

static void read_operand(sums *s, operand *o, const char *labels, const char *shape)
{
    o->labels = labels;
    o->n = 1;
    for (char *end; *shape; shape = *end ? end + 1 : end) {
        int64_t d = strtoll(shape, &end, 10), *size = &s->size[(int)labels[o->rank]];
        o->dim[o->rank++] = d;
        o->n *= d;
        *size = *size < 0 || *size == 1 ? d : *size;
    }
    assert_true(o->n <= MOST && (size_t)o->rank == strlen(labels));
}

/* Terms, shapes and sizes of the row; operands are filled. */
static sums *read_row(const row *r)
{
    sums *s = xcalloc(1, sizeof *s);
    snprintf(s->text, sizeof s->text, "%s", r->plain ? r->plain : r->equation);
    memset(s->size, 0xff, sizeof s->size);
    char *result = strstr(s->text, "->"), *term = s->text;
    result[0] = '\0';
    for (; s->n_in < MOST_IN && r->shapes[s->n_in]; s->n_in++) {
        char *end = term + strcspn(term, ",");
        char *next = *end ? end + 1 : end;
        *end = '\0';
        read_operand(s, &s->in[s->n_in], term, r->shapes[s->n_in]);
        fill(s->in[s->n_in].x, s->in[s->n_in].n, (uint64_t)s->n_in);
        term = next;
    }
    s->y = (operand){.labels = result + 2, .n = 1};
    for (const char *l = s->y.labels; *l; l++) {
        s->y.dim[s->y.rank++] = s->size[(int)*l];
        s->y.n *= s->size[(int)*l];
    }
    size_t n = 0;
    for (int l = 0; l < LABELS; l++)
        if (s->size[l] >= 0)
            s->letters[n++] = (char)l;
    fill(s->mix, s->y.n, 99);
    return s;
}

static void add_choice(sums *s)
{
    double product = 1, weight = s->mix[place(s, &s->y)];
    for (int k = 0; k < s->n_in; k++)
        product *= s->in[k].x[place(s, &s->in[k])];
    s->y.x[place(s, &s->y)] += product;
    for (int k = 0; k < s->n_in; k++) {
        double others = weight;
        for (int j = 0; j < s->n_in; j++)
            others *= j == k ? 1 : s->in[j].x[place(s, &s->in[j])];
        s->in[k].gradient[place(s, &s->in[k])] += others;
    }
}

/* Every index of every letter from `letter` on. */
static void sum_up(sums *s, const char *letter)
{
    if (!*letter) {
        add_choice(s);
        return;
    }
    for (int64_t i = 0; i < s->size[(int)*letter]; i++) {
        s->at[(int)*letter] = i;
        sum_up(s, letter + 1);
    }
}

static onnx_model *model_of(const row *r, int n_in)
{
    static const char *const inputs[] = {"x0", "x0 x1", "x0 x1 x2"};
    char name[] = "x0";
    file *f = file_create(13);
    for (int k = 0; k < n_in; k++) {
        name[1] = (char)('0' + k);
        file_input(f, name, FILE_FLOAT, r->shapes[k]);
    }
    file_string(f, file_node(f, "Einsum", inputs[n_in - 1], "y"), "equation", r->equation);
    file_output(f, "y");
    onnx_model *m = file_open(f);
    file_destroy(&f);
    return m;
}

/* The imported operator over parameters, and the sum of what it gives times `mix`. */
static graph *build(const sums *s, const onnx_model *m)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    onnx_binding bound[MOST_IN];
    onnx_imported imported;
    char names[MOST_IN][3] = {"x0", "x1", "x2"};
    must(graph_create(&g, &err), &err);
    for (int k = 0; k < s->n_in; k++) {
        tensor_decl decl = {.name = names[k], .rank = s->in[k].rank};
        memcpy(decl.dim, s->in[k].dim, sizeof decl.dim);
        bound[k] = (onnx_binding){.input = names[k]};
        must(graph_param(g, &decl, &bound[k].value, &err), &err);
    }
    onnx_request request = {.inputs = bound, .n_inputs = (size_t)s->n_in, .batch_id = GRAPH_NONE};
    must(onnx_import(m, g, &request, &imported, &err), &err);
    graph_val y = imported.outputs[0].value;
    onnx_imported_fini(&imported);
    graph_shape shape = graph_value_at(g, y)->shape;
    assert_int_equal(shape.rank, s->y.rank);
    assert_memory_equal(shape.dim, s->y.dim, (size_t)shape.rank * sizeof *shape.dim);
    float mix[MOST];
    for (int64_t i = 0; i < s->y.n; i++)
        mix[i] = (float)s->mix[i];
    must(graph_add_1(g, OP_IDENTITY, "y", &y, 1, NULL, &y, &err), &err);
    graph_keep(g, y);
    gradient_append(g, gradient_loss(g, y, mix));
    return g;
}

static bool check_gradients(const sums *s, const lane *l)
{
    bool close = true;
    char name[] = "x0", what[64];
    double got[MOST];
    for (int k = 0; k < s->n_in; k++) {
        name[1] = (char)('0' + k);
        const float *grad = lane_grad(l, name);
        for (int64_t i = 0; i < s->in[k].n; i++)
            got[i] = (double)grad[i];
        snprintf(what, sizeof what, "the gradient of '%s'", s->in[k].labels);
        close = is_close(what, got, s->in[k].gradient, s->in[k].n, TOLERANCE) && close;
    }
    return close;
}

static bool check_row(const row *r)
{
    sums *s = read_row(r);
    onnx_model *m = model_of(r, s->n_in);
    graph *g = build(s, m);
    char name[] = "x0";
    double y[MOST] = {0};
    lane l;
    sum_up(s, s->letters);
    lane_init(&l, (const graph *const *)&g, 1, 2);
    for (int k = 0; k < s->n_in; k++) {
        name[1] = (char)('0' + k);
        lane_set(&l, 0, name, s->in[k].x);
    }
    lane_set(&l, 0, "weight", &(double){1});
    lane_run(&l, 0, NULL);
    lane_get(&l, 0, "y", y);
    bool close = is_close(r->equation, y, s->y.x, s->y.n, TOLERANCE);
    close = check_gradients(s, &l) && close;
    lane_fini(&l);
    graph_destroy(&g);
    onnx_close(&m);
    free(s);
    return close;
}

static void values_and_gradients_are_the_sums(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        wrong += !check_row(&rows[i]);
    assert_int_equal(wrong, 0);
}

static void wrong_equations_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *equation, *text;
    } refusals[] = {
        {"ij,jk", "does not have one term for each of 1 inputs"},
        {"i1", "has a '1' where a letter may stand"},
        {"ij-", "has a '-' that is no arrow"},
        {"ij->ij->i", "does not have one term"},
        {"ijk", "its input 0 has 2 axes, not those of the equation"},
        {"...ijk", "its input 0 has 2 axes, not those of the equation"},
        {"ij->ik", "has a letter twice, or one that no term has"},
        {"ij->ii", "has a letter twice, or one that no term has"},
        {"ii", "one letter is an axis of 2 and one of 3"},
        {"ij...k...", "has a '.' where a letter may stand"},
        {"abcdefghijklmnopq", "has more than 16 letters"},
        {"abcdefghi", "has more than 8 axes"},
    };
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        error err = ERROR_INIT;
        row r = {refusals[i].equation, NULL, {"2,3"}};
        onnx_model *m = model_of(&r, 1);
        graph *g = NULL;
        onnx_imported imported = {.memory = NULL};
        onnx_binding x = {.input = "x0"};
        must(graph_create(&g, &err), &err);
        must(graph_input(g, "x0", DT_F32, (graph_shape){2, {2, 3}}, &x.value, &err), &err);
        onnx_request request = {.inputs = &x, .n_inputs = 1, .batch_id = GRAPH_NONE};
        assert_int_not_equal(onnx_import(m, g, &request, &imported, &err), OK);
        if (!strstr(err.text, refusals[i].text))
            fail_msg("'%s': '%s' does not hold '%s'", r.equation, err.text, refusals[i].text);
        onnx_imported_fini(&imported);
        graph_destroy(&g);
        onnx_close(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_gradients_are_the_sums),
        cmocka_unit_test(wrong_equations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
