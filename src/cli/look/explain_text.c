#include "cli/look/explain_text.h"

#include "cli/inspect/text.h"

#include <stdio.h>

enum { BAR = 30, ALIKE_PERCENT = 2 };    /* workers whose shares differ by less are alike */

static double percent(const time_shares *t, time_share which)
{
    return 100 * time_share_of(t, which);
}

/* --- shares --- */

void explain_shares_text(const explain_facts *f, buf *ret)
{
    const int *tenths = f->tenths;
    for (int i = 0; i < SHARE_COUNT; i++) {
        if (!tenths[i])
            continue;
        buf_addf(ret, "  %-12s %3d.%d %%  ", time_share_rows[i].key, tenths[i] / 10, tenths[i] % 10);
        for (int k = 0; k < (tenths[i] * BAR + 500) / 1000; k++)
            buf_adds(ret, "#");
        buf_addf(ret, "%s%s\n", tenths[i] * BAR + 500 >= 1000 ? " " : "", time_share_rows[i].words);
    }
}

/* --- sentences --- */

static void say_bound(const explain_facts *f, time_share bound, buf *ret)
{
    char seconds[32];
    snprintf(seconds, sizeof seconds, f->shares.lane_s < 100 ? "%.3g" : "%.0f", f->shares.lane_s);
    buf_addf(ret, "What bounds this job is %s: of the %s s that its %lld lane%s had, %.1f %% went to %s.",
             time_share_rows[bound].key, seconds, (long long)f->lanes, f->lanes == 1 ? "" : "s",
             0.1 * f->tenths[bound], time_share_rows[bound].words);
}

/* Others than the one that bounds, of a hundredth at least. */
static void say_others(const explain_facts *f, time_share bound, buf *ret)
{
    bool said[SHARE_COUNT] = {false};
    size_t n = 0;
    said[bound] = true;
    for (;; n++) {
        int next = -1;
        for (int i = 0; i < SHARE_COUNT; i++)
            if (!said[i] && f->tenths[i] >= 10 &&
                (next < 0 || f->shares.seconds[i] > f->shares.seconds[next]))
                next = i;
        if (next < 0)
            break;
        said[next] = true;
        buf_addf(ret, "%s%s with %.1f %%", n ? ", " : "Then come ", time_share_rows[next].key,
                 0.1 * f->tenths[next]);
    }
    buf_adds(ret, n ? "." : "Nothing else takes as much as a hundredth.");
}

static double slot_ms(const explain_facts *f, time_share which)
{
    return f->slots > 0 ? 1e3 * f->shares.seconds[which] / f->slots : 0;
}

static void say_late(const explain_facts *f, buf *ret)
{
    double slower;
    const json_t *late = explain_late_worker(f, &slower);
    if (!late) {
        buf_adds(ret, f->workers > 1 ? "No worker is clearly slower than the others: lanes wait for each other, now "
                                       "for one and now for another."
                                     : "There is one worker, whose lanes wait for each other.");
        return;
    }
    time_shares its = explain_worker_own(f, late);
    buf_addf(ret, "The late one is %s on %s, which waits for others in %.1f %% of its time and spends most of it with "
                  "%s; a slot takes it %.1f ms, %.1f times as long as the others.",
             inspect_str(late, "task"), inspect_str(late, "host"), percent(&its, SHARE_STRAGGLERS),
             time_share_rows[time_shares_bound(&its)].words, 1e3 * explain_busy_s(late), slower);
}

static double sum_of(const explain_facts *f, counter c)
{
    double sum = 0;
    const json_t *o;
    for (size_t i = 0; (o = explain_worker(f, i)); i++)
        sum += time_figure(json_object_get(o, "figures"), c);
    return sum;
}

static void say_wire(const explain_facts *f, buf *ret)
{
    double bytes = sum_of(f, COUNTER_SENT_BYTES) + sum_of(f, COUNTER_RECEIVED_BYTES);
    buf_adds(ret, "Workers and servers exchange ");
    inspect_add_bytes(ret, f->slots > 0 ? bytes / f->slots : 0);
    buf_adds(ret, " for a slot, ");
    inspect_add_bytes(ret, f->wall_s > 0 ? bytes / f->wall_s : 0);
    buf_addf(ret, " in a second, and a slot waits %.1f ms for it beside the %.1f ms that it computes.",
             slot_ms(f, SHARE_WIRE), slot_ms(f, SHARE_COMPUTE));
}

static void say_servers(const explain_facts *f, buf *ret)
{
    const char *busiest;
    double busy = explain_busiest_server(f, &busiest);
    if (*busiest)
        buf_addf(ret, "The busiest of %lld server%s, %s, has something to do in %.0f %% of the time, and a slot waits "
                      "%.1f ms for that.",
                 (long long)f->servers, f->servers == 1 ? "" : "s", busiest, 100 * busy, slot_ms(f, SHARE_SERVERS));
    else
        buf_addf(ret, "A slot waits %.1f ms for the server beside it, for sums, updates and votes.",
                 slot_ms(f, SHARE_SERVERS));
}

static void say_held(const explain_facts *f, time_share bound, buf *ret)
{
    double lanes = f->lanes > 0 ? (double)f->lanes : 1;
    buf_addf(ret, "All lanes stood still for %.1f s while the master let nobody go on.",
             f->shares.seconds[bound] / lanes);
}

