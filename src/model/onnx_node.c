#include "model/onnx_node.h"

#include "common/base/alloc.h"
#include "onnx/model.h"

#include <stdlib.h>
#include <string.h>

static const Onnx__NodeProto *maker_of(const onnx_model *m, const char *value)
{
    const Onnx__GraphProto *g = m->proto->graph;
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_output; k++)
            if (strcmp(g->node[i]->output[k], value) == 0)
                return g->node[i];
    return NULL;
}

/* The name of a node is that of its first output in the file, or begins with it: "h.MulBwd". What is
 * inside of a function or a branch has its caller's in front: "block/h". */
static const Onnx__NodeProto *find(const onnx_model *m, const char *node)
{
    static const char renamed[] = "onnx:";
    bool is_renamed = strncmp(node, renamed, sizeof renamed - 1) == 0;
    char *name = xstrdup(node + (is_renamed ? sizeof renamed - 1 : 0));
    const Onnx__NodeProto *found = maker_of(m, name);
    for (char *end; !found && ((end = strrchr(name, '.')) || (end = strrchr(name, '/')));) {
        *end = '\0';
        found = maker_of(m, name);
    }
    free(name);
    return found;
}

char *model_onnx_node(const config *model, const char *node)
{
    onnx_model *m = NULL;
    char *place = NULL;
    if (strcmp(config_str(model, "type"), "onnx") != 0 ||
        onnx_open(config_str(model, "path"), &m, NULL) != OK)
        return NULL;
    const Onnx__NodeProto *n = find(m, node);
    if (n)
        place = xasprintf("node '%s' (%s) of '%s'",
                          *onnx_text(n->name) ? n->name : onnx_text(n->output[0]),
                          onnx_text(n->op_type), m->path);
    onnx_close(&m);
    return place;
}
