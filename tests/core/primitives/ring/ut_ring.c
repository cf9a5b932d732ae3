/* SPDX-License-Identifier: MIT */
/*
 * ut_ring.c -- a ring against one that is made anew after each change, and the
 * promises of its header. The seed is printed; ILK_TEST_SEED sets it.
 */
#include <interlock/ring.h>

#include "base/alloc.h"
#include "base/md5.h"

#include "dice.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

AROUND_ALL(dice_seed, NULL);

enum { NODES = 12, KEYS = 200, STEPS = 150 };

static ilk_error err;

static ilk_ring *new_ring(int32_t layout, uint32_t flags)
{
    ilk_ring *ring = NULL;
    ilk_ring_opts opts;

    ilk_ring_opts_init(&opts, sizeof opts);
    opts.layout = layout;
    opts.flags = flags;
    assert_int_equal(ILK_OK, ilk_ring_new(&ring, &opts, &err));
    return ring;
}

static void add(ilk_ring *ring, const char *node, int64_t weight)
{
    ilk_status st = ilk_ring_add(ring, node, strlen(node), weight, &err);

    if (st != ILK_OK)
        fail_msg("%s", err.msg);
}

static const char *get(const ilk_ring *ring, const char *key)
{
    return ilk_ring_node(ring, ilk_ring_get(ring, key, strlen(key)), NULL);
}

static void put_key(char out[16], int i)
{
    snprintf(out, 16, "key:%d", i);
}

/* ---- changes ------------------------------------------------------------ */

/* The nodes of a test by their numbers, and whether they are on the ring. */
typedef struct world {
    int64_t weights[NODES]; /* 0: it is not on the ring */
} world;

static void put_node(char out[8], int i)
{
    snprintf(out, 8, "%d", i); /* "1" and "11" have points in common in tooz */
}

/* The ring that has these nodes, made in one step. */
static ilk_ring *made_anew(const world *w, int32_t layout, uint32_t flags)
{
    char names[NODES][8];
    const void *pointers[NODES];
    size_t lens[NODES], count = 0;
    int64_t weights[NODES];
    ilk_ring *ring = new_ring(layout, flags);

    for (int i = NODES; i-- > 0;) {
        if (w->weights[i] == 0)
            continue;
        put_node(names[count], i);
        pointers[count] = names[count];
        lens[count] = strlen(names[count]);
        weights[count++] = w->weights[i];
    }
    assert_int_equal(
        ILK_OK, ilk_ring_add_many(ring, pointers, lens, count, weights, &err));
    return ring;
}

static void assert_same(const ilk_ring *a, const ilk_ring *b)
{
    char key[16];

    assert_int_equal(ilk_ring_count(a), ilk_ring_count(b));
    for (int32_t i = 0; i < (int32_t)ilk_ring_count(a); i++) {
        assert_string_equal(ilk_ring_node(a, i, NULL),
                            ilk_ring_node(b, i, NULL));
        assert_int_equal(ilk_ring_weight(a, i), ilk_ring_weight(b, i));
    }
    for (int i = 0; i < KEYS; i++) {
        put_key(key, i);
        assert_int_equal(ilk_ring_get(a, key, strlen(key)),
                         ilk_ring_get(b, key, strlen(key)));
    }
}

static void change(world *w, ilk_ring *ring)
{
    int i = (int)dice(NODES);
    int64_t weight = (int64_t)dice(5) + 1;
    char node[8];
    ilk_status st;

    put_node(node, i);
    if (w->weights[i] == 0) {
        st = ilk_ring_add(ring, node, strlen(node), weight, &err);
    } else if (dice(2)) {
        st = ilk_ring_remove(ring, node, strlen(node), &err);
        weight = 0;
    } else {
        st = ilk_ring_set_weight(ring, node, strlen(node), weight, &err);
    }
    assert_int_equal(ILK_OK, st);
    w->weights[i] = weight;
}

static void random_changes_agree(int32_t layout, uint32_t flags)
{
    world w = {{0}};
    ilk_ring *ring = new_ring(layout, flags);

    for (int step = 0; step < STEPS; step++) {
        ilk_ring *anew;

        change(&w, ring);
        anew = made_anew(&w, layout, flags);
        assert_same(anew, ring);
        ilk_ring_free(anew);
    }
    ilk_ring_free(ring);
}

