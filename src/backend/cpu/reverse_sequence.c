/* ReverseSequence: x is two axes, of steps and of examples in either order, and runs behind them.
 */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "graph/axis_split.h"

#include <inttypes.h>
#include <string.h>

enum { RUN_GRAIN = 65536 }; /* bytes */

typedef struct sequence_state {
    sequence_form f;
    size_t run; /* bytes */
    dtype length;
} sequence_state;

typedef struct sequence_task {
    const sequence_state *s;
    char *y;
    const char *x;
    const void *lengths;
} sequence_task;

static int64_t length_of(const sequence_state *s, const void *lengths, int64_t example)
{
    return s->length == DT_I64 ? ((const int64_t *)lengths)[example]
                               : ((const int32_t *)lengths)[example];
}

static void reverse_runs(int64_t begin, int64_t end, void *arg)
{
    const sequence_task *t = arg;
    const sequence_state *s = t->s;
    for (int64_t i = begin; i < end; i++) {
        int64_t example = s->f.batch_first ? i / s->f.steps : i % s->f.examples;
        int64_t step = s->f.batch_first ? i % s->f.steps : i / s->f.examples;
        int64_t length = length_of(s, t->lengths, example);
        int64_t from = step < length ? length - 1 - step : step;
        from = s->f.batch_first ? example * s->f.steps + from : from * s->f.examples + example;
        memcpy(t->y + (size_t)i * s->run, t->x + (size_t)from * s->run, s->run);
    }
}

static status run_sequence(const cpu_node *n, const cpu_call *c, error *err)
{
    const sequence_state *s = n->state;
    for (int64_t i = 0; i < s->f.examples; i++) {
        int64_t length = length_of(s, c->in[1], i);
        if (length < 0 || length > s->f.steps)
            return FAIL(err, E_DATA,
                        "length %" PRId64 " of example %" PRId64 " is outside 0..%" PRId64, length,
                        i, s->f.steps);
    }
    sequence_task t = {.s = s, .y = c->out[0], .x = c->in[0], .lengths = c->in[1]};
    team_for(s->f.steps * s->f.examples, RUN_GRAIN / (int64_t)(s->run + 1) + 1, reverse_runs, &t);
    return OK;
}

status cpu_plan_reverse_sequence(cpu_node *n)
{
    const graph_value *x = node_in(n, 0);
    sequence_state *s = node_alloc(n, sizeof *s);
    s->f = sequence_form_of(n->node->attr, &x->shape);
    s->run = (size_t)s->f.run * dtype_bytes(x->dtype);
    s->length = node_in(n, 1)->dtype;
    n->body = run_sequence;
    n->state = s;
    return OK;
}
