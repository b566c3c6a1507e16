#include "common/base/base64.h"

#include <sodium.h>

bool base64_read(const char *text, size_t n, buf *ret)
{
    size_t bytes = 0;
    buf_reserve(ret, n / 4 * 3 + 4);
    if (sodium_base642bin((unsigned char *)ret->data + ret->size, n / 4 * 3 + 3, text, n, NULL, &bytes, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0)
        return false;
    ret->size += bytes;
    ret->data[ret->size] = '\0';
    return true;
}

void base64_write(const void *data, size_t n, buf *ret)
{
    size_t most = sodium_base64_ENCODED_LEN(n, sodium_base64_VARIANT_ORIGINAL);
    buf_reserve(ret, ret->size + most);
    sodium_bin2base64(ret->data + ret->size, most, data, n, sodium_base64_VARIANT_ORIGINAL);
    ret->size += most - 1;
}
