#include "fault/torture/judge.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 64 << 20, TAIL = 1024 };

const char *const fault_words[FAULTS_FOUND] = {
    "right", "hangs", "late", "exit code", "weights", "batches", "metrics", "litter", "processes",
};

static json_t *read_in(const char *dir, const char *name)
{
    char *path = xasprintf("%s/%s", dir, name);
    json_t *all = NULL;
    if (json_read_file(path, &all, NULL) != OK)
        all = NULL;
    free(path);
    return all;
}

static bool read_text(const char *dir, const char *name, buf *ret)
{
    char *path = xasprintf("%s/%s", dir, name);
    bool done = fs_read(path, FILE_MAX, ret, NULL) == OK;
    free(path);
    return done;
}

static bool is_same_file(const char *a, const char *b, const char *name)
{
    buf left = BUF_INIT, right = BUF_INIT;
    bool same = read_text(a, name, &left) && read_text(b, name, &right) &&
                left.size == right.size && memcmp(left.data, right.data, left.size) == 0;
    buf_fini(&left);
    buf_fini(&right);
    return same;
}

/* --- lines of metrics --- */

/* What is of the clock, not of the training. */
static void drop_times(json_t *line)
{
    static const char *const keys[] = {"wall_s", "examples_per_s", "training_duration_s"};
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        json_object_del(line, keys[i]);
}

/* Takes the line off `*at`; NULL at the end, or where it is none. */
static json_t *next_line(char **at)
{
    char *line = strsep(at, "\n");
    json_t *all = line && *line ? json_loads(line, 0, NULL) : NULL;
    drop_times(all);
    return all;
}

static long long step_of(const json_t *line)
{
    return json_integer_value(json_object_get(line, "step"));
}

/* Each line as the reference has it. */
static fault_found compare_lines(char *ours, char *theirs, buf *ret_why)
{
    fault_found found = RIGHT;
    for (long n = 1; found == RIGHT; n++) {
        json_t *a = next_line(&ours), *b = next_line(&theirs);
        if (!a && !b)
            break;
        if (!a || !b || step_of(a) != step_of(b)) {
            found = BATCHES;
            buf_addf(ret_why, "line %ld of metrics.jsonl is of step %lld, not %lld", n, step_of(a),
                     step_of(b));
        } else if (!json_equal(a, b)) {
            found = METRICS;
            char *is = json_text(a), *was = json_text(b);
            buf_addf(ret_why, "line %ld of metrics.jsonl is %s, not %s", n, is, was);
            free(is);
            free(was);
        }
        json_decref(a);
        json_decref(b);
    }
    return found;
}

/* Steps that only rise, up to the last one. */
static fault_found follow_lines(const plan *p, char *ours, buf *ret_why)
{
    long long last = 0;
    for (json_t *line; (line = next_line(&ours)); json_decref(line)) {
        if (step_of(line) <= last) {
            buf_addf(ret_why, "metrics.jsonl has step %lld after %lld", step_of(line), last);
            json_decref(line);
            return BATCHES;
        }
        last = step_of(line);
    }
    if (last == p->steps)
        return RIGHT;
    buf_addf(ret_why, "metrics.jsonl ends with step %lld, not %d", last, p->steps);
    return BATCHES;
}

static fault_found judge_lines(const plan *p, const char *job, const char *reference, buf *ret_why)
{
    buf ours = BUF_INIT, theirs = BUF_INIT;
    fault_found found = BATCHES;
    if (!read_text(job, "metrics.jsonl", &ours) ||
        (reference && !read_text(reference, "metrics.jsonl", &theirs)))
        buf_adds(ret_why, "metrics.jsonl cannot be read");
    else
        found = reference ? compare_lines(ours.data, theirs.data, ret_why)
                          : follow_lines(p, ours.data, ret_why);
    buf_fini(&ours);
    buf_fini(&theirs);
    return found;
}

/* --- the summary --- */

/* Reports that a journal was lost with, if it says so. */
static bool says_what_is_lost(const json_t *summary)
{
    return json_integer_value(json_object_get(summary, "lost_reports")) > 0;
}

static bool is_number(const json_t *of, const char *key, long long wanted, buf *ret_why)
{
    const json_t *value = json_object_get(of, key);
    if (json_integer_value(value) == wanted)
        return true;
    buf_addf(ret_why, "%s is %lld, not %lld", key, (long long)json_integer_value(value), wanted);
    return false;
}

