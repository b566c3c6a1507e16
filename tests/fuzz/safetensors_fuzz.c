/* Whatever bytes come: a clean refusal, or tensors that lie inside the bytes. */
#include "common/store/safetensors.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    st_file *f = NULL;
    error err = ERROR_INIT;
    if (st_open_memory(data, size, "input", &f, &err) != OK)
        return 0;
    size_t total = 0;
    for (size_t i = 0; i < st_count(f); i++) {
        const st_tensor *t = st_at(f, i);
        const uint8_t *begin = t->data;
        if (begin < data || t->bytes > size || begin + t->bytes > data + size ||
            st_find(f, t->name) != t)
            abort();
        total += t->bytes;
    }
    if (total > size)
        abort();
    st_metadata(f, "format");
    st_close(&f);
    return 0;
}
