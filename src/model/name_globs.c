#include "model/name_globs.h"

#include <fnmatch.h>

bool name_globs_any(const json_t *globs, const char *name)
{
    for (size_t i = 0; i < json_array_size(globs); i++)
        if (fnmatch(json_string_value(json_array_get(globs, i)), name, 0) == 0)
            return true;
    return false;
}