TEST(changes_lead_where_a_new_ring_is)
{
    random_changes_agree(ILK_RING_KETAMA, 0);
    random_changes_agree(ILK_RING_KETAMA, ILK_RING_SHARES);
    random_changes_agree(ILK_RING_TOOZ, 0);
}

/* Each key that another node has after the change went to the node that was added,
 * or came from the one that left or became lighter. */
TEST(a_change_moves_only_the_keys_of_its_node)
{
    static const int32_t layouts[] = {ILK_RING_KETAMA, ILK_RING_TOOZ};
    char key[16];
    int moved = 0;

    for (int step = 0; step < STEPS; step++) {
        int32_t layout = layouts[step % 2];
        world w = {{0}}, before;
        ilk_ring *old, *ring;

        for (int i = 0; i < NODES; i++)
            w.weights[i] = dice(4);
        before = w;
        ring = made_anew(&w, layout, 0);
        assert_int_equal(ILK_OK, ilk_ring_copy(&old, ring, &err));
        change(&w, ring);
        for (int i = 0; i < KEYS && ilk_ring_count(old) && ilk_ring_count(ring);
             i++) {
            int from, to;

            put_key(key, i);
            from = atoi(get(old, key));
            to = atoi(get(ring, key));
            if (from == to)
                continue;
            moved++;
            assert_true(w.weights[to] > before.weights[to]
                        || w.weights[from] < before.weights[from]);
        }
        ilk_ring_free(old);
        ilk_ring_free(ring);
    }
    assert_true(moved > 100);
}

TEST(a_copy_is_another_ring)
{
    ilk_ring *ring = new_ring(ILK_RING_KETAMA, 0), *empty = NULL, *copy = NULL;

    assert_int_equal(ILK_OK, ilk_ring_copy(&empty, ring, &err));
    assert_int_equal(ILK_OK, ilk_ring_copy(&copy, empty, &err));
    ilk_ring_free(copy);
    add(ring, "a", 1);
    add(ring, "b", 2);
    assert_int_equal(0, ilk_ring_count(empty));

    assert_int_equal(ILK_OK, ilk_ring_copy(&copy, ring, &err));
    assert_same(ring, copy);
    assert_int_equal(ILK_OK, ilk_ring_remove(ring, "a", 1, &err));
    assert_int_equal(ILK_OK, ilk_ring_remove(ring, "b", 1, &err));

    assert_int_equal(2, ilk_ring_count(copy));
    assert_int_equal(0, ilk_ring_count(ring));
    assert_int_equal(ILK_EINVAL, ilk_ring_get(ring, "k", 1));
    ilk_ring_free(empty);
    ilk_ring_free(copy);
    ilk_ring_free(ring);
}

TEST(several_are_added_all_or_none)
{
    static const void *const names[] = {"b", "c", "b", "", "a"};
    static const size_t lens[] = {1, 1, 1, 0, 1};
    static const int64_t weights[] = {1, 2, 1, 1, 0};
    ilk_ring *ring = new_ring(ILK_RING_KETAMA, 0);

    add(ring, "a", 1);
    assert_int_equal(ILK_EINVAL,
                     ilk_ring_add_many(ring, names, lens, 3, NULL, &err));
    assert_string_equal("the ring has the node 'b' already", err.msg);
    assert_int_equal(ILK_EINVAL, ilk_ring_add_many(ring, names + 2, lens + 2, 2,
                                                   NULL, &err));
    assert_string_equal("a node must have 1 to 512 bytes, got 0", err.msg);
    assert_int_equal(ILK_EINVAL, ilk_ring_add_many(ring, names + 4, lens + 4, 1,
                                                   weights + 4, &err));
    assert_string_equal("weight must be 1 to 1000000, got 0", err.msg);
    assert_int_equal(ILK_EINVAL, ilk_ring_add_many(ring, names + 4, lens + 4, 1,
                                                   NULL, &err));
    assert_string_equal("the ring has the node 'a' already", err.msg);
    assert_int_equal(1, ilk_ring_count(ring));

    assert_int_equal(ILK_OK,
                     ilk_ring_add_many(ring, names, lens, 2, weights, &err));
    assert_int_equal(ILK_OK,
                     ilk_ring_add_many(ring, NULL, NULL, 0, NULL, &err));
    assert_int_equal(3, ilk_ring_count(ring));
    assert_string_equal("c", ilk_ring_node(ring, 2, NULL));
    assert_int_equal(2, ilk_ring_weight(ring, 2));
    ilk_ring_free(ring);
}

