# SPDX-License-Identifier: MIT
# The warnings of the project's own code, and the feature macros it needs.
add_library(ilk_warnings INTERFACE)
target_compile_options(ilk_warnings INTERFACE
    -Wall -Wextra -Wshadow -Wconversion -Wundef -Wvla -Wpointer-arith
    -Wwrite-strings -Wformat=2 -Wimplicit-fallthrough
    -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition)
if(ILK_WERROR)
    target_compile_options(ilk_warnings INTERFACE -Werror)
endif()

# -std=c11 hides POSIX; these bring back what the platform has.
add_library(ilk_platform INTERFACE)
if(APPLE)
    target_compile_definitions(ilk_platform INTERFACE _DARWIN_C_SOURCE=)
else()
    target_compile_definitions(ilk_platform INTERFACE _GNU_SOURCE=)
endif()