/* What is behind the share that bounds. */
static void say_why(const explain_facts *f, time_share bound, buf *ret)
{
    if (bound == SHARE_STRAGGLERS)
        say_late(f, ret);
    else if (bound == SHARE_WIRE)
        say_wire(f, ret);
    else if (bound == SHARE_SERVERS)
        say_servers(f, ret);
    else if (bound == SHARE_CHECKPOINTS || bound == SHARE_EVALUATIONS || bound == SHARE_DISK)
        say_held(f, bound, ret);
    else if (bound == SHARE_LOST)
        buf_adds(ret, "What was computed as a task was lost had to be computed once more, and a late lane's slots by "
                      "others too.");
    else if (bound == SHARE_IDLE && !f->is_in_steps)
        buf_addf(ret, "Batches are leased one by one, and a lane without a lease waits until the master gives it one: "
                      "there were too few for %lld lanes, or they came late.",
                 (long long)f->lanes);
    else if (bound == SHARE_IDLE)
        buf_addf(ret, "A step has %lld slots for %lld lanes, and a lane without one waits for the next step.",
                 (long long)f->batches_per_step, (long long)f->lanes);
    else
        buf_addf(ret, "A slot takes %.1f ms to compute, and waits %.1f ms for its examples.", slot_ms(f, SHARE_COMPUTE),
                 slot_ms(f, SHARE_INPUT));
}

/* Whether all workers are alike in it. */
static void say_spread(const explain_facts *f, time_share bound, buf *ret)
{
    const json_t *o, *most = NULL, *least = NULL;
    double high = 0, low = 0;
    size_t n = 0;
    for (size_t i = 0; (o = explain_worker(f, i)); i++) {
        time_shares its = explain_worker_shares(f, o);
        double share = percent(&its, bound);
        if (its.lane_s <= 0)
            continue;
        n++;
        if (!most || share > high) {
            most = o;
            high = share;
        }
        if (!least || share < low) {
            least = o;
            low = share;
        }
    }
    if (n < 2)
        buf_addf(ret, "That is so of %s, the only one that computes.", most ? inspect_str(most, "task") : "?");
    else if (high - low < 0.05)
        buf_addf(ret, "It is %.1f %% of the time of each worker.", high);
    else if (high - low < ALIKE_PERCENT)
        buf_addf(ret, "It is about the same of all workers, %.1f to %.1f %% of their time.", low, high);
    else
        buf_addf(ret, "It is most of the time of %s, %.1f %%, and least of that of %s, %.1f %%.",
                 inspect_str(most, "task"), high, inspect_str(least, "task"), low);
}

static void say_gain(const explain_facts *f, time_share bound, const suggestions *s, buf *ret)
{
    double share = time_share_of(&f->shares, bound);
    if (bound == SHARE_COMPUTE)
        buf_addf(ret, "If lanes did nothing but compute, the job would be %.2f times as fast%s.",
                 suggestion_speed(1 - share),
                 s->n ? "; what could be tried comes below" : ", and nothing else is worth trying");
    else
        buf_addf(ret, "Without it the job would be %.2f times as fast%s.", suggestion_speed(share),
                 s->n ? "; what could be tried comes below" : "");
}

void explain_sentences(const explain_facts *f, const suggestions *s, buf ret[EXPLAIN_SENTENCES])
{
    time_share bound = time_shares_bound(&f->shares);
    say_bound(f, bound, &ret[0]);
    say_others(f, bound, &ret[1]);
    say_why(f, bound, &ret[2]);
    say_spread(f, bound, &ret[3]);
    say_gain(f, bound, s, &ret[4]);
}

/* --- what to try --- */

void explain_suggestions_text(const suggestions *s, buf *ret)
{
    for (size_t i = 0; i < s->n; i++)
        buf_addf(ret, "  %zu. %s\n     saves %.0f %% of the time at the most, %.2f times as fast: %s\n", i + 1,
                 s->at[i].what, 100 * s->at[i].saves, suggestion_speed(s->at[i].saves), s->at[i].how);
}

/* --- for programs --- */

static json_t *tell_workers(const explain_facts *f)
{
    const json_t *o;
    json_t *list = json_array();
    for (size_t i = 0; (o = explain_worker(f, i)); i++) {
        time_shares its = explain_worker_shares(f, o);
        json_t *one = time_shares_json(&its);
        json_object_set(one, "task", json_object_get(o, "task"));
        json_object_set_new(one, "slot_s", json_real(explain_slot_s(o)));
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *tell_suggestions(const suggestions *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < s->n; i++)
        json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:s}", "what", s->at[i].what, "saves", s->at[i].saves,
                                              "times_as_fast", suggestion_speed(s->at[i].saves), "how", s->at[i].how));
    return list;
}

json_t *explain_json(const explain_facts *f, const suggestions *s)
{
    buf sentences[EXPLAIN_SENTENCES] = {BUF_INIT};
    json_t *o = time_shares_json(&f->shares), *list = json_array();
    explain_sentences(f, s, sentences);
    for (size_t i = 0; i < EXPLAIN_SENTENCES; i++) {
        json_array_append_new(list, json_string(sentences[i].data));
        buf_fini(&sentences[i]);
    }
    json_object_set_new(o, "lanes", json_integer(f->lanes));
    json_object_set_new(o, "workers", tell_workers(f));
    json_object_set_new(o, "sentences", list);
    json_object_set_new(o, "suggestions", tell_suggestions(s));
    return o;
}
