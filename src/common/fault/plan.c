#include "common/fault/plan.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/config/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_NAME = 32, SECOND_US = 1000000, FREEZE_WITHIN_US = 5 * SECOND_US, DAYS = 1000 };

static const char *const kind_names[] = {[FAULT_KILL] = "kill",
                                         [FAULT_FREEZE] = "freeze",
                                         [FAULT_DELAY] = "delay",
                                         [FAULT_DROP] = "drop"};

/* --- words --- */

static bool parse_whole(const char *text, uint64_t min, uint64_t *ret)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || errno || *end || value < min)
        return false;
    *ret = value;
    return true;
}

/* Digits with at most one point among them, then exactly `unit`. */
static bool parse_amount(const char *text, const char *unit, double *ret)
{
    size_t n = strspn(text, "0123456789.");
    if (!isdigit((unsigned char)*text) || strcmp(text + n, unit) != 0)
        return false;
    char *end;
    *ret = strtod(text, &end);
    return end == text + n;
}

static bool parse_time(const char *text, int64_t *ret_us)
{
    double value;
    double unit_us = parse_amount(text, "ms", &value)  ? SECOND_US / 1000
                     : parse_amount(text, "s", &value) ? SECOND_US
                                                       : 0;
    if (unit_us <= 0 || value * unit_us > (double)DAYS * 86400 * SECOND_US)
        return false;
    *ret_us = (int64_t)(value * unit_us);
    return true;
}

static status parse_task(fault_clause *c, char *text, error *err)
{
    char *life = strchr(text, '#'), *point = strchr(text, '.');
    uint64_t number = c->kind == FAULT_KILL || c->kind == FAULT_FREEZE, index = 0;
    if (life) {
        *life++ = 0;
        if (!parse_whole(life, 1, &number) || number > INT32_MAX)
            return FAIL(err, E_USAGE, "'%s': the life '#%s' must be a number from 1", c->text,
                        life);
    }
    if (point)
        *point++ = 0;
    if (!point || !role_of(text, &c->task.role) || !parse_whole(point, 0, &index) ||
        index > INT32_MAX)
        return FAIL(err, E_USAGE,
                    "'%s': '%s%s%s' is no task; name one as master.0, worker.1, ps.0 or "
                    "evaluator.0",
                    c->text, text, point ? "." : "", point ? point : "");
    c->task.index = (int32_t)index;
    c->life = (int)number;
    return OK;
}

/* --- messages --- */

/* The master's process may train too: what its lanes say is said by it. */
static bool has_role(role who, role r)
{
    return who == r || (who == ROLE_MASTER && r == ROLE_WORKER);
}

static bool may_pass(wire_type type, role who, bool sends)
{
    for (int one = 0; one < ROLE_COUNT; one++)
        for (int other = 0; has_role(who, (role)one) && other < ROLE_COUNT; other++)
            if (wire_may_say(type, (role)(sends ? one : other), (role)(sends ? other : one)))
                return true;
    return false;
}

static void lower(char *ret, const char *name)
{
    size_t i = 0;
    for (; name[i] && i < MESSAGE_NAME - 1; i++)
        ret[i] = (char)tolower((unsigned char)name[i]);
    ret[i] = 0;
}

static status unknown_message(const fault_clause *c, const char *word, error *err)
{
    char names[WIRE_TYPE_END][MESSAGE_NAME];
    const char *pointers[WIRE_TYPE_END];
    size_t n = 0;
    for (int t = 1; t < WIRE_TYPE_END; t++) {
        lower(names[n], wire_type_name((wire_type)t));
        pointers[n] = names[n];
        n++;
    }
    const char *near = config_did_you_mean(word, pointers, n);
    if (near)
        return FAIL(err, E_USAGE, "'%s': no message is called '%s'; did you mean '%s'?", c->text,
                    word, near);
    return FAIL(err, E_USAGE,
                "'%s': '%s' is neither a time (3s, 250ms) nor a message (as in push:40, pull>:1)",
                c->text, word);
}

static status find_message(fault_clause *c, const char *word, error *err)
{
    for (int t = 1; t < WIRE_TYPE_END; t++) {
        char name[MESSAGE_NAME];
        lower(name, wire_type_name((wire_type)t));
        if (strcmp(name, word) == 0)
            c->message = (wire_type)t;
    }
    if (!c->message)
        return unknown_message(c, word, err);
    bool passes = (c->sent && may_pass(c->message, c->task.role, true)) ||
                  (c->received && may_pass(c->message, c->task.role, false));
    if (passes)
        return OK;
    const char *what = c->sent && c->received ? "neither sends nor receives"
                       : c->sent              ? "never sends"
                                              : "never receives";
    return FAIL(err, E_USAGE, "'%s': %s %s %s %s", c->text,
                c->task.role == ROLE_EVALUATOR ? "an" : "a", role_name(c->task.role), what,
                c->task.role == ROLE_EVALUATOR ? "messages; name a time, as in @3s" : word);
}

