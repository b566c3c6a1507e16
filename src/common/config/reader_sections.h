/*
 * The sections of a configuration that are readers of data: `dataset_reader` and `validation_dataset_reader`, and
 * those within them, which are `base_reader` of `sharded` and the `reader` of each of multitask's `readers`.
 * Threads: pure.
 */
#ifndef TEQUIO_COMMON_CONFIG_READER_SECTIONS_H
#define TEQUIO_COMMON_CONFIG_READER_SECTIONS_H

#include <jansson.h>

/* `place`: "dataset_reader.readers[0].reader", until it returns. */
typedef void reader_section_use(void *user, json_t *section, const char *place);

/* All of them, each before those within it. */
void reader_sections_each(json_t *top, reader_section_use *use, void *user);

#endif
