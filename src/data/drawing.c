/* See drawing.h. */
#include "data/drawing.h"

#include "common/base/alloc.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { LETTER_DOTS = 5, LETTER_WIDTH = 6, LETTER_HEIGHT = 7 };

/* Of ASCII's letters from the space on, a row a byte. */
static const unsigned char font['~' - ' ' + 1][LETTER_HEIGHT] = {
    {0, 0, 0, 0, 0, 0, 0}, {4, 4, 4, 4, 4, 0, 4}, {10, 10, 10, 0, 0, 0, 0}, {10, 10, 31, 10, 31, 10, 10},
    {4, 15, 20, 14, 5, 30, 4}, {24, 25, 2, 4, 8, 19, 3}, {12, 18, 20, 8, 21, 18, 13}, {4, 4, 4, 0, 0, 0, 0},
    {2, 4, 8, 8, 8, 4, 2}, {8, 4, 2, 2, 2, 4, 8}, {0, 4, 21, 14, 21, 4, 0}, {0, 4, 4, 31, 4, 4, 0},
    {0, 0, 0, 0, 12, 4, 8}, {0, 0, 0, 31, 0, 0, 0}, {0, 0, 0, 0, 0, 12, 12}, {0, 1, 2, 4, 8, 16, 0},
    {14, 17, 19, 21, 25, 17, 14}, {4, 12, 4, 4, 4, 4, 14}, {14, 17, 1, 2, 4, 8, 31}, {31, 2, 4, 2, 1, 17, 14},
    {2, 6, 10, 18, 31, 2, 2}, {31, 16, 30, 1, 1, 17, 14}, {6, 8, 16, 30, 17, 17, 14}, {31, 1, 2, 4, 8, 8, 8},
    {14, 17, 17, 14, 17, 17, 14}, {14, 17, 17, 15, 1, 2, 12}, {0, 12, 12, 0, 12, 12, 0}, {0, 12, 12, 0, 12, 4, 8},
    {2, 4, 8, 16, 8, 4, 2}, {0, 0, 31, 0, 31, 0, 0}, {8, 4, 2, 1, 2, 4, 8}, {14, 17, 1, 2, 4, 0, 4},
    {14, 17, 1, 13, 21, 21, 14}, {14, 17, 17, 31, 17, 17, 17}, {30, 17, 17, 30, 17, 17, 30},
    {14, 17, 16, 16, 16, 17, 14}, {28, 18, 17, 17, 17, 18, 28}, {31, 16, 16, 30, 16, 16, 31},
    {31, 16, 16, 30, 16, 16, 16}, {14, 17, 16, 23, 17, 17, 15}, {17, 17, 17, 31, 17, 17, 17}, {14, 4, 4, 4, 4, 4, 14},
    {7, 2, 2, 2, 2, 18, 12}, {17, 18, 20, 24, 20, 18, 17}, {16, 16, 16, 16, 16, 16, 31}, {17, 27, 21, 21, 17, 17, 17},
    {17, 17, 25, 21, 19, 17, 17}, {14, 17, 17, 17, 17, 17, 14}, {30, 17, 17, 30, 16, 16, 16},
    {14, 17, 17, 17, 21, 18, 13}, {30, 17, 17, 30, 20, 18, 17}, {15, 16, 16, 14, 1, 1, 30}, {31, 4, 4, 4, 4, 4, 4},
    {17, 17, 17, 17, 17, 17, 14}, {17, 17, 17, 17, 17, 10, 4}, {17, 17, 17, 21, 21, 21, 10},
    {17, 17, 10, 4, 10, 17, 17}, {17, 17, 17, 10, 4, 4, 4}, {31, 1, 2, 4, 8, 16, 31}, {14, 8, 8, 8, 8, 8, 14},
    {0, 16, 8, 4, 2, 1, 0}, {14, 2, 2, 2, 2, 2, 14}, {4, 10, 17, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 31},
    {8, 4, 2, 0, 0, 0, 0}, {0, 0, 14, 1, 15, 17, 15}, {16, 16, 30, 17, 17, 17, 30}, {0, 0, 14, 17, 16, 17, 14},
    {1, 1, 15, 17, 17, 17, 15}, {0, 0, 14, 17, 31, 16, 14}, {6, 9, 8, 28, 8, 8, 8}, {0, 15, 17, 17, 15, 1, 14},
    {16, 16, 22, 25, 17, 17, 17}, {4, 0, 12, 4, 4, 4, 14}, {2, 0, 6, 2, 2, 18, 12}, {16, 16, 18, 20, 24, 20, 18},
    {12, 4, 4, 4, 4, 4, 14}, {0, 0, 26, 21, 21, 17, 17}, {0, 0, 22, 25, 17, 17, 17}, {0, 0, 14, 17, 17, 17, 14},
    {0, 0, 30, 17, 17, 30, 16}, {0, 0, 13, 19, 15, 1, 1}, {0, 0, 22, 25, 16, 16, 16}, {0, 0, 15, 16, 14, 1, 30},
    {8, 8, 28, 8, 8, 9, 6}, {0, 0, 17, 17, 17, 19, 13}, {0, 0, 17, 17, 17, 10, 4}, {0, 0, 17, 17, 21, 21, 10},
    {0, 0, 17, 10, 4, 10, 17}, {0, 0, 17, 17, 15, 1, 14}, {0, 0, 31, 2, 4, 8, 31}, {2, 4, 4, 8, 4, 4, 2},
    {4, 4, 4, 4, 4, 4, 4}, {8, 4, 4, 2, 4, 4, 8}, {0, 0, 8, 21, 2, 0, 0},
};
static const unsigned char unknown[LETTER_HEIGHT] = {31, 17, 17, 17, 17, 17, 31};

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

void drawing_line(drawing *d, double x0, double y0, double x1, double y1, unsigned char color, int thick)
{
    double longest = fmax(fabs(x1 - x0), fabs(y1 - y0));
    int n = (int)longest + 1;
    for (int i = 0; i <= n; i++) {
        int x = (int)lround(x0 + (x1 - x0) * i / n), y = (int)lround(y0 + (y1 - y0) * i / n);
        drawing_rectangle(d, x, y, thick, thick, color);
    }
}

/* Of UTF-8 every letter but its first byte. */
static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

void drawing_text(drawing *d, int x, int y, int scale, unsigned char color, const char *text)
{
    for (; *text; text++) {
        if (is_continuation(*text))
            continue;
        bool is_known = *text >= ' ' && *text <= '~';
        draw_letter(d, x, y, scale, color, is_known ? font[*text - ' '] : unknown);
        x += LETTER_WIDTH * scale;
    }
}

int drawing_text_width(const char *text, int scale)
{
    int letters = 0;
    for (; *text; text++)
        letters += !is_continuation(*text);
    return letters * LETTER_WIDTH * scale;
}

int drawing_text_height(int scale)
{
    return LETTER_HEIGHT * scale;
}
