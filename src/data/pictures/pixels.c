/* See pixels.h. */
#include "data/pictures/pixels.h"

#include "common/base/alloc.h"

void picture_fini(picture *p)
{
    mem_free(p->pixels);
    *p = (picture){.pixels = NULL};
}

int32_t picture_eighths(int32_t width, int32_t height, int32_t shortest)
{
    int64_t side = width < height ? width : height;
    int32_t eighths = 8;
    while (shortest > 0 && eighths > 1 && side * (eighths / 2) / 8 >= shortest)
        eighths /= 2;
    return eighths;
}

status picture_make_room(picture *p, error *err)
{
    void *room = NULL;
    TRY(mem_alloc((size_t)p->width * (size_t)p->height * (size_t)p->channels, "a picture", &room, err));
    p->pixels = room;
    return OK;
}
