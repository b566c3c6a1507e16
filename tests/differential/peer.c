#include "differential/peer.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * The interface is a table of functions, at places that never change (onnxruntime_c_api.h); what is
 * handed out is opaque.
 */
typedef struct handle handle;
typedef void (*entry)(void);

typedef struct api_base {
    const entry *(*api)(uint32_t version);
    const char *(*version)(void);
} api_base;

enum place {
    GET_ERROR_MESSAGE = 2,
    CREATE_ENV = 3,
    CREATE_SESSION_FROM_ARRAY = 8,
    RUN = 9,
    CREATE_SESSION_OPTIONS = 10,
    SET_GRAPH_OPTIMIZATION_LEVEL = 23,
    SET_INTRA_OP_NUM_THREADS = 24,
    CREATE_TENSOR_WITH_DATA = 49,
    GET_TENSOR_MUTABLE_DATA = 51,
    GET_TENSOR_ELEMENT_TYPE = 60,
    GET_DIMENSIONS_COUNT = 61,
    GET_DIMENSIONS = 62,
    GET_TENSOR_TYPE_AND_SHAPE = 65,
    CREATE_CPU_MEMORY_INFO = 69,
    RELEASE_ENV = 92,
    RELEASE_STATUS = 93,
    RELEASE_MEMORY_INFO = 94,
    RELEASE_SESSION = 95,
    RELEASE_VALUE = 96,
    RELEASE_TYPE_AND_SHAPE = 99,
    RELEASE_SESSION_OPTIONS = 100,
};

enum {
    API_VERSION = 8,
    LOG_FATAL = 4,
    NO_OPTIMIZATION = 0,
    ARENA_ALLOCATOR = 1,
    DEFAULT_MEMORY = 0
};
enum { MOST_VALUES = 256 };

struct peer {
    void *library;
    const entry *api;
    const char *version;
    handle *env, *options, *memory;
};

/* A function of the table, with the parameters that a call gives it. */
#define CALL(p, place, result, ...) ((result(*)(__VA_ARGS__))(p)->api[place])

/* A status of the library: NULL is success. */
static status check(const peer *p, handle *st, error *err)
{
    if (!st)
        return OK;
    const char *why = CALL(p, GET_ERROR_MESSAGE, const char *, const handle *)(st);
    status ret = FAIL(err, E_UNSUPPORTED, "%s", why);
    CALL(p, RELEASE_STATUS, void, handle *)(st);
    return ret;
}

static void release(const peer *p, enum place place, handle *h)
{
    if (h)
        CALL(p, place, void, handle *)(h);
}

static status prepare(peer *p, error *err)
{
    TRY(check(
        p, CALL(p, CREATE_ENV, handle *, int, const char *, handle **)(LOG_FATAL, "peer", &p->env),
        err));
    TRY(check(p, CALL(p, CREATE_SESSION_OPTIONS, handle *, handle **)(&p->options), err));
    TRY(check(
        p,
        CALL(p, SET_GRAPH_OPTIMIZATION_LEVEL, handle *, handle *, int)(p->options, NO_OPTIMIZATION),
        err));
    TRY(check(p, CALL(p, SET_INTRA_OP_NUM_THREADS, handle *, handle *, int)(p->options, 1), err));
    return check(p,
                 CALL(p, CREATE_CPU_MEMORY_INFO, handle *, int, int,
                      handle **)(ARENA_ALLOCATOR, DEFAULT_MEMORY, &p->memory),
                 err);
}

peer *peer_open(void)
{
    const char *wanted = getenv("TEQUIO_ONNXRUNTIME");
    peer *p = xcalloc(1, sizeof *p);
    error err = ERROR_INIT;
    p->library = dlopen(wanted ? wanted : "libonnxruntime.so", RTLD_NOW | RTLD_LOCAL);
    if (p->library) {
        const api_base *(*base)(void);
        *(void **)&base = dlsym(p->library, "OrtGetApiBase");
        if (base) {
            p->api = base()->api(API_VERSION);
            p->version = base()->version();
        }
    }
    if (!p->api || prepare(p, &err) != OK)
        peer_close(&p);
    return p;
}

void peer_close(peer **p)
{
    if (!*p)
        return;
    if ((*p)->api) {
        release(*p, RELEASE_MEMORY_INFO, (*p)->memory);
        release(*p, RELEASE_SESSION_OPTIONS, (*p)->options);
        release(*p, RELEASE_ENV, (*p)->env);
    }
    free(*p); /* the library stays: it has threads */
    *p = NULL;
}

