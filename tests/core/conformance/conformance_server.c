/* SPDX-License-Identifier: MIT */
#include "conformance_server.h"

int conformance_server_start(fixture *fx)
{
    return fixture_start(fx, NULL);
}

int conformance_server_stop(fixture *fx)
{
    return fixture_stop(fx);
}
