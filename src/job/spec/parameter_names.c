#include "job/spec/parameter_names.h"

#include "common/base/alloc.h"
#include "common/base/enum_name.h"
#include "common/config/config.h"

#include <stdlib.h>

static const struct {
    const char *name, *key;
} names[] = {
#define PARAMETER_NAME(name, key) {name, key},
#include "job/spec/parameter_names.def"
#undef PARAMETER_NAME
};

const char *parameter_key(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (enum_name_is(name, names[i].name))
            return names[i].key;
    return config_knows(name) ? name : NULL;
}

const char *parameter_near(const char *name)
{
    const char *all[COUNT_OF(names)];
    char *word = xstrdup(name);
    for (char *c = word; *c; c++)
        *c = *c == '-' ? '_' : *c;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        all[i] = names[i].name;
    const char *near = config_did_you_mean(word, all, COUNT_OF(names));
    free(word);
    return near ? near : config_nearest_path(name);
}
