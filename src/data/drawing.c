/* See drawing.h. */
#include "data/drawing.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { LETTER_DOTS = 5, LETTER_WIDTH = 6, LETTER_HEIGHT = 7 };

/* A row a byte. */
static const struct {
    char letter;
    unsigned char rows[LETTER_HEIGHT];
} font[] = {
    {'0', {14, 17, 19, 21, 25, 17, 14}}, {'1', {4, 12, 4, 4, 4, 4, 14}},    {'2', {14, 17, 1, 2, 4, 8, 31}},
    {'3', {31, 2, 4, 2, 1, 17, 14}},     {'4', {2, 6, 10, 18, 31, 2, 2}},   {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {6, 8, 16, 30, 17, 17, 14}},   {'7', {31, 1, 2, 4, 8, 8, 8}},     {'8', {14, 17, 17, 14, 17, 17, 14}},
    {'9', {14, 17, 17, 15, 1, 2, 12}},   {'.', {0, 0, 0, 0, 0, 12, 12}},    {'-', {0, 0, 0, 31, 0, 0, 0}},
    {'+', {0, 4, 4, 31, 4, 4, 0}},       {'a', {0, 0, 14, 1, 15, 17, 15}},  {'b', {16, 16, 30, 17, 17, 17, 30}},
    {'c', {0, 0, 14, 17, 16, 17, 14}},   {'d', {1, 1, 15, 17, 17, 17, 15}}, {'e', {0, 0, 14, 17, 31, 16, 14}},
    {'g', {0, 15, 17, 17, 15, 1, 14}},   {'i', {4, 0, 12, 4, 4, 4, 14}},    {'l', {12, 4, 4, 4, 4, 4, 14}},
    {'n', {0, 0, 22, 25, 17, 17, 17}},   {'o', {0, 0, 14, 17, 17, 17, 14}}, {'p', {0, 0, 30, 17, 17, 30, 16}},
    {'r', {0, 0, 22, 25, 16, 16, 16}},   {'s', {0, 0, 15, 16, 14, 1, 30}},  {'t', {8, 8, 28, 8, 8, 9, 6}},
};

drawing drawing_create(int width, int height)
{
    return (drawing){.pixels = xcalloc((size_t)width * (size_t)height, 1),
                     .width = width,
                     .height = height,
                     .bottom = height};
}

void drawing_fini(drawing *d)
{
    free(d->pixels);
    *d = (drawing){.pixels = NULL};
}

void drawing_dot(drawing *d, int x, int y, unsigned char color)
{
    if (x >= 0 && x < d->width && y >= d->top && y < d->bottom)
        d->pixels[(size_t)y * (size_t)d->width + (size_t)x] = color;
}

void drawing_rectangle(drawing *d, int x, int y, int width, int height, unsigned char color)
{
    for (int row = 0; row < height; row++)
        for (int column = 0; column < width; column++)
            drawing_dot(d, x + column, y + row, color);
}

static void draw_letter(drawing *d, int x, int y, int scale, unsigned char color, const unsigned char *rows)
{
    for (int row = 0; row < LETTER_HEIGHT; row++)
        for (int column = 0; column < LETTER_DOTS; column++)
            if (rows[row] >> (LETTER_DOTS - 1 - column) & 1)
                drawing_rectangle(d, x + column * scale, y + row * scale, scale, scale, color);
}

void drawing_text(drawing *d, int x, int y, int scale, unsigned char color, const char *text)
{
    for (; *text; text++, x += LETTER_WIDTH * scale)
        for (size_t i = 0; i < COUNT_OF(font); i++)
            if (font[i].letter == *text)
                draw_letter(d, x, y, scale, color, font[i].rows);
}

int drawing_text_width(const char *text, int scale)
{
    return (int)strlen(text) * LETTER_WIDTH * scale;
}

int drawing_text_height(int scale)
{
    return LETTER_HEIGHT * scale;
}
