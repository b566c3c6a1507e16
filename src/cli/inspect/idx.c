/* IDX: shape and range, read as the data readers read it. */
#include "cli/inspect/kinds.h"
#include "cli/inspect/stats.h"
#include "cli/inspect/text.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "data/idx.h"

status inspect_look_idx(const char *path, json_t **ret, error *err)
{
    idx f;
    TRY(idx_open(path, &f, err));
    json_t *dims = json_array();
    for (int32_t i = 0; i < f.rank; i++)
        json_array_append_new(dims, json_integer(f.dim[i]));
    size_t n = (size_t)f.dim[0] * f.values_per_item;
    json_t *o = json_pack("{s:s, s:o, s:s, s:o, s:I}", "kind", "idx", "file", json_words(path), "type",
                          idx_type_name(f.type), "dims", dims, "values", (json_int_t)n);
    BUG_ON(!o);
    inspect_stats s = {.n = 0};
    for (size_t i = 0; i < n; i++)
        inspect_stats_add(&s, idx_number(&f, i));
    for (size_t i = 0; i < n; i++)
        inspect_stats_add_again(&s, idx_number(&f, i));
    inspect_stats_tell(&s, o);
    idx_close(&f);
    *ret = o;
    return OK;
}

void inspect_print_idx(const json_t *report, buf *ret)
{
    buf_addf(ret, "%s: IDX,", inspect_str(report, "file"));
    size_t i;
    json_t *dim;
    json_array_foreach(json_object_get(report, "dims"), i, dim)
        buf_addf(ret, "%s%lld", i ? " x " : " ", (long long)json_integer_value(dim));
    buf_addf(ret, " %s\n  values %lld, ", inspect_str(report, "type"),
             inspect_int(report, "values"));
    static const char *const numbers[] = {"min", "max", "mean", "std"};
    for (size_t k = 0; k < COUNT_OF(numbers); k++) {
        buf_addf(ret, "%s%s ", k ? ", " : "", numbers[k]);
        inspect_add_number(ret, json_object_get(report, numbers[k]));
    }
    if (inspect_int(report, "not_finite"))
        buf_addf(ret, ", %lld not finite", inspect_int(report, "not_finite"));
    buf_adds(ret, "\n");
}
