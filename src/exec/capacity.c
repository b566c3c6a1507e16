/*
 * Whether a device has room for what is about to be taken of its memory: said at once, with what
 * would help, and not by the first piece that does not fit.
 */
#include "exec/state.h"

#include <stdio.h>

enum { SPARE = 32 }; /* a 32nd of what is free stays: pieces are rounded up */

typedef struct need {
    size_t fixed, more, batch; /* bytes; constants are there already; what is more, sums and what peers
                                * send, can be done without... */
} need;

/* ...but where they have no other place. */
static need need_of(const exec *e, const exec_options *o)
{
    const exec_memory *m = &e->memory;
    size_t must = m->param + m->grad + o->beside, may = m->sums + m->received;
    return (need){.fixed = e->weights->ops->keeps_gradients ? must + may : must,
                  .more = e->weights->ops->keeps_gradients ? 0 : may,
                  .batch = 2 * m->io + m->temp + m->workspace};
}

static unsigned long long mib(size_t bytes)
{
    return (bytes + (1U << 20) - 1) >> 20;
}

/* How many examples fit beside so much else, if room grows with them. */
static long long most_beside(size_t taken, const need *n, size_t room, int64_t examples)
{
    size_t left = room > taken ? room - taken : 0;
    return (long long)((double)left / (double)n->batch * (double)examples);
}

static long long most_examples(const need *n, size_t room, int64_t examples)
{
    long long most = most_beside(n->fixed + n->more, n, room, examples);
    return most > 0 ? most : most_beside(n->fixed, n, room, examples);
}

static void advise(const need *n, size_t room, int64_t examples, char *ret, size_t bytes)
{
    long long most = examples ? most_examples(n, room, examples) : 0;
    if (examples && most > 0)
        snprintf(ret, bytes, "a batch of %lld; one of %lld would fit", (long long)examples, most);
    else if (examples)
        snprintf(ret, bytes, "a batch of %lld; not even one of 1 would fit", (long long)examples);
    else
        snprintf(ret, bytes, "a batch");
}

status capacity_check(const exec *e, const exec_options *o, error *err)
{
    backend_device d;
    TRY(e->ops->describe(o->device.device, &d, err));
    need n = need_of(e, o);
    size_t room = d.free - d.free / SPARE;
    if (n.fixed + n.batch <= room)
        return OK;
    char advice[128];
    advise(&n, room, o->examples, advice, sizeof advice);
    return FAIL(err, E_NOMEM,
                "%s number %d (%s) lacks memory: %llu MiB are needed, %llu of %llu are free; weights, "
                "%sgradients and their sums%s take %llu, and %llu are for %s",
                e->ops->name, o->device.device, d.name, mib(n.fixed + n.more + n.batch), mib(d.free),
                mib(d.memory), e->weights->ops->keeps_gradients ? "the optimizer's state, " : "",
                e->memory.received ? " with what other devices send" : "", mib(n.fixed + n.more),
                mib(n.batch), advice);
}
