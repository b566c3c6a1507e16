/* A job's curves as a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/inspect/curves_csv.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <stdlib.h>
#include <string.h>

static void write_text(const char *dir, const char *name, const char *text)
{
    char *path = xasprintf("%s/%s", dir, name);
    assert_int_equal(fs_write_atomic(path, text, strlen(text), NULL), OK);
    free(path);
}

static status table_of(const char *dir, char **ret)
{
    size_t bytes;
    FILE *to = open_memstream(ret, &bytes);
    assert_non_null(to);
    status st = curves_csv_write(dir, to, NULL);
    fclose(to);
    return st;
}

/* A column that comes late, evaluations that are not in order and of a step without a line, a table of a metric, a name
 * that needs quotes. */
static void rows_of_both_files(void **state)
{
    (void)state;
    char *dir, *text, *eval;
    assert_int_equal(fs_make_temporary("curves", &dir, NULL), OK);
    assert_int_equal(table_of(dir, &text), E_DATA);
    free(text);
    eval = xasprintf("%s/eval", dir);
    assert_int_equal(fs_mkdirs(eval, NULL), OK);
    write_text(dir, "job.json", "{}");
    write_text(dir, "metrics.jsonl",
               "{\"step\": 1, \"wall_s\": 0.5, \"loss\": 2.25}\n"
               "{\"step\": 4, \"wall_s\": 1.5, \"loss\": 0.125, \"lost_slots\": 1}\n{\"step\": 5");
    write_text(dir, "eval/metrics.jsonl",
               "{\"step\": 6, \"final\": true, \"loss\": 0.25, \"examples\": 9, \"rows\": [1, 2]}\n"
               "{\"step\": 4, \"final\": false, \"loss\": 0.5, \"a,b\": 3}\n");
    assert_int_equal(table_of(dir, &text), OK);
    assert_string_equal(text, "step,wall_s,training_loss,lost_slots,validation_loss,\"validation_a,b\"\n"
                              "1,0.5,2.25,,,\n"
                              "4,1.5,0.125,1,0.5,3\n"
                              "6,,,,0.25,\n");
    free(text);
    assert_int_equal(fs_remove_tree(dir, NULL), OK);
    free(eval);
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_both_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
