/* See video_index.h. */
#include "data/videos/video_index.h"

#include "data/pictures/picture.h"

void video_reading_begin(const video_index *x, size_t number, const char *path, video_reading *ret)
{
    const indexed_video *v = &x->videos[number];
    *ret = (video_reading){.path = path,
                           .video = v,
                           .times = x->times + v->first,
                           .checksums = x->checksums + v->first,
                           .at = -1};
}

void video_reading_end(video_reading *r)
{
    video_file_close(&r->file);
}

/* Decodes on to a frame. By their times where decoding began in the middle, else one after the other. *ret_found false:
 * what is found there is another frame, or none. */
static status decode_to(video_reading *r, int64_t number, bool *ret_found, error *err)
{
    bool more = true;
    video_frame frame = {.time = 0};
    *ret_found = false;
    for (int64_t at = r->at; more && at < number;) {
        TRY(video_file_next(r->file, &more, &frame, err));
        if (r->is_sought && (!frame.has_time || frame.time > r->times[number]))
            return OK;
        at = !r->is_sought ? at + 1 : frame.time == r->times[number] ? number : at;
    }
    *ret_found = more && frame.checksum == r->checksums[number];
    return OK;
}

static status begin_anew(video_reading *r, error *err)
{
    video_file_close(&r->file);
    r->at = -1;
    r->is_sought = false;
    return video_file_open(r->path, &r->file, err);
}

/* The first frame that is asked for: decoding begins in the middle if the file can be looked through. */
static status find_first(video_reading *r, int64_t number, bool *ret_found, error *err)
{
    TRY(begin_anew(r, err));
    r->is_sought = number > 0 && r->video->seeks && video_file_seek(r->file, r->times[number]);
    return decode_to(r, number, ret_found, err);
}

static status find(video_reading *r, int64_t number, error *err)
{
    bool found = false;
    TRY(r->file ? decode_to(r, number, &found, err) : find_first(r, number, &found, err));
    if (!found && r->is_sought) {
        TRY(begin_anew(r, err));
        TRY(decode_to(r, number, &found, err));
    }
    if (!found)
        return FAIL(err, E_DATA, "frame %lld is another one than when the file was looked through: did the file "
                                 "change?", (long long)number);
    r->at = number;
    return OK;
}

status video_reading_take(video_reading *r, int64_t number, bool turns, picture *ret, error *err)
{
    picture p = {.pixels = NULL};
    if (r->at != number)
        TRY(find(r, number, err));
    TRY(video_file_picture(r->file, &p, err));
    int32_t orientation = turns ? video_file_orientation(r->file) : 1;
    status st = orientation > 1 ? picture_turn(&p, orientation, err) : OK;
    if (st == OK)
        *ret = p;
    else
        picture_fini(&p);
    return st;
}
