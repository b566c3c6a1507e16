#include "worker/upload.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "exec/upload.h"

#include <stdlib.h>
#include <string.h>

/* Enough for devices to be at one while the next arrive. */
enum { TRANSFERS = 4 };

typedef struct transfer {
    int32_t part;           /* -1: none */
    span *held;             /* what it lies in; NULL: in the stage */
    float *stage;
} transfer;

/* Memory the devices know. */
typedef struct pinned_range {
    const char *begin, *end;
} pinned_range;

struct upload {
    const flat *flat;
    exec **engines;
    size_t n_engines, cap_engines;
    pinned_range *pinned;
    size_t n_pinned, cap_pinned;
    transfer transfers[TRANSFERS];
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

status upload_create(const flat *f, upload **ret, error *err)
{
    size_t n = stage_elements(f);
    void *stages = NULL;
    TRY(mem_alloc(TRANSFERS * n * sizeof(float), "parts on their way to devices", &stages, err));
    upload *made = xcalloc(1, sizeof *made);
    made->flat = f;
    made->stages = stages;
    for (size_t i = 0; i < TRANSFERS; i++)
        made->transfers[i] = (transfer){.part = -1, .stage = (float *)stages + i * n};
    *ret = made;
    return OK;
}

void upload_join(upload *f, exec *e)
{
    GROW(f->engines, f->cap_engines, f->n_engines + 1);
    f->engines[f->n_engines++] = e;
    if (f->n_engines == 1)
        f->are_known =
            exec_pin(e, f->stages, TRANSFERS * stage_elements(f->flat) * sizeof(float), NULL) == OK;
}

/* --- transfers --- */

/* Whatever became of a device, the others are waited for, and the memory goes back. */
static status end(upload *f, transfer *t, error *err)
{
    status st = OK;
    for (size_t i = 0; t->part >= 0 && i < f->n_engines; i++) {
        status one = exec_wait_part(f->engines[i], t->part, st == OK ? err : NULL);
        st = st == OK ? one : st;
    }
    span_drop(span_move(&t->held));
    t->part = -1;
    return st;
}

status upload_settle(upload *f, error *err)
{
    status st = OK;
    for (size_t i = 0; i < TRANSFERS; i++) {
        status one = end(f, &f->transfers[(f->next + i) % TRANSFERS], st == OK ? err : NULL);
        st = st == OK ? one : st;
    }
    return st;
}

static bool is_known(const upload *f, const float *data)
{
    for (size_t i = 0; i < f->n_pinned; i++)
        if ((const char *)data >= f->pinned[i].begin && (const char *)data < f->pinned[i].end)
            return true;
    return false;
}

status upload_part(upload *f, const kv_part *p, error *err)
{
    transfer *t = &f->transfers[f->next++ % TRANSFERS];
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
        TRY(exec_upload_part(f->engines[i], p->part, data, err));
    return OK;
}

/* --- shared memory --- */

static void mapped(void *user, void *p, size_t bytes)
{
    upload *f = user;
    error why = ERROR_INIT;
    if (exec_pin(f->engines[0], p, bytes, &why) != OK) {
        LOG_W("SHARED", "weights that a server shares are copied once more on the host: %s", why.text);
        return;
    }
    GROW(f->pinned, f->cap_pinned, f->n_pinned + 1);
    f->pinned[f->n_pinned++] = (pinned_range){p, (const char *)p + bytes};
    LOG_D("SHARED", "devices take weights from it");
}

static void unmapped(void *user, void *p)
{
    upload *f = user;
    for (size_t i = 0; i < f->n_pinned; i++)
        if (f->pinned[i].begin == p) {
            exec_unpin(f->engines[0], p);
            f->pinned[i] = f->pinned[--f->n_pinned];
            return;
        }
}

net_memory upload_memory(upload *f)
{
    return (net_memory){mapped, unmapped, f};
}

void upload_destroy(upload **f)
{
    if (!f || !*f)
        return;
    for (size_t i = 0; i < TRANSFERS; i++)
        (void)end(*f, &(*f)->transfers[i], NULL);
    if ((*f)->are_known)
        exec_unpin((*f)->engines[0], (*f)->stages);
    mem_free((*f)->stages);
    free((*f)->engines);
    free((*f)->pinned);
    free(*f);
    *f = NULL;
}
