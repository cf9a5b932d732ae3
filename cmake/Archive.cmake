# SPDX-License-Identifier: MIT
# The static library that is installed, and that a parent project links as
# interlock::interlock_static: one object whose hidden names are gone.
#
# interlock_static shows the hidden names, which tests want and users do not:
# hiredis' functions in it would meet those of a program's own hiredis.
#
# Options such as -m32 are needed to make that object, and with -flto the files
# may be no objects that objcopy reads. So the two steps are tried at first; where
# they fail, interlock_static serves as it is.
if(PROJECT_IS_TOP_LEVEL AND NOT (ILK_INSTALL AND ILK_ARCHIVE))
    add_library(interlock::interlock_static ALIAS interlock_static)
    return()
endif()
set(ilk_archive "")
separate_arguments(ilk_archive_flags UNIX_COMMAND "${CMAKE_C_FLAGS}")

function(ilk_try_archive out)
    set(dir ${PROJECT_BINARY_DIR}/CMakeFiles/try-archive)
    file(WRITE ${dir}/one.c "int one(void); int one(void) { return 1; }")
    set(${out} OFF PARENT_SCOPE)
    foreach(command
            "${CMAKE_C_COMPILER};${ilk_archive_flags};-fPIC;-c;-o;one.o;one.c"
            "${CMAKE_C_COMPILER};${ilk_archive_flags};${ARGN};-r;-nostdlib;-o;all.o;one.o"
            "${CMAKE_OBJCOPY};--localize-hidden;all.o")
        execute_process(COMMAND ${command} WORKING_DIRECTORY ${dir}
            RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
        if(failed)
            return()
        endif()
    endforeach()
    execute_process(COMMAND ${CMAKE_NM} all.o WORKING_DIRECTORY ${dir}
        OUTPUT_VARIABLE names ERROR_QUIET)
    if(names MATCHES " T one")
        set(${out} ON PARENT_SCOPE)
    endif()
endfunction()

set(ilk_archive_works OFF)
if(CMAKE_OBJCOPY AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    ilk_try_archive(ilk_archive_works)
    if(NOT ilk_archive_works) # GCC's objects for -flto
        list(APPEND ilk_archive_flags -flinker-output=nolto-rel)
        ilk_try_archive(ilk_archive_works)
    endif()
endif()
if(ilk_archive_works)
    set(ilk_archive ${PROJECT_BINARY_DIR}/lib/archive/libinterlock.a)
    set(ilk_one_object ${PROJECT_BINARY_DIR}/lib/archive/interlock.o)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lib/archive)
    add_custom_command(
        OUTPUT ${ilk_archive}
        COMMAND ${CMAKE_C_COMPILER} ${ilk_archive_flags} -r -nostdlib
            -o ${ilk_one_object} ${ilk_all_objects}
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${ilk_one_object}
        COMMAND ${CMAKE_COMMAND} -E rm -f ${ilk_archive}
        COMMAND ${CMAKE_AR} rcs ${ilk_archive} ${ilk_one_object}
        DEPENDS interlock_static # Make knows no objects of other targets
        COMMENT "Making the static library to install"
        COMMAND_EXPAND_LISTS VERBATIM)
    set(ilk_all "")
    if(ILK_INSTALL)
        set(ilk_all ALL)
    endif()
    add_custom_target(interlock_archive ${ilk_all} DEPENDS ${ilk_archive})
    add_library(interlock_archived STATIC IMPORTED GLOBAL)
    add_dependencies(interlock_archived interlock_archive)
    set_target_properties(interlock_archived PROPERTIES
        IMPORTED_LOCATION ${ilk_archive})
    target_include_directories(interlock_archived INTERFACE
        ${PROJECT_SOURCE_DIR}/libcore/include)
    foreach(property LINK_LIBRARIES LINK_OPTIONS)
        get_target_property(value interlock_static INTERFACE_${property})
        if(value)
            set_property(TARGET interlock_archived
                PROPERTY INTERFACE_${property} ${value})
        endif()
    endforeach()
    add_library(interlock::interlock_static ALIAS interlock_archived)
else()
    message(STATUS "interlock: the static library keeps its hidden names")
    add_custom_target(interlock_archive DEPENDS interlock_static)
    add_library(interlock::interlock_static ALIAS interlock_static)
endif()
