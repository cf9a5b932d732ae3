/* SPDX-License-Identifier: MIT */
/* ct_register_alloc.c -- scenes with a register in which the n-th allocation
 * and all after it fail, as in ct_alloc.c. */
#include "scene_case.h"
#include "state_case.h"

#include <string.h>

static ilk_status change_and_see(ilk_error *err)
{
    ilk_register *reg = NULL;
    ilk_status st = ilk_register_open(&reg, client, "n", 1, err);

    assert_true((st == ILK_OK) == (reg != NULL));
    if (st == ILK_OK)
        st = ilk_register_set(reg, "one", 3, err);
    if (st == ILK_OK)
        st = ilk_register_cas(reg, ilk_register_version(reg), "two", 3, err);
    if (st == ILK_OK)
        st = ilk_register_wait(reg, 0, 1000, err);
    if (st == ILK_OK)
        assert_string_equal("two", ilk_register_value(reg, NULL));
    if (st == ILK_OK)
        st = ilk_register_delete(reg, ILK_REGISTER_ANY, err);
    if (st == ILK_OK)
        st = ilk_register_get(reg, err);
    ilk_register_free(reg);
    return st;
}

static ilk_status be_refused(ilk_error *err)
{
    ilk_register *reg = NULL;
    ilk_status st = ilk_register_open(&reg, client, "set", 3, err);

    if (st == ILK_OK)
        st = ilk_register_cas(reg, 5, "x", 1, err);
    if (st == ILK_ESTALE)
        assert_string_equal("value", ilk_register_value(reg, NULL));
    ilk_register_free(reg);
    return st;
}

static ilk_status wait_in_vain(ilk_error *err)
{
    ilk_register *reg = NULL;
    ilk_status st = ilk_register_open(&reg, client, "v", 1, err);

    if (st == ILK_OK)
        st = ilk_register_wait(reg, 0, 40, err);
    ilk_register_free(reg);
    return st;
}

static void set_value(void)
{
    ilk_register *reg = open_register(client, "set");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_register_set(reg, "value", 5, &err));
    ilk_register_free(reg);
}

static const scene scenes[] = {
    {"change and see", NULL, change_and_see, ILK_OK, ILK_OK},
    {"be refused", set_value, be_refused, ILK_ESTALE, ILK_OK},
    {"wait in vain", NULL, wait_in_vain, ILK_ETIMEOUT, ILK_OK},
};

/* With memory back all of it works. */
static void check(const scene *s)
{
    ilk_register *reg = open_register(client, "other");
    ilk_error err = {0};

    (void)s;
    assert_status(ILK_OK, ilk_register_set(reg, "x", 1, &err));
    assert_status(ILK_OK, ilk_register_wait(reg, 0, patience(3000), &err));
    ilk_register_free(reg);
}

int main(void)
{
    static const stage common = {NULL, check, 3};

    return run_scenes(scenes, sizeof scenes / sizeof *scenes, &common);
}
