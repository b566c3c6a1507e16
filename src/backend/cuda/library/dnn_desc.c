#include "backend/cuda/library/dnn_desc.h"

#include "backend/cuda/library/api.h"
#include "common/base/alloc.h"

#include <string.h>

/* What depends on the machine is no reason to go on with another engine: members of a job could
 * choose two. */
static status status_of(unsigned result)
{
    switch (result) {
    case DNN_NO_HOST_MEMORY:
    case DNN_NO_DEVICE_MEMORY:
        return E_NOMEM;
    case DNN_OLD_DRIVER:
    case DNN_OTHER_RUNTIME:
    case DNN_NO_COMPILER:
    case DNN_NO_SUBLIBRARY:
        return E_DEVICE;
    default:
        return result >= DNN_BAD_PARAM && result < DNN_EXECUTION_FAILED ? E_UNSUPPORTED : E_DEVICE;
    }
}

status dnn_check(unsigned result, const char *what, error *err)
{
    char words[256] = "";
    if (result == API_SUCCESS)
        return OK;
    api.cudnnGetLastErrorString(words, sizeof words);
    return FAIL(err, status_of(result), "cuDNN, %s: %s%s%s", what, api.cudnnGetErrorString(result),
                *words ? ": " : "", words);
}

/* What the vendor calls a descriptor or an attribute. */
static const char *name_of(const char *prefix, unsigned value)
{
    static const struct {
        const char *name;
        unsigned value;
    } names[] = {
#define VALUE(ours, vendors, number) {#vendors, number},
#include "backend/cuda/library/api.def"
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (names[i].value == value && strncmp(names[i].name, prefix, strlen(prefix)) == 0)
            return names[i].name;
    return prefix;
}

void dnn_destroy(dnn_desc *d)
{
    if (*d)
        (void)api.cudnnBackendDestroyDescriptor(*d);
    *d = NULL;
}

static status set_all(dnn_desc d, const dnn_attribute *a, error *err)
{
    for (; a->value; a++)
        TRY_DNN(api.cudnnBackendSetAttribute(d, a->name, a->type, a->n, a->value),
                name_of("CUDNN_ATTR_", a->name));
    return dnn_check(api.cudnnBackendFinalize(d), "finalizing it", err);
}

status dnn_describe(unsigned kind, const dnn_attribute *attributes, dnn_desc *ret, error *err)
{
    dnn_desc d = NULL;
    const char *name = name_of("CUDNN_BACKEND_", kind);
    TRY_DNN(api.cudnnBackendCreateDescriptor(kind, &d), name);
    status st = set_all(d, attributes, err);
    if (st != OK) {
        dnn_destroy(&d);
        error_prepend(err, "%s", name);
        return st;
    }
    *ret = d;
    return OK;
}
