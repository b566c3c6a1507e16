/*
 * NonMaxSuppression of boxes that are known: the best of each class first, and then those that do not
 * overlap with one that was taken. How many that are depends on the boxes, so the run, whose shapes are
 * static, cannot do it.
 */
#include "onnx/fold/fold.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MOST_LOOKS = 1 << 30 }; /* pairs of boxes that are compared */

typedef struct candidate {
    double score;
    int64_t box;
} candidate;

typedef struct suppression {
    const host_tensor *boxes, *scores; /* [batch,n,4], [batch,classes,n] */
    bool by_centre;
    int64_t most; /* of a class */
    double overlap, least_score;
    bool has_least_score;
    candidate *order;
    int64_t *kept;
    int64_t *found; /* [n_found,3]: batch, class, box */
    size_t n_found, cap_found;
} suppression;

static int by_score(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->box < y->box ? -1 : x->box > y->box;
}

/* From `ret[0]` to `ret[1]` along axis 0 or 1 of a box. */
static void side(const suppression *s, int64_t box, int axis, double ret[2])
{
    double a = host_get(s->boxes, 4 * box + axis), b = host_get(s->boxes, 4 * box + 2 + axis);
    double low = s->by_centre ? a - b / 2 : a, high = s->by_centre ? a + b / 2 : b;
    ret[0] = low < high ? low : high;
    ret[1] = low < high ? high : low;
}

static bool overlap(const suppression *s, int64_t a, int64_t b)
{
    double both = 1, area_a = 1, area_b = 1;
    for (int axis = 0; axis < 2; axis++) {
        double x[2], y[2];
        side(s, a, axis, x);
        side(s, b, axis, y);
        double low = x[0] > y[0] ? x[0] : y[0], high = x[1] < y[1] ? x[1] : y[1];
        both *= high > low ? high - low : 0;
        area_a *= x[1] - x[0];
        area_b *= y[1] - y[0];
    }
    return both > 0 && (float)(both / (area_a + area_b - both)) > (float)s->overlap;
}

/* What is kept of one class of one image. */
static void keep(suppression *s, int64_t image, int64_t class)
{
    int64_t n = s->boxes->shape.dim[1], classes = s->scores->shape.dim[1], n_order = 0, n_kept = 0;
    for (int64_t k = 0; k < n; k++) {
        double score = host_get(s->scores, (image * classes + class) * n + k);
        if (!s->has_least_score || score > s->least_score)
            s->order[n_order++] = (candidate){score, k};
    }
    qsort(s->order, (size_t)n_order, sizeof *s->order, by_score);
    for (int64_t k = 0; k < n_order && n_kept < s->most; k++) {
        bool free = true;
        for (int64_t j = 0; free && j < n_kept; j++)
            free = !overlap(s, image * n + s->order[k].box, image * n + s->kept[j]);
        if (!free)
            continue;
        s->kept[n_kept++] = s->order[k].box;
        GROW(s->found, s->cap_found, 3 * (s->n_found + 1));
        int64_t *row = s->found + 3 * s->n_found++;
        row[0] = image;
        row[1] = class;
        row[2] = s->order[k].box;
    }
}

static status read_inputs(call *c, suppression *s, error *err)
{
    double most;
    TRY(onnx_fold_input(c, 0, &s->boxes, err));
    TRY(onnx_fold_input(c, 1, &s->scores, err));
    const graph_shape *boxes = &s->boxes->shape, *scores = &s->scores->shape;
    if (boxes->rank != 3 || scores->rank != 3 || boxes->dim[2] != 4 ||
        boxes->dim[0] != scores->dim[0] || boxes->dim[1] != scores->dim[2])
        return FAIL(err, E_DATA, "its boxes must be [batch,n,4] and its scores [batch,classes,n]");
    TRY(call_known_number(c, 2, 0.0, &most, err));
    TRY(call_known_number(c, 3, 0.0, &s->overlap, err));
    TRY(call_known_number(c, 4, 0.0, &s->least_score, err));
    s->has_least_score = call_has(c, 4);
    s->by_centre = call_int(c, "center_point_box") != 0;
    s->most = most > (double)boxes->dim[1] ? boxes->dim[1] : most > 0 ? (int64_t)most : 0;
    if ((double)s->scores->n * (double)s->most > MOST_LOOKS)
        return call_refuse(
            err,
            "its %" PRId64
            " scores are too many to be looked at before the run; export the network without it",
            s->scores->n);
    return OK;
}

status onnx_fold_non_max_suppression(call *c, error *err)
{
    suppression s = {.boxes = NULL};
    host_tensor *y;
    TRY(read_inputs(c, &s, err));
    size_t n = (size_t)s.boxes->shape.dim[1] + 1;
    s.order = arena_alloc(c->im->a, n * sizeof *s.order);
    s.kept = arena_alloc(c->im->a, n * sizeof *s.kept);
    for (int64_t i = 0; i < s.boxes->shape.dim[0]; i++)
        for (int64_t k = 0; k < s.scores->shape.dim[1]; k++)
            keep(&s, i, k);
    const graph_shape shape = {2, {(int64_t)s.n_found, 3}};
    status st = onnx_fold_only_result(c, DT_I64, &shape, &y, err);
    for (int64_t i = 0; st == OK && i < y->n; i++)
        host_set_int(y, i, s.found[i]);
    free(s.found);
    return st;
}
