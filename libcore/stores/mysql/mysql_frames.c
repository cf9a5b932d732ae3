/* SPDX-License-Identifier: MIT */
/* mysql_frames.c -- checks what the server sends, before the client library reads it. */
#include "mysql_frames.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    HEAD =
        4, /* three bytes of the length, and a number that the library checks */
    GREETING_MOST = 1024,
    LOGIN_FRAME_MOST = 4096, /* such as a key of the server */
    LOGIN_FRAMES_MOST = 8,
    ERROR_MOST = 2048,
    ERROR_LEAST = 9, /* with the five characters of an SQLSTATE */
    OK_MOST = 4096,  /* with the variables that a statement has set */
    OK_LEAST = 7,
    OK_FRONT = 23, /* the longest numbers, and the status */
    EOF_LENGTH = 5,
    DEFINITION_TEXTS = 6,
    DEFINITION_NUMBERS = 12, /* bytes of its last field */
    PROTOCOL = 10,
    PROGRESS = 0xffff, /* in place of an error's number */
    MORE_RESULTS = 8,  /* in a status */
    CLIENT_PROTOCOL_41 = 0x200,
    CLIENT_MYSQL = 1, /* its login has no flags of MariaDB */
    FLAGS_AT = HEAD + 28,
    EXTENDED_METADATA = 8
};

void ilk__mysql_frames_begin(ilk__mysql_frames *self, const char *methods)
{
    memset(self, 0, sizeof *self);
    self->methods = methods;
}

void ilk__mysql_frames_expect(ilk__mysql_frames *self)
{
    self->state = ILK__MYSQL_RESULT;
    self->total = 0;
    self->rows = 0;
}

static uint32_t number_at(const unsigned char *at, size_t bytes)
{
    uint32_t number = 0;

    while (bytes--)
        number = number << 8 | at[bytes];
    return number;
}

static void fail(ilk__mysql_frames *self, const char *fault)
{
    self->word = "ILKDOWN";
    snprintf(self->fault, sizeof self->fault, "%s", fault);
}

void ilk__mysql_frames_sent(ilk__mysql_frames *self, const unsigned char *bytes,
                            size_t len)
{
    uint32_t flags;

    if (self->has_sent_login || self->state == ILK__MYSQL_DONE)
        return;
    self->has_sent_login = 1;
    flags = len >= FLAGS_AT + 4 ? number_at(bytes + HEAD, 4) : 0;
    if (!(flags & CLIENT_PROTOCOL_41))
        fail(self, "a greeting of before MySQL 4.1");
    else if (!(flags & CLIENT_MYSQL))
        self->has_type_info =
            (number_at(bytes + FLAGS_AT, 4) & EXTENDED_METADATA) != 0;
}

/* ---- the first bytes of a frame ------------------------------------------ */

static void begin_other(ilk__mysql_frames *self, unsigned char first)
{
    if (self->state == ILK__MYSQL_GREETING
        && (first != PROTOCOL || self->length > GREETING_MOST))
        fail(self, "no greeting of a database");
    else if (self->length > LOGIN_FRAME_MOST
             || ++self->others > LOGIN_FRAMES_MOST)
        fail(self, "too much while it logs in");
    self->frame = ILK__MYSQL_FRAME_OTHER;
}

static void begin_result(ilk__mysql_frames *self, unsigned char first)
{
    self->frame = ILK__MYSQL_FRAME_COUNT;
    self->columns = self->definitions = first;
    if (first == 0xfb)
        fail(self, "a request for a file of the client");
    else if (first > ILK__MYSQL_COLUMNS_MOST)
        fail(self, "a result of more than 16 columns");
    else if (self->length > 2) /* the second byte: definitions follow */
        fail(self, "a number of columns that is none");
}

static void begin_fields(ilk__mysql_frames *self, ilk__mysql_frame frame)
{
    self->frame = frame;
    self->fields = 0;
    self->length_bytes = 0;
    self->field_left = 0;
}

static void begin_definition(ilk__mysql_frames *self)
{
    const int texts = DEFINITION_TEXTS + self->has_type_info;

    begin_fields(self, ILK__MYSQL_FRAME_DEFINITION);
    if (self->length > LOGIN_FRAME_MOST
        || self->length < (size_t)texts + 1 + DEFINITION_NUMBERS)
        fail(self, "a column of the wrong length");
}

static void begin_row(ilk__mysql_frames *self)
{
    begin_fields(self, ILK__MYSQL_FRAME_ROW);
    if (self->length < self->columns)
        fail(self, "a row that is too short");
    else if (++self->rows > ILK__MYSQL_ROWS_MOST)
        fail(self, "a result of more than 256 rows");
}

static void begin_eof(ilk__mysql_frames *self)
{
    self->frame = ILK__MYSQL_FRAME_EOF;
    if (self->length != EOF_LENGTH)
        fail(self, "an end of the wrong length");
}

static void begin_ok(ilk__mysql_frames *self)
{
    self->frame = ILK__MYSQL_FRAME_OK;
    if (self->length < OK_LEAST || self->length > OK_MOST)
        fail(self, "a result of the wrong length");
}

