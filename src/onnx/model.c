/*
 * Opening: map the file, measure the nesting of subgraphs over the bytes (the parser behind us recurses
 * without a limit), parse, and look whether what must be there is.
 */
#include "onnx/model.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/gcs.h"
#include "onnx/nesting.h"

#include <stdlib.h>
#include <string.h>

static status check(const onnx_model *m, error *err)
{
    const Onnx__ModelProto *p = m->proto;
    if (!p->graph)
        return FAIL(err, E_DATA, "it holds no graph, so it is no ONNX model");
    if (p->n_opset_import == 0)
        return FAIL(err, E_DATA, "it does not say which operator sets it uses (opset_import)");
    if (p->graph->n_output == 0)
        return FAIL(err, E_DATA, "its graph has no output");
    return OK;
}

static status parse(onnx_model *m, const void *data, size_t bytes, error *err)
{
    if (bytes == 0)
        return FAIL(err, E_DATA, "the file is empty");
    if (onnx_nesting(data, bytes) > ONNX_NESTING)
        return FAIL(err, E_DATA, "subgraphs lie more than %d deep in each other", ONNX_NESTING);
    buf rest = BUF_INIT;
    bool is_less = m->file.data && raw_take_out(data, bytes, &m->raw, &rest);
    m->proto = is_less ? onnx__model_proto__unpack(NULL, rest.size, (const uint8_t *)rest.data)
                       : onnx__model_proto__unpack(NULL, bytes, data);
    buf_fini(&rest);
    if (!is_less)
        fs_map_close(&m->file); /* all is in `proto` */
    if (!m->proto)
        return FAIL(err, E_DATA, "it is no ONNX model, or it is cut short (%zu bytes)", bytes);
    TRY(raw_put_in(&m->raw, m->proto, err));
    return check(m, err);
}

static status finish(onnx_model *m, const void *data, size_t bytes, onnx_model **ret, error *err)
{
    status st = parse(m, data, bytes, err);
    if (st == OK) {
        *ret = m;
        return OK;
    }
    error_prepend(err, "%s", m->path);
    onnx_close(&m);
    return st;
}

status onnx_open_memory(const void *data, size_t bytes, const char *origin, onnx_model **ret,
                        error *err)
{
    onnx_model *m = xcalloc(1, sizeof *m);
    m->path = xstrdup(origin);
    return finish(m, data, bytes, ret, err);
}

status onnx_open(const char *given, onnx_model **ret, error *err)
{
    char *path = NULL;
    TRY(gcs_path(given, &path, err));
    fs_map file = {.data = NULL};
    status st = fs_map_open(path, &file, err);
    if (st == OK && file.bytes > ONNX_FILE_MAX) {
        fs_map_close(&file);
        st = FAIL(err, E_DATA, "read '%s': larger than %zu bytes", path, ONNX_FILE_MAX);
    }
    if (st == OK) {
        onnx_model *m = xcalloc(1, sizeof *m);
        const char *slash = strrchr(path, '/');
        m->path = xstrdup(path);
        m->folder = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup("./");
        m->file = file;
        st = finish(m, file.data, file.bytes, ret, err);
    }
    free(path);
    return st;
}

void onnx_close(onnx_model **m)
{
    if (!m || !*m)
        return;
    if ((*m)->proto) {
        raw_put_out(&(*m)->raw, (*m)->proto);
        onnx__model_proto__free_unpacked((*m)->proto, NULL);
    }
    raw_fini(&(*m)->raw);
    fs_map_close(&(*m)->file);
    free((*m)->path);
    free((*m)->folder);
    free(*m);
    *m = NULL;
}

int32_t onnx_initializer(const onnx_model *m, const char *name)
{
    const Onnx__GraphProto *g = m->proto->graph;
    for (size_t i = 0; i < g->n_initializer; i++)
        if (strcmp(onnx_text(g->initializer[i]->name), name) == 0)
            return (int32_t)i;
    return -1;
}

int64_t onnx_opset(Onnx__OperatorSetIdProto *const *sets, size_t n, const char *domain)
{
    bool main = !*domain || strcmp(domain, "ai.onnx") == 0;
    for (size_t i = 0; i < n; i++) {
        const char *own = onnx_text(sets[i]->domain);
        bool own_main = !*own || strcmp(own, "ai.onnx") == 0;
        if (main ? own_main : strcmp(own, domain) == 0)
            return sets[i]->version;
    }
    return 0;
}
