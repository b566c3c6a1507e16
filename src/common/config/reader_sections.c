#include "common/config/reader_sections.h"

#include "common/base/alloc.h"

typedef struct walk {
    reader_section_use *use;
    void *user;
    arena *memory;              /* of places */
} walk;

enum { DEPTH = 8 };             /* more readers within each other are none that can be opened */

static void visit(const walk *w, json_t *section, const char *place, int depth)
{
    size_t i;
    json_t *task;
    if (!json_is_object(section) || depth > DEPTH)
        return;
    w->use(w->user, section, place);
    visit(w, json_object_get(section, "base_reader"), arena_printf(w->memory, "%s.base_reader", place), depth + 1);
    json_array_foreach(json_object_get(section, "readers"), i, task)
        visit(w, json_object_get(task, "reader"), arena_printf(w->memory, "%s.readers[%zu].reader", place, i),
              depth + 1);
}

void reader_sections_each(json_t *top, reader_section_use *use, void *user)
{
    static const char *const roots[] = {"dataset_reader", "validation_dataset_reader"};
    walk w = {.use = use, .user = user, .memory = arena_create()};
    for (size_t i = 0; i < COUNT_OF(roots); i++)
        visit(&w, json_object_get(top, roots[i]), roots[i], 0);
    arena_destroy(&w.memory);
}
