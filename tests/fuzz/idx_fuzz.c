/* IDX and gzip from a stranger: whatever the bytes, an error or a file whose every value can be
 * read. */
#include "data/idx.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    idx f;
    error err = ERROR_INIT;
    if (idx_open_memory(data, size, "fuzz", &f, &err) != OK) {
        BUG_ON(err.text[0] == '\0');
        return 0;
    }
    char text[IDX_DIMS_TEXT];
    idx_dims_text(&f, text);
    double sum = 0.0;
    size_t n = f.values_per_item * (size_t)f.dim[0];
    for (size_t i = 0; i < n; i++)
        sum += idx_number(&f, i);
    (void)sum;
    idx_close(&f);
    return 0;
}
