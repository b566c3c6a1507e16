/*
 * The user's cache: folders of what can be made again, and may be removed at any time. Threads: any.
 */
#ifndef TEQUIO_COMMON_BASE_USER_CACHE_H
#define TEQUIO_COMMON_BASE_USER_CACHE_H

/* $TEQUIO_CACHE, else $XDG_CACHE_HOME/tequio/WHAT, else ~/.cache/tequio/WHAT. NULL: HOME is not set. It need not be
 * there. Free it. */
char *user_cache_folder(const char *what);

#endif
