/* Files of torch.save from a stranger, the whole zip: whatever the bytes of directory, data.pkl, byteorder and
 * storages, a clean refusal, or tensors that lie within the file and have the bytes of their shape. */
#include "model/torch_file.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at(const st_tensor *t, const uint8_t *data, size_t size)
{
    const uint8_t *at = t->data;
    size_t bytes = dtype_bytes(t->dtype);
    for (int32_t i = 0; i < t->rank; i++)
        bytes *= (size_t)t->dim[i];
    BUG_ON(!t->name || bytes != t->bytes);
    BUG_ON(at < data || at > data + size || t->bytes > (size_t)(data + size - at));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    torch_file *f = NULL;
    error err = ERROR_INIT;
    if (torch_file_open_memory(data, size, "fuzz", &f, &err) != OK) {
        BUG_ON(f || err.text[0] == '\0');
        return 0;
    }
    for (size_t i = 0; i < torch_file_count(f); i++)
        look_at(torch_file_at(f, i), data, size);
    BUG_ON(torch_file_check(f, &err) != OK && err.text[0] == '\0');
    torch_file_close(&f);
    return 0;
}