TEST(the_points_have_a_limit)
{
    ilk_ring *ring = new_ring(ILK_RING_KETAMA, 0);

    add(ring, "a", 14);
    assert_int_equal(ILK_EINVAL, ilk_ring_add(ring, "b", 1, 26201, &err));
    assert_string_equal("the ring would have 4194400 points, at most 4194304",
                        err.msg);
    assert_int_equal(ILK_EINVAL,
                     ilk_ring_set_weight(ring, "a", 1, 1000000, &err));
    assert_int_equal(14, ilk_ring_weight(ring, 0));
    assert_string_equal("a", get(ring, "key"));
    ilk_ring_free(ring);
}

/* libketama gives 39 hashes to each of 61 servers, by its single precision. */
TEST(shares_are_rounded_where_libketama_rounds)
{
    ilk_ring *shares = new_ring(ILK_RING_KETAMA, ILK_RING_SHARES);
    ilk_ring *fixed = new_ring(ILK_RING_KETAMA, 0);
    char node[16];

    for (int i = 0; i < 61; i++) {
        snprintf(node, sizeof node, "10.0.2.%d:1", i);
        add(shares, node, 1);
        add(fixed, node, 1);
    }
    assert_string_equal("10.0.2.37:1", get(shares, "k16"));
    assert_string_equal("10.0.2.38:1", get(fixed, "k16"));
    assert_string_equal("10.0.2.29:1", get(shares, "k108"));
    assert_string_equal("10.0.2.16:1", get(fixed, "k108"));
    ilk_ring_free(shares);
    ilk_ring_free(fixed);
}

/* ---- the nodes of a key ------------------------------------------------- */

/* One point, or the place of a key, as a number of 16 bytes, the highest first. */
typedef struct place {
    unsigned char bytes[ILK__MD5_SIZE];
    const char *node;
} place;

/* The place of the text written so many times; in ketama the given quarter. */
static place place_of(const char *text, int times, int tooz, int quarter)
{
    place p = {{0}, NULL};
    unsigned char hash[ILK__MD5_SIZE];
    ilk__md5 md5;

    ilk__md5_begin(&md5);
    for (int i = 0; i < times; i++)
        ilk__md5_add(&md5, text, strlen(text));
    ilk__md5_hash(hash, &md5);
    if (tooz)
        memcpy(p.bytes, hash, sizeof hash);
    for (int i = 0; !tooz && i < 4; i++)
        p.bytes[i] = hash[quarter * 4 + 3 - i];
    return p;
}

static size_t put_points(place *out, const char *node, int tooz)
{
    char text[32];
    size_t count = 0;

    for (int i = 0; i < 32 && tooz; i++)
        out[count++] = place_of(node, i + 2, 1, 0);
    for (int i = 0; i < 160 && !tooz; i++) {
        snprintf(text, sizeof text, "%s-%d", node, i / 4);
        out[count++] = place_of(text, 1, 0, i % 4);
    }
    for (size_t i = 0; i < count; i++)
        out[i].node = node;
    return count;
}

/* The node of a key, from all points in no order. */
static const char *owner(const place *points, size_t count, const char *key,
                         int tooz)
{
    place from = place_of(key, 1, tooz, 0);
    const place *best = NULL;
    int best_is_behind = 0;

    for (size_t i = 0; i < count; i++) {
        const place *p = &points[i];
        int order = memcmp(p->bytes, from.bytes, sizeof from.bytes);
        int is_behind = order > 0 || (order == 0 && !tooz);
        int nearer = best ? memcmp(p->bytes, best->bytes, sizeof p->bytes) : -1;

        if (nearer == 0)
            nearer = strcmp(p->node, best->node);
        if (!best || is_behind > best_is_behind
            || (is_behind == best_is_behind && nearer < 0)) {
            best = p;
            best_is_behind = is_behind;
        }
    }
    return best->node;
}

