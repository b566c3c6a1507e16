/*
 * A configuration and a setting from a stranger: the first line is the setting, the rest JSON, laid
 * over each other and checked as config_load does it. Whatever they are, a refusal with a message
 * or a resolved configuration, which resolves to itself.
 *
 * Jsonnet is left out: its programs may run as long as they like, and it is the table's checks that
 * are on trial here.
 */
#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/config/merge.h"
#include "common/config/resolve.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_resolved(const json_t *resolved)
{
    json_t *again = NULL;
    error err = ERROR_INIT;
    if (config_resolve(resolved, &again, &err) != OK)
        BUG("what was resolved is refused: %s", err.text);
    BUG_ON(!json_equal(resolved, again));
    json_decref(again);
}

/* As overrides and as the file, under the setting. */
static void try_tree(json_t *tree, const char *setting)
{
    error err = ERROR_INIT;
    json_t *resolved = NULL, *copy = json_deep_copy(tree);
    if (merge_overrides(copy, tree, &err) != OK)
        BUG_ON(!err.text[0]);
    json_decref(copy);
    error_clear(&err);
    status st = *setting ? merge_setting(tree, "fuzz", setting, &err) : OK;
    if (st == OK)
        st = config_resolve(tree, &resolved, &err);
    if (st == OK)
        check_resolved(resolved);
    else
        BUG_ON(!err.text[0]);
    json_decref(resolved);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *setting = xstrndup((const char *)data, size);
    char *text = setting + strcspn(setting, "\n");
    if (*text)
        *text++ = '\0';
    json_t *tree = NULL;
    if (json_parse(text, strlen(text), "fuzz", E_CONFIG, &tree, NULL) == OK && json_is_object(tree))
        try_tree(tree, setting);
    json_decref(tree);
    free(setting);
    return 0;
}
