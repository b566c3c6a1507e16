#include "onnx/raw.h"

#include "common/base/alloc.h"
#include "onnx/fields.h"

#include <stdlib.h>

enum { LEAST = 4096 }; /* bytes worth a pointer */

/* Numbers of fields: of a model, a graph, a tensor. */
enum { MODEL_GRAPH = 7, GRAPH_INITIALIZER = 5, TENSOR_RAW_DATA = 9 };

static size_t varint_bytes(uint64_t x)
{
    size_t n = 1;
    for (; x >= 0x80; x >>= 7)
        n++;
    return n;
}

static void add_varint(buf *b, uint64_t x)
{
    for (; x >= 0x80; x >>= 7)
        buf_add(b, &(unsigned char){(unsigned char)(x | 0x80)}, 1);
    buf_add(b, &(unsigned char){(unsigned char)x}, 1);
}

/* A field of these bytes follows. */
static void add_head(buf *b, uint64_t number, size_t bytes)
{
    add_varint(b, number << 3 | 2);
    add_varint(b, bytes);
}

static size_t head_bytes(uint64_t number, size_t bytes)
{
    return varint_bytes(number << 3 | 2) + varint_bytes(bytes);
}

static void add_bytes(buf *b, const unsigned char *begin, const unsigned char *end)
{
    buf_add(b, begin, (size_t)(end - begin));
}

/* The only raw data of a tensor, if they are large. */
static bool find_raw(fields tensor, field *ret)
{
    field one;
    int found = 0;
    while (fields_next(&tensor, &one)) {
        if (one.number != TENSOR_RAW_DATA || !one.inside.at)
            continue;
        *ret = one;
        found++;
    }
    return found == 1 && tensor.at == tensor.end && ret->inside.end - ret->inside.at >= LEAST;
}

/* The bytes of a graph without the raw data; with a buffer they are added there. */
static size_t walk_graph(fields graph, onnx_raw *r, buf *ret)
{
    field one, data;
    size_t bytes = 0, i = 0;
    while (fields_next(&graph, &one)) {
        bool is_tensor = one.number == GRAPH_INITIALIZER && one.inside.at;
        if (is_tensor && find_raw(one.inside, &data)) {
            size_t rest = (size_t)(one.inside.end - one.inside.at) - (size_t)(data.end - data.begin);
            bytes += head_bytes(one.number, rest) + rest;
            if (ret) {
                r->at[i] = (onnx_raw_data){data.inside.at, (size_t)(data.inside.end - data.inside.at)};
                add_head(ret, one.number, rest);
                add_bytes(ret, one.inside.at, data.begin);
                add_bytes(ret, data.end, one.inside.end);
            }
        } else {
            bytes += (size_t)(one.end - one.begin);
            if (ret)
                add_bytes(ret, one.begin, one.end);
        }
        i += is_tensor;
    }
    if (!ret)
        r->n = i;
    else
        add_bytes(ret, graph.at, graph.end); /* what is no field the parser will refuse */
    return bytes + (size_t)(graph.end - graph.at);
}

/* The model's graph, if it has one, as it should: several would be merged. */
static bool find_graph(fields model, field *ret)
{
    field one;
    int n = 0;
    while (fields_next(&model, &one)) {
        if (one.number != MODEL_GRAPH || !one.inside.at)
            continue;
        *ret = one;
        n++;
    }
    return n == 1;
}

bool raw_take_out(const void *data, size_t bytes, onnx_raw *ret, buf *ret_rest)
{
    const unsigned char *begin = data;
    onnx_raw r = {.at = NULL};
    field graph;
    *ret = r;
    if (!find_graph((fields){begin, begin + bytes}, &graph))
        return false;
    size_t rest = walk_graph(graph.inside, &r, NULL);
    if (rest > bytes / 2)
        return false;
    r.at = xcalloc(r.n + 1, sizeof *r.at);
    add_bytes(ret_rest, begin, graph.begin);
    add_head(ret_rest, graph.number, rest);
    walk_graph(graph.inside, &r, ret_rest);
    add_bytes(ret_rest, graph.end, begin + bytes);
    *ret = r;
    return true;
}

status raw_put_in(const onnx_raw *r, Onnx__ModelProto *model, error *err)
{
    size_t n = model->graph ? model->graph->n_initializer : 0;
    if (r->at && r->n != n)
        return FAIL(err, E_DATA, "it has %zu initializers, and %zu of them were read", r->n, n);
    for (size_t i = 0; i < r->n; i++) {
        if (!r->at[i].data)
            continue;
        model->graph->initializer[i]->has_raw_data = 1;
        model->graph->initializer[i]->raw_data = (ProtobufCBinaryData){
            .len = r->at[i].bytes, .data = (uint8_t *)(uintptr_t)r->at[i].data};
    }
    return OK;
}

void raw_put_out(const onnx_raw *r, Onnx__ModelProto *model)
{
    for (size_t i = 0; i < r->n && model->graph && i < model->graph->n_initializer; i++)
        if (r->at[i].data && model->graph->initializer[i]->raw_data.data == r->at[i].data)
            model->graph->initializer[i]->raw_data = (ProtobufCBinaryData){.len = 0};
}

void raw_fini(onnx_raw *r)
{
    free(r->at);
    *r = (onnx_raw){.at = NULL};
}