/* Names that are written twice and more have points in common in tooz, and are
 * keys whose hash is a point; so are "<node>-<number>" in ketama. */
TEST(a_key_has_the_node_of_the_first_point_behind_it)
{
    static const char *const nodes[] = {"11", "2", "1", "1111", "22"};
    static place points[5 * 160];
    char key[32];

    for (int tooz = 0; tooz < 2; tooz++) {
        ilk_ring *ring = new_ring(tooz ? ILK_RING_TOOZ : ILK_RING_KETAMA, 0);
        size_t count = 0;

        for (int i = 0; i < 5; i++) {
            add(ring, nodes[i], 1);
            count += put_points(points + count, nodes[i], tooz);
        }
        for (int i = 0; i < 40; i++) {
            snprintf(key, sizeof key, "%s-%d", nodes[i % 5], i);
            assert_string_equal(owner(points, count, key, tooz),
                                get(ring, key));
            snprintf(key, sizeof key, "%.*s", i % 20 + 1,
                     i < 20 ? "11111111111111111111" : "22222222222222222222");
            assert_string_equal(owner(points, count, key, tooz),
                                get(ring, key));
        }
        for (int i = 0; i < 5000; i++) {
            put_key(key, i);
            assert_string_equal(owner(points, count, key, tooz),
                                get(ring, key));
        }
        ilk_ring_free(ring);
    }
}

TEST(several_nodes_are_different_and_in_order)
{
    world w = {{0}};
    int32_t nodes[NODES], less[NODES];
    char key[16], name[16];

    for (int i = 0; i < NODES; i++)
        w.weights[i] = (int64_t)dice(3) + 1;
    for (int i = 0; i < KEYS; i++) {
        ilk_ring *ring = made_anew(&w, (int32_t)dice(2), 0);
        int seen[NODES] = {0};

        put_key(key, i);
        assert_int_equal(
            ILK_OK, ilk_ring_get_n(nodes, NODES, ring, key, strlen(key), &err));
        for (int j = 0; j < NODES; j++)
            assert_int_equal(0, seen[nodes[j]]++);
        assert_int_equal(nodes[0], ilk_ring_get(ring, key, strlen(key)));
        assert_int_equal(ILK_EINVAL, ilk_ring_get_n(nodes, NODES + 1, ring, key,
                                                    strlen(key), &err));
        assert_int_equal(ILK_OK,
                         ilk_ring_get_n(less, 3, ring, key, strlen(key), &err));
        assert_memory_equal(nodes, less, 3 * sizeof *nodes);

        /* Without its node the key has the second one. */
        snprintf(name, sizeof name, "%s", ilk_ring_node(ring, nodes[1], NULL));
        assert_int_equal(ILK_OK, ilk_ring_remove(ring, get(ring, key),
                                                 strlen(get(ring, key)), &err));
        assert_string_equal(name, get(ring, key));
        ilk_ring_free(ring);
    }
}

/* Place keys one after another: no node gets more than its bound, and a node that
 * has room keeps its keys. */
TEST(bounded_loads_are_kept)
{
    static const double factors[] = {1, 1.05, 1.25, 2};
    static const int64_t weights[] = {1, 3, 1, 2};
    char key[16];

    for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
        int64_t loads[4] = {0};
        ilk_ring *ring = new_ring(ILK_RING_KETAMA, 0);

        for (int i = 0; i < 4; i++) {
            char node[2] = {(char)('a' + i), 0};

            add(ring, node, weights[i]);
        }
        for (int i = 0; i < 2000; i++) {
            int32_t node, own;
            double bound;

            put_key(key, i);
            own = ilk_ring_get(ring, key, strlen(key));
            assert_int_equal(ILK_OK,
                             ilk_ring_get_bounded(&node, ring, key, strlen(key),
                                                  loads, 4, factors[f], &err));
            bound = factors[f] * (i + 1) * (double)weights[own] / 7;
            assert_int_equal(node == own, (double)loads[own] < bound);
            loads[node]++;
            bound = factors[f] * (i + 1) * (double)weights[node] / 7;
            assert_true((double)(loads[node] - 1) < bound);
        }
        ilk_ring_free(ring);
    }
}

