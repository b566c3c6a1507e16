#include "onnx/control.h"

#include "onnx/branch.h"
#include "onnx/function.h"
#include "onnx/loop.h"

#include <string.h>

static const struct {
    const char *type;
    translate_fn *walk;
} types[] = {
    {"If", branch_walk},
    {"Loop", loop_walk},
    {"Scan", loop_scan},
    {"SequenceMap", loop_map},
};

translate_fn *control_function(const call *c)
{
    return function_is_called(c) ? function_walk : NULL;
}

translate_fn *control_of(const Onnx__NodeProto *n)
{
    bool ours = !*onnx_text(n->domain) || strcmp(n->domain, "ai.onnx") == 0;
    for (size_t i = 0; ours && i < COUNT_OF(types); i++)
        if (strcmp(onnx_text(n->op_type), types[i].type) == 0)
            return types[i].walk;
    return NULL;
}
