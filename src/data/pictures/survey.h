/*
 * What must be known of all pictures before the first is used: that each has a head that can be read, or, where broken
 * ones are to be skipped, that each can be decoded, for only so is it known which examples there are. Done by all
 * processors of a host. Which are broken is kept in the cache (index/cache.h), so that the next start, and every other
 * process of the host, decodes none; heads are read at each start.
 *
 * Threads: the calling one, and those it starts and ends.
 */
#ifndef TEQUIO_DATA_PICTURES_SURVEY_H
#define TEQUIO_DATA_PICTURES_SURVEY_H

#include "data/pictures/picture.h"
#include "data/pictures/picture_set.h"

/* Fills in what picture_set.h says of entries, and of reading them as `how` says. Broken ones are E_DATA, the first
 * ten by their paths; with `skips` they leave the set, with a warning that counts and names them. The log says what
 * there is (PICTURES). */
MUST_USE status picture_survey(picture_set *s, const picture_decoding *how, bool skips, error *err);

/* Appends the bytes of a picture's file. E_DATA. */
MUST_USE status picture_set_read(const picture_set *s, size_t i, buf *ret, error *err);

#endif
