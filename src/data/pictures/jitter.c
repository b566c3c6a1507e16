/* See jitter.h; Pillow's Blend.c and Convert.c (rgb2hsv, hsv2rgb) say what is computed. */
#include "data/pictures/jitter.h"

enum { RED, GREEN, BLUE, COLOURS };

/* --- between two pictures --- */

unsigned char jitter_blend(int to, int x, float factor)
{
    float mixed = (float)to + factor * (float)(x - to);
    return (unsigned char)(mixed <= 0.0f ? 0.0f : mixed >= 255.0f ? 255.0f : mixed);
}

static int grey_of(const jitter_picture *p, size_t i)
{
    const unsigned char *x = p->at + i;
    return p->channels == 1 ? x[0]
                            : (x[0] * 19595 + x[p->pixels] * 38470 + x[2 * p->pixels] * 7471 + 0x8000) >> 16;
}

static void blend_all(const jitter_picture *p, int to, float factor)
{
    for (size_t i = 0; i < (size_t)p->channels * p->pixels; i++)
        p->at[i] = jitter_blend(to, p->at[i], factor);
}

void jitter_brightness(const jitter_picture *p, float factor)
{
    blend_all(p, 0, factor);
}

void jitter_contrast(const jitter_picture *p, float factor)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->pixels; i++)
        sum += (uint64_t)grey_of(p, i);
    blend_all(p, (int)((double)sum / (double)p->pixels + 0.5), factor);
}

void jitter_saturation(const jitter_picture *p, float factor)
{
    for (size_t i = 0; p->channels == COLOURS && i < p->pixels; i++) {
        int grey = grey_of(p, i);
        for (size_t c = 0; c < COLOURS; c++)
            p->at[c * p->pixels + i] = jitter_blend(grey, p->at[c * p->pixels + i], factor);
    }
}

/* --- hue --- */

typedef struct hsv {
    int hue, saturation, value;     /* 0 .. 255 */
} hsv;

static int largest(const int x[COLOURS])
{
    int most = x[RED] > x[GREEN] ? x[RED] : x[GREEN];
    return x[BLUE] > most ? x[BLUE] : most;
}

static int smallest(const int x[COLOURS])
{
    int least = x[RED] < x[GREEN] ? x[RED] : x[GREEN];
    return x[BLUE] < least ? x[BLUE] : least;
}

static hsv to_hsv(const int x[COLOURS])
{
    int most = largest(x), least = smallest(x);
    hsv ret = {.value = most};
    if (most == least)
        return ret;
    float span = (float)(most - least), turn;
    float red = (float)(most - x[RED]) / span, green = (float)(most - x[GREEN]) / span;
    float blue = (float)(most - x[BLUE]) / span;
    if (x[RED] == most)
        turn = blue - green;
    else if (x[GREEN] == most)
        turn = (float)(2.0 + (double)red - (double)blue);
    else
        turn = (float)(4.0 + (double)green - (double)red);
    double circles = (double)turn / 6.0 + 1.0; /* above 0 */
    turn = (float)(circles - (double)(int)circles);
    ret.hue = (int)((double)turn * 255.0);
    ret.saturation = (int)((double)(span / (float)most) * 255.0);
    return ret;
}

/* x >= 0, halves up */
static int rounded(double x)
{
    int whole = (int)x;
    return whole + (x - whole >= 0.5);
}

static void from_hsv(const hsv *h, int ret[COLOURS])
{
    static const unsigned char places[6][COLOURS] = {{0, 3, 1}, {2, 0, 1}, {1, 0, 3}, {1, 2, 0}, {3, 1, 0}, {0, 1, 2}};
    double sixths = (double)((float)h->hue * 6.0f) / 255.0, value = h->value;
    int sector = (int)sixths;
    float rest = (float)(sixths - (double)(float)sector), strength = (float)((double)(float)h->saturation / 255.0);
    int of[4] = {h->value, rounded(value * (1.0 - (double)strength)),
                 rounded(value * (1.0 - (double)(strength * rest))),
                 rounded(value * (1.0 - (double)strength * (1.0 - (double)rest)))};
    for (int c = 0; c < COLOURS; c++)
        ret[c] = h->saturation == 0 ? h->value : of[places[sector % 6][c]];
}

void jitter_hue(const jitter_picture *p, float part)
{
    int turn = (int)(part * 255.0f) & 255;
    for (size_t i = 0; p->channels == COLOURS && i < p->pixels; i++) {
        int x[COLOURS];
        for (size_t c = 0; c < COLOURS; c++)
            x[c] = p->at[c * p->pixels + i];
        hsv h = to_hsv(x);
        h.hue = (h.hue + turn) & 255;
        from_hsv(&h, x);
        for (size_t c = 0; c < COLOURS; c++)
            p->at[c * p->pixels + i] = (unsigned char)x[c];
    }
}
