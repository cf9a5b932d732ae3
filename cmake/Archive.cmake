# SPDX-License-Identifier: MIT
# The static library that is installed: one object whose hidden names are gone.
#
# interlock_static shows the hidden names, which tests want and users do not:
# hiredis' functions in it would meet those of a program's own hiredis.
set(ilk_archive "")
if(CMAKE_OBJCOPY AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(ilk_archive ${PROJECT_BINARY_DIR}/lib/archive/libinterlock.a)
    set(ilk_one_object ${PROJECT_BINARY_DIR}/lib/archive/interlock.o)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lib/archive)
    add_custom_command(
        OUTPUT ${ilk_archive}
        COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${ilk_one_object}
            ${ilk_all_objects}
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${ilk_one_object}
        COMMAND ${CMAKE_COMMAND} -E rm -f ${ilk_archive}
        COMMAND ${CMAKE_AR} rcs ${ilk_archive} ${ilk_one_object}
        DEPENDS interlock_static # Make knows no objects of other targets
        COMMENT "Making the static library to install"
        COMMAND_EXPAND_LISTS VERBATIM)
    add_custom_target(interlock_archive ALL DEPENDS ${ilk_archive})
endif()
