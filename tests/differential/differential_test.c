/*
 * Random models of ONNX's operators, seeded: each is imported, run and differentiated, and held
 * against its nodes alone in double precision, against central differences and against ONNX
 * Runtime, where that is (README.md).
 *
 *   differential_test [GRAPHS [SEED [FIRST]]]
 *
 * Models that fail are narrowed down and written to the folder in TEQUIO_DIFFERENTIAL_OUT.
 */
#include "common/base/fs.h"
#include "differential/grow.h"
#include "differential/shrink.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { GRAPHS = 150, MOST_TYPES = 256 };

static char under_way[64]; /* for a crash */

static void on_crash(int number)
{
    ssize_t ignored = write(STDERR_FILENO, under_way, strlen(under_way));
    (void)ignored;
    signal(number, SIG_DFL);
    raise(number);
}

typedef struct tally {
    int verdicts[VERDICTS], n_nodes, n_gradients, n_peer;
    struct {
        const char *name;
        int n;
    } types[MOST_TYPES];
    int n_types;
} tally;

static void count_types(tally *t, const view *v)
{
    for (int32_t i = 0; i < v->s->n_nodes; i++) {
        const char *name = v->s->nodes[i].proto->op_type;
        int k = 0;
        while (k < t->n_types && strcmp(t->types[k].name, name) != 0)
            k++;
        if (k == t->n_types && k < MOST_TYPES)
            t->types[t->n_types++].name = xstrdup(name);
        t->types[k].n++;
    }
}

static void print_tally(const tally *t, int n, double seconds, const peer *p)
{
    for (int k = 0; k < VERDICTS; k++)
        printf("%7d  %s\n", t->verdicts[k], verdict_names[k]);
    printf("%d graphs, %d nodes, %d gradients, %.0f graphs a minute; ONNX Runtime %s: %d graphs\n",
           n, t->n_nodes, t->n_gradients, n / seconds * 60, p ? peer_version(p) : "is not here",
           t->n_peer);
}

static void write_model(const view *v, const char *name)
{
    const char *folder = getenv("TEQUIO_DIFFERENTIAL_OUT");
    if (!folder)
        return;
    emitter e;
    buf bytes = BUF_INIT;
    error err = ERROR_INIT;
    char *path = xasprintf("%s/%s.onnx", folder, name);
    view_emit(v, &e);
    emit_pack(&e, &bytes);
    if (fs_write_atomic(path, bytes.data, bytes.size, &err) != OK)
        fprintf(stderr, "%s\n", err.text);
    emit_fini(&e);
    buf_fini(&bytes);
    free(path);
}

static void print_view(const view *v)
{
    const sketch *s = v->s;
    for (int32_t i = 0; i < s->n_nodes; i++) {
        if (!v->live_node[i])
            continue;
        const sketch_node *n = &s->nodes[i];
        printf("      %s(", n->proto->op_type);
        for (int32_t k = 0; k < n->n_in; k++) {
            char shape[SHAPE_TEXT] = "";
            if (n->in[k] != NO_TERM)
                graph_shape_text(&s->terms[n->in[k]].shape, shape, sizeof shape);
            printf("%s%s%s", k ? ", " : "", n->proto->input[k], shape);
        }
        printf(") -> %s\n", n->proto->output[0]);
    }
}

static void report(view *v, const peer *p, verdict *was, uint64_t seed, uint64_t number)
{
    char name[64];
    snprintf(name, sizeof name, "graph-%" PRIu64 "-%" PRIu64, seed, number);
    int nodes = view_nodes(v);
    shrink(v, p, was);
    printf("%s, opset %lld, %d nodes of %d: %s: %s\n", name, (long long)v->s->opset, view_nodes(v),
           nodes, verdict_names[was->kind], was->text);
    print_view(v);
    write_model(v, name);
}

static void run_one(tally *t, const peer *p, uint64_t seed, uint64_t number)
{
    snprintf(under_way, sizeof under_way, "graph %" PRIu64 " of seed %" PRIu64 "\n", number, seed);
    sketch *s = sketch_create(seed, number);
    view v;
    grow(s);
    view_init(&v, s);
    verdict was = judge(&v, p);
    t->verdicts[was.kind]++;
    t->n_nodes += view_nodes(&v);
    t->n_gradients += was.n_gradients;
    t->n_peer += was.peer_judged;
    count_types(t, &v);
    if (was.kind != RIGHT)
        report(&v, p, &was, seed, number);
    sketch_destroy(&s);
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : GRAPHS;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    static tally t;
    struct timespec from, to;
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGSEGV, on_crash);
    signal(SIGABRT, on_crash);
    signal(SIGFPE, on_crash);
    peer *p = peer_open();
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (uint64_t i = first; i < first + n; i++)
        run_one(&t, p, seed, i);
    clock_gettime(CLOCK_MONOTONIC, &to);
    if (getenv("TEQUIO_DIFFERENTIAL_OUT")) {
        sketch_print_refusals();
        for (int k = 0; k < t.n_types; k++)
            printf("%s %d%s", t.types[k].name, t.types[k].n, k + 1 < t.n_types ? ", " : "\n");
    }
    double seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
    print_tally(&t, (int)n, seconds, p);
    peer_close(&p);
    return t.verdicts[RIGHT] != (int)n;
}
