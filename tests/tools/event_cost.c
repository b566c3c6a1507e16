/*
 * What it costs to note an event in the flight recorder, in nanoseconds of processor time: one of which everything is
 * known, a message with a look at the clock, and something that is begun and ended; with a profile
 * (common/live/trace.h) one beside its steps, and a node within them, with two looks at the clock; each the least of
 * some rounds.
 *
 *   event_cost
 */
#include "common/base/clock.h"
#include "common/live/trace.h"

#include <stdio.h>
#include <time.h>

enum { ROUNDS = 20, TIMES = 200000 };

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void note(int i)
{
    RECORDER_NOTE(.kind = EVENT_UPDATE, .lane = -1, .step = i, .a = i, .at_us = i);
}

static void message(int i)
{
    static unsigned char head[64];
    head[24] = (unsigned char)i;
    recorder_message(EVENT_SENT, head, 4096, 1);
}

static void begin_and_end(int i)
{
    RECORDER_BEGIN(0, .kind = EVENT_SLOT, .lane = 0, .step = i, .at_us = i);
    recorder_end(0, EVENT_SLOT, 0, i + 1);
}

static void node(int i)
{
    int64_t begin = clock_ns();
    recorder_event e = trace_node_event(EVENT_NODE, begin, clock_ns());
    e.step = 0;
    e.a = i;
    trace_note(&e);
}

static double cost_of(void (*what)(int))
{
    int64_t least = INT64_MAX;
    trace_window w = trace_steps;
    for (int round = 0; round < ROUNDS; round++) {
        trace_open(w); /* empty */
        int64_t begin = cpu_ns();
        for (int i = 0; i < TIMES; i++)
            what(i);
        int64_t took = cpu_ns() - begin;
        least = took < least ? took : least;
    }
    return (double)least / TIMES;
}

int main(void)
{
    atomic_store(&recorder_is_on, true);
    printf("{\"note_ns\": %.1f, \"message_ns\": %.1f, \"begin_end_ns\": %.1f", cost_of(note), cost_of(message),
           cost_of(begin_and_end));
    trace_open((trace_window){TIMES, TIMES + 1});
    printf(", \"beside_profile_ns\": %.1f", cost_of(note));
    trace_open((trace_window){0, 1});
    printf(", \"profiled_node_ns\": %.1f}\n", cost_of(node));
    trace_close();
    return 0;
}