static status parse_when(fault_clause *c, char *text, error *err)
{
    char *number = strchr(text, ':');
    if (!number && parse_time(text, &c->at_us))
        return OK;
    if (number)
        *number++ = 0;
    size_t n = strlen(text);
    char way = n && (text[n - 1] == '>' || text[n - 1] == '<') ? text[n - 1] : 0;
    if (way)
        text[n - 1] = 0;
    c->sent = way != '<';
    c->received = way != '>';
    TRY(find_message(c, text, err));
    uint64_t value;
    if (!number || !parse_whole(number, 1, &value) || value > INT64_MAX)
        return FAIL(err, E_USAGE, "'%s': which %s? Give its number from 1, as in %s:1", c->text,
                    text, text);
    c->number = (int64_t)value;
    return OK;
}

/* --- clauses --- */

/* TASK:AMOUNT; the amount is after the last colon, a moment may hold another. */
static status parse_amounts(fault_clause *c, char *value, char *amount, error *err)
{
    double percent = 0;
    if (c->kind == FAULT_DROP) {
        if (!amount || !parse_amount(amount, "%", &percent) || percent > 100)
            return FAIL(err, E_USAGE,
                        "'%s': which share of the messages? Give it up to 100%%, as in drop=%s:2%%",
                        c->text, value);
        c->share = percent / 100;
        return OK;
    }
    if (!amount || !parse_time(amount, &c->length_us))
        return FAIL(err, E_USAGE, "'%s': for how long? Give a time at its end, as in ':%s'",
                    c->text, c->kind == FAULT_DELAY ? "50ms" : "8s");
    return OK;
}

static status parse_value(fault_clause *c, char *value, error *err)
{
    if (c->kind != FAULT_KILL) {
        char *amount = strrchr(value, ':');
        if (amount)
            *amount++ = 0;
        TRY(parse_amounts(c, value, amount, err));
    }
    char *when = strchr(value, '@');
    if (when)
        *when++ = 0;
    TRY(parse_task(c, value, err));
    if (when && (c->kind == FAULT_DELAY || c->kind == FAULT_DROP))
        return FAIL(err, E_USAGE, "'%s': a %s has no moment; leave out '@%s'", c->text,
                    kind_names[c->kind], when);
    if (!when && c->kind == FAULT_KILL)
        return FAIL(err, E_USAGE, "'%s': when? Say it as in kill=%s.%d@push:40 or kill=%s.%d@3s",
                    c->text, role_name(c->task.role), (int)c->task.index, role_name(c->task.role),
                    (int)c->task.index);
    return when ? parse_when(c, when, err) : OK;
}

static bool plan_kind_of(const char *name, fault_kind *ret)
{
    for (size_t k = 0; k < COUNT_OF(kind_names); k++)
        if (strcmp(name, kind_names[k]) == 0) {
            *ret = (fault_kind)k;
            return true;
        }
    return false;
}

/* `word` is one clause, and is cut up. */
static status parse_clause(fault_plan *p, char *word, error *err)
{
    char *text = xstrdup(word), *value = strchr(word, '=');
    if (value)
        *value++ = 0;
    status st = OK;
    fault_clause c = {.text = text};
    if (value && strcmp(word, "seed") == 0) {
        if (!parse_whole(value, 0, &p->seed))
            st = FAIL(err, E_USAGE, "'%s': the seed must be a whole number", text);
        free(text);
        return st;
    }
    if (!value || !plan_kind_of(word, &c.kind))
        st = FAIL(err, E_USAGE,
                  "'%s': expected kill=TASK@WHEN, freeze=TASK:TIME, delay=TASK:TIME, drop=TASK:P%% "
                  "or seed=N",
                  text);
    if (st == OK)
        st = parse_value(&c, value, err);
    if (st != OK) {
        free(text);
        return st;
    }
    p->clauses = xrealloc(p->clauses, (p->n + 1) * sizeof *p->clauses);
    p->clauses[p->n++] = c;
    return OK;
}

/* Where no moment was given: one of the first seconds, each clause its own. */
static void draw_moments(fault_plan *p)
{
    rng r = rng_make(p->seed, RNG_FAULT, 0);
    for (size_t i = 0; i < p->n; i++)
        if (p->clauses[i].kind == FAULT_FREEZE && !strchr(p->clauses[i].text, '@'))
            p->clauses[i].at_us = (int64_t)rng_below(&r, i, FREEZE_WITHIN_US);
}

status fault_plan_parse(const char *text, fault_plan **ret, error *err)
{
    fault_plan *p = xcalloc(1, sizeof *p);
    p->seed = 1;
    char *copy = xstrdup(text), *rest = copy, *word;
    status st = OK;
    while (st == OK && (word = strsep(&rest, ",")))
        st = parse_clause(p, word, err);
    free(copy);
    if (st != OK) {
        fault_plan_destroy(&p);
        return st;
    }
    draw_moments(p);
    *ret = p;
    return OK;
}

void fault_plan_destroy(fault_plan **p)
{
    if (!*p)
        return;
    for (size_t i = 0; i < (*p)->n; i++)
        free((*p)->clauses[i].text);
    free((*p)->clauses);
    free(*p);
    *p = NULL;
}

bool fault_concerns(const fault_clause *c, task who, int life)
{
    return c->task.role == who.role && c->task.index == who.index && (!c->life || c->life == life);
}
