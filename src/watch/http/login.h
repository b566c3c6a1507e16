/* The page that asks for a token: what stands behind '#' in its address, which browsers do not send, or is typed. */
#ifndef TEQUIO_WATCH_HTTP_LOGIN_H
#define TEQUIO_WATCH_HTTP_LOGIN_H

extern const char http_login_page[];

#endif
