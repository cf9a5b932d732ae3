/* SPDX-License-Identifier: MIT */
/* wire_case.c -- a gateway without a client: its bytes. */
#include "wire_case.h"

#include "base/buf.h"
#include "redis/script.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test.h"

void wire_connect(wire *self, int *out_fd)
{
    struct timeval wait = {.tv_sec = 5};

    assert_int_equal(ilk__gateway_connect(self->gateway, out_fd, NULL), ILK_OK);
    assert_int_equal(fcntl(*out_fd, F_SETFL, 0), 0);
    setsockopt(*out_fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
}

void wire_open(wire *self, const char *url)
{
    const ilk__backend *backend;

    assert_int_equal(ilk__url_parse(&self->url, url, NULL), ILK_OK);
    backend = ilk__backend_find(&self->url);
    assert_non_null(backend);
    assert_int_equal(
        ilk__gateway_open(&self->gateway, backend, &self->url, NULL), ILK_OK);
    wire_connect(self, &self->fd);
}

void wire_close(wire *self)
{
    close(self->fd);
    ilk__gateway_free(self->gateway);
    ilk__url_free(&self->url);
}

void wire_put(const wire *self, const char *text)
{
    assert_int_equal(send(self->fd, text, strlen(text), MSG_NOSIGNAL),
                     strlen(text));
}

void wire_receives(const wire *self, const char *text)
{
    char got[256] = "";
    size_t len = 0;

    while (len < strlen(text)) {
        ssize_t n = recv(self->fd, got + len, strlen(text) - len, 0);

        if (n <= 0)
            break;
        len += (size_t)n;
    }
    assert_string_equal(got, text);
}

void wire_is_closed(const wire *self)
{
    char byte;

    assert_true(recv(self->fd, &byte, 1, 0) <= 0);
}

void wire_call(int fd, int script, size_t key_count, const char *const *args)
{
    enum { KEYS = 6 };
    static char keys[KEYS][32] = {"wire",
                                  "ilk:lock:fence:{wire}",
                                  "ilk:lock:wait:{wire}",
                                  "ilk:lock:live:{wire}",
                                  "ilk:lock:readers:{wire}",
                                  "ilk:other:{wire}"};
    ilk__bytes items[KEYS];
    ilk__command command;
    ilk__buf text = {0};

    assert_true(key_count <= KEYS);
    for (size_t i = 0; i < key_count; i++)
        items[i] = (ilk__bytes){keys[i], strlen(keys[i])};
    ilk__command_init(&command);
    ilk__script_begin(&command, script, items, key_count);
    for (; *args; args++)
        ilk__command_add_str(&command, *args);
    assert_int_equal(ilk__command_format(&command, 1, &text, NULL), ILK_OK);
    assert_int_equal(
        send(fd, ilk__buf_data(&text), ilk__buf_len(&text), MSG_NOSIGNAL),
        ilk__buf_len(&text));
    ilk__buf_free(&text);
    ilk__command_free(&command);
}

void wire_answer(int fd)
{
    char answer[512];

    assert_true(recv(fd, answer, sizeof answer, 0) > 0);
}
