/*
 * What reports on pictures and on videos have alike: files below a folder or in a list, by class, those that are
 * broken, and the least and the most of what they are. Main thread only.
 */
#ifndef TEQUIO_CLI_INSPECT_MEDIA_H
#define TEQUIO_CLI_INSPECT_MEDIA_H

#include "common/base/buf.h"
#include "data/pictures/picture_set.h"

#include <jansson.h>

/* Lines of "PATH LABEL,LABEL", or cells parted by commas, of which the first is there. */
bool media_find_listed(const char *path, const picture_kind *kind, picture_set *ret);

/* [{"class": "cats", WHAT: 3, "broken": 1}]: by the folders right below the root, or by the labels of a list, of which
 * one counts for each that it has. broken[s->n] says why a file is, NULL: it is not. */
json_t *media_classes(const picture_set *s, char *const *broken, const char *what);
/* [{"file": "cats/7.jpg", "why": "is empty"}] */
json_t *media_broken(const picture_set *s, char *const *broken);

typedef struct extremes {
    int64_t least, most, sum, n;
} extremes;

void extremes_add(extremes *e, int64_t x);
json_t *extremes_report(const extremes *e);

/* "  width   20 to 61, mean 40" */
void media_print_extremes(const json_t *report, const char *key, buf *ret);
void media_print_classes(const json_t *classes, const char *what, buf *ret);
void media_print_broken(const json_t *broken, buf *ret);

#endif
