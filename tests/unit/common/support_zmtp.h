/*
 * A peer that speaks ZMTP 3.0 by hand over a plain TCP connection, so that it can say what ours
 * never would: any number of frames, of any size.
 */
#ifndef TEQUIO_TESTS_UNIT_COMMON_SUPPORT_ZMTP_H
#define TEQUIO_TESTS_UNIT_COMMON_SUPPORT_ZMTP_H

#include <stddef.h>
#include <stdint.h>

/* A TCP connection to "tcp://127.0.0.1:port". */
int raw_connect(const char *endpoint);

/* Greeting and READY of a DEALER; `identity` may be NULL. */
void zmtp_greet(int fd, const char *identity);

/* One frame of `bytes` times `fill`; `more` frames of the message follow. */
void zmtp_frame(int fd, size_t bytes, int fill, int more);

/* The start of a frame that claims `bytes`. */
void zmtp_claim(int fd, uint64_t bytes);

/* Waits until the other side has closed the connection. */
void raw_wait_closed(int fd);

/* Writes it all; a peer that closed meanwhile is fine. */
void raw_write(int fd, const void *data, size_t bytes);

#endif
