#include "worker/ferry.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "exec/bring.h"

#include <stdlib.h>
#include <string.h>

/* Enough for devices to be at one while the next arrive. */
enum { TRIPS = 4 };

typedef struct trip {
    int32_t part;           /* -1: none */
    span *held;             /* what it lies in; NULL: in the stage */
    float *stage;
} trip;

/* Memory the devices know. */
typedef struct shore {
    const char *begin, *end;
} shore;

struct ferry {
    const flat *flat;
    exec **engines;
    size_t n_engines, cap_engines;
    shore *shores;
    size_t n_shores, cap_shores;
    trip trips[TRIPS];
    size_t next;            /* of them */
    void *stages;
    bool are_known;         /* the stages, to the devices */
};

static size_t stage_elements(const flat *f)
{
    size_t most = 0;
    for (int32_t p = 0; p < f->n_parts; p++) {
        size_t n = size_round_up((size_t)flat_part_elements(f, p), FLAT_ALIGN);
        most = n > most ? n : most;
    }
    return most;
}

status ferry_create(const flat *f, ferry **ret, error *err)
{
    size_t n = stage_elements(f);
    void *stages = NULL;
    TRY(mem_alloc(TRIPS * n * sizeof(float), "parts on their way to devices", &stages, err));
    ferry *made = xcalloc(1, sizeof *made);
    made->flat = f;
    made->stages = stages;
    for (size_t i = 0; i < TRIPS; i++)
        made->trips[i] = (trip){.part = -1, .stage = (float *)stages + i * n};
    *ret = made;
    return OK;
}

void ferry_join(ferry *f, exec *e)
{
    GROW(f->engines, f->cap_engines, f->n_engines + 1);
    f->engines[f->n_engines++] = e;
    if (f->n_engines == 1)
        f->are_known =
            exec_pin(e, f->stages, TRIPS * stage_elements(f->flat) * sizeof(float), NULL) == OK;
}

/* --- trips --- */

/* Whatever became of a device, the others are waited for, and the memory goes back. */
static status end(ferry *f, trip *t, error *err)
{
    status st = OK;
    for (size_t i = 0; t->part >= 0 && i < f->n_engines; i++) {
        status one = exec_brought(f->engines[i], t->part, st == OK ? err : NULL);
        st = st == OK ? one : st;
    }
    span_drop(span_move(&t->held));
    t->part = -1;
    return st;
}

status ferry_settle(ferry *f, error *err)
{
    status st = OK;
    for (size_t i = 0; i < TRIPS; i++) {
        status one = end(f, &f->trips[(f->next + i) % TRIPS], st == OK ? err : NULL);
        st = st == OK ? one : st;
    }
    return st;
}

static bool is_known(const ferry *f, const float *data)
{
    for (size_t i = 0; i < f->n_shores; i++)
        if ((const char *)data >= f->shores[i].begin && (const char *)data < f->shores[i].end)
            return true;
    return false;
}

status ferry_bring(ferry *f, const kv_part *p, error *err)
{
    trip *t = &f->trips[f->next++ % TRIPS];
    const float *data = t->stage;
    TRY(end(f, t, err));
    if (is_known(f, p->weights->floats)) {
        t->held = span_hold(p->weights);
        data = t->held->floats;
    } else {
        memcpy(t->stage, p->weights->data, p->weights->bytes);
    }
    t->part = p->part;
    for (size_t i = 0; i < f->n_engines; i++)
        TRY(exec_bring(f->engines[i], p->part, data, err));
    return OK;
}

/* --- shared memory --- */

static void mapped(void *user, void *p, size_t bytes)
{
    ferry *f = user;
    error why = ERROR_INIT;
    if (exec_pin(f->engines[0], p, bytes, &why) != OK) {
        LOG_W("SHARED", "weights that a server shares are copied once more on the host: %s", why.text);
        return;
    }
    GROW(f->shores, f->cap_shores, f->n_shores + 1);
    f->shores[f->n_shores++] = (shore){p, (const char *)p + bytes};
    LOG_D("SHARED", "devices take weights from it");
}

static void unmapped(void *user, void *p)
{
    ferry *f = user;
    for (size_t i = 0; i < f->n_shores; i++)
        if (f->shores[i].begin == p) {
            exec_unpin(f->engines[0], p);
            f->shores[i] = f->shores[--f->n_shores];
            return;
        }
}

net_memory ferry_memory(ferry *f)
{
    return (net_memory){mapped, unmapped, f};
}

void ferry_destroy(ferry **f)
{
    if (!f || !*f)
        return;
    for (size_t i = 0; i < TRIPS; i++)
        (void)end(*f, &(*f)->trips[i], NULL);
    if ((*f)->are_known)
        exec_unpin((*f)->engines[0], (*f)->stages);
    mem_free((*f)->stages);
    free((*f)->engines);
    free((*f)->shores);
    free(*f);
    *f = NULL;
}