TEST(loads_beyond_counting_still_find_a_node)
{
    int64_t loads[3] = {INT64_MAX, INT64_MAX, INT64_MAX};
    ilk_ring *ring = new_ring(ILK_RING_KETAMA, 0);
    int32_t node = -1;

    add(ring, "a", 1);
    add(ring, "b", 1);
    add(ring, "c", 1);
    assert_int_equal(
        ILK_OK, ilk_ring_get_bounded(&node, ring, "key", 3, loads, 3, 1, &err));
    assert_int_equal(ilk_ring_get(ring, "key", 3), node);
    ilk_ring_free(ring);
}

/* ---- what is refused ---------------------------------------------------- */

TEST(options_are_checked)
{
    ilk_ring_opts opts;
    ilk_ring *ring = NULL;

    ilk_ring_opts_init(NULL, 0);
    ilk_ring_opts_init(&opts, sizeof opts);
    opts.layout = 2;
    assert_int_equal(ILK_EINVAL, ilk_ring_new(&ring, &opts, &err));
    assert_string_equal("layout must be an ilk_ring_layout, got 2", err.msg);
    opts.layout = ILK_RING_TOOZ;
    opts.flags = ILK_RING_SHARES;
    assert_int_equal(ILK_EINVAL, ilk_ring_new(&ring, &opts, &err));
    opts.flags = 2;
    assert_int_equal(ILK_EINVAL, ilk_ring_new(&ring, &opts, &err));
    assert_string_equal("flags has unknown bits: 0x2", err.msg);
    opts.flags = 0;
    opts.size = 1;
    assert_int_equal(ILK_EINVAL, ilk_ring_new(&ring, &opts, &err));
    assert_null(ring);
    assert_int_equal(ILK_EINVAL, ilk_ring_new(NULL, NULL, &err));
}

TEST(missing_arguments_are_refused)
{
    const char *name = "a";
    const void *const none[] = {NULL};
    size_t one = 1;
    int64_t load = 0;
    int32_t node = 7;
    ilk_ring *ring = new_ring(ILK_RING_KETAMA, 0), *copy = NULL;

    assert_int_equal(ILK_EINVAL, ilk_ring_copy(&copy, NULL, &err));
    assert_int_equal(ILK_EINVAL, ilk_ring_copy(NULL, ring, &err));
    assert_int_equal(ILK_EINVAL, ilk_ring_add(NULL, name, 1, 1, &err));
    assert_int_equal(ILK_EINVAL, ilk_ring_add(ring, NULL, 1, 1, NULL));
    assert_int_equal(ILK_EINVAL,
                     ilk_ring_add_many(ring, NULL, &one, 1, NULL, &err));
    assert_int_equal(ILK_EINVAL,
                     ilk_ring_add_many(ring, none, NULL, 1, NULL, &err));
    assert_int_equal(ILK_EINVAL,
                     ilk_ring_add_many(ring, none, &one, 1, NULL, &err));
    assert_int_equal(ILK_EINVAL, ilk_ring_remove(NULL, name, 1, &err));
    assert_int_equal(ILK_EINVAL, ilk_ring_remove(ring, NULL, 0, &err));
    assert_int_equal(ILK_EINVAL, ilk_ring_set_weight(NULL, name, 1, 1, &err));
    assert_int_equal(0, ilk_ring_count(NULL));
    assert_null(ilk_ring_node(NULL, 0, NULL));
    assert_int_equal(0, ilk_ring_weight(ring, 0));
    add(ring, name, 1);
    assert_null(ilk_ring_node(ring, -1, &one));
    assert_int_equal(0, one);
    assert_null(ilk_ring_node(ring, 1, NULL));
    assert_int_equal(ILK_EINVAL, ilk_ring_get(NULL, name, 1));
    assert_int_equal(ILK_EINVAL, ilk_ring_get(ring, NULL, 1));
    assert_int_equal(0, ilk_ring_get(ring, NULL, 0));
    assert_int_equal(ILK_EINVAL, ilk_ring_get_n(NULL, 1, ring, name, 1, &err));
    assert_int_equal(ILK_EINVAL, ilk_ring_get_n(&node, 1, NULL, name, 1, &err));
    assert_int_equal(ILK_EINVAL, ilk_ring_get_n(&node, 1, ring, NULL, 1, &err));
    assert_int_equal(ILK_EINVAL, ilk_ring_get_bounded(&node, ring, name, 1,
                                                      NULL, 1, 1.25, &err));
    assert_int_equal(ILK_EINVAL, ilk_ring_get_bounded(&node, ring, name, 1,
                                                      &load, 2, 1.25, &err));
    assert_int_equal(7, node);
    ilk_ring_free(ring);
    ilk_ring_free(NULL);
}

