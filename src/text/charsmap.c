/*
 * See charsmap.h. A unit of the double array is 32 bits: where its children are, the byte that leads to it, and whether
 * an entry ends at it; then the first of its children is no node but the entry's value. Children of one node lie
 * within a block of 256 units, so that all of them are within the array if the first is.
 */
#include "text/charsmap.h"

#include "common/base/alloc.h"
#include "common/base/base64.h"
#include "text/chars.h"
#include "text/clusters.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, HEADER = 4, UNIT = 4, CLUSTER_BYTES = 6, ASCII = 128 };

#define IS_VALUE 0x80000000u

struct charsmap {
    uint32_t *units;            /* [n] */
    uint32_t n;
    char *texts;                /* [bytes] the replacements */
    size_t bytes, longest;
    bool stays[ASCII];          /* no entry begins with it */
};

/* --- the double array --- */

static uint32_t children_of(uint32_t place, uint32_t unit)
{
    return place ^ (unit >> 10) << ((unit & 0x200u) >> 6);
}

static bool is_entry(uint32_t unit)
{
    return unit & 0x100u;
}

/* What stands for the shortest entry that the text begins with; NULL: none. */
static const char *find(const charsmap *m, const char *text, size_t bytes)
{
    uint32_t at = children_of(0, m->units[0]);
    for (size_t i = 0; i < bytes; i++) {
        uint32_t byte = (unsigned char)text[i], unit = m->units[at ^ byte];
        if (byte == 0 || (unit & (IS_VALUE | 0xFFu)) != byte)
            return NULL;
        at = children_of(at ^ byte, unit);
        if (is_entry(unit))
            return m->texts + (m->units[at] & ~IS_VALUE);
    }
    return NULL;
}

/* --- loading --- */

