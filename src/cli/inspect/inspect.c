/*
 * `tequio inspect`: finds out what lies at a path, by its content more than by its name, and hands
 * it to the report of that kind.
 */
#include "cli/inspect/inspect.h"

#include "cli/commands.h"
#include "cli/inspect/contact_sheet.h"
#include "cli/inspect/curves_csv.h"
#include "cli/inspect/kinds.h"
#include "cli/inspect/text.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/store/events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- what is it? --- */

enum { HEAD_BYTES = 9, SAFETENSORS_HEADER_MAX = 100 * 1000 * 1000 };

static bool has_file(const char *dir, const char *name)
{
    char *path = xasprintf("%s/%s", dir, name);
    bool there = fs_exists(path);
    free(path);
    return there;
}

static bool is_like_safetensors(const unsigned char head[HEAD_BYTES])
{
    uint64_t header = 0;
    for (int i = 7; i >= 0; i--)
        header = header << 8 | head[i];
    return header <= SAFETENSORS_HEADER_MAX && head[8] == '{';
}

static bool is_like_idx(const unsigned char head[HEAD_BYTES])
{
    bool gzip = head[0] == 0x1f && head[1] == 0x8b;
    return gzip || (!head[0] && !head[1] && head[2] >= 8 && head[2] <= 14 && head[3]);
}

static status stop_at_once(void *user, const event_record *r, error *err)
{
    (void)r;
    (void)err;
    *(bool *)user = true;
    return E_FAIL;
}

/* Its first record is whole and an event. */
static bool is_like_events(const char *path)
{
    bool any = false;
    return events_read(path, stop_at_once, &any, NULL) != OK && any;
}

static status read_head(const char *path, unsigned char ret[HEAD_BYTES], error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fs_fail_input("open", path, err);
    memset(ret, 0, HEAD_BYTES);
    ssize_t n = read(fd, ret, HEAD_BYTES);
    status st = n < 0 ? FAIL(err, E_IO, "read '%s': %s", path, strerror(errno)) : OK;
    close(fd);
    return st;
}

static bool ends_with(const char *text, const char *tail)
{
    size_t n = strlen(text), m = strlen(tail);
    return n >= m && strcmp(text + n - m, tail) == 0;
}

/* Unless something else was found. */
static status look_for_media(const char *path, bool verify, json_t **ret, error *err)
{
    if (!*ret)
        TRY(inspect_look_videos(path, verify, ret, err));
    if (!*ret)
        TRY(inspect_look_pictures(path, verify, ret, err));
    return OK;
}

static status look_into_file(const char *path, bool verify, json_t **ret, error *err)
{
    static const char manifest[] = "manifest.json";
    size_t before = strlen(path) >= strlen(manifest) ? strlen(path) - strlen(manifest) : 0;
    if (strcmp(path + before, manifest) == 0 && (!before || path[before - 1] == '/')) {
        char *dir = before ? xstrndup(path, before - 1) : xstrdup(".");
        status st = inspect_look_checkpoint(*dir ? dir : "/", verify, ret, err);
        free(dir);
        return st;
    }
    unsigned char head[HEAD_BYTES];
    TRY(read_head(path, head, err));
    if (ends_with(path, ".safetensors") || is_like_safetensors(head))
        return inspect_look_safetensors(path, ret, err);
    if (memcmp(head, "{\"traceEv", HEAD_BYTES) == 0)
        return inspect_look_trace(path, ret, err);
    if (strstr(path, ".tfevents.") || is_like_events(path))
        return inspect_look_events(path, ret, err);
    *ret = NULL;
    TRY(inspect_look_records(path, ret, err));
    TRY(look_for_media(path, verify, ret, err));
    if (*ret)
        return OK;
    if (is_like_idx(head))
        return inspect_look_idx(path, ret, err);
    TRY(inspect_look_video_list(path, verify, ret, err));
    if (!*ret)
        TRY(inspect_look_list(path, verify, ret, err));
    if (*ret)
        return OK;
    return FAIL(err, E_DATA,
                "'%s' is neither safetensors, nor an event file, nor IDX (plain or gzip), nor records "
                "(JSON Lines or TFRecord), nor a picture, a video or a list of some", path);
}

