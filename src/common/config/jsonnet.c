/* Jsonnet to JSON. libjsonnet's multi-line reports become one line: "file:line:column: cause". */
#include "common/config/jsonnet.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/fs.h"
#include "common/base/json.h"

#include <libjsonnet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_LIMIT = 1 << 24 };

static void set_variables(struct JsonnetVm *vm)
{
    for (char **entry = environ; entry && *entry; entry++) {
        const char *equals = strchr(*entry, '=');
        if (!equals)
            continue;
        char *name = xstrndup(*entry, (size_t)(equals - *entry));
        jsonnet_ext_var(vm, name, equals + 1);
        free(name);
    }
}

/* The report is "STATIC ERROR: file:1:2: cause" or "RUNTIME ERROR: cause" over an indented trace,
 * whose first line "\tfile:1:2-3\twhat" is where it happened. */
static status jsonnet_report(const char *origin, char *text, error *err)
{
    static const char runtime[] = "RUNTIME ERROR: ", fixed[] = "STATIC ERROR: ";
    char *line_end = text + strcspn(text, "\n");
    char *trace = *line_end ? line_end + 1 : line_end;
    *line_end = '\0';
    if (strncmp(text, fixed, strlen(fixed)) == 0)
        return FAIL(err, E_CONFIG, "%s", text + strlen(fixed));
    const char *cause =
        strncmp(text, runtime, strlen(runtime)) == 0 ? text + strlen(runtime) : text;
    trace += strspn(trace, "\t ");
    trace[strcspn(trace, "\t\n")] = '\0';
    return FAIL(err, E_CONFIG, "%s: %s", *trace ? trace : origin, cause);
}

static status jsonnet_evaluate(const char *origin, const char *text, json_t **ret, error *err)
{
    struct JsonnetVm *vm = jsonnet_make();
    set_variables(vm);
    int failed = 0;
    char *out = jsonnet_evaluate_snippet(vm, origin, text, &failed);
    status st = failed ? jsonnet_report(origin, out, err)
                       : json_parse(out, strlen(out), origin, E_CONFIG, ret, err);
    jsonnet_realloc(vm, out, 0);
    jsonnet_destroy(vm);
    return st;
}

/* JSON is jsonnet and means the same; read as what it is, it saves the tens of milliseconds that a
 * machine takes to load its library, once for every process of a cluster. */
status jsonnet_parse(const char *origin, const char *text, json_t **ret, error *err)
{
    json_t *value = NULL;
    if (json_parse(text, strlen(text), origin, E_CONFIG, &value, NULL) != OK)
        TRY(jsonnet_evaluate(origin, text, &value, err));
    if (!json_is_object(value)) {
        status st = FAIL(err, E_CONFIG, "%s: expected an object, got %s", origin, json_kind(value));
        json_decref(value);
        return st;
    }
    *ret = value;
    return OK;
}

status jsonnet_read_file(const char *what, const char *path, json_t **ret, error *err)
{
    buf text = BUF_INIT;
    status st = fs_read_config(what, path, FILE_LIMIT, &text, err);
    if (st == OK && text.data && strlen(text.data) != text.size)
        st = FAIL(err, E_CONFIG, "%s: zero byte at offset %zu; expected jsonnet text", path,
                  strlen(text.data));
    if (st == OK)
        st = jsonnet_parse(path, text.data ? text.data : "", ret, err);
    buf_fini(&text);
    return st;
}
