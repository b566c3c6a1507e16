/* The fields of the data, in messages. */
#include "model/model.h"

#include "common/base/alloc.h"

#include <string.h>

const char *model_field_names(const model_request *r, arena *a)
{
    const char *text = "";
    for (size_t i = 0; i < r->n_fields; i++) {
        const data_field *f = &r->fields[i];
        graph_shape s = {.rank = f->rank};
        memcpy(s.dim, f->dim, sizeof s.dim);
        text = arena_printf(a, "%s%s'%s' %s %s", text, i ? ", " : "", f->name, dtype_name(f->dtype),
                            graph_shape_text(&s, (char[SHAPE_TEXT]){0}, SHAPE_TEXT));
        if (f->classes)
            text = arena_printf(a, "%s of %lld classes", text, (long long)f->classes);
    }
    return text;
}
