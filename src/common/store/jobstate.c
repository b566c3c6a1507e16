#include "common/store/jobstate.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/store/lockfile.h"

#include <stdlib.h>
#include <string.h>

static const char *const words[JOBSTATE_COUNT] = {[JOBSTATE_NONE] = "none",
#define X(kind, word) [kind] = word,
                                                  JOBSTATE_MAP(X)
#undef X
};

const char *jobstate_word(jobstate_kind kind)
{
    return words[kind];
}

void jobstate_fini(jobstate *s)
{
    free(s->text);
    *s = (jobstate){.kind = JOBSTATE_NONE};
}

static jobstate_kind kind_of(const char *word)
{
    for (int k = JOBSTATE_RUNNING; word && k < JOBSTATE_COUNT; k++)
        if (strcmp(words[k], word) == 0)
            return (jobstate_kind)k;
    return JOBSTATE_NONE;
}

static status parse(const char *path, const json_t *o, jobstate *ret, error *err)
{
    jobstate_kind kind = kind_of(json_string_value(json_object_get(o, "state")));
    const char *text = json_string_value(json_object_get(o, "text"));
    json_int_t code = json_integer_value(json_object_get(o, "exit_code"));
    json_int_t start = json_integer_value(json_object_get(o, "start"));
    if (kind == JOBSTATE_NONE || !text || code < 0 || code > 255 || start < 0)
        return FAIL(err, E_DATA, "'%s': state, start, exit_code and text are needed", path);
    *ret = (jobstate){.kind = kind, .start = start, .exit_code = (int)code, .text = xstrdup(text)};
    return OK;
}

status jobstate_read(const jobdir *d, jobstate *ret, error *err)
{
    char *path = jobdir_file(d, "state.json");
    json_t *o = NULL;
    jobstate s = {.kind = JOBSTATE_NONE};
    uint64_t trace = lockfile_trace(path);
    status st = OK;
    if (fs_exists(path)) {
        TRY_OUT(st, json_read_file(path, &o, err));
        TRY_OUT(st, parse(path, o, &s, err));
    }
    s.trace = trace;
    *ret = s;
out:
    json_decref(o);
    free(path);
    return st;
}

/* Messages quote paths, whose bytes need not be UTF-8. */
static json_t *text_value(const char *text)
{
    json_t *value = json_string(text);
    if (value)
        return value;
    char *plain = xstrdup(text);
    for (char *c = plain; *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    value = json_string(plain);
    free(plain);
    return value;
}

static status write_state(const jobdir *d, jobstate_kind kind, int code, const char *text,
                          error *err)
{
    json_t *o =
        json_pack("{s:s, s:I, s:i, s:o}", "state", words[kind], "start",
                  (json_int_t)jobdir_starts(d), "exit_code", code, "text", text_value(text));
    BUG_ON(!o);
    status st = jobdir_write_json(d, "state.json", o, err);
    json_decref(o);
    return st;
}

status jobstate_begin(const jobdir *d, error *err)
{
    return write_state(d, JOBSTATE_RUNNING, 0, "", err);
}

status jobstate_end(const jobdir *d, status how, const char *text, error *err)
{
    jobstate_kind kind = how == OK            ? JOBSTATE_DONE
                         : how == E_PREEMPTED ? JOBSTATE_PREEMPTED
                                              : JOBSTATE_FAILED;
    return write_state(d, kind, status_exit_code(how), text, err);
}

status jobstate_outcome(const jobstate *s)
{
    for (int st = OK; st < STATUS_COUNT; st++)
        if (status_exit_code((status)st) == s->exit_code)
            return (status)st;
    return E_FAIL;
}
