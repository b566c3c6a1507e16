/*
 * What has changed of a page's jobs, told to whoever listens (watch/http/feed.h). Of each job two topics:
 *
 *   status   {"run": N, "status": job_view_json}, or {"run": N, "trouble": why it cannot be told}
 *   files    {"run": N, "files": {"config": M, "metrics": M, "evaluations": M, "timeline": M}, "logs": {TASK: M}}
 *
 * M is a word that is another one once the file has changed, and "" where there is none: whoever sees a new one asks
 * for what it needs of it. While nobody listens nothing is read.
 *
 * Threads: one; it reads files.
 */
#ifndef TEQUIO_CLI_LOOK_PAGE_FEED_H
#define TEQUIO_CLI_LOOK_PAGE_FEED_H

#include "watch/http/feed.h"

enum { PAGE_FEED_MS = 1000 }; /* from one look to the next */

http_feed *page_feed_new(size_t n_dirs);

/* Tells what has changed since the look before. */
void page_feed_look(http_feed *f, char *const *dirs, size_t n);

#endif
