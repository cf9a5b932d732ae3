/* SPDX-License-Identifier: MIT */
/* One leads and publishes its address; observers get each change.
 *
 *   cc election.c -o election $(pkg-config --cflags --libs interlock)
 *   ./election              in a terminal: who leads, and each change
 *   ./election here:80      in another: leads until Enter
 *   ./election there:80     in a third: leads when the first resigns */
#include <interlock.h>
#include <stdio.h>
#include <string.h>

static ilk_status observe(ilk_election *election, ilk_error *err)
{
    ilk_observer *observer = NULL;
    ilk_status st = ilk_election_observe(&observer, election, 0, err);

    while (st == ILK_OK) {
        ilk_leader *leader = NULL;

        st = ilk_observer_next(&leader, observer, -1, err);
        if (st == ILK_OK) {
            printf("%s leads\n", ilk_leader_value(leader, NULL));
            fflush(stdout);
        }
        ilk_leader_free(leader);
    }
    ilk_observer_free(observer);
    return st;
}

static ilk_status lead(ilk_election *election, ilk_error *err)
{
    ilk_status st = ilk_election_campaign(election, -1, err);

    if (st != ILK_OK)
        return st;
    printf("term %lld\n", (long long)ilk_election_term(election));
    fflush(stdout);
    getchar();
    return ilk_election_resign(election, err);
}

int main(int argc, char **argv)
{
    ilk_client *client = NULL;
    ilk_election *election = NULL;
    ilk_election_opts opts;
    ilk_error err;
    ilk_status st = ilk_client_open(&client, NULL, NULL, &err);

    ilk_election_opts_init(&opts, sizeof opts);
    opts.value = argc > 1 ? argv[1] : NULL;
    opts.value_len = argc > 1 ? strlen(argv[1]) : 0;
    if (st == ILK_OK)
        st = ilk_election_open(&election, client, "cron", 4, &opts, &err);
    if (st == ILK_OK)
        st = argc > 1 ? lead(election, &err) : observe(election, &err);
    if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_election_free(election);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
