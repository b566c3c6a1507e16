/*
 * The order in which people count: by bytes, but numbers by their value, so that "n2" comes before "n10".
 * Pure.
 */
#ifndef TEQUIO_COMMON_BASE_NATURAL_H
#define TEQUIO_COMMON_BASE_NATURAL_H

/* As strcmp. Numbers of one value are equal, whatever zeros they begin with. */
int natural_compare(const char *a, const char *b);

#endif
