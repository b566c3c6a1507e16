/*
 * What becomes of files of a set that cannot be read. Threads: pure functions.
 */
#ifndef TEQUIO_DATA_PICTURES_BROKEN_H
#define TEQUIO_DATA_PICTURES_BROKEN_H

#include "data/pictures/picture_set.h"

/* Keeps, of a file that is not as it should be (E_DATA), why; free it. What else fails is returned: a device that fails
 * says nothing of the file. */
MUST_USE status picture_set_note(status st, const error *why, char **ret, error *err);

/* broken[s->n] says of each file what is wrong with it, NULL: nothing; `things` is "pictures". Any is E_DATA, which
 * names the first ten; with `skips` they leave the set, with a warning that counts and names them. */
MUST_USE status picture_set_settle(picture_set *s, char *const *broken, const char *things, bool skips, error *err);

#endif
