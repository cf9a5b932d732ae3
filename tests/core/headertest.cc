/* SPDX-License-Identifier: MIT */
/* The public headers as pedantic C++11, linked with the shared library. */
#include <interlock.h>
#include <stdio.h>
#include <string.h>

#include "headertest.h"

int main(void)
{
    return headertest_run();
}
