/*
 * Grapheme clusters (UAX #29, extended): what a reader takes for one character, such as a letter with its accents. By
 * utf8proc, of whose Unicode they are.
 * Threads: pure.
 */
#ifndef TEQUIO_TEXT_CLUSTERS_H
#define TEQUIO_TEXT_CLUSTERS_H

#include <stdint.h>

/* Where the cluster ends that begins at `begin`, of text that is known to be UTF-8: begin < end. */
uint32_t clusters_end(const char *text, uint32_t begin, uint32_t end);

#endif
