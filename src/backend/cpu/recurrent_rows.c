/* What every cell of a recurrent operator does in a step: its rows, and its products with the recurrence. */
#include "backend/cpu/recurrent.h"

#include "backend/cpu/dnnl/shim.h"
#include "backend/cpu/team.h"

enum { ROW_GRAIN = 8192 }; /* elements of a piece of rows */
bool recurrent_counts(const recurrent_pass *p, int64_t t, int64_t b)
{
    if (!p->lengths)
        return true;
    return t < (p->s->wide_lengths ? ((const int64_t *)p->lengths)[b]
                                   : (int64_t)((const int32_t *)p->lengths)[b]);
}

typedef struct rows_task {
    const recurrent_pass *p;
    int64_t t;
    recurrent_row *row, *other;
} rows_task;

static void walk_rows(int64_t begin, int64_t end, void *arg)
{
    const rows_task *task = arg;
    for (int64_t b = begin; b < end; b++) {
        recurrent_row *row = recurrent_counts(task->p, task->t, b) ? task->row : task->other;
        if (row)
            row(task->p, task->t, b);
    }
}

void recurrent_rows(const recurrent_pass *p, int64_t t, recurrent_row *row, recurrent_row *other)
{
    rows_task task = {p, t, row, other};
    team_for(p->s->batch, ROW_GRAIN / (p->s->hidden * p->s->gates + 1) + 1, walk_rows, &task);
}

status recurrent_multiply(const recurrent_pass *p, const recurrent_matmul *m, error *err)
{
    int64_t hidden = p->s->hidden, wide = m->n_gates * hidden;
    shim_matrix a = {.data = m->a, .stride = m->a_stride};
    shim_matrix r = {
        .data = p->r + m->gate * hidden * hidden, .stride = hidden, .transposed = m->forward};
    return shim_gemm(p->s->batch, m->forward ? wide : hidden, m->forward ? hidden : wide, 1.0f, a,
                     r, m->beta, m->c, m->c_stride, err);
}
