/* SPDX-License-Identifier: MIT */
/* fuzz_etcd_names.c -- any bytes as keys and values that others have put into etcd. */
/* sources: libcore/stores/etcd/etcd_keys.c */
#include "fuzz.h"

#include "etcd_store.h"

static const char prefix[] = "orders/";

static int lies_in(ilk__span part, ilk__span whole)
{
    return !part.len
           || (part.at >= whole.at
               && part.at + part.len <= whole.at + whole.len);
}

static void parse_key(ilk__span key, ilk__contended_kind kind)
{
    const ilk__etcd_name name = {.kind = kind,
                                 .prefix = (char *)prefix,
                                 .prefix_len = sizeof prefix - 1};
    ilk__etcd_shape shape;
    char *text;

    if (!ilk__etcd_key_parse(&shape, &name, key))
        return;
    CHECK(lies_in(shape.lease, key) && lies_in(shape.token, key));
    CHECK(shape.lease.len > 0 && shape.lease.len <= 16);
    CHECK(shape.permits > 0);
    for (size_t i = 0; i < shape.lease.len; i++)
        CHECK(strchr("0123456789abcdef", shape.lease.at[i]) != NULL);
    text = malloc(shape.token.len + 1);
    CHECK(text != NULL);
    CHECK(ilk__etcd_token_decode(text, shape.token) <= shape.token.len);
    free(text);
}

static void parse_value(ilk__span bytes)
{
    ilk__etcd_value value;

    ilk__etcd_value_parse(&value, bytes);
    CHECK(value.since_ms >= 0);
    CHECK(lies_in(value.token, bytes) && lies_in(value.who, bytes));
    (void)ilk__etcd_token_equals(value.token, value.who);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ilk__contended_kind kinds[] = {
        ILK__CONTENDED_LOCK, ILK__CONTENDED_ELECTION, ILK__CONTENDED_SEMAPHORE};
    fuzz_input in = {data, size};
    const unsigned kind = fuzz_pick(&in, 4);
    const size_t front = sizeof prefix - 1;
    char *text = fuzz_copy(in.at, in.left), *key = malloc(front + in.left + 1);

    CHECK(key != NULL);
    memcpy(key, prefix, front);
    memcpy(key + front, text, in.left + 1);
    if (kind == 3)
        parse_value((ilk__span){text, in.left});
    else
        parse_key((ilk__span){key, front + in.left}, kinds[kind]);
    if (kind < 3) /* of another name */
        parse_key((ilk__span){text, in.left}, kinds[kind]);
    free(text);
    free(key);
    return 0;
}
