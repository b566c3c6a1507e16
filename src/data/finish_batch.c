/* See finish_batch.h. */
#include "data/finish_batch.h"

void finish_batch(const finish_form *f, const finish_draw *draws, const void *images, int64_t n, void *ret)
{
    int64_t size = finish_elements(f), plane = (int64_t)f->width * f->height;
    for (int64_t i = 0; i < n * size; i++) {
        int64_t at = i % size;
        float value = finish_mixed(f, f->kind, draws, images, n, i / size, (uint32_t)(at / plane),
                                   (int32_t)(at % f->width), (int32_t)(at % plane / f->width));
        if (f->kind == FINISH_PIXELS)
            ((uint8_t *)ret)[i] = (uint8_t)value;
        else
            ((float *)ret)[i] = value;
    }
}
