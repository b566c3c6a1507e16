/*
 * FFmpeg's libraries: the calls that are made of them. They are opened by the names that belong to the headers that
 * were there at build time, for structs differ from one of these to the next.
 * Threads: immutable once open.
 */
#ifndef TEQUIO_DATA_VIDEOS_LIBAV_LIBRARY_H
#define TEQUIO_DATA_VIDEOS_LIBAV_LIBRARY_H

#include "common/base/error.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libswscale/swscale.h>

#if LIBAVFORMAT_VERSION_MAJOR < 61
#define LIBAV_SIDE_DATA_CALL(X) X(av_stream_get_side_data)
#else
#define LIBAV_SIDE_DATA_CALL(X) X(av_packet_side_data_get)
#endif

#define LIBAV_CALLS(X)                                                                                                 \
    X(av_log_set_callback) X(av_strerror) X(av_malloc) X(av_freep) X(av_dict_set) X(av_dict_free) X(av_frame_alloc)    \
    X(av_frame_free) X(av_frame_unref) X(av_image_get_buffer_size) X(av_image_copy_to_buffer) X(avcodec_version)       \
    X(avcodec_find_decoder) X(avcodec_alloc_context3) X(avcodec_parameters_to_context) X(avcodec_open2)                \
    X(avcodec_free_context) X(avcodec_send_packet) X(avcodec_receive_frame) X(avcodec_flush_buffers)                   \
    X(av_packet_alloc) X(av_packet_free) X(av_packet_unref) X(avformat_version) X(avformat_alloc_context)              \
    X(avformat_open_input) X(avformat_find_stream_info) X(av_find_best_stream) X(av_read_frame)                        \
    X(avformat_seek_file) X(avformat_close_input) X(avformat_free_context) X(avio_alloc_context)                       \
    X(avio_context_free) X(swscale_version) X(sws_getCachedContext) X(sws_getCoefficients)                             \
    X(sws_setColorspaceDetails) X(sws_scale) X(sws_freeContext) LIBAV_SIDE_DATA_CALL(X)

typedef struct libav_calls {
#define CALL(name) __typeof__(&name) name;
    LIBAV_CALLS(CALL)
#undef CALL
} libav_calls;

extern libav_calls libav;

/* The first error that the libraries have reported on this thread since libav_hear; NULL: none. */
void libav_hear(void);
const char *libav_heard(void);

#endif