static void begin_switch(ilk__mysql_frames *self)
{
    self->frame = ILK__MYSQL_FRAME_SWITCH;
    if (self->length == 1 || self->length > LOGIN_FRAME_MOST
        || ++self->others > LOGIN_FRAMES_MOST)
        fail(self, "too much while it logs in");
}

static void begin_frame(ilk__mysql_frames *self, unsigned char first)
{
    const int is_login = self->state == ILK__MYSQL_LOGIN,
              is_result = self->state == ILK__MYSQL_RESULT;

    self->front_len = 0;
    if (self->state == ILK__MYSQL_DONE) {
        fail(self, "what it was not asked for");
    } else if (first == 0xff) {
        self->frame = ILK__MYSQL_FRAME_ERROR;
        if (self->length > ERROR_MOST || self->length <= 3)
            fail(self, "an error of the wrong length");
    } else if (first == 0 && (is_login || is_result)) {
        begin_ok(self);
    } else if (self->state == ILK__MYSQL_GREETING) {
        begin_other(self, first);
    } else if (is_login) {
        if (first == 0xfe)
            begin_switch(self);
        else
            begin_other(self, first);
    } else if (is_result) {
        begin_result(self, first);
    } else if (self->state == ILK__MYSQL_DEFINITIONS && self->definitions) {
        begin_definition(self);
    } else if (self->state == ILK__MYSQL_DEFINITIONS || first == 0xfe) {
        if (first != 0xfe)
            fail(self, "more columns than it has announced");
        begin_eof(self);
    } else {
        begin_row(self);
    }
}

/* ---- fields -------------------------------------------------------------- */

static unsigned fields_of(const ilk__mysql_frames *self)
{
    if (self->frame == ILK__MYSQL_FRAME_ROW)
        return self->columns;
    return (unsigned)(DEFINITION_TEXTS + self->has_type_info + 1);
}

/* The least that the fields behind this one take. */
static size_t least_behind(const ilk__mysql_frames *self)
{
    const unsigned behind = fields_of(self) - self->fields;

    return behind
           + (self->frame == ILK__MYSQL_FRAME_DEFINITION && behind
                  ? DEFINITION_NUMBERS
                  : 0);
}

/* The field's length is known: the rest of the frame has room for it, and the last one
 * fills that. */
static void begin_field(ilk__mysql_frames *self, size_t length)
{
    const size_t behind = least_behind(self);

    self->field_left = length;
    if (length > self->left || self->left - length < behind)
        fail(self, "a field that is longer than its frame");
    else if (self->fields == fields_of(self) && length != self->left)
        fail(self, "a frame that is longer than its fields");
    else if (self->frame == ILK__MYSQL_FRAME_DEFINITION && !behind
             && length != DEFINITION_NUMBERS)
        fail(self, "a column of the wrong length");
}

static void take_length(ilk__mysql_frames *self, unsigned char byte)
{
    if (self->length_bytes) {
        self->field_left |= (size_t)byte << self->length_shift;
        self->length_shift += 8;
        if (!--self->length_bytes)
            begin_field(self, self->field_left);
        return;
    }
    self->fields++;
    self->field_left = 0;
    self->length_shift = 0;
    if (byte <= 0xfa || (byte == 0xfb && self->frame == ILK__MYSQL_FRAME_ROW))
        begin_field(self, byte == 0xfb ? 0 : byte); /* 0xfb: NULL */
    else if (byte == 0xfc || byte == 0xfd)
        self->length_bytes = byte == 0xfc ? 2 : 3;
    else
        fail(self, "a field without a length");
    if (self->left < self->length_bytes + least_behind(self))
        fail(self, "a field that is longer than its frame");
}

/* ---- what else a frame says ---------------------------------------------- */

static void check_status(ilk__mysql_frames *self, const unsigned char *at)
{
    if (number_at(at, 2) & MORE_RESULTS)
        fail(self, "a second result");
}

/* The place behind a number; it may lie behind the bytes. */
static size_t after_number(const unsigned char *bytes, size_t at)
{
    switch (bytes[at]) {
    case 0xfc: return at + 3;
    case 0xfd: return at + 4;
    case 0xfe:
    case 0xff: return at + 9;
    default: return at + 1;
    }
}

static void check_ok(ilk__mysql_frames *self)
{
    const size_t id = after_number(self->front, 1),
                 status = id < self->front_len ? after_number(self->front, id)
                                               : self->front_len;

    if (status + 4 > self->front_len)
        fail(self, "a result of the wrong length");
    else
        check_status(self, self->front + status);
}

static void check_error(ilk__mysql_frames *self)
{
    if (number_at(self->front + 1, 2) == PROGRESS)
        fail(self, "a report of progress");
    else if (self->front[3] == '#' && self->length < ERROR_LEAST)
        fail(self, "an error of the wrong length");
}

static int is_among(const char *methods, const char *name, size_t len)
{
    const char *end;

    for (; (end = strchr(methods, ',')) != NULL; methods = end + 1)
        if ((size_t)(end - methods) == len && memcmp(methods, name, len) == 0)
            return 1;
    return 0;
}

