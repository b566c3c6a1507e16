/* The orientation that a camera noted (EXIF 2.3, tag 0x0112), from the APP1 marker of a JPEG. Pure function. */
#ifndef TEQUIO_DATA_PICTURES_EXIF_H
#define TEQUIO_DATA_PICTURES_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* 1 to 8; 0: the marker is no EXIF, or does not say, or is damaged. */
int32_t exif_orientation(const unsigned char *marker, size_t bytes);

#endif
