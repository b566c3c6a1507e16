#include "cli/tune/previous_search.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "tune/trial_journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *previous_search_dir(const char *asked, const char *dir)
{
    if (strchr(asked, '/'))
        return xstrdup(asked);
    char *parent = fs_parent(dir), *path = xasprintf("%s/%s", parent, asked);
    free(parent);
    return path;
}

/* What both must have in common. */
static json_t *common_keys(const json_t *head)
{
    static const char *const keys[] = {"parameters", "metric", "better"};
    json_t *common = json_object();
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        json_object_set(common, keys[i], json_object_get(head, keys[i]));
    return common;
}

static void warn_of_config(const char *path, const json_t *there, const json_t *head)
{
    if (!json_equal(json_object_get(there, "config"), json_object_get(head, "config")))
        fprintf(stderr, "tequio: '%s' has another configuration; what its trials came to counts all the same\n", path);
}

status previous_search_read(const char *asked, const char *dir, const json_t *head, const space *searched, json_t **ret,
                            error *err)
{
    char *folder = previous_search_dir(asked, dir), *path = xasprintf("%s/trials.jsonl", folder);
    json_t *common = common_keys(head), *there = NULL;
    study s;
    study_init(&s, searched, (int)json_integer_value(json_object_get(head, "better")));
    status st = trial_journal_read(path, common, &s, &there, err);
    if (st == OK && !there)
        st = FAIL(err, E_DATA, "'%s' is empty", path);
    if (st == OK) {
        warn_of_config(path, there, head);
        *ret = study_records_for_another(&s);
    } else {
        error_prepend(err, "the search before, '%s'", asked);
    }
    json_decref(there);
    json_decref(common);
    study_fini(&s);
    free(path);
    free(folder);
    return st;
}
