/* See video_file.h. A file is opened by its descriptor: no demuxer opens another one by a name in it. */
#include "data/videos/video_file.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "data/pictures/picture.h"
#include "data/videos/libav/library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IO_BYTES = 32 << 10, ALIGN = 64 };

struct video_file {
    int fd;
    int64_t at, bytes;              /* where is read, and the end */
    int failure;                    /* errno of a read; 0: none has failed */
    AVFormatContext *format;
    AVIOContext *io;
    AVCodecContext *decoder;
    AVPacket *packet;
    AVFrame *frame;
    struct SwsContext *colours;
    int stream;
    int32_t orientation;
    bool is_drained;                /* the decoder was told that no packet is left */
    bool is_sought;                 /* errors may come of beginning in the middle */
    buf planes;                     /* of a frame, for its checksum */
    buf rows;                       /* red, green and blue, as libswscale writes them: at aligned places, and beyond */
};

/* --- reading --- */

static int read_bytes(void *user, uint8_t *to, int n)
{
    video_file *f = user;
    ssize_t got = pread(f->fd, to, (size_t)n, f->at);
    if (got < 0) {
        f->failure = errno;
        return AVERROR(errno);
    }
    f->at += got;
    return got > 0 ? (int)got : AVERROR_EOF;
}

static int64_t seek_bytes(void *user, int64_t to, int whence)
{
    video_file *f = user;
    int64_t from = whence == SEEK_CUR ? f->at : whence == SEEK_END ? f->bytes : 0;
    if (whence & AVSEEK_SIZE)
        return f->bytes;
    if (to > INT64_MAX - from || from + to < 0)
        return AVERROR(EINVAL);
    return f->at = from + to;
}

static int refuse_other(AVFormatContext *format, AVIOContext **ret, const char *url, int flags, AVDictionary **options)
{
    (void)format;
    (void)ret;
    (void)url;
    (void)flags;
    (void)options;
    return AVERROR(EPERM);
}

/* --- errors --- */

/* What the libraries have reported, or else what the code means. */
static status fail(const video_file *f, const char *what, int code, error *err)
{
    char why[AV_ERROR_MAX_STRING_SIZE] = "";
    if (f->failure)
        return FAIL(err, fs_cause(f->failure), "%s: %s", what, strerror(f->failure));
    if (code == AVERROR(ENOMEM)) /* a head that lies about sizes, far sooner than the end of memory */
        return FAIL(err, E_DATA, "%s: it asks for more memory than can be had", what);
    libav.av_strerror(code, why, sizeof why);
    return FAIL(err, E_DATA, "%s: %s", what, libav_heard() ? libav_heard() : why);
}

/* --- opening --- */

static status open_bytes(video_file *f, const char *path, error *err)
{
    struct stat info;
    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0 || fstat(f->fd, &info) != 0)
        return FAIL(err, errno == ENOENT || errno == EACCES ? E_DATA : fs_cause(errno), "open it: %s", strerror(errno));
    if (!S_ISREG(info.st_mode))
        return FAIL(err, E_DATA, "is no regular file");
    f->bytes = info.st_size;
    if (f->bytes == 0)
        return FAIL(err, E_DATA, "is empty");
    unsigned char *buffer = libav.av_malloc(IO_BYTES);
    f->io = buffer ? libav.avio_alloc_context(buffer, IO_BYTES, 0, f, read_bytes, NULL, seek_bytes) : NULL;
    f->format = libav.avformat_alloc_context();
    f->packet = libav.av_packet_alloc();
    f->frame = libav.av_frame_alloc();
    return f->io && f->format && f->packet && f->frame ? OK : FAIL(err, E_NOMEM, "there is not enough memory");
}

