/* See picture_options.h. */
#include "data/pictures/picture_options.h"

#include "common/base/detmath.h"

#include <string.h>

static status take_size(const config *reader, picture_view *v, error *err)
{
    const json_t *size = config_json(reader, "size");
    bool is_list = json_is_array(size);
    v->height = (int32_t)json_integer_value(is_list ? json_array_get(size, 0) : size);
    v->width = (int32_t)json_integer_value(is_list ? json_array_get(size, 1) : size);
    bool stretches = strcmp(config_str(reader, "fit"), "stretch") == 0, has_resize = config_has(reader, "resize");
    if (stretches && has_resize)
        return FAIL(err, E_CONFIG, "%s.resize: is of fit \"crop\"; with \"stretch\" a picture gets its size at once",
                    config_path(reader));
    if (!stretches && v->width != v->height)
        return FAIL(err, E_CONFIG, "%s.size: [%d, %d] is no square; that wants fit: \"stretch\"", config_path(reader),
                    v->height, v->width);
    v->resize = stretches ? 0 : has_resize ? (int32_t)config_int(reader, "resize") : v->width;
    if (!stretches && v->resize < v->width)
        return FAIL(err, E_CONFIG, "%s.resize: %d is less than size %d, which is cut out of it", config_path(reader),
                    v->resize, v->width);
    return OK;
}

static status take_view(const config *reader, const config *augment, picture_view *v, error *err)
{
    TRY(take_size(reader, v, err));
    v->channels = strcmp(config_str(reader, "color_mode"), "rgb") == 0 ? PICTURE_CHANNELS : 1;
    v->decoding.turn = config_bool(reader, "exif_orientation");
    v->changes = picture_changes_read(augment);
    int32_t side = v->resize ? v->resize : v->width > v->height ? v->width : v->height;
    if (v->changes.crops) /* no part is made larger that need not be */
        side = (int32_t)((double)side / det_sqrt(v->changes.crop.scale.low * v->changes.crop.ratio.low));
    v->decoding.shortest = config_bool(reader, "scaled_decoding") ? side : 0;
    return OK;
}

static status take_channels(const config *reader, const char *key, double if_absent, int32_t channels, double *ret,
                            error *err)
{
    const json_t *list = config_json(reader, key);
    if (list && json_array_size(list) != (size_t)channels)
        return FAIL(err, E_CONFIG, "%s.%s: has %zu numbers; color_mode says %d", config_path(reader), key,
                    json_array_size(list), channels);
    for (int32_t c = 0; c < channels; c++)
        ret[c] = list ? json_number_value(json_array_get(list, (size_t)c)) : if_absent;
    return OK;
}

static status take_normalization(const config *reader, picture_options *o, error *err)
{
    double mean[PICTURE_CHANNELS], std[PICTURE_CHANNELS];
    TRY(take_channels(reader, "mean", 0.0, o->view.channels, mean, err));
    TRY(take_channels(reader, "std", 1.0, o->view.channels, std, err));
    for (int32_t c = 0; c < o->view.channels; c++) {
        o->scale[c] = (float)(1.0 / (255.0 * std[c]));
        o->offset[c] = (float)(-mean[c] / std[c]);
    }
    return OK;
}

status picture_options_read(const config *section, const config *augment, picture_options *ret, error *err)
{
    picture_options o = {.view = {.width = 0}};
    TRY(take_view(section, augment, &o.view, err));
    TRY(take_normalization(section, &o, err));
    *ret = o;
    return OK;
}

data_field picture_options_field(const picture_options *o, const char *name)
{
    data_bytes bytes = {.channels = o->view.channels, .background = -1};
    memcpy(bytes.scale, o->scale, sizeof o->scale);
    memcpy(bytes.offset, o->offset, sizeof o->offset);
    return (data_field){.name = name,
                        .dtype = DT_F32,
                        .rank = 3,
                        .dim = {o->view.channels, o->view.height, o->view.width},
                        .is_viewed = true,
                        .bytes = bytes};
}

size_t picture_options_reading(const picture_options *o, size_t decoding)
{
    return 2 * decoding + (size_t)o->view.channels * (size_t)o->view.height * (size_t)o->view.width;
}
