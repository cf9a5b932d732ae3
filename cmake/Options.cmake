# SPDX-License-Identifier: MIT
# What else is built: by default, what this machine has the tools for.
find_program(ILK_SWIG swig)
set(ilk_cmocka OFF)
if(PKG_CONFIG_FOUND)
    pkg_check_modules(CMOCKA QUIET IMPORTED_TARGET cmocka)
    if(CMOCKA_FOUND AND PROJECT_IS_TOP_LEVEL)
        set(ilk_cmocka ON)
    endif()
endif()
set(ilk_swig OFF)
if(ILK_SWIG AND PKG_CONFIG_FOUND AND PROJECT_IS_TOP_LEVEL)
    set(ilk_swig ON)
endif()

option(ILK_INSTALL "Install what is built" ${PROJECT_IS_TOP_LEVEL})
option(ILK_ARCHIVE "Install the static library" ON)
option(ILK_CLI "Build the interlock command" ${PROJECT_IS_TOP_LEVEL})
option(ILK_LUA "Build the Lua modules (needs SWIG and a Lua)" ${ilk_swig})
option(ILK_TESTS "Build the C tests (needs cmocka)" ${ilk_cmocka})

if(ILK_TESTS AND NOT CMOCKA_FOUND)
    message(FATAL_ERROR "ILK_TESTS=ON needs cmocka (Debian: libcmocka-dev)")
endif()
if(ILK_LUA AND NOT ILK_SWIG)
    message(FATAL_ERROR "ILK_LUA=ON needs SWIG (Debian: swig)")
endif()
message(STATUS
    "interlock: command ${ILK_CLI}, Lua ${ILK_LUA}, tests ${ILK_TESTS}")