/* An AVI that ends between two frames looks whole to the demuxer, which makes up an index for it. */
static status check_riff(const video_file *f, error *err)
{
    unsigned char head[8];
    if (pread(f->fd, head, sizeof head, 0) != sizeof head || memcmp(head, "RIFF", 4) != 0)
        return OK;
    int64_t says = (int64_t)(head[4] | head[5] << 8 | head[6] << 16) + ((int64_t)head[7] << 24) + 8;
    return says <= f->bytes || says - 8 == UINT32_MAX
               ? OK
               : FAIL(err, E_DATA, "is cut off: it has %lld bytes, and its head says %lld", (long long)f->bytes,
                      (long long)says);
}

/* A failing avformat_open_input frees the context. */
static status open_container(video_file *f, error *err)
{
    AVDictionary *options = NULL;
    f->format->pb = f->io;
    f->format->io_open = refuse_other;
    f->format->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
    libav.av_dict_set(&options, "format_whitelist", "mov,matroska,avi", 0);
    int code = libav.avformat_open_input(&f->format, NULL, NULL, &options);
    libav.av_dict_free(&options);
    if (code < 0)
        return fail(f, "is no MP4, QuickTime, Matroska, WebM or AVI that can be read", code, err);
    code = libav.avformat_find_stream_info(f->format, NULL);
    if (code < 0)
        return fail(f, "what it holds cannot be found", code, err);
    f->stream = libav.av_find_best_stream(f->format, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
    if (f->stream < 0)
        return FAIL(err, E_DATA, "holds no video");
    for (unsigned i = 0; i < f->format->nb_streams; i++)
        f->format->streams[i]->discard = (int)i == f->stream ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
    return OK;
}

/* Only bit-exact code, so that every processor gives the same pixels. */
static status open_decoder(video_file *f, error *err)
{
    const AVCodecParameters *told = f->format->streams[f->stream]->codecpar;
    const AVCodec *codec = libav.avcodec_find_decoder(told->codec_id);
    if (!codec)
        return FAIL(err, E_DATA, "its video is of a kind that FFmpeg's libraries here cannot decode");
    f->decoder = libav.avcodec_alloc_context3(codec);
    if (!f->decoder)
        return FAIL(err, E_NOMEM, "there is not enough memory");
    int code = libav.avcodec_parameters_to_context(f->decoder, told);
    f->decoder->pkt_timebase = f->format->streams[f->stream]->time_base;
    f->decoder->thread_count = 1;
    f->decoder->flags |= AV_CODEC_FLAG_BITEXACT;
    f->decoder->err_recognition |= AV_EF_CRCCHECK | AV_EF_BUFFER;
    f->decoder->max_pixels = PICTURE_PIXELS_MOST;
    if (code >= 0)
        code = libav.avcodec_open2(f->decoder, codec, NULL);
    return code >= 0 ? OK : fail(f, "its video cannot be decoded", code, err);
}

/* The matrix by which it is to be shown, [[a, b], [c, d]] in 16.16, as EXIF's number; 0: by no quarter of a circle. */
static int32_t orientation_of(const int32_t *m)
{
    int32_t a = m[0], b = m[1], c = m[3], d = m[4];
    if (b == 0 && c == 0 && a != 0 && d != 0)
        return a > 0 ? (d > 0 ? 1 : 4) : d > 0 ? 2 : 3;
    if (a == 0 && d == 0 && b != 0 && c != 0)
        return b > 0 ? (c > 0 ? 5 : 6) : c > 0 ? 8 : 7;
    return 0;
}

static status take_orientation(video_file *f, error *err)
{
    const AVStream *stream = f->format->streams[f->stream];
#if LIBAVFORMAT_VERSION_MAJOR < 61
    const int32_t *matrix = (const void *)libav.av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, NULL);
#else
    const AVPacketSideData *side = libav.av_packet_side_data_get(
        stream->codecpar->coded_side_data, stream->codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
    const int32_t *matrix = side ? (const void *)side->data : NULL;
#endif
    f->orientation = matrix ? orientation_of(matrix) : 1;
    return f->orientation ? OK : FAIL(err, E_DATA, "is to be shown turned by an angle that is no quarter of a circle");
}

static status open_all(video_file *f, const char *path, error *err)
{
    libav_hear();
    TRY(open_bytes(f, path, err));
    TRY(check_riff(f, err));
    TRY(open_container(f, err));
    TRY(open_decoder(f, err));
    return take_orientation(f, err);
}

status video_file_open(const char *path, video_file **ret, error *err)
{
    TRY(video_library_open(err));
    video_file *f = xcalloc(1, sizeof *f);
    f->fd = -1;
    status st = open_all(f, path, err);
    if (st == OK)
        *ret = f;
    else
        video_file_close(&f);
    return st;
}

void video_file_close(video_file **f)
{
    video_file *v = *f;
    if (!v)
        return;
    libav.sws_freeContext(v->colours);
    libav.avcodec_free_context(&v->decoder);
    if (v->format)
        libav.avformat_close_input(&v->format);
    if (v->io)
        libav.av_freep(&v->io->buffer);
    libav.avio_context_free(&v->io);
    libav.av_packet_free(&v->packet);
    libav.av_frame_free(&v->frame);
    if (v->fd >= 0)
        close(v->fd);
    buf_fini(&v->planes);
    buf_fini(&v->rows);
    free(v);
    *f = NULL;
}

int32_t video_file_orientation(const video_file *f)
{
    return f->orientation;
}

/* --- frames --- */

/* Gives the decoder the next packet of the video, or tells it that there is none. */
static status feed(video_file *f, error *err)
{
    int code;
    while ((code = libav.av_read_frame(f->format, f->packet)) >= 0) {
        bool is_ours = f->packet->stream_index == f->stream, is_cut = f->packet->flags & AV_PKT_FLAG_CORRUPT;
        if (is_ours)
            code = libav.avcodec_send_packet(f->decoder, f->packet);
        libav.av_packet_unref(f->packet);
        if (is_ours && is_cut && !f->is_sought)
            return FAIL(err, E_DATA, "is cut off or damaged: a packet is not whole");
        if (is_ours)
            return code >= 0 || (f->is_sought && code != AVERROR(ENOMEM)) ? OK : fail(f, "is damaged", code, err);
    }
    if (code != AVERROR_EOF || f->failure)
        return fail(f, "is damaged", code, err);
    f->is_drained = true;
    code = libav.avcodec_send_packet(f->decoder, NULL);
    return code >= 0 || code == AVERROR_EOF ? OK : fail(f, "is damaged", code, err);
}

static status receive(video_file *f, bool *ret_more, error *err)
{
    int code;
    while ((code = libav.avcodec_receive_frame(f->decoder, f->frame)) == AVERROR(EAGAIN)) {
        if (f->is_drained)
            break;
        TRY(feed(f, err));
    }
    *ret_more = code >= 0;
    if (code < 0 && code != AVERROR_EOF && !f->is_sought)
        return fail(f, "is damaged", code, err);
    return OK;
}

/* Where decoding goes on with a guess, it says so in one of these ways. */
static status check_sound(const video_file *f, bool has_frame, error *err)
{
    if (f->is_sought)
        return OK;
    if (libav_heard())
        return FAIL(err, E_DATA, "is damaged: %s", libav_heard());
    if (has_frame && (f->frame->decode_error_flags || f->frame->flags & AV_FRAME_FLAG_CORRUPT))
        return FAIL(err, E_DATA, "is damaged: a frame was decoded in part");
    return OK;
}

static status take_checksum(video_file *f, uint32_t *ret, error *err)
{
    const AVFrame *p = f->frame;
    int bytes = libav.av_image_get_buffer_size(p->format, p->width, p->height, 1);
    if (bytes <= 0 || p->width > PICTURE_SIDE_MOST || p->height > PICTURE_SIDE_MOST ||
        (int64_t)p->width * p->height > PICTURE_PIXELS_MOST)
        return FAIL(err, E_DATA, "has frames of %d x %d pixels; %d are the most in all, and %d of a side", p->width,
                    p->height, PICTURE_PIXELS_MOST, PICTURE_SIDE_MOST);
    buf_reserve(&f->planes, (size_t)bytes);
    unsigned char *to = (unsigned char *)f->planes.data;
    bytes = libav.av_image_copy_to_buffer(to, bytes, (const uint8_t *const *)p->data, p->linesize, p->format, p->width,
                                          p->height, 1);
    if (bytes < 0)
        return fail(f, "a frame cannot be read", bytes, err);
    *ret = crc32c(0, to, (size_t)bytes);
    return OK;
}

status video_file_next(video_file *f, bool *ret_more, video_frame *ret, error *err)
{
    bool more = false;
    uint32_t checksum = 0;
    libav.av_frame_unref(f->frame);
    TRY(receive(f, &more, err));
    TRY(check_sound(f, more, err));
    if (more)
        TRY(take_checksum(f, &checksum, err));
    *ret_more = more;
    if (more)
        *ret = (video_frame){.time = f->frame->best_effort_timestamp,
                             .has_time = f->frame->best_effort_timestamp != AV_NOPTS_VALUE,
                             .checksum = checksum,
                             .width = f->frame->width,
                             .height = f->frame->height};
    return OK;
}

bool video_file_seek(video_file *f, int64_t time)
{
    if (libav.avformat_seek_file(f->format, f->stream, INT64_MIN, time, time, 0) < 0)
        return false;
    libav.avcodec_flush_buffers(f->decoder);
    f->is_sought = true;
    f->is_drained = false;
    return true;
}

/* --- colours --- */

/* By the matrix and the range that the video says; else those of BT.601, and of television. Rounded as is right, and
 * on every processor alike. */
static bool set_colours(video_file *f)
{
    enum { FLAGS = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_BITEXACT | SWS_FULL_CHR_H_INT, ONE = 1 << 16 };
    const AVFrame *p = f->frame;
    f->colours = libav.sws_getCachedContext(f->colours, p->width, p->height, p->format, p->width, p->height,
                                            AV_PIX_FMT_RGB24, FLAGS, NULL, NULL, NULL);
    if (!f->colours)
        return false;
    bool is_known = p->colorspace != AVCOL_SPC_UNSPECIFIED && p->colorspace != AVCOL_SPC_RGB;
    const int *from = libav.sws_getCoefficients(is_known ? (int)p->colorspace : SWS_CS_DEFAULT);
    libav.sws_setColorspaceDetails(f->colours, from, p->color_range == AVCOL_RANGE_JPEG,
                                   libav.sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, ONE, ONE);
    return true; /* of formats that have no such thing it sets nothing */
}

status video_file_picture(video_file *f, picture *ret, error *err)
{
    const AVFrame *p = f->frame;
    picture made = {.width = p->width, .height = p->height, .channels = PICTURE_CHANNELS};
    size_t row = (size_t)p->width * PICTURE_CHANNELS, stride = (row + 2 * ALIGN) / ALIGN * ALIGN;
    if (!set_colours(f))
        return FAIL(err, E_DATA, "its colours are of a kind that libswscale cannot convert");
    buf_reserve(&f->rows, stride * (size_t)p->height + 2 * ALIGN);
    uint8_t *at = (uint8_t *)f->rows.data;
    uint8_t *to[] = {at + -(uintptr_t)at % ALIGN};
    int n = libav.sws_scale(f->colours, (const uint8_t *const *)p->data, p->linesize, 0, p->height, to,
                            (int[]){(int)stride});
    if (n != p->height)
        return FAIL(err, E_DATA, "its colours cannot be converted by libswscale");
    TRY(picture_make_room(&made, err));
    for (int32_t y = 0; y < p->height; y++)
        memcpy(made.pixels + (size_t)y * row, to[0] + (size_t)y * stride, row);
    *ret = made;
    return OK;
}
