/* See broken.h. */
#include "data/pictures/broken.h"

#include "common/base/log.h"

/* Broken ones that are named, and characters of why. */
enum { NAMED = 10, REASON = 160 };

status picture_set_note(status st, const error *why, char **ret, error *err)
{
    if (st != OK && st != E_DATA)
        return error_set(err, st, "%s", why->text);
    if (st == E_DATA)
        *ret = xstrndup(why->text, REASON);
    return OK;
}

/* "'cats/7.jpg': is empty; ..." of the first. Returns how many there are. */
static size_t name_broken(const picture_set *s, char *const *broken, buf *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!broken[i])
            continue;
        if (n++ < NAMED)
            buf_addf(ret, "%s'%s': %s", n > 1 ? "; " : "", s->at[i].path, broken[i]);
    }
    if (n > NAMED)
        buf_adds(ret, "; ...");
    return n;
}

static void leave_out_broken(picture_set *s, char *const *broken)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++)
        if (!broken[i])
            s->at[kept++] = s->at[i];
    s->n = kept;
}

status picture_set_settle(picture_set *s, char *const *broken, const char *things, bool skips, error *err)
{
    buf those = BUF_INIT;
    size_t all = s->n, n = name_broken(s, broken, &those);
    status st = OK;
    if (n > 0 && !skips)
        st = FAIL(err, E_DATA, "'%s': %zu of %zu %s cannot be read (with on_error: \"skip\" they are left out): %s",
                  s->root, n, all, things, those.data);
    else if (n == all)
        st = FAIL(err, E_DATA, "'%s': none of %zu %s can be read: %s", s->root, all, things, those.data);
    else if (n > 0)
        LOG_W("SKIPPED", "path=%s %s=%zu of=%zu: %s", s->root, things, n, all, those.data);
    if (st == OK)
        leave_out_broken(s, broken);
    buf_fini(&those);
    return st;
}
