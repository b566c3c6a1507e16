/*
 * Drawing into a picture of numbered colours (png.h): dots, rectangles, lines, and words in letters of five by seven
 * dots. The letters are ASCII's; of others, of UTF-8, an empty box is drawn.
 *
 * Threads: any, one at a time a drawing.
 */
#ifndef TEQUIO_DATA_DRAWING_H
#define TEQUIO_DATA_DRAWING_H

#include <stdint.h>

typedef struct drawing {
    unsigned char *pixels; /* [height][width], numbers of colours; top row first */
    int width, height;
    int top, bottom;       /* rows from top to before bottom are drawn into */
} drawing;

/* Zeroed: all is of colour 0. */
drawing drawing_create(int width, int height);
void drawing_fini(drawing *d);

/* What lies outside is left out. */
void drawing_dot(drawing *d, int x, int y, unsigned char color);
void drawing_rectangle(drawing *d, int x, int y, int width, int height, unsigned char color);
/* A dot of it is `thick` pixels wide and high, to the right of and below the line. */
void drawing_line(drawing *d, double x0, double y0, double x1, double y1, unsigned char color, int thick);

/* A dot of a letter is `scale` pixels wide and high; x and y are the upper left corner. */
void drawing_text(drawing *d, int x, int y, int scale, unsigned char color, const char *text);
int drawing_text_width(const char *text, int scale);
int drawing_text_height(int scale);

#endif
