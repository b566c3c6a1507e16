/*
 * Where a job is looked at, as a word of the command line says it:
 *
 *   JOB_DIR                            a folder of this machine
 *   HOST:PORT, http://..., https://... a page that serves one or several (`tequio page`, `--page`), with its token
 *                                      behind "#token=", as it was printed, or by a key file
 *   ssh://[USER@]HOST[:PORT]/DIR       a folder of a host that ssh reaches; /~/DIR is below the home folder there
 *   kubernetes://NAME[/DIR]            a job that `submit --target kubernetes` gave to the cluster of kubectl
 *
 * On the other side of ssh and kubectl this program looks: that which `submit` put there, else the one on the path.
 *
 * Threads: one, which waits for what it asks; each wait has a bound, which is the asked command's.
 */
#ifndef TEQUIO_CLI_LOOK_PLACE_H
#define TEQUIO_CLI_LOOK_PLACE_H

#include "cli/line/command.h"

#include <jansson.h>

typedef struct place place;

/* E_USAGE: it is none, or a flag does not go with it. `a` has the flags PLACE_FLAGS. */
MUST_USE status place_open(const args *a, const char *word, place **ret, error *err);
void place_close(place **p);

const char *place_word(const place *p);     /* as it was given, without a token */

/* The folder, of a job that lies on this machine; NULL: it lies elsewhere. */
const char *place_dir(const place *p);

/* A document for each job there, as job_view_json has it; the caller's. E_DATA: there is none; E_FAIL, E_IO: nobody
 * tells of it, in the words of what was asked. */
MUST_USE status place_look(place *p, json_t **ret_list, error *err);

/* On standard output: one job as it is, several as a list. */
void place_print_json(const json_t *list);

/* Becomes `tequio WORDS... DIR TAIL...` over there; returns only where that fails. Of ssh:// only. */
MUST_USE status place_become(const place *p, const char *const *words, const char *const *tail, error *err);
bool place_is_ssh(const place *p);

/* Of kubernetes:// only. */
typedef struct place_pods {
    const char *name, *namespace;   /* NULL: that which kubectl is set to */
} place_pods;
bool place_is_kubernetes(const place *p, place_pods *ret);

#define PLACE_GROUP "Elsewhere"
#define PLACE_FLAGS                                                                                                    \
    {"ssh", 0, FLAG_TEXT, "COMMAND", PLACE_GROUP, "How hosts are reached, as 'ssh -i key'.", 0, 0},                    \
    {"namespace", 0, FLAG_TEXT, "NAME", PLACE_GROUP, "Kubernetes', if it is another one than kubectl is set to.", 0,   \
     0},                                                                                                               \
    {"token-file", 0, FLAG_PATH, "FILE", PLACE_GROUP,                                                                  \
     "The key whose token a page asks for, as JOB_DIR/key; its address need not hold it then.", 0, 0},                 \
    {"certificate", 0, FLAG_PATH, "FILE", PLACE_GROUP,                                                                 \
     "A certificate of a page that is believed, in PEM; HOST:PORT is asked by TLS then, and wherever HOST is not "     \
     "this machine's loopback interface.",                                                                             \
     0, 0}

#endif
