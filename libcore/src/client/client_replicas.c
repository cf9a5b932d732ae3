/* SPDX-License-Identifier: MIT */
/* client_replicas.c -- the replicas that a client listens to. */
#include "client.h"

#include "base/alloc.h"

#include <string.h>

/* Replicas use the primary's settings, except host and port. */
static void derive(ilk__replica *replica, const ilk__url *url)
{
    replica->url = *url;
    replica->url.host = NULL;
    replica->url.path = NULL;
    replica->url.listen = NULL;
    if (url->scheme != ILK__SCHEME_TLS)
        replica->url.scheme = ILK__SCHEME_TCP;
}

ilk_status ilk__client_find_replicas(ilk_client *client, ilk_error *err)
{
    const char *text = client->url.listen ? client->url.listen : "";
    ilk__span rest = {text, strlen(text)};
    int more = rest.len > 0;

    if (more && client->url.sentinels)
        return ilk__fail(err, ILK_EINVAL,
                         "listen: a URL with sentinels names no replicas");
    while (more) {
        ilk__span item = ilk__text_cut(&rest, ',', &more);
        ilk__replica *replica = &client->replicas[client->replica_count];
        ilk_status st;

        if (client->replica_count == ILK__SUBSCRIBERS_MAX - 1)
            return ilk__fail(err, ILK_EINVAL,
                             "listen: at most %d servers, got \"%.100s\"",
                             ILK__SUBSCRIBERS_MAX - 1, text);
        derive(replica, &client->url);
        client->replica_count++;
        st = ilk__url_parse_host(&replica->url, item, "listen", err);
        if (st)
            return st;
    }
    return ILK_OK;
}

void ilk__client_listen(ilk_client *client)
{
    for (size_t i = 0; i < client->replica_count; i++) {
        ilk__replica *replica = &client->replicas[i];

        replica->url.tls = client->tls;
        replica->target = client->target;
        replica->target.url = &replica->url;
        replica->target.revive = NULL;
        ilk__keeper_listen(client->keeper, &replica->target);
    }
}

void ilk__client_forget_replicas(ilk_client *client)
{
    while (client->replica_count > 0)
        ilk__free(client->replicas[--client->replica_count].url.host);
}
