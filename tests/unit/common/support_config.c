#include "unit/common/support_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

const char config_smallest[] =
    "{train_data_path: 'x', model: {type: 'mlp'}, data_loader: {batch_size: 8}}";

const char config_layered[] = "{train_data_path: 'x', data_loader: {batch_size: 8},\n"
                              " model: {type: 'sequential', layers: [\n"
                              "   {type: 'conv', filters: 4, kernel: 3, name: 'first'}, 'relu',\n"
                              "   {type: 'residual', layers: [{type: 'residual', layers: ['tanh', "
                              "{type: 'dropout', p: 0}]}]},\n"
                              "   'flatten', {type: 'linear', features: 10, bias: false}]}}";

config *config_load_or_fail(const config_source *source)
{
    config *c = NULL;
    error err = ERROR_INIT;
    if (config_load(source, &c, &err) != OK)
        fail_msg("%s", err.text);
    return c;
}

config *config_load_text(const char *text)
{
    return config_load_or_fail(&(config_source){.text = text});
}

config *config_load_set(const char *text, const char *setting)
{
    const char *settings[] = {setting, NULL};
    return config_load_or_fail(&(config_source){.text = text, .settings = settings});
}
