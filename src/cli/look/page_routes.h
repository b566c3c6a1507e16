/*
 * What a page of jobs asks for: the page itself, and documents of each job. No request changes anything, and none names
 * a file: jobs, files and logs are chosen from lists that are made here.
 *
 *   /                                       the page
 *   /api/runs                               [{"dir", "name", "price_per_hour"}]; 0: no price is known
 *   /api/events                             what changes, as server-sent events (page_feed.h)
 *   /metrics                                for Prometheus (exposition.h)
 *   /api/run/N/status                       job_view_json
 *   /api/run/N/config                       config.json
 *   /api/run/N/lines?file=F&tag=T&from=B    {"tag", "from", "next", "text"}: F is metrics, evaluations or timeline
 *   /api/run/N/histograms?tag=T             histograms_tell (histograms.h)
 *   /api/run/N/tasks                        those that have a log
 *   /api/run/N/log?task=T                   its end, as text
 *
 * Threads: any; jobs stay as they are.
 */
#ifndef TEQUIO_CLI_LOOK_PAGE_ROUTES_H
#define TEQUIO_CLI_LOOK_PAGE_ROUTES_H

#include "watch/http/server.h"

typedef struct page_jobs {
    char *const *dirs;      /* [n] absolute */
    size_t n;
    double price_per_hour;  /* of all that a job runs on; 0: it is not told */
} page_jobs;

/* An http_handler; `user` is a page_jobs. */
void page_answer(void *user, const http_request *r, http_answer *ret);

#endif
