/* SPDX-License-Identifier: MIT */
/* ut_md5.c -- MD5 against the vectors of RFC 1321, and added in pieces. */
#include "base/md5.h"

#include "base/hex.h"

#include "test.h"

#include <string.h>

static const struct {
    const char *text, *hash;
} vectors[] = {
    {"", "d41d8cd98f00b204e9800998ecf8427e"},
    {"a", "0cc175b9c0f1b6a831c399e269772661"},
    {"abc", "900150983cd24fb0d6963f7d28e17f72"},
    {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
    {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
    {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
     "d174ab98d277d9f5a5611c2c9f419d9f"},
    {"1234567890123456789012345678901234567890"
     "1234567890123456789012345678901234567890",
     "57edf4a22be3c955ac49da2e2107b67a"},
};

static void put_hash(char out[2 * ILK__MD5_SIZE + 1], const ilk__md5 *md5)
{
    unsigned char hash[ILK__MD5_SIZE];

    ilk__md5_hash(hash, md5);
    for (size_t i = 0; i < sizeof hash; i++)
        out = ilk__hex(out, hash[i]);
    *out = '\0';
}

TEST(the_vectors_are_met)
{
    char text[2 * ILK__MD5_SIZE + 1];
    ilk__md5 md5;

    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        ilk__md5_begin(&md5);
        ilk__md5_add(&md5, vectors[i].text, strlen(vectors[i].text));
        put_hash(text, &md5);
        assert_string_equal(vectors[i].hash, text);
    }
}

/* All lengths around one and two blocks, each cut at every place. The hashes of
 * pieces and of the whole are equal, also when the hash was read in between. */
TEST(pieces_have_the_hash_of_the_whole)
{
    char data[150], whole[2 * ILK__MD5_SIZE + 1], pieces[sizeof whole];
    ilk__md5 md5;

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 7);
    for (size_t len = 0; len < sizeof data; len++) {
        ilk__md5_begin(&md5);
        ilk__md5_add(&md5, data, len);
        put_hash(whole, &md5);
        for (size_t cut = 0; cut <= len; cut++) {
            ilk__md5_begin(&md5);
            ilk__md5_add(&md5, data, cut);
            put_hash(pieces, &md5);
            ilk__md5_add(&md5, data + cut, len - cut);
            put_hash(pieces, &md5);
            assert_string_equal(whole, pieces);
        }
    }
}

/* The length takes part in the hash: 55 bytes leave room for it in the block, 56 do
 * not. The hashes were computed by OpenSSL. */
TEST(padding_has_room_for_the_length)
{
    static const char *const hashes[] = {
        "04364420e25c512fd958a70738aa8f72", "668a72d5ba17f08e62dabcafad6db14b",
        "7dc2ca208106a2f703567bdff99d8981", "c1bb4f81d892b2d57947682aeb252456",
        "ab347a5f68c8a443cfcddc633f12c24f"};
    static const size_t lens[] = {55, 56, 63, 64, 119};
    char data[128], text[2 * ILK__MD5_SIZE + 1];
    ilk__md5 md5;

    memset(data, 'x', sizeof data);
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        ilk__md5_begin(&md5);
        ilk__md5_add(&md5, data, lens[i]);
        put_hash(text, &md5);
        assert_string_equal(hashes[i], text);
    }
}
