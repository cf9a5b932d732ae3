/* SPDX-License-Identifier: MIT */
/*
 * reached.pml -- which branches a search takes. Spin lists unreached
 * statements, but none of those within a d_step, so with REACHED the branches
 * that are marked here write a list of their own when the search has ended.
 */

#ifdef REACHED
c_decl {
    static char reached_branch[BRANCHES];

    __attribute__((destructor)) static void list_unreached(void)
    {
        int i;

        for (i = 0; i < BRANCHES; i++)
            if (!reached_branch[i])
                printf("unreached branch %d\n", i);
    }
}
#define REACH(n) c_code { reached_branch[n] = 1; }
#else
#define REACH(n) skip
#endif
