#include "cli/roles/board.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/store/events_hparams.h"

#include <stdlib.h>
#include <string.h>

/* What decides the result, "key=value" a line; values are JSON. The words are in the arena. */
static size_t read_parameters(const config *c, arena *memory, events_hparam ret[BOARD_PARAMETERS])
{
    buf lines = BUF_INIT;
    size_t n = 0;
    config_value_lines(c, &lines);
    char *text = lines.data, *line;
    while (n < BOARD_PARAMETERS && (line = strsep(&text, "\n"))) {
        char *value = strchr(line, '=');
        json_t *number = NULL;
        if (!value || strcmp(value, "=null") == 0)
            continue;
        *value++ = '\0';
        bool is_number = json_parse(value, strlen(value), line, E_DATA, &number, NULL) == OK && json_is_number(number);
        const char *word = json_is_string(number) ? json_string_value(number) : value;
        ret[n++] = (events_hparam){.name = arena_strdup(memory, line),
                                   .word = is_number ? NULL : arena_strdup(memory, word),
                                   .number = is_number ? json_number_value(number) : 0};
        json_decref(number);
    }
    buf_fini(&lines);
    return n;
}

static void tell_parameters(events *e, const config *c)
{
    events_hparam *values = xcalloc(BOARD_PARAMETERS, sizeof *values);
    arena *memory = arena_create();
    events_hparams_begin(e, values, read_parameters(c, memory, values));
    arena_destroy(&memory);
    free(values);
}

/* Four blanks in front: Markdown's word for text as it is. */
static void tell_configuration(events *e, const config *c)
{
    char *text = config_dump(c), *rest = text, *line;
    buf markdown = BUF_INIT;
    while ((line = strsep(&rest, "\n")))
        buf_addf(&markdown, "    %s\n", line);
    events_text(e, 0, "configuration", markdown.data);
    buf_fini(&markdown);
    free(text);
}

/* `c` NULL: it ends. */
static status tell(const config *c, const jobdir *dir, bool is_trial, error *err)
{
    events *e = NULL;
    char *folder = jobdir_events(dir, NULL);
    status st = events_open(folder, &e, err);
    free(folder);
    TRY(st);
    if (c)
        tell_configuration(e, c);
    if (c && !is_trial)
        tell_parameters(e, c);
    if (!c)
        events_hparams_end(e, EVENTS_SESSION_DONE);
    st = events_flush(e, err);
    events_close(&e);
    return st;
}

void board_begin(const config *c, const jobdir *dir, bool is_trial)
{
    error err = ERROR_INIT;
    char *lines = jobdir_file(dir, "metrics.jsonl");
    bool has_begun = fs_exists(lines);
    free(lines);
    if (!has_begun && tell(c, dir, is_trial, &err) != OK)
        LOG_W("NO_EVENTS", "TensorBoard is not told the configuration: %s", err.text);
}

void board_end(const jobdir *dir, bool is_trial)
{
    error err = ERROR_INIT;
    if (!is_trial && jobdir_is_ours(dir) && tell(NULL, dir, is_trial, &err) != OK)
        LOG_W("NO_EVENTS", "TensorBoard is not told the end of the job: %s", err.text);
}
