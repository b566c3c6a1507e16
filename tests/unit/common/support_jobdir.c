#include "unit/common/support_jobdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "support/folder.h"

#include <stdlib.h>
#include <string.h>

config *jobdir_config(const char *overrides)
{
    config_source source = {.text = "{train_data_path: 'x', model: {type: 'mlp'}, "
                                    "data_loader: {batch_size: 8}, trainer: {num_epochs: 1}}",
                            .overrides = overrides};
    config *c = NULL;
    error err = ERROR_INIT;
    if (config_load(&source, &c, &err) != OK)
        fail_msg("%s", err.text);
    return c;
}

/* A request for a fresh folder of the test's own name. */
char *jobdir_place(const char *name)
{
    return folder_file("%s", name);
}

jobdir *jobdir_start(jobdir_request request)
{
    jobdir *d = NULL;
    bool done = true;
    error err = ERROR_INIT;
    if (jobdir_prepare(&request, &d, &done, &err) != OK)
        fail_msg("%s", err.text);
    assert_false(done);
    return d;
}

void jobdir_refused(jobdir_request request, status expected, const char *text)
{
    jobdir *d = NULL;
    bool done;
    error err = ERROR_INIT;
    assert_int_equal(jobdir_prepare(&request, &d, &done, &err), expected);
    assert_null(d);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
}

void jobdir_put(const char *dir, const char *name, const char *text)
{
    char *path = xasprintf("%s/%s", dir, name);
    assert_int_equal(fs_mkdirs(dir, NULL), OK);
    assert_int_equal(fs_write_atomic(path, text, strlen(text), NULL), OK);
    free(path);
}