static fault_found judge_summary(const plan *p, const json_t *ours, const json_t *theirs,
                                 buf *ret_why)
{
    long long batches = p->steps;
    if (theirs) {
        const char *is = json_string_value(json_object_get(ours, "params_sha256"));
        const char *was = json_string_value(json_object_get(theirs, "params_sha256"));
        batches = json_integer_value(json_object_get(theirs, "batches_applied"));
        if (!is || !was || strcmp(is, was) != 0) {
            buf_addf(ret_why, "params_sha256 is %s, not %s", is ? is : "missing", was);
            return WEIGHTS;
        }
    }
    return is_number(ours, "batches_applied", batches, ret_why) &&
                   is_number(ours, "steps", p->steps, ret_why)
               ? RIGHT
               : BATCHES;
}

/* What the last epoch gave, also on validation data. */
static fault_found judge_end(const char *job, const char *reference, buf *ret_why)
{
    static const char *const keys[] = {"step", "training_loss", "training_accuracy",
                                       "validation_loss", "validation_accuracy"};
    json_t *ours = read_in(job, "metrics.json"), *theirs = read_in(reference, "metrics.json");
    fault_found found = RIGHT;
    for (size_t i = 0; i < COUNT_OF(keys) && found == RIGHT; i++) {
        json_t *a = json_object_get(ours, keys[i]), *b = json_object_get(theirs, keys[i]);
        if ((a || b) && !json_equal(a, b)) {
            found = METRICS;
            buf_addf(ret_why, "metrics.json has another %s", keys[i]);
        }
    }
    json_decref(ours);
    json_decref(theirs);
    return found;
}

fault_found judge_results(const plan *p, const char *job, const char *reference, buf *ret_why)
{
    json_t *ours = read_in(job, "summary.json");
    json_t *theirs = reference ? read_in(reference, "summary.json") : NULL;
    if (!ours) {
        buf_adds(ret_why, "there is no summary.json");
        return EXIT_CODE;
    }
    fault_found found = judge_summary(p, ours, theirs, ret_why);
    if (found == RIGHT && reference && !is_same_file(job, reference, "model.safetensors")) {
        buf_adds(ret_why, "model.safetensors is another file");
        found = WEIGHTS;
    }
    if (found == RIGHT)
        found = judge_lines(p, job, reference, ret_why);
    if (found == RIGHT && reference)
        found = judge_end(job, reference, ret_why);
    if (found == METRICS && says_what_is_lost(ours))
        found = RIGHT;
    json_decref(ours);
    json_decref(theirs);
    return found;
}

/* --- litter --- */

static bool is_folder(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* What a task keeps there on purpose, where it does not see the job dir (common/live/recorder_output.h). */
static bool is_kept(const char *name)
{
    static const char recordings[] = "tequio-events-";
    return strncmp(name, recordings, sizeof recordings - 1) == 0;
}

/* The first name with ".tmp." in it, or anything at all; the caller frees it. */
static char *find_litter(const char *dir, bool anything)
{
    char **names = NULL, *found = NULL;
    size_t n = 0;
    if (fs_list(dir, &names, &n, NULL) != OK)
        return NULL;
    for (size_t i = 0; i < n && !found; i++) {
        char *path = xasprintf("%s/%s", dir, names[i]);
        if ((anything && !is_kept(names[i])) || strstr(names[i], ".tmp."))
            found = xstrdup(path);
        else if (is_folder(path))
            found = find_litter(path, false);
        free(path);
    }
    fs_list_free(names, n);
    return found;
}

fault_found judge_litter(const char *job, const char *temporary, buf *ret_why)
{
    char *pins = xasprintf("%s/pins", job), *found = find_litter(job, false);
    if (!found)
        found = find_litter(pins, true);
    if (!found && temporary)
        found = find_litter(temporary, true);
    fault_found is = found ? LITTER : RIGHT;
    if (found)
        buf_addf(ret_why, "left behind: %s", found);
    free(found);
    free(pins);
    return is;
}

int judge_steps(const char *job)
{
    char *path = xasprintf("%s/metrics.jsonl", job), tail[TAIL + 1], *at = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    ssize_t n = -1;
    if (fd >= 0 && fstat(fd, &info) == 0)
        n = pread(fd, tail, TAIL, info.st_size > TAIL ? info.st_size - TAIL : 0);
    if (fd >= 0)
        close(fd);
    free(path);
    if (n <= 0)
        return 0;
    tail[n] = '\0';
    static const char key[] = "\"step\":";
    for (char *next = tail; (next = strstr(next, key)); next++)
        at = next;
    return at ? atoi(at + strlen(key)) : 0;
}
