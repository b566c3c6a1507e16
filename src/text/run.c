/* See run.h. */
#include "text/run.h"

#include "common/base/alloc.h"
#include "text/chars.h"

#include <stdlib.h>
#include <string.h>

void run_clear(run *r)
{
    r->bytes = 0;
}

void run_fini(run *r)
{
    free(r->text);
    free(r->from);
    *r = (run){.text = NULL};
}

void run_reserve(run *r, size_t more)
{
    GROW(r->text, r->text_cap, r->bytes + more);
    GROW(r->from, r->from_cap, r->bytes + more);
}

void run_of(run *r, const char *text, uint32_t bytes)
{
    run_clear(r);
    run_reserve(r, bytes + (size_t)UTF8_MAX);
    if (bytes)
        memcpy(r->text, text, bytes);
    size_t n = 0;
    for (uint32_t at = 0; at < bytes; at += (uint32_t)n) {
        chars_next(text + at, &n);
        for (uint32_t i = at; i < at + n; i++)
            r->from[i] = (tokenizer_span){at, at + (uint32_t)n};
    }
    r->bytes = bytes;
}

void run_copy(run *r, const run *in, uint32_t begin, uint32_t end)
{
    if (begin == end)
        return;
    run_reserve(r, end - begin);
    memcpy(r->text + r->bytes, in->text + begin, end - begin);
    memcpy(r->from + r->bytes, in->from + begin, (end - begin) * sizeof *r->from);
    r->bytes += end - begin;
}

void pieces_clear(pieces *p)
{
    p->n = 0;
}

void pieces_fini(pieces *p)
{
    free(p->at);
    *p = (pieces){.at = NULL};
}

void pieces_add(pieces *p, piece what)
{
    GROW(p->at, p->cap, p->n + 1);
    p->at[p->n++] = what;
}

void pieces_cut(pieces *p, const run *r, uint32_t begin, uint32_t end)
{
    if (begin < end)
        pieces_add(p, (piece){begin, end, r->from[begin].begin, PIECE_OPEN});
}

rewrite rewrite_begin(const run *in, run *out, piece of)
{
    run_reserve(out, of.end - of.begin + (size_t)UTF8_MAX);
    return (rewrite){.in = in, .out = out, .of = of, .at = of.begin};
}

void rewrite_skip(rewrite *w, size_t characters)
{
    for (size_t n = 0; characters > 0 && w->at < w->of.end; characters--, w->at += (uint32_t)n)
        chars_next(w->in->text + w->at, &n);
}

/* What the byte before stands for. */
static tokenizer_span span_before(const rewrite *w)
{
    if (w->at > w->of.begin)
        return w->in->from[w->at - 1];
    return (tokenizer_span){w->of.origin, w->of.origin};
}

void rewrite_put(rewrite *w, uint32_t code, int32_t change)
{
    run *out = w->out;
    run_reserve(out, UTF8_MAX);
    bool takes = change <= 0 && w->at < w->of.end;
    tokenizer_span from = takes ? w->in->from[w->at] : span_before(w);
    uint32_t n = (uint32_t)utf8_write(code, out->text + out->bytes);
    for (uint32_t i = 0; i < n; i++)
        out->from[out->bytes + i] = from;
    out->bytes += n;
    if (takes)
        rewrite_skip(w, (size_t)(1 - change));
}

void rewrite_keep(rewrite *w, uint32_t end)
{
    run_copy(w->out, w->in, w->at, end);
    w->at = end;
}

void rewrite_prepend(rewrite *w, const char *text, size_t bytes)
{
    if (w->at == w->of.end || bytes == 0)
        return;
    tokenizer_span from = w->in->from[w->at];
    run *out = w->out;
    run_reserve(out, bytes);
    for (size_t i = 0; i < bytes; i++)
        out->from[out->bytes + i] = from;
    memcpy(out->text + out->bytes, text, bytes);
    out->bytes += (uint32_t)bytes;
}
