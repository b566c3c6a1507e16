#include "master/profile/source.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

void trace_source_add(trace_source *s, Wire__Trace *m)
{
    size_t n = m->events.len / sizeof *s->events;
    GROW(s->events, s->cap, s->n + n);
    if (n)
        memcpy(s->events + s->n, m->events.data, n * sizeof *s->events);
    s->n += n;
    s->left_out = m->left_out;
    if (s->about) {
        wire_free(&m->base);
        return;
    }
    free(m->events.data);
    m->events = (ProtobufCBinaryData){.data = NULL};
    s->about = m;
}

void trace_source_free(trace_source *s)
{
    if (s->about)
        wire_free(&s->about->base);
    free(s->events);
    *s = (trace_source){.about = NULL};
}

const char *trace_source_task(const trace_source *s, int of)
{
    const Wire__Trace *a = s->about;
    for (size_t i = 0; a && i < a->n_tasks; i++)
        if ((int)a->tasks[i]->role == of)
            return a->tasks[i]->name;
    return a && a->n_tasks ? a->tasks[0]->name : "?";
}

const char *trace_source_peer(const trace_source *s, uint32_t number, char ret[TASK_NAME])
{
    const Wire__Trace *a = s->about;
    ret[0] = 0;
    for (size_t i = 0; a && i < a->n_peers; i++)
        if (a->peers[i]->number == number)
            task_name((task){(role)a->peers[i]->role, (int32_t)a->peers[i]->index}, ret);
    return ret;
}

const char *trace_source_node(const trace_source *s, int32_t variant, int32_t node)
{
    const Wire__Trace *a = s->about;
    for (size_t i = 0; a && i < a->n_variants; i++) {
        const Wire__Trace__Variant *v = a->variants[i];
        if ((int64_t)v->number == variant)
            return node >= 0 && (size_t)node < v->n_nodes ? v->nodes[node] : NULL;
    }
    return NULL;
}
