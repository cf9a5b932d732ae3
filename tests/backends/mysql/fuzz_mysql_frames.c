/* SPDX-License-Identifier: MIT */
/*
 * fuzz_mysql_frames.c -- any bytes as what a database server sends: a login, then the
 * result of a statement.
 *
 * The client library reads what passes, and trusts it. So each frame that passes is
 * taken apart once more here, as the library does, but with each length compared.
 */
/* sources: libcore/stores/mysql/mysql_frames.c */
#include "fuzz.h"

#include "stores/mysql/mysql_frames.h"

enum { HEAD = 4, FLAGS = 36, LOGIN = 40, TEXTS = 6, NUMBERS = 12 };

static const char methods[] = "mysql_native_password,client_ed25519,";

typedef struct outcome {
    size_t good;
    ilk__mysql_frames frames;
} outcome;

static size_t frame_length(const uint8_t *at)
{
    return at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16;
}

/* ---- a frame with fields ------------------------------------------------------- */

static size_t field(const uint8_t *at, size_t len, size_t *length, int *is_null)
{
    size_t bytes = *at == 0xfc ? 2 : *at == 0xfd ? 3 : 0;

    CHECK(len > bytes);
    CHECK(*at < 0xfe);
    *is_null = *at == 0xfb;
    *length = *at <= 0xfa ? *at : 0;
    for (size_t i = 0; i < bytes; i++)
        *length |= (size_t)at[1 + i] << (8 * i);
    CHECK(*length <= len - 1 - bytes);
    return 1 + bytes;
}

static void check_fields(const uint8_t *at, size_t len, unsigned count,
                         int is_definition)
{
    for (unsigned i = 0; i < count; i++) {
        size_t length, head;
        int is_null;

        CHECK(len > 0);
        head = field(at, len, &length, &is_null);
        CHECK(!is_definition || !is_null);
        CHECK(!is_definition || i + 1 < count || length == NUMBERS);
        at += head + length;
        len -= head + length;
    }
    CHECK(len == 0);
}

/* ---- a result that has passed -------------------------------------------------- */

typedef struct passed {
    unsigned columns, definitions, rows, ends;
    int texts;
} passed;

static void check_frame(passed *self, const uint8_t *at, size_t len)
{
    CHECK(len > 0);
    if (*at == 0xff) {
        CHECK(len > 3 && !(at[1] == 0xff && at[2] == 0xff));
        return;
    }
    if (!self->columns) {
        self->columns = *at;
        self->definitions = *at;
        CHECK(*at <= ILK__MYSQL_COLUMNS_MOST);
    } else if (self->definitions) {
        check_fields(at, len, (unsigned)self->texts + 1, 1);
        self->definitions--;
    } else if (*at == 0xfe) {
        CHECK(len == 5 && !(at[3] & 8));
        self->ends++;
    } else {
        CHECK(self->ends == 1);
        check_fields(at, len, self->columns, 0);
        CHECK(++self->rows <= ILK__MYSQL_ROWS_MOST);
    }
}

static void check_result(const uint8_t *at, size_t len, int texts)
{
    passed self = {.texts = texts};

    CHECK(len <= ILK__MYSQL_RESULT_BYTES);
    while (len >= HEAD && frame_length(at) <= len - HEAD) {
        const size_t frame = frame_length(at);

        check_frame(&self, at + HEAD, frame);
        at += HEAD + frame;
        len -= HEAD + frame;
    }
}

/* ---- the bytes, in pieces ------------------------------------------------------ */

static outcome receive(const uint8_t *at, size_t len, int is_login, int texts,
                       size_t piece)
{
    outcome self = {0};
    uint8_t login[LOGIN] = {0};

    ilk__mysql_frames_begin(&self.frames, methods);
    login[5] = 2; /* the protocol of 4.1 */
    login[FLAGS - 4] = texts == TEXTS ? 0 : 8;
    ilk__mysql_frames_sent(&self.frames, login, sizeof login);
    if (!is_login)
        ilk__mysql_frames_expect(&self.frames);
    while (self.good < len && !self.frames.fault[0]) {
        const size_t left = len - self.good, next = piece < left ? piece : left;

        self.good +=
            ilk__mysql_frames_received(&self.frames, at + self.good, next);
    }
    CHECK(self.good == len || self.frames.fault[0]);
    CHECK(!self.frames.fault[0] || self.frames.word);
    return self;
}

static void check_login(const outcome *self)
{
    CHECK(self->good <= ILK__MYSQL_LOGIN_BYTES);
    CHECK(self->frames.state != ILK__MYSQL_DONE || !self->frames.fault[0]
          || self->good > HEAD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    const int is_login = fuzz_pick(&in, 2) == 1,
              texts = TEXTS + (int)fuzz_pick(&in, 2);
    const size_t piece = fuzz_byte(&in);
    outcome whole, parts;

    whole = receive(in.at, in.left, is_login, texts, in.left ? in.left : 1);
    parts = receive(in.at, in.left, is_login, texts, piece ? piece : 1);
    CHECK(whole.good == parts.good);
    CHECK(strcmp(whole.frames.fault, parts.frames.fault) == 0);
    for (const char *at = whole.frames.fault; *at; at++)
        CHECK(*at >= ' ' && *at < 0x7f);
    if (is_login)
        check_login(&whole);
    else if (in.left > HEAD && in.at[HEAD] != 0)
        check_result(in.at, whole.good, texts);
    return 0;
}
