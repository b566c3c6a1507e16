/*
 * The page of the job that this process runs or launches: `tequio page` as a child process, which lives as long as
 * this one does or less. The socket is opened here, before anything begins. Nothing waits for the page, and it leads a
 * process group of its own: it may fail, hang or be killed, and the job goes on.
 *
 * Threads: the main one.
 */
#ifndef TEQUIO_CLI_RUN_PAGE_BESIDE_H
#define TEQUIO_CLI_RUN_PAGE_BESIDE_H

#include "common/config/config.h"
#include "watch/http/listen.h"

#include <sys/types.h>

/* --page without a place */
#define PAGE_PLACE "127.0.0.1:0"

typedef struct page_words {
    const char *place;                      /* as listen.h has it; NULL: no page */
    const char *certificate, *certificate_key, *token_file, *price; /* NULL: none */
} page_words;

typedef struct page_beside {
    page_words words;
    http_place at;
    pid_t pid;          /* 0: it does not run */
} page_beside;

#define PAGE_BESIDE_NONE {.at = HTTP_NOWHERE}

/* distributed.page and its kin; borrowed from `c`. */
page_words page_words_of(const config *c);

/* Opens its socket, if a page is asked for. E_CONFIG: the place is none, in use, or may not be served from.
 * The price was checked, by the configuration or page_price.h. */
MUST_USE status page_beside_open(const page_words *words, page_beside *ret, error *err);

/* It is served from the moment in which there is a job in the dir; says its address on standard error. */
void page_beside_begin(page_beside *p, const char *job_dir);
void page_beside_end(page_beside *p);

#endif
