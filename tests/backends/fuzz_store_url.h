/* SPDX-License-Identifier: MIT */
/*
 * fuzz_store_url.h -- any text as a URL of a store's schemes: it opens a client, which
 * connects to nobody yet, or says why not, without the password.
 */
#ifndef ILK__FUZZ_STORE_URL_H
#define ILK__FUZZ_STORE_URL_H

#include "fuzz.h"

#include "gateway/backend.h"
#include "net/url.h"

enum { TEXT_MOST = 2000 };

static const char secret[] = "s3cret-w0rd";

static void open_url(const ilk__url *url, const ilk__backend *backend)
{
    void *self = NULL;
    ilk_error err;

    ilk__error_clear(&err);
    if (backend->open(&self, NULL, url, &err) == ILK_OK) {
        CHECK(self != NULL);
        backend->close(self);
        return;
    }
    CHECK(self == NULL && err.msg[0]);
    CHECK(strstr(err.msg, secret) == NULL);
}

/* The first byte chooses one of the schemes. */
static int fuzz_store_url(const ilk__backend *backend,
                          const char *const *schemes, unsigned count,
                          const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    const unsigned kind = fuzz_pick(&in, count);
    char text[TEXT_MOST + 64];
    const size_t len = in.left < TEXT_MOST ? in.left : TEXT_MOST;
    ilk_error err;
    ilk__url url;
    int front;

    for (const ilk__backend *one = backend; one; one = one->also)
        CHECK(ilk__url_add_backend(one->scheme, one) == ILK_OK);
    front = snprintf(text, sizeof text, "%s://user:%s@", schemes[kind], secret);
    if (len)
        memcpy(text + front, in.at, len);
    text[(size_t)front + len] = '\0';
    if (strstr(text + front, secret))
        return 0; /* an option of that name may be repeated */
    memset(&url, 0, sizeof url);
    if (ilk__url_parse(&url, text, &err) == ILK_OK) {
        open_url(&url, url.backend);
        ilk__url_free(&url);
    }
    return 0;
}

#endif
