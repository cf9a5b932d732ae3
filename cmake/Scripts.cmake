# SPDX-License-Identifier: MIT
# The server-side scripts become one C table: scripts.gen.c and scripts.gen.h.
file(GLOB_RECURSE ilk_lua CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/libcore/scripts/*.lua)
set(ILK_SCRIPTS_DIR ${PROJECT_BINARY_DIR}/scripts)
set(ILK_SCRIPTS_C
    ${ILK_SCRIPTS_DIR}/scripts.gen.c ${ILK_SCRIPTS_DIR}/scripts.gen.h)
file(MAKE_DIRECTORY ${ILK_SCRIPTS_DIR})
add_custom_command(
    OUTPUT ${ILK_SCRIPTS_C}
    COMMAND ${Python3_EXECUTABLE}
        ${PROJECT_SOURCE_DIR}/tools/expand_scripts.py --out ${ILK_SCRIPTS_DIR}
    DEPENDS ${PROJECT_SOURCE_DIR}/tools/expand_scripts.py ${ilk_lua}
    COMMENT "Expanding the server-side scripts"
    VERBATIM)
