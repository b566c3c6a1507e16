#include "common/wire/status.h"

#include "common/base/alloc.h"
#include "common/live/counters.h"

#include <stdlib.h>

static char *borrowed(const char *text)
{
    return (char *)(uintptr_t)text;
}

static void add_figure(Wire__Status *m, counter c)
{
    Wire__Status__Figure *one = xmalloc(sizeof *one);
    wire__status__figure__init(one);
    one->name = borrowed(counter_rows[c].name);
    one->value = counter_get(c);
    m->figures[m->n_figures++] = one;
}

static void add_wait(Wire__Status *m, const wait_said *wait)
{
    Wire__Status__Wait *one = xmalloc(sizeof *one);
    wire__status__wait__init(one);
    one->words = borrowed(wait->words);
    one->whom = borrowed(wait->whom);
    one->seconds = wait->since_s;
    one->usual = wait->level > LOG_WARN;
    m->waits[m->n_waits++] = one;
}

void wire_status_fill(role of, const wait_list *waits, Wire__Status *ret)
{
    counters_take_process();
    wire__status__init(ret);
    ret->figures = xcalloc(COUNTER_COUNT, sizeof *ret->figures);
    ret->waits = xcalloc(WAITS_MOST, sizeof *ret->waits);
    for (int c = 0; c < COUNTER_COUNT; c++)
        if (counter_rows[c].of == (int)of || counter_rows[c].of == COUNTER_OF_ANY)
            add_figure(ret, (counter)c);
    for (size_t i = 0; i < waits->n; i++)
        add_wait(ret, &waits->at[i]);
    ret->waits_left_out = (uint32_t)waits->left_out;
}

void wire_status_clear(Wire__Status *m)
{
    for (size_t i = 0; i < m->n_figures; i++)
        free(m->figures[i]);
    for (size_t i = 0; i < m->n_waits; i++)
        free(m->waits[i]);
    free(m->figures);
    free(m->waits);
}
