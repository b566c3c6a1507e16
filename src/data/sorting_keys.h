/*
 * AllenNLP's `sorting_keys`: the fields by whose lengths a bucket sampler sorts. Fields of unlike length are padded
 * together here, so an example has one length, and a key says no more than that it is a field which has it.
 * Threads: pure.
 */
#ifndef TEQUIO_DATA_SORTING_KEYS_H
#define TEQUIO_DATA_SORTING_KEYS_H

#include "common/base/json.h"
#include "data/data.h"

/* E_CONFIG, naming `option`: one of the list is neither a field with a length, nor what AllenNLP's reader of that name
 * calls it ("tokens", and what stands in it: "tokens.tokens"). */
MUST_USE status sorting_keys_check(const config *reader, const dataset *d, const json_t *keys, const char *option,
                                   error *err);

#endif
