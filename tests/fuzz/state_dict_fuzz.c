/* Whatever bytes come as data.pkl: a clean refusal, or tensors that lie within their storages. */
#include "model/state_dict.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    state_dict dict;
    error err = ERROR_INIT;
    arena *memory = arena_create();
    status st = state_dict_read(data, size, "input", memory, &dict, &err);
    if (st != OK && err.text[0] == '\0')
        abort();
    for (size_t i = 0; st == OK && i < dict.n; i++) {
        const state_entry *e = &dict.at[i];
        int64_t n = 1;
        for (int32_t k = 0; k < e->rank; k++)
            n *= e->dim[k];
        if (!e->name || !e->storage || e->begin < 0 || n < 0 || n > e->stored - e->begin)
            abort();
    }
    arena_destroy(&memory);
    return 0;
}
