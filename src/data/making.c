#include "data/making.h"

#include "data/pixel_labels.h"

#include <string.h>

/* Each field there begins where any type may. */
static size_t scratch_bytes(const data_field *f)
{
    return (data_field_bytes(f) + 15) & ~(size_t)15;
}

/* Is such a field other in a batch than as it is read? */
static bool is_moved(const making *m, size_t field)
{
    const data_field *f = &m->fields[field];
    bool moves = augment_is_on(&m->augment) && augment_moves(f) && !m->unfinished[field];
    return moves || (m->is_cut && f->varies) || m->is_label[field];
}

static size_t moved_bytes(const making *m)
{
    size_t all = 0;
    for (size_t f = 0; f < m->n_fields; f++)
        all += is_moved(m, f) ? scratch_bytes(&m->fields[f]) : 0;
    return all;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t making_scratch(const making *m)
{
    size_t room = 0, mixed = 0;
    for (size_t f = 0; f < m->n_fields; f++) {
        room = larger(room, augment_room(&m->augment, &m->fields[f]));
        mixed = larger(mixed, data_field_bytes(&m->fields[f]));
    }
    return larger(moved_bytes(m) + room, mix_is_on(&m->mix) ? mixed : 0);
}

/* --- what is to be made --- */

/* Is anything of a field left for a device? */
static bool is_for_device(const making *m, const data_field *f)
{
    return augment_finishes(&m->augment, f) || (mix_is_on(&m->mix) && augment_takes(f));
}

/* All that a device would have to finish, it finishes, or nothing. */
static bool choose_unfinished(making *m, bool wanted)
{
    bool can = wanted;
    for (size_t f = 0; f < m->n_fields; f++)
        can = can && (!is_for_device(m, &m->fields[f]) || augment_can_finish(&m->fields[f]));
    for (size_t f = 0; f < m->n_fields; f++)
        m->unfinished[f] = can && is_for_device(m, &m->fields[f]);
    return can;
}

/* The fields as they are read: all that are bytes in their file stay so, or none does. */
static bool choose_types(const making *m, bool wants_bytes, bool finishes, data_field *fields, size_t n)
{
    bool bytes = wants_bytes && (finishes || mix_works_on_bytes(&m->mix));
    for (size_t f = 0; f < n; f++)
        bytes = bytes && (finishes || augment_works_on_bytes(&m->augment, &fields[f]));
    for (size_t f = 0; bytes && f < n; f++)
        if (fields[f].bytes.channels)
            fields[f].dtype = DT_U8;
    return bytes;
}

making making_of(const loader_options *o)
{
    making m = {.dataset = o->dataset,
                .seed = o->seed,
                .augment = augment_read(o->augment),
                .mix = mix_read(o->augment),
                .draws = o->augment != NULL,
                .is_cut = o->buckets || o->lengths || o->length};
    const data_field *fields = dataset_fields(o->dataset, &m.n_fields);
    for (size_t f = 0; f < m.n_fields; f++) {
        m.fields[f] = fields[f];
        m.is_label[f] = mix_is_label(&m.mix, &fields[f]);
    }
    m.paints = augment_paints(&m.augment);
    bool finishes = choose_unfinished(&m, o->bytes && o->unfinished);
    m.as_bytes = choose_types(&m, o->bytes, finishes, m.fields, m.n_fields);
    for (size_t f = 0; f < m.n_fields; f++)
        if (m.unfinished[f])
            m.forms[f] = augment_form(&m.augment, &m.fields[f]);
    mix_fields(&m.mix, m.fields, m.n_fields);
    return m;
}

status making_check(const config *section, const json_t *labels, const dataset *d, error *err)
{
    size_t n;
    const data_field *fields = dataset_fields(d, &n);
    TRY(augment_check(section, fields, n, err));
    TRY(pixel_labels_check(section, labels, fields, n, err));
    return mix_check(section, fields, n, err);
}

/* --- one example --- */

static status take_label(const making *m, int64_t example, const data_field *f, const void *raw, void *out, error *err)
{
    buf place = BUF_INIT;
    int64_t label = *(const int64_t *)raw;
    if (mix_label(f, label, out))
        return OK;
    dataset_place(m->dataset, example, &place);
    status st = FAIL(err, E_DATA, "%s: '%s' is %lld, which is no class; such examples cannot be mixed", place.data,
                     f->name, (long long)label);
    buf_fini(&place);
    return st;
}

/* A field of an example, as it was read, becomes what the batch has of it. */
static void finish_field(const making *m, const data_field *f, int64_t batch_id, const picture_draws *changes,
                         void *raw, void *out, void *room)
{
    rng draws = rng_make(m->seed, RNG_AUGMENT, (uint64_t)batch_id);
    if (m->paints && augment_takes(f))
        augment_paint(&m->augment, changes, f, raw, room);
    if (m->paints && f->bytes.channels && f->dtype == DT_F32)
        data_bytes_spread(f, raw);
    if (raw != out && f->varies)
        memcpy(out, raw, data_field_bytes(f));
    else if (raw != out)
        augment_apply(&m->augment, &draws, changes->place, f, raw, out);
    if (augment_erases(&m->augment, f))
        augment_erase(&m->augment, changes, f, out);
}

/* Likewise, as far as the host does it. */
static void draw_field(const making *m, const data_field *f, int64_t batch_id, const picture_draws *changes,
                       void *image, finish_draw *ret, void *room)
{
    rng draws = rng_make(m->seed, RNG_AUGMENT, (uint64_t)batch_id);
    if (m->paints && augment_takes(f) && !augment_crops_last(&m->augment, f))
        augment_paint(&m->augment, changes, f, image, room);
    *ret = augment_draw(&m->augment, &draws, changes, f);
}

status making_read(const making *m, const data_batch *batch, int64_t example, int64_t place, const made *to,
                   char *scratch, error *err)
{
    void *raw[DATA_FIELDS], *out[DATA_FIELDS];
    size_t at = 0;
    int64_t batch_id = batch->slot.batch_id;
    for (size_t f = 0; f < m->n_fields; f++) {
        out[f] = (char *)to->data[f] + (size_t)place * data_field_bytes(&batch->fields[f]);
        raw[f] = is_moved(m, f) ? scratch + at : out[f];
        at += is_moved(m, f) ? scratch_bytes(&m->fields[f]) : 0;
    }
    picture_draws changes = {rng_make(m->seed, RNG_PICTURE, (uint64_t)batch_id), place};
    TRY(dataset_read_drawn(m->dataset, example, m->draws ? &changes : NULL, m->as_bytes || m->paints, raw, err));
    for (size_t f = 0; f < m->n_fields; f++)
        if (m->is_label[f])
            TRY(take_label(m, example, &batch->fields[f], raw[f], out[f], err));
        else if (m->unfinished[f])
            draw_field(m, &batch->fields[f], batch_id, &changes, raw[f], &to->draws[f][place], scratch + at);
        else
            finish_field(m, &batch->fields[f], batch_id, &changes, raw[f], out[f], scratch + at);
    return OK;
}

/* --- all of them together --- */

void making_mix(const making *m, const data_batch *batch, const made *to, char *scratch)
{
    const data_field *image = m->fields;
    const step_slot *slot = &batch->slot;
    if (!mix_is_on(&m->mix))
        return;
    while (!augment_takes(image))
        image++;
    mix_draw d = mix_draw_of(&m->mix, m->seed, slot->batch_id, (int32_t)image->dim[2], (int32_t)image->dim[1]);
    for (size_t f = 0; f < m->n_fields; f++)
        if (m->is_label[f])
            mix_labels(&d, &m->fields[f], slot->n, to->data[f], scratch);
        else if (augment_takes(&m->fields[f]) && m->unfinished[f])
            mix_note(&d, slot->n, to->draws[f]);
        else if (augment_takes(&m->fields[f]))
            mix_images(&d, &m->fields[f], slot->n, to->data[f], scratch);
}
