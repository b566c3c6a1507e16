/* See pixels.h. */
#include "data/pictures/pixels.h"

#include "common/base/alloc.h"

void picture_fini(picture *p)
{
    mem_free(p->pixels);
    *p = (picture){.pixels = NULL};
}

status picture_make_room(picture *p, error *err)
{
    void *room = NULL;
    TRY(mem_alloc((size_t)p->width * (size_t)p->height * (size_t)p->channels, "a picture", &room, err));
    p->pixels = room;
    return OK;
}
