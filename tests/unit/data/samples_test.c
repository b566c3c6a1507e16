/* Samples of tar files: which members belong together, values by their extensions, and refusals. The tars are the
 * system's own (tar). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "data/index/samples.h"
#include "data/reader.h"
#include "support/folder.h"
#include "unit/data/support_records.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_file(const char *name, const char *text)
{
    char *path = xasprintf("%s/%s", folder_path(), name);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    free(path);
}

static void run(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *tail = xvasprintf(format, args), *command = xasprintf("cd '%s' && %s", folder_path(), tail);
    va_end(args);
    assert_int_equal(system(command), 0);
    free(command);
    free(tail);
}

static const char fields[] = "{fields: [{name: 'x', type: 'bytes', shape: [4], key: 'raw'},"
                             " {name: 'at', type: 'numbers', shape: [2], key: 'box.txt'},"
                             " {name: 'label', type: 'label', key: 'cls'}]}";

static status opens(const char *name, const char *reader, dataset **ret, error *err)
{
    char *path = xasprintf("%s/%s", folder_path(), name);
    status st = records_open_path("webdataset", reader, path, &(dataset_options){.vocabulary = NULL}, ret, err);
    free(path);
    return st;
}

static void refuses(const char *name, const char *reader, const char *part)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    assert_int_equal(opens(name, reader, &d, &err), E_DATA);
    if (!strstr(err.text, part))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, part);
}

/* Three samples, one in a folder and with a name longer than a head has room for. */
static void make_files(void)
{
    run("mkdir -p far");
    write_file("a.raw", "\1\2\3\4");
    write_file("a.box.txt", "0.5, -2e1\n");
    write_file("a.cls", "2");
    write_file("b.raw", "\377\377\377\377");
    write_file("b.box.txt", "1 2");
    write_file("b.cls", "0\n");
    write_file("b._note", "");
    write_file("_meta.json", "{}");
    run("name=far/$(printf '%%0150d' 7) && cp a.raw $name.raw && cp b.box.txt $name.box.txt && printf 1 >$name.cls");
}

static void check_three(const char *name)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    if (opens(name, fields, &d, &err) != OK)
        fail_msg("%s", err.text);
    assert_int_equal(dataset_examples(d), 3);
    float x[4], at[2];
    int64_t label;
    void *out[] = {x, at, &label};
    assert_int_equal(dataset_read(d, 0, out, NULL), OK);
    assert_true(fabsf(x[3] - 4.0f / 255.0f) <= 1e-7f && at[0] == 0.5f && at[1] == -20.0f && label == 2);
    assert_int_equal(dataset_read(d, 1, out, NULL), OK);
    assert_true(x[0] == 1.0f && at[1] == 2.0f && label == 0);
    assert_int_equal(dataset_read(d, 2, out, NULL), OK);
    assert_true(fabsf(x[0] - 1.0f / 255.0f) <= 1e-7f && label == 1);
    dataset_close(&d);
}

static void test_samples(void **state)
{
    (void)state;
    make_files();
    run("tar -cf gnu.tar --format=gnu _meta.json a.* b.* far/*");
    run("tar -cf pax.tar --format=pax a.raw a.cls a.box.txt _meta.json b.cls b.raw b.box.txt far/*");
    run("tar -czf packed.tar.gz --format=pax a.* b.* far/*");
    check_three("gnu.tar");
    check_three("pax.tar");
    check_three("packed.tar.gz");
    run("mkdir -p shards && tar -cf shards/1.tar a.* && tar -cf shards/2.tar b.* && tar -cf shards/3.tar far/*");
    check_three("shards");
    check_three("shards/*.tar");
}

static void test_refusals(void **state)
{
    (void)state;
    make_files();
    run("tar -cf lacks.tar a.raw a.cls b.raw");
    refuses("lacks.tar", fields, "sample 0 (byte 0): field 'at': there is no 'box.txt'; there are: raw, cls");
    run("cp a.cls README && tar -cf named.tar a.* README");
    refuses("named.tar", fields, "'README' is no member of a sample: it is not called KEY.EXTENSION");
    run("cp a.raw a.cls && tar -cf text.tar a.*");
    refuses("text.tar", fields, "field 'label': is 4 bytes, not numbers; expected a class: an integer");
    write_file("a.cls", "1.5");
    run("tar -cf half.tar a.*");
    refuses("half.tar", fields, "field 'label': is a list of 1 number; expected a class");
    write_file("a.cls", "1");
    write_file("a.box.txt", "1 2 3");
    run("tar -cf long.tar a.*");
    refuses("long.tar", fields, "field 'at': is a list of 3 numbers; expected 2 numbers");
    run("tar -cf whole.tar b.* && head -c 1500 whole.tar >torn.tar");
    refuses("torn.tar", fields, "torn.tar': byte ");
    run("tar --hard-dereference -cf twice.tar b.raw b.cls b.raw b.box.txt");
    refuses("twice.tar", fields, "sample 0 (byte 0): has 'raw' twice");
    write_file("plain", "no tar");
    refuses("plain", fields, "plain': is no tar file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
