#include "data/pictures/policies.h"

enum { DRAWS_AN_OPERATION = 3 };

picture_policy picture_policy_read(const config *section)
{
    picture_policy p = {.operations = 0};
    if (section && config_has(section, "rand_augment")) {
        const config *rand = config_section(section, "rand_augment");
        p.operations = (int32_t)config_int(rand, "num_ops");
        p.magnitude = (int32_t)config_int(rand, "magnitude");
        p.bins = (int32_t)config_int(rand, "num_magnitude_bins");
        p.fill = (unsigned char)config_int(rand, "fill");
    }
    if (section && config_has(section, "trivial_augment_wide")) {
        const config *trivial = config_section(section, "trivial_augment_wide");
        p = (picture_policy){.operations = 1, .is_trivial = true};
        p.bins = (int32_t)config_int(trivial, "num_magnitude_bins");
        p.fill = (unsigned char)config_int(trivial, "fill");
    }
    return p;
}

/* torch.linspace in float32: from both ends to the middle, rounded once. */
static double between(float first, float last, int32_t bins, int32_t bin)
{
    float step = (last - first) / (float)(bins - 1);
    double exact = bin < bins / 2 ? first + (double)step * bin : last - (double)step * (bins - 1 - bin);
    return (double)(float)exact;
}

/* 8 less the share of `most`, rounded, halves to the even number. */
static double bits_that_stay(double most, int32_t bins, int32_t bin)
{
    float lost = (float)bin / (float)((bins - 1) / most);
    int32_t whole = (int32_t)lost;
    float rest = lost - (float)whole;
    return 8 - (whole + (rest > 0.5f || (rest == 0.5f && whole % 2)));
}

double picture_policy_magnitude(const picture_policy *policy, picture_operation op, int32_t bin, int32_t width,
                                int32_t height, bool *ret_signed)
{
    bool trivial = policy->is_trivial;
    double most = 0.0;
    *ret_signed = op >= PICTURE_SHEAR_X && op <= PICTURE_SHARPNESS;
    switch (op) {
    case PICTURE_SHEAR_X:
    case PICTURE_SHEAR_Y:
        most = trivial ? 0.99 : 0.3;
        break;
    case PICTURE_TRANSLATE_X:
    case PICTURE_TRANSLATE_Y:
        most = trivial ? 32.0 : 150.0 / 331.0 * (op == PICTURE_TRANSLATE_X ? width : height);
        break;
    case PICTURE_ROTATE:
        most = trivial ? 135.0 : 30.0;
        break;
    case PICTURE_BRIGHTNESS:
    case PICTURE_COLOR:
    case PICTURE_CONTRAST:
    case PICTURE_SHARPNESS:
        most = trivial ? 0.99 : 0.9;
        break;
    case PICTURE_POSTERIZE:
        return bits_that_stay(trivial ? 6.0 : 4.0, policy->bins, bin);
    case PICTURE_SOLARIZE:
        return between(255.0f, 0.0f, policy->bins, bin);
    case PICTURE_IDENTITY:
    case PICTURE_AUTO_CONTRAST:
    case PICTURE_EQUALIZE:
    case PICTURE_OPERATIONS:
        return 0.0;
    }
    return between(0.0f, (float)most, policy->bins, bin);
}

void picture_policy_apply(const picture_policy *policy, const picture_draws *d, const picture_planes *p,
                          unsigned char *room)
{
    for (int32_t i = 0, draw = DRAW_POLICY; i < policy->operations; i++, draw += DRAWS_AN_OPERATION) {
        picture_operation op = (picture_operation)picture_draw_below(d, draw, PICTURE_OPERATIONS);
        int32_t bin = policy->is_trivial ? picture_draw_below(d, draw + 1, policy->bins) : policy->magnitude;
        bool is_signed;
        double magnitude = picture_policy_magnitude(policy, op, bin, p->width, p->height, &is_signed);
        if (is_signed && picture_draw_below(d, draw + 2, 2) == 1)
            magnitude = -magnitude;
        picture_operate(op, magnitude, policy->fill, p, room);
    }
}