const char *peer_version(const peer *p)
{
    return p->version;
}

static int32_t onnx_type(dtype t)
{
    return t == DT_F32 ? 1 : t == DT_I32 ? 6 : t == DT_I64 ? 7 : 9;
}

static status give(const peer *p, const host_tensor *t, handle **ret, error *err)
{
    return check(p,
                 CALL(p, CREATE_TENSOR_WITH_DATA, handle *, const handle *, void *, size_t,
                      const int64_t *, size_t, int,
                      handle **)(p->memory, t->data, (size_t)t->n * dtype_bytes(t->dtype),
                                 t->shape.dim, (size_t)t->shape.rank, onnx_type(t->dtype), ret),
                 err);
}

static status shape_of(const peer *p, handle *info, host_tensor *ret, error *err)
{
    int type = 0;
    size_t rank = 0;
    TRY(check(p, CALL(p, GET_TENSOR_ELEMENT_TYPE, handle *, const handle *, int *)(info, &type),
              err));
    TRY(check(p, CALL(p, GET_DIMENSIONS_COUNT, handle *, const handle *, size_t *)(info, &rank),
              err));
    if (rank > GRAPH_RANK || !host_dtype_of_onnx(type, &ret->dtype))
        return FAIL(err, E_UNSUPPORTED, "a result of type %d and rank %zu", type, rank);
    ret->shape.rank = (int32_t)rank;
    TRY(check(p,
              CALL(p, GET_DIMENSIONS, handle *, const handle *, int64_t *,
                   size_t)(info, ret->shape.dim, rank),
              err));
    ret->n = graph_shape_elements(&ret->shape);
    return OK;
}

static status take(const peer *p, handle *value, host_tensor *ret, arena *a, error *err)
{
    handle *info = NULL;
    void *data = NULL;
    TRY(check(p,
              CALL(p, GET_TENSOR_TYPE_AND_SHAPE, handle *, const handle *, handle **)(value, &info),
              err));
    status st = shape_of(p, info, ret, err);
    release(p, RELEASE_TYPE_AND_SHAPE, info);
    TRY(st);
    TRY(check(p, CALL(p, GET_TENSOR_MUTABLE_DATA, handle *, handle *, void **)(value, &data), err));
    size_t bytes = (size_t)ret->n * dtype_bytes(ret->dtype);
    ret->data = arena_alloc(a, bytes + 1);
    memcpy(ret->data, data, bytes);
    return OK;
}

typedef struct session {
    handle *session, *in[MOST_VALUES], *out[MOST_VALUES];
    const char *in_names[MOST_VALUES], *out_names[MOST_VALUES];
} session;

static status run(const peer *p, session *s, const buf *model, const peer_value *in, size_t n_in,
                  peer_value *out, size_t n_out, arena *a, error *err)
{
    TRY(check(p,
              CALL(p, CREATE_SESSION_FROM_ARRAY, handle *, const handle *, const void *, size_t,
                   const handle *,
                   handle **)(p->env, model->data, model->size, p->options, &s->session),
              err));
    for (size_t i = 0; i < n_in; i++) {
        TRY(give(p, &in[i].tensor, &s->in[i], err));
        s->in_names[i] = in[i].name;
    }
    for (size_t i = 0; i < n_out; i++)
        s->out_names[i] = out[i].name;
    TRY(check(p,
              CALL(p, RUN, handle *, handle *, const handle *, const char *const *, handle **,
                   size_t, const char *const *, size_t, handle **)(
                  s->session, NULL, s->in_names, s->in, n_in, s->out_names, n_out, s->out),
              err));
    for (size_t i = 0; i < n_out; i++)
        TRY(take(p, s->out[i], &out[i].tensor, a, err));
    return OK;
}

status peer_run(const peer *p, const buf *model, const peer_value *in, size_t n_in, peer_value *out,
                size_t n_out, arena *a, error *err)
{
    session s = {0};
    if (n_in > MOST_VALUES || n_out > MOST_VALUES)
        return FAIL(err, E_UNSUPPORTED, "too many values");
    status st = run(p, &s, model, in, n_in, out, n_out, a, err);
    for (size_t i = 0; i < n_in; i++)
        release(p, RELEASE_VALUE, s.in[i]);
    for (size_t i = 0; i < n_out; i++)
        release(p, RELEASE_VALUE, s.out[i]);
    release(p, RELEASE_SESSION, s.session);
    return st;
}
