/* SPDX-License-Identifier: MIT */
/*
 * mysql_frames.h -- checks what the server sends, before the client library reads it.
 *
 *     login      a greeting, a few frames of the ways to log in, OK or an error
 *     statement  OK or an error; or a number of columns, that many definitions,
 *                EOF, rows, EOF or an error
 *
 * The library trusts its server: it stores definitions and rows without an end, waits
 * for results that are announced behind the last one, reads a definition that is too
 * short at NULL, and does not return while there are bytes to read. So each byte passes
 * through here. The first one that does not fit is the `fault`: the library does not get
 * it, and the connection ends.
 */
#ifndef ILK__MYSQL_FRAMES_H
#define ILK__MYSQL_FRAMES_H

#include "base/error.h"

enum {
    ILK__MYSQL_LOGIN_BYTES = 32 * 1024,
    /* A value has at most 64 KiB; 200 names with their versions have 106. */
    ILK__MYSQL_RESULT_BYTES = 256 * 1024,
    ILK__MYSQL_COLUMNS_MOST = 16,
    ILK__MYSQL_ROWS_MOST = 256
};

typedef enum ilk__mysql_frames_state {
    ILK__MYSQL_GREETING,
    ILK__MYSQL_LOGIN,
    ILK__MYSQL_RESULT, /* its first frame */
    ILK__MYSQL_DEFINITIONS,
    ILK__MYSQL_ROWS,
    ILK__MYSQL_DONE /* nothing is due */
} ilk__mysql_frames_state;

/* Kinds of frames, by the first byte. */
typedef enum ilk__mysql_frame {
    ILK__MYSQL_FRAME_OTHER,
    ILK__MYSQL_FRAME_OK,
    ILK__MYSQL_FRAME_ERROR,
    ILK__MYSQL_FRAME_SWITCH, /* another way to log in */
    ILK__MYSQL_FRAME_COUNT,  /* of columns */
    ILK__MYSQL_FRAME_DEFINITION,
    ILK__MYSQL_FRAME_ROW,
    ILK__MYSQL_FRAME_EOF
} ilk__mysql_frame;

typedef struct ilk__mysql_frames {
    ilk__mysql_frames_state state;
    const char *methods; /* to log in: names with a comma after each */
    int has_type_info;   /* a definition has one text more */
    int has_sent_login;
    size_t total;  /* bytes of the login, or of the result */
    size_t others; /* frames of ways to log in */
    unsigned columns, definitions, rows;
    /* Of the frame that is read. */
    unsigned char head[4];
    size_t head_len;
    ilk__mysql_frame frame;
    size_t length, left;
    unsigned char front[64];
    size_t front_len;
    /* Of its fields, each a length and so many bytes. */
    unsigned fields;
    unsigned length_bytes, length_shift; /* of a length, still to come */
    size_t field_left;
    const char *word; /* of the fault, as a gateway's error begins: "ILKDOWN" */
    char fault[160];  /* what the server sends, or "" */
} ilk__mysql_frames;

/* A connection begins. `methods` outlives it. */
void ilk__mysql_frames_begin(ilk__mysql_frames *self, const char *methods);

/* A statement was sent, and its result is due. */
void ilk__mysql_frames_expect(ilk__mysql_frames *self);

/* The client has sent these bytes, of which the login says what it can read. */
void ilk__mysql_frames_sent(ilk__mysql_frames *self, const unsigned char *bytes,
                            size_t len);

/* How many of the bytes that were received are good: less than `len` after a fault. */
size_t ilk__mysql_frames_received(ilk__mysql_frames *self,
                                  const unsigned char *bytes, size_t len);

#endif
