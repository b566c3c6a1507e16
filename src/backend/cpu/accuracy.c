/* Accuracy: scores [N,C,inner], labels [N,inner]. Pieces of rows are counted apart; sums of counts
 * are exact in any order. */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "graph/axis_split.h"

#include <math.h>
#include <string.h>

enum { ACCURACY_GRAIN = 8192 }; /* elements */

typedef struct accuracy_state {
    int64_t rows, classes, inner, grain;
    const accuracy_attr *attr;
} accuracy_state;

typedef struct accuracy_task {
    const accuracy_state *s;
    const float *scores;
    const int64_t *labels;
    int64_t *right, *counted; /* by piece */
} accuracy_task;

/* Index of the largest score, the first one on ties; -1 when any is not a number. */
static int64_t best_class(const float *x, int64_t classes, int64_t stride)
{
    int64_t best = 0;
    for (int64_t c = 0; c < classes; c++) {
        if (isnan(x[c * stride]))
            return -1;
        if (x[c * stride] > x[best * stride])
            best = c;
    }
    return classes == 1 && x[0] > 0.0f ? 1 : best;
}

static void count_rows(int64_t begin, int64_t end, void *arg)
{
    const accuracy_task *t = arg;
    const accuracy_state *s = t->s;
    int64_t right = 0, counted = 0;
    for (int64_t row = begin; row < end; row++) {
        if (s->attr->has_ignore_index && t->labels[row] == s->attr->ignore_index)
            continue;
        const float *x = t->scores + row / s->inner * s->classes * s->inner + row % s->inner;
        right += best_class(x, s->classes, s->inner) == t->labels[row];
        counted++;
    }
    t->right[begin / s->grain] = right;
    t->counted[begin / s->grain] = counted;
}

static int64_t pieces_of(const accuracy_state *s)
{
    return (s->rows + s->grain - 1) / s->grain;
}

static void run_accuracy(const cpu_node *n, const cpu_call *c)
{
    const accuracy_state *s = n->state;
    int64_t pieces = pieces_of(s);
    int64_t *counts = c->scratch, *right = c->out[0], *counted = c->out[1];
    accuracy_task t = {s, c->in[0], c->in[1], counts, counts + pieces};
    memset(counts, 0, n->scratch_bytes); /* one call may stand for all pieces */
    team_for(s->rows, s->grain, count_rows, &t);
    int64_t sums[2] = {0, 0};
    for (int64_t i = 0; i < pieces; i++) {
        sums[0] += t.right[i];
        sums[1] += t.counted[i];
    }
    if (right)
        *right = sums[0];
    if (counted)
        *counted = sums[1];
}

status cpu_plan_accuracy(cpu_node *n)
{
    axis_split at = axis_split_of(&node_in(n, 0)->shape, 1);
    accuracy_state *s = node_runs(n, run_accuracy, sizeof *s);
    *s = (accuracy_state){.rows = at.outer * at.inner, .classes = at.n, .inner = at.inner};
    s->grain = ACCURACY_GRAIN / (s->classes + 1) + 1;
    s->attr = n->node->attr;
    n->scratch_bytes = (size_t)(2 * pieces_of(s)) * sizeof(int64_t);
    return OK;
}
