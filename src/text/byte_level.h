/*
 * GPT-2's way to write any byte as a visible character: ASCII and most of Latin-1 stand for themselves, the
 * others for U+0100 and following. Pure functions.
 */
#ifndef TEQUIO_TEXT_BYTE_LEVEL_H
#define TEQUIO_TEXT_BYTE_LEVEL_H

#include "text/run.h"

/* The character that stands for a byte. */
uint32_t byte_level_char(unsigned char byte);
/* The byte it stands for, -1: none. */
int byte_level_byte(uint32_t code);

/* The rest of the piece, each byte as its character. */
void byte_level_rewrite(rewrite *w);

#endif
