/* What a place is made of, for the files of place.h. Threads: as there. */
#ifndef TEQUIO_CLI_LOOK_PLACE_INTERNAL_H
#define TEQUIO_CLI_LOOK_PLACE_INTERNAL_H

#include "cli/look/place.h"
#include "watch/http/client.h"

typedef enum place_kind { PLACE_DIR, PLACE_PAGE, PLACE_SSH, PLACE_KUBERNETES } place_kind;

struct place {
    place_kind kind;
    char *word;             /* as it was given, without a token */
    char *dir;              /* NULL: a page's, or that of the pod's arguments */
    /* a page */
    char *base;             /* "https://host:port/" */
    http_client *client;
    /* ssh */
    char *host, *port;      /* port: NULL: the usual one */
    const char *ssh;        /* the client and its options, words apart by spaces */
    /* kubernetes */
    char *name;
    const char *namespace;
};

MUST_USE status place_page_open(place *p, const args *a, const char *word, error *err);
MUST_USE status place_page_look(place *p, json_t **ret_list, error *err);

MUST_USE status place_ssh_open(place *p, const args *a, error *err);
MUST_USE status place_kubernetes_open(place *p, const args *a, error *err);
MUST_USE status place_remote_look(place *p, json_t **ret_list, error *err);

#endif
