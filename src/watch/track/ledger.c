#include "watch/track/ledger.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "common/base/json.h"
#include "common/store/folder_lock.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20 };

/* One that cannot be read, or is of another job, says nothing. */
static json_t *read_sent(const char *path, const char *job_id)
{
    buf text = BUF_INIT;
    json_t *sent = NULL;
    if (fs_exists(path) && fs_read(path, MOST, &text, NULL) == OK && text.size)
        (void)!json_parse(text.data, text.size, path, E_DATA, &sent, NULL);
    buf_fini(&text);
    const char *of = json_string_value(json_object_get(sent, "job_id"));
    if (of && strcmp(of, job_id) == 0)
        return sent;
    json_decref(sent);
    return json_pack("{s:s}", "job_id", job_id);
}

status ledger_open(const char *job_dir, const char *tracker, const char *to, const char *job_id, ledger *ret,
                   error *err)
{
    char hash[SHA256_HEX], *folder = xasprintf("%s/track", job_dir);
    sha256_hex(to, strlen(to), hash);
    char *own = xasprintf("%s/%s-%.8s", folder, tracker, hash);
    ledger o = {.path = xasprintf("%s/sent.json", own), .lock_fd = -1};
    status st = fs_mkdir(folder, 1, err);
    bool is_locked = st == OK && folder_lock(own, &o.lock_fd);
    if (st == OK && !is_locked)
        st = FAIL(err, E_BUSY, "another process sends what is in '%s' just now", job_dir);
    if (st == OK)
        o.sent = read_sent(o.path, job_id);
    free(own);
    free(folder);
    if (st == OK)
        *ret = o;
    else
        ledger_close(&o);
    return st;
}

status ledger_save(const ledger *o, error *err)
{
    char *text = json_text(o->sent);
    status st = fs_write_unsynced(o->path, text, strlen(text), err);
    free(text);
    return st;
}

void ledger_close(ledger *o)
{
    folder_unlock(o->lock_fd);
    json_decref(o->sent);
    free(o->path);
    *o = (ledger){.lock_fd = -1};
}

const char *ledger_text(const ledger *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o->sent, key));
    return text ? text : "";
}

void ledger_set_text(ledger *o, const char *key, const char *value)
{
    json_object_set_new(o->sent, key, json_string(value));
}

/* What is known of a file: {"place": [begin, offset, step], "steps": [...]}. */
static json_t *facts_of(const ledger *o, const char *file)
{
    return json_object_get(json_object_get(o->sent, "lines"), file);
}

static json_t *make_facts(ledger *o, const char *file)
{
    json_t *lines = json_object_get(o->sent, "lines"), *facts = facts_of(o, file);
    if (!json_is_object(lines)) {
        lines = json_object();
        json_object_set_new(o->sent, "lines", lines);
    }
    if (!json_is_object(facts)) {
        facts = json_object();
        json_object_set_new(lines, file, facts);
    }
    return facts;
}

growth_place ledger_place(const ledger *o, const char *file)
{
    const json_t *place = json_object_get(facts_of(o, file), "place");
    if (!json_is_array(place))
        return GROWTH_BEGINNING;
    return (growth_place){json_integer_value(json_array_get(place, 0)), json_integer_value(json_array_get(place, 1)),
                          json_integer_value(json_array_get(place, 2))};
}

void ledger_set_place(ledger *o, const char *file, growth_place place)
{
    json_object_set_new(make_facts(o, file), "place",
                        json_pack("[I, I, I]", (json_int_t)place.begin, (json_int_t)place.offset,
                                  (json_int_t)place.step));
}

bool ledger_has_step(const ledger *o, const char *file, bool has_order, int64_t step)
{
    const json_t *one;
    size_t i;
    json_array_foreach(json_object_get(facts_of(o, file), "steps"), i, one)
        if (has_order ? step <= json_integer_value(one) : step == json_integer_value(one))
            return true;
    return false;
}

void ledger_add_step(ledger *o, const char *file, bool has_order, int64_t step)
{
    json_t *facts = make_facts(o, file), *steps = json_object_get(facts, "steps");
    if (has_order || !json_is_array(steps)) {
        steps = json_array();
        json_object_set_new(facts, "steps", steps);
    }
    json_array_append_new(steps, json_integer((json_int_t)step));
}

int64_t ledger_last_step(const ledger *o, const char *file)
{
    int64_t last = -1;
    const json_t *one;
    size_t i;
    json_array_foreach(json_object_get(facts_of(o, file), "steps"), i, one)
        if (json_integer_value(one) > last)
            last = json_integer_value(one);
    return last;
}