TEST(errors_name_the_node)
{
    char name[513];
    ilk_ring *ring = new_ring(ILK_RING_KETAMA, 0);

    memset(name, 'n', sizeof name);
    assert_int_equal(ILK_EINVAL,
                     ilk_ring_add(ring, name, sizeof name, 1, &err));
    assert_string_equal("a node must have 1 to 512 bytes, got 513", err.msg);
    assert_int_equal(ILK_OK, ilk_ring_add(ring, name, 512, 1, &err));
    assert_int_equal(ILK_OK, err.code);
    assert_int_equal(ILK_EINVAL, ilk_ring_remove(ring, "x\ny", 3, &err));
    assert_string_equal("the ring has no node 'x?y'", err.msg);
    assert_int_equal(ILK_EINVAL, ilk_ring_remove(ring, name, 511, &err));
    assert_int_equal(ILK_EINVAL, err.code);
    ilk_ring_free(ring);
}

/* ---- without memory ----------------------------------------------------- */

typedef ilk_status use(ilk_ring *ring);

static ilk_status use_add(ilk_ring *ring)
{
    return ilk_ring_add(ring, "new", 3, 2, &err);
}

static ilk_status use_remove(ilk_ring *ring)
{
    return ilk_ring_remove(ring, "b", 1, &err);
}

static ilk_status use_weight(ilk_ring *ring)
{
    return ilk_ring_set_weight(ring, "b", 1, 5, &err);
}

static ilk_status use_copy(ilk_ring *ring)
{
    ilk_ring *copy = NULL;
    ilk_status st = ilk_ring_copy(&copy, ring, &err);

    assert_int_equal(st == ILK_OK, copy != NULL);
    if (copy)
        assert_same(ring, copy);
    ilk_ring_free(copy);
    return st;
}

static ilk_status use_new(ilk_ring *ring)
{
    ilk_ring *other = ring;
    ilk_status st = ilk_ring_new(&other, NULL, &err);

    assert_int_equal(st == ILK_OK, other != NULL);
    ilk_ring_free(other);
    return st;
}

static ilk_status use_get_n(ilk_ring *ring)
{
    int32_t nodes[2];

    return ilk_ring_get_n(nodes, 2, ring, "key", 3, &err);
}

/* Fail the n-th allocation and all after it, for n = 1, 2, ...: the ring stays as
 * it was until there is memory enough. */
TEST(without_memory_the_ring_stays_as_it_was)
{
    static use *const uses[] = {use_add,  use_remove, use_weight,
                                use_copy, use_new,    use_get_n};

    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        ilk_status st = ILK_ENOMEM;

        for (long n = 1; st != ILK_OK; n++) {
            ilk_ring *ring = new_ring(ILK_RING_KETAMA, 0), *before = NULL;

            add(ring, "a", 1);
            add(ring, "b", 2);
            assert_int_equal(ILK_OK, ilk_ring_copy(&before, ring, &err));
            ilk__alloc_fail_at(n);
            st = uses[i](ring);
            ilk__alloc_fail_at(0);
            if (st != ILK_OK) {
                assert_int_equal(ILK_ENOMEM, st);
                assert_int_equal(ILK_ENOMEM, err.code);
                assert_same(before, ring);
            }
            assert_true(n < 20 && (n > 1 || st != ILK_OK));
            ilk_ring_free(before);
            ilk_ring_free(ring);
        }
    }
}
