/* What of augmentation the host does and what a device, for people (data.h). */
#include "data/making.h"

typedef enum side { HOST = 1, DEVICE = 2 } side;

/* Whose are the keys whose work a device takes, if it takes any. */
static int side_of_last(const making *m)
{
    for (size_t f = 0; f < m->n_fields; f++)
        if (m->unfinished[f])
            return DEVICE;
    return HOST;
}

/* Of pictures in files it is the reader's; of others a device's, where it comes last. */
static int side_of_crop(const making *m)
{
    int sides = 0;
    for (size_t f = 0; f < m->n_fields; f++) {
        const data_field *field = &m->fields[f];
        if (m->unfinished[f] && augment_crops_last(&m->augment, field))
            sides |= DEVICE;
        else if (augment_crops(&m->augment, field) || (field->is_viewed && augment_moves(field)))
            sides |= HOST;
    }
    return sides;
}

static void note_work(loader_work *w, int sides, const char *what)
{
    if (sides & HOST)
        buf_addf(&w->host, "%s%s", w->host.size ? ", " : "", what);
    if (sides & DEVICE)
        buf_addf(&w->device, "%s%s", w->device.size ? ", " : "", what);
}

static void note_section(loader_work *w, const config *section, int sides, const char *key)
{
    if (section && config_has(section, key))
        note_work(w, sides, key);
}

void loader_work_of(const loader_options *o, loader_work *ret)
{
    making m = making_of(o);
    bool has_bytes = false;
    *ret = (loader_work){.host = BUF_INIT, .device = BUF_INIT};
    for (size_t f = 0; f < m.n_fields; f++) {
        has_bytes = has_bytes || m.fields[f].bytes.channels;
        ret->up += data_field_bytes(&m.fields[f]) + (m.unfinished[f] ? sizeof(finish_draw) : 0);
    }
    const config *a = o->augment;
    int last = side_of_last(&m);
    note_section(ret, a, HOST, "random_resized_crop");
    note_section(ret, a, side_of_crop(&m), "random_crop");
    note_section(ret, a, HOST, "color_jitter");
    note_section(ret, a, HOST, "rand_augment");
    note_section(ret, a, HOST, "trivial_augment_wide");
    if (has_bytes)
        note_work(ret, m.as_bytes ? DEVICE : HOST, "bytes to numbers");
    note_work(ret, m.augment.flip ? last : 0, "flip");
    note_work(ret, m.augment.shift > 0 ? last : 0, "shift");
    note_section(ret, a, last, "random_erasing");
    note_section(ret, a, last, "mixup");
    note_section(ret, a, last, "cutmix");
}

void loader_work_fini(loader_work *w)
{
    buf_fini(&w->host);
    buf_fini(&w->device);
}
