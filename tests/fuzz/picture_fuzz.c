/* A picture from a stranger: whatever the bytes, an error or pixels that can all be read, turned as EXIF says and
 * brought to another size. */
#include "common/base/alloc.h"
#include "data/pictures/view.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIDE = 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char seen[3 * SIDE * SIDE];
    picture_head head;
    error err = ERROR_INIT;
    if (picture_read_head(data, size, &head, &err) != OK) {
        BUG_ON(err.text[0] == '\0');
        return 0;
    }
    if ((int64_t)head.width * head.height > 1 << 20)
        return 0; /* it takes long, and is nothing new */
    const picture_view views[] = {
        {.channels = 3, .width = SIDE, .height = SIDE, .resize = SIDE, .decoding = {.turn = true}},
        {.channels = 1, .width = SIDE, .height = 5, .decoding = {.shortest = SIDE}},
    };
    for (size_t i = 0; i < COUNT_OF(views); i++)
        BUG_ON(picture_view_take(&views[i], NULL, data, size, seen, &err) != OK && err.text[0] == '\0');
    return 0;
}
