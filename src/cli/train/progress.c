#include "cli/train/progress.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    BAR_EVERY_US = 100 * 1000,
    PLAIN_EVERY_US = 10 * 1000 * 1000,
    BAR_CELLS = 24,
    LINE = 256,
    ETA_MAX_S = 10 * 1000 * 1000
};

static const char *const mode_names[] = {"none", "plain", "bar"};

progress_mode progress_mode_of(const char *word, int fd)
{
    for (size_t i = 0; i < COUNT_OF(mode_names); i++)
        if (strcmp(word, mode_names[i]) == 0)
            return (progress_mode)i;
    const char *term = getenv("TERM");
    bool can_move = term && *term && strcmp(term, "dumb") != 0;
    return isatty(fd) && can_move ? PROGRESS_BAR : PROGRESS_PLAIN;
}

const char *progress_mode_name(progress_mode mode)
{
    return mode_names[mode];
}

void progress_init(progress *p, progress_mode mode, FILE *out)
{
    *p = (progress){.mode = mode, .out = out, .next_us = INT64_MIN};
}

/* A task of a local cluster writes into a pipe: its launcher says how wide the terminal is. */
static int columns(FILE *out)
{
    struct winsize size;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *text = getenv("COLUMNS");
    int n = text ? atoi(text) : 0;
    return n > 0 ? n : 80;
}

static void write_bar(progress *p)
{
    const progress_state *s = &p->newest;
    char text[LINE];
    progress_text(s, text, sizeof text);
    int room = columns(p->out) - 1, bar = 0;
    char cells[BAR_CELLS + 1];
    if (s->total_steps > 0 && room >= (int)strlen(text) + BAR_CELLS + 3) {
        int64_t full = s->step * BAR_CELLS / s->total_steps;
        for (int i = 0; i < BAR_CELLS; i++)
            cells[i] = i < full ? '=' : i == full ? '>' : ' ';
        bar = BAR_CELLS;
    }
    cells[bar] = 0;
    if (bar)
        fprintf(p->out, "\r[%s] %s\033[K\r", cells, text);
    else
        fprintf(p->out, "\r%.*s\033[K\r", room > 0 ? room : 0, text);
    fflush(p->out);
    p->is_bar_open = true;
}

static void show(progress *p)
{
    p->is_newest_shown = true;
    if (p->mode == PROGRESS_BAR) {
        write_bar(p);
        return;
    }
    char text[LINE];
    progress_text(&p->newest, text, sizeof text);
    fprintf(p->out, PROGRESS_MARK "%s\n", text);
    fflush(p->out);
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
    if (now_us < p->next_us && !edge && !last)
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
    if (p->is_bar_open)
        fputc('\n', p->out);
    fflush(p->out);
    progress_init(p, p->mode, p->out);
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
        buf_addf(&text, "  loss %.4f", s->loss);
    if (!isnan(s->rate))
        buf_addf(&text, "  rate %.3g", s->rate);
    if (s->examples_per_s > 0)
        buf_addf(&text, "  %.0f examples/s", s->examples_per_s);
    if (s->eta_s >= 0 && s->eta_s < ETA_MAX_S)
        add_time(&text, s->eta_s);
    snprintf(ret, bytes, "%s", text.data);
    buf_fini(&text);
}
