#include "job/progress.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/console.h"
#include "common/base/paint.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BAR_EVERY_US = 100 * 1000,
    PLAIN_EVERY_US = 60 * 1000 * 1000,
    BAR_CELLS = 24,
    LINE = PROGRESS_LINE,
    ETA_MAX_S = 10 * 1000 * 1000
};

#define SPACES "  " /* between fields */

static const char *const mode_names[] = {"none", "plain", "bar"};

progress_mode progress_mode_of(const char *word, int fd)
{
    for (size_t i = 0; i < COUNT_OF(mode_names); i++)
        if (strcmp(word, mode_names[i]) == 0)
            return (progress_mode)i;
    return paint_can_move(fd) ? PROGRESS_BAR : PROGRESS_PLAIN;
}

const char *progress_mode_name(progress_mode mode)
{
    return mode_names[mode];
}

void progress_init(progress *p, progress_mode mode)
{
    *p = (progress){.mode = mode, .next_us = INT64_MIN, .epochs_left = PROGRESS_EPOCHS};
}

/* Plain lines stay: of many short epochs they would fill a log. */
static bool may_show_epoch(progress *p)
{
    if (p->mode == PROGRESS_BAR)
        return true;
    bool may = p->epochs_left > 0;
    p->epochs_left -= may;
    return may;
}

static void show(progress *p)
{
    char text[LINE], line[LINE + sizeof PROGRESS_MARK];
    p->is_newest_shown = true;
    progress_text(&p->newest, text, sizeof text);
    if (p->mode == PROGRESS_BAR) {
        console_bar(text, progress_fit);
        return;
    }
    int n = snprintf(line, sizeof line, PROGRESS_MARK "%s\n", text);
    console_line(line, (size_t)n);
}

void progress_show(progress *p, const progress_state *s, int64_t now_us)
{
    if (p->mode == PROGRESS_NONE)
        return;
    bool first = p->next_us == INT64_MIN;
    bool edge = !first && s->epoch != p->newest.epoch;
    bool last = s->total_steps > 0 && s->step >= s->total_steps;
    p->newest = *s;
    p->is_newest_shown = false;
    if (now_us < p->next_us && !(edge && may_show_epoch(p)) && !last)
        return;
    p->next_us = now_us + (p->mode == PROGRESS_BAR ? BAR_EVERY_US : PLAIN_EVERY_US);
    show(p);
}

void progress_finish(progress *p)
{
    if (p->mode == PROGRESS_NONE || p->next_us == INT64_MIN)
        return;
    if (!p->is_newest_shown)
        show(p);
    console_end_bar();
    progress_init(p, p->mode);
}

static void add_time(buf *text, double seconds)
{
    int64_t s = (int64_t)(seconds + 0.5);
    if (s >= 3600)
        buf_addf(text, "  eta %" PRId64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60), (int)(s % 60));
    else
        buf_addf(text, "  eta %d:%02d", (int)(s / 60), (int)(s % 60));
}

/* Numbers that are not known yet are left out. */
void progress_text(const progress_state *s, char *ret, size_t bytes)
{
    buf text = BUF_INIT;
    buf_addf(&text, "step %" PRId64, s->step);
    if (s->total_steps > 0)
        buf_addf(&text, "/%" PRId64, s->total_steps);
    int64_t epoch = s->epochs > 0 && s->epoch >= s->epochs ? s->epochs : s->epoch + 1;
    buf_addf(&text, "  epoch %" PRId64, epoch);
    if (s->epochs > 0)
        buf_addf(&text, "/%" PRId64, s->epochs);
    if (!isnan(s->loss))
        buf_addf(&text, fabs(s->loss) < 1e5 ? "  loss %.4f" : "  loss %.4g", s->loss);
    if (!isnan(s->accuracy))
        buf_addf(&text, "  accuracy %.4f", s->accuracy);
    if (!isnan(s->rate))
        buf_addf(&text, "  rate %.3g", s->rate);
    if (s->examples_per_s > 0)
        buf_addf(&text, "  %.0f examples/s", s->examples_per_s);
    if (s->eta_s >= 0 && s->eta_s < ETA_MAX_S)
        add_time(&text, s->eta_s);
    snprintf(ret, bytes, "%s", text.data);
    buf_fini(&text);
}

/* --- fitting --- */

/* The fields that go first where there is no room, by a word in them. */
static const char *const least[] = {"rate ", "epoch ", "accuracy ", " examples/s", "loss ", "eta "};

/* Takes out the field that holds the word, with the spaces before it; the first field stays. */
static void take_out(char *text, const char *word)
{
    char *at = strstr(text, word);
    if (!at)
        return;
    while (at > text && strncmp(at, SPACES, strlen(SPACES)) != 0)
        at--;
    char *end = strstr(at + strlen(SPACES), SPACES);
    if (at > text && end)
        memmove(at, end, strlen(end) + 1);
    else if (at > text)
        *at = '\0';
}

/* How full, of BAR_CELLS; -1: nobody knows. */
static int64_t full_cells(const char *text)
{
    int64_t step = 0, total = 0;
    if (sscanf(text, "step %" SCNd64 "/%" SCNd64, &step, &total) != 2 || total <= 0)
        return -1;
    return step >= total ? BAR_CELLS : (int64_t)((double)step / (double)total * BAR_CELLS);
}

void progress_fit(const char *text, int columns, char *ret, size_t bytes)
{
    char kept[LINE], cells[BAR_CELLS + 1] = "";
    snprintf(kept, sizeof kept, "%s", text);
    for (size_t i = 0; i < COUNT_OF(least) && (int)strlen(kept) > columns; i++)
        take_out(kept, least[i]);
    int64_t full = full_cells(kept);
    bool has_room = (int)strlen(kept) + BAR_CELLS + 3 <= columns;
    for (int i = 0; i < BAR_CELLS; i++)
        cells[i] = i < full ? '=' : i == full ? '>' : ' ';
    if (full >= 0 && has_room)
        snprintf(ret, bytes, "[%s] %s", cells, kept);
    else
        snprintf(ret, bytes, "%.*s", columns, kept);
}