/* The way to log in to which the server changes. The library would load a plug-in of
 * any name, and reply to the server with it. */
static void check_switch(ilk__mysql_frames *self, size_t len)
{
    const char *name = (const char *)self->front + 1;
    char shown[40];
    size_t i;

    if (is_among(self->methods, name, len))
        return;
    for (i = 0; i < len && i < sizeof shown - 1; i++)
        shown[i] = name[i] > ' ' && name[i] < 0x7f ? name[i] : '?';
    shown[i] = '\0';
    self->word = "WRONGPASS";
    snprintf(self->fault, sizeof self->fault, "a request to log in by %s%s",
             shown,
             is_among("caching_sha2_password,sha256_password,", name, len)
                 ? ", which needs TLS: mysql+tls://"
                 : "");
}

/* A part at the frame's front is complete with this byte, the last one of it. */
static void check_front(ilk__mysql_frames *self)
{
    const size_t len = self->front_len;
    const int is_last = self->left == 0;
    const unsigned char byte = self->front[len - 1];

    switch (self->frame) {
    case ILK__MYSQL_FRAME_OK:
        if (is_last ? len <= OK_FRONT : len == OK_FRONT)
            check_ok(self);
        break;
    case ILK__MYSQL_FRAME_ERROR:
        if (len == HEAD)
            check_error(self);
        break;
    case ILK__MYSQL_FRAME_EOF:
        if (is_last)
            check_status(self, self->front + 3);
        break;
    case ILK__MYSQL_FRAME_COUNT:
        if (len == 2 && byte != 1)
            fail(self, "a number of columns that is none");
        break;
    case ILK__MYSQL_FRAME_SWITCH:
        if (len > 1 && memchr(self->front + 1, '\0', len - 2))
            break; /* it was checked with the name's end */
        if (len > 1 && (!byte || is_last || len == sizeof self->front))
            check_switch(self, byte ? len - 1 : len - 2);
        break;
    default: break;
    }
}

static void end_frame(ilk__mysql_frames *self)
{
    switch (self->frame) {
    case ILK__MYSQL_FRAME_COUNT: self->state = ILK__MYSQL_DEFINITIONS; break;
    case ILK__MYSQL_FRAME_DEFINITION: self->definitions--; break;
    case ILK__MYSQL_FRAME_OTHER:
    case ILK__MYSQL_FRAME_SWITCH: self->state = ILK__MYSQL_LOGIN; break;
    case ILK__MYSQL_FRAME_OK:
    case ILK__MYSQL_FRAME_ERROR: self->state = ILK__MYSQL_DONE; break;
    case ILK__MYSQL_FRAME_EOF:
        self->state =
            self->state == ILK__MYSQL_ROWS ? ILK__MYSQL_DONE : ILK__MYSQL_ROWS;
        break;
    case ILK__MYSQL_FRAME_ROW: break;
    }
    self->head_len = 0;
}

/* ---- the bytes ----------------------------------------------------------- */

static void take_head(ilk__mysql_frames *self, unsigned char byte)
{
    const size_t most = self->state <= ILK__MYSQL_LOGIN
                            ? ILK__MYSQL_LOGIN_BYTES
                            : ILK__MYSQL_RESULT_BYTES;

    self->head[self->head_len++] = byte;
    if (self->head_len < HEAD)
        return;
    self->length = self->left = number_at(self->head, 3);
    self->total += HEAD + self->length;
    if (self->total > most)
        fail(self, most == ILK__MYSQL_LOGIN_BYTES
                       ? "too much while it logs in"
                       : "a result of more than 256 KiB");
    else if (!self->length)
        fail(self, "an empty frame");
}

static void take_byte(ilk__mysql_frames *self, unsigned char byte)
{
    if (self->left == self->length)
        begin_frame(self, byte);
    if (self->fault[0])
        return;
    self->left--;
    if (self->frame == ILK__MYSQL_FRAME_ROW
        || self->frame == ILK__MYSQL_FRAME_DEFINITION) {
        take_length(self, byte);
    } else if (self->front_len < sizeof self->front) {
        self->front[self->front_len++] = byte;
        check_front(self);
    }
}

/* Bytes of a field, which are the user's. */
static size_t skip_field(ilk__mysql_frames *self, size_t len)
{
    const size_t count = self->field_left < len ? self->field_left : len;

    self->field_left -= count;
    self->left -= count;
    return count;
}

size_t ilk__mysql_frames_received(ilk__mysql_frames *self,
                                  const unsigned char *bytes, size_t len)
{
    size_t done = 0;

    while (done < len && !self->fault[0]) {
        const int is_head = self->head_len < HEAD;

        if (is_head)
            take_head(self, bytes[done]);
        else if (self->left < self->length && self->field_left
                 && !self->length_bytes)
            done += skip_field(self, len - done) - 1;
        else
            take_byte(self, bytes[done]);
        if (self->fault[0])
            break;
        if (!is_head && !self->left)
            end_frame(self);
        done++;
    }
    return done;
}