status inspect_look(const char *path, bool verify, json_t **ret, error *err)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return fs_fail_input("look at", path, err);
    if (!S_ISDIR(info.st_mode))
        return look_into_file(path, verify, ret, err);
    if (has_file(path, "manifest.json"))
        return inspect_look_checkpoint(path, verify, ret, err);
    if (has_file(path, "job.json"))
        return inspect_look_job(path, ret, err);
    *ret = NULL;
    TRY(inspect_look_records(path, ret, err));
    TRY(look_for_media(path, verify, ret, err));
    return *ret ? OK
                : FAIL(err, E_DATA,
                       "'%s' is neither a checkpoint (no manifest.json) nor a job dir (no job.json), nor are "
                       "its files records (JSON Lines or TFRecord), pictures or videos", path);
}

void inspect_print(const json_t *report, buf *ret)
{
    static const struct {
        const char *kind;
        void (*print)(const json_t *report, buf *ret);
    } kinds[] = {
        {"checkpoint", inspect_print_checkpoint},
        {"job", inspect_print_job},
        {"safetensors", inspect_print_safetensors},
        {"events", inspect_print_events},
        {"idx", inspect_print_idx},
        {"records", inspect_print_records},
        {"pictures", inspect_print_pictures},
        {"videos", inspect_print_videos},
        {"trace", inspect_print_trace},
    };
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strcmp(inspect_str(report, "kind"), kinds[i].kind) == 0)
            kinds[i].print(report, ret);
}

/* --- the subcommand --- */

static const char *const of_pictures[] = {"batch", "overrides"};

static status inspect_show(const args *a, error *err)
{
    if (args_has(a, "pictures"))
        return inspect_contact_sheet(a, err);
    for (size_t i = 0; i < COUNT_OF(of_pictures); i++)
        if (args_has(a, of_pictures[i]))
            return FAIL(err, E_USAGE, "inspect: --%s is of --pictures", of_pictures[i]);
    if (args_has(a, "csv"))
        return curves_csv_write(a->operands[0], stdout, err);
    json_t *report = NULL;
    TRY(inspect_look(a->operands[0], !args_has(a, "no-verify"), &report, err));
    buf text = BUF_INIT;
    if (args_has(a, "json")) {
        char *json = json_dumps(report, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
        BUG_ON(!json);
        buf_addf(&text, "%s\n", json);
        free(json);
    } else {
        inspect_print(report, &text);
    }
    fwrite(text.data, 1, text.size, stdout);
    buf_fini(&text);
    json_decref(report);
    return OK;
}

static int run(const args *a, error *err)
{
    return status_exit_code(inspect_show(a, err));
}

static const flag flags[] = {
    {.name = "json", .kind = FLAG_SWITCH, .group = "Output", .help = "Print JSON, for programs."},
    {.name = "csv",
     .kind = FLAG_SWITCH,
     .group = "Output",
     .help = "Of a job dir: print its curves as a table of comma-separated values, a row a step."},
    {.name = "no-verify",
     .kind = FLAG_SWITCH,
     .group = "Output",
     .help = "Do not read a whole checkpoint to check its SHA-256 sums, nor more of pictures and videos than their "
             "heads."},
    {.name = "pictures",
     .kind = FLAG_TEXT,
     .value = "FILE",
     .group = "A batch of pictures",
     .help = "Write a PNG of a batch as the model of this configuration sees it, augmented, with its labels."},
    {.name = "batch",
     .kind = FLAG_COUNT,
     .value = "N",
     .group = "A batch of pictures",
     .help = "Which one, counted from 0 over all epochs. 0.",
     .min = 0,
     .max = 1000000000},
    {.name = "overrides",
     .letter = 'o',
     .kind = FLAG_TEXT,
     .value = "JSON",
     .group = "A batch of pictures",
     .help = "A jsonnet object laid over the configuration."},
};

const command command_inspect = {
    .name = "inspect",
    .operands = "FILE|DIR|CONFIG",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Look into a job dir, a checkpoint, safetensors, an event file or data.",
    .about = "Tells what lies at FILE or DIR: the state of a job, the parts and the health of a "
             "checkpoint, the range of every tensor of a safetensors file, the last value of every "
             "curve of an event file, which nodes and waits took longest in a profile, the shape and the range of IDX "
             "data (plain or gzip), how many "
             "records JSON Lines or TFRecords have, in one file, a folder or an archive, and of a folder or a list of "
             "pictures the classes, sizes, broken files, and the mean and deviation of the colours; of videos their "
             "frames in place of colours.\n\n"
             "With --pictures, CONFIG is a configuration: the first 64 pictures of a batch of its training data.\n\n"
             "A damaged or cut file is an error that says what is wrong (exit code 3).",
    .flags = flags,
    .n_flags = COUNT_OF(flags),
    .run = run,
};
