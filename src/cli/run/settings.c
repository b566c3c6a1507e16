#include "cli/run/settings.h"

const char *const *settings_of(const args *a, const char *const *more, arena *memory)
{
    size_t n = 0, n_more = 0;
    while (more && more[n_more])
        n_more++;
    const char **list = arena_alloc(memory, ((size_t)a->n_settings + n_more + 1) * sizeof *list);
    for (int i = 0; i < a->n_settings; i++)
        list[n++] = arena_printf(memory, "%.*s=%s", a->settings[i].bytes, a->settings[i].key, a->settings[i].value);
    for (size_t i = 0; i < n_more; i++)
        list[n++] = more[i];
    list[n] = NULL;
    return list;
}
