/* See support_config.h. */
#include "unit/data/support_config.h"

#include "common/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

config *test_config(const char *dataset_reader)
{
    char *text = xasprintf("{dataset_reader: %s, train_data_path: 'x', model: {type: 'mlp'}, "
                           "data_loader: {batch_size: 8}}",
                           dataset_reader);
    error err = ERROR_INIT;
    config *c = NULL;
    if (config_load(&(config_source){.text = text}, &c, &err) != OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    free(text);
    return c;
}