static uint32_t little_endian(const unsigned char *b)
{
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static status check_texts(charsmap *m, const char *place, error *err)
{
    uint32_t code;
    size_t n, length = 0;
    for (size_t at = 0; at < m->bytes; at += n) {
        n = utf8_decode((const unsigned char *)m->texts + at, m->bytes - at, &code);
        if (n == 0)
            return FAIL(err, E_DATA, "%s: byte %zu of its replacements begins no UTF-8 character", place, at);
        length = code ? length + n : 0;
        m->longest = length > m->longest ? length : m->longest;
    }
    if (m->bytes == 0 || m->texts[m->bytes - 1] != '\0')
        return FAIL(err, E_DATA, "%s: its last replacement is not ended by a zero byte", place);
    return OK;
}

static bool is_place_of_text(const charsmap *m, uint32_t unit)
{
    size_t at = unit & ~IS_VALUE;
    return unit & IS_VALUE && at < m->bytes && ((unsigned char)m->texts[at] & 0xC0) != 0x80;
}

/* Every unit, whether the trie leads to it or not. */
static status check_units(const charsmap *m, const char *place, error *err)
{
    if (m->units[0] & IS_VALUE)
        return FAIL(err, E_DATA, "%s: its trie has no root", place);
    for (uint32_t i = 0; i < m->n; i++) {
        uint32_t children = children_of(i, m->units[i]);
        if (m->units[i] & IS_VALUE)
            continue;
        if (children >= m->n)
            return FAIL(err, E_DATA, "%s: unit %u of its trie leads to unit %u; there are %u", place, i, children,
                        m->n);
        if (is_entry(m->units[i]) && !is_place_of_text(m, m->units[children]))
            return FAIL(err, E_DATA, "%s: unit %u of its trie has no place among the %zu bytes of replacements", place,
                        children, m->bytes);
    }
    return OK;
}

static status read_table(charsmap *m, const buf *table, const char *place, error *err)
{
    const unsigned char *data = (const unsigned char *)table->data;
    size_t bytes = table->size < HEADER ? 0 : little_endian(data);
    if (bytes == 0 || bytes % (BLOCK * UNIT) != 0 || bytes > table->size - HEADER)
        return FAIL(err, E_DATA,
                    "%s: has %zu bytes, and says that %zu of them are a trie; expected a multiple of %d that fits",
                    place, table->size, bytes, BLOCK * UNIT);
    m->n = (uint32_t)(bytes / UNIT);
    m->units = xmalloc(bytes);
    for (uint32_t i = 0; i < m->n; i++)
        m->units[i] = little_endian(data + HEADER + (size_t)i * UNIT);
    m->bytes = table->size - HEADER - bytes;
    m->texts = xmalloc(m->bytes + 1);
    memcpy(m->texts, data + HEADER + bytes, m->bytes);
    TRY(check_texts(m, place, err));
    TRY(check_units(m, place, err));
    for (uint32_t c = 0; c < ASCII; c++)
        m->stays[c] = (m->units[children_of(0, m->units[0]) ^ c] & (IS_VALUE | 0xFFu)) != c;
    return OK;
}

status charsmap_load(const char *base64, const char *place, charsmap **ret, error *err)
{
    buf table = BUF_INIT;
    charsmap *m = xcalloc(1, sizeof *m);
    status st = base64_read(base64, strlen(base64), &table) ? read_table(m, &table, place, err)
                                                            : FAIL(err, E_DATA, "%s: is no base64", place);
    buf_fini(&table);
    if (st == OK)
        *ret = m;
    else
        charsmap_destroy(&m);
    return st;
}

void charsmap_destroy(charsmap **m)
{
    if (!*m)
        return;
    free((*m)->units);
    free((*m)->texts);
    free(*m);
    *m = NULL;
}

size_t charsmap_longest(const charsmap *m)
{
    return m->longest;
}

/* --- rewriting --- */

/* An inserted character waits for what comes next: if that goes, it stands for it. */
typedef struct replacing {
    const charsmap *m;
    rewrite *w;
    uint32_t code;
    int32_t change;
    bool waits, has_any;
} replacing;

static void give_waiting(replacing *r)
{
    if (r->waits)
        rewrite_put(r->w, r->code, r->change);
    r->waits = false;
}

static void put(replacing *r, uint32_t code, bool is_inserted)
{
    give_waiting(r);
    r->has_any = true;
    if (is_inserted) {
        r->code = code;
        r->change = 1;
        r->waits = true;
    } else {
        rewrite_put(r->w, code, 0);
    }
}

/* So many characters go, with the one before them; where there is none, as if they did not. */
static void drop(replacing *r, size_t characters)
{
    if (r->waits)
        r->change -= (int32_t)characters;
    else if (r->has_any)
        rewrite_skip(r->w, characters);
}

static void keep(replacing *r, uint32_t begin, uint32_t end)
{
    give_waiting(r);
    r->has_any = true;
    if (r->w->at == begin) {
        rewrite_keep(r->w, end);
        return;
    }
    for (size_t n; begin < end; begin += (uint32_t)n)
        rewrite_put(r->w, chars_next(r->w->in->text + begin, &n), 0);
}

/* Bytes begin .. end-1 by their replacement; false: there is none. */
static bool replace(replacing *r, uint32_t begin, uint32_t end)
{
    const char *text = r->w->in->text + begin, *by = find(r->m, text, end - begin);
    if (!by)
        return false;
    size_t before = chars_count(text, end - begin), after = 0;
    for (size_t n; *by; by += n)
        put(r, chars_next(by, &n), after++ >= before);
    if (after < before)
        drop(r, before - after);
    return true;
}

/* ASCII that stays as it is, and of which no cluster has more than one: another character follows that is ASCII. */
static uint32_t end_of_plain(const replacing *r, uint32_t at, uint32_t end)
{
    const unsigned char *text = (const unsigned char *)r->w->in->text;
    while (at < end && text[at] < ASCII && r->m->stays[text[at]] && text[at] != '\r' &&
           (at + 1 == end || text[at + 1] < ASCII))
        at++;
    return at;
}

void charsmap_rewrite(const charsmap *m, rewrite *w)
{
    const char *text = w->in->text;
    replacing r = {.m = m, .w = w};
    for (uint32_t at = w->at, end; at < w->of.end; at = end) {
        if ((end = end_of_plain(&r, at, w->of.end)) > at) {
            keep(&r, at, end);
            continue;
        }
        end = clusters_end(text, at, w->of.end);
        if (end - at < CLUSTER_BYTES && replace(&r, at, end))
            continue;
        for (size_t n; at < end; at += (uint32_t)n) {
            chars_next(text + at, &n);
            if (!replace(&r, at, at + (uint32_t)n))
                keep(&r, at, at + (uint32_t)n);
        }
    }
    give_waiting(&r);
}
