# SPDX-License-Identifier: MIT
# hiredis: the system's when it is new enough, else seven files compiled in.
#
#   ILK_HIREDIS=auto     given source, else the system's, else fetched source
#   ILK_HIREDIS=system   the system's or an error
#   ILK_HIREDIS=bundled  given source, else fetched source
#
# ilk_hiredis carries headers for compiling, ilk_hiredis_link what to link.
# Compiled in, its symbols are hidden, so that a host program with a hiredis
# of its own keeps it.
set(ILK_HIREDIS auto CACHE STRING "auto, system or bundled")
set_property(CACHE ILK_HIREDIS PROPERTY STRINGS auto system bundled)
set(ILK_HIREDIS_SOURCE_DIR "" CACHE PATH "A hiredis source tree to compile in")
set(ilk_hiredis_min 1.0.2)

if(NOT ILK_HIREDIS MATCHES "^(auto|system|bundled)$")
    message(FATAL_ERROR
        "ILK_HIREDIS must be auto, system or bundled, got '${ILK_HIREDIS}'")
endif()
add_library(ilk_hiredis INTERFACE)
add_library(ilk_hiredis_link INTERFACE)
set(ILK_HIREDIS_SYSTEM OFF)

# The system's, by pkg-config first: Debian's CMake file defines no target.
function(ilk_find_system_hiredis out)
    set(${out} "" PARENT_SCOPE)
    set(found "")
    if(PKG_CONFIG_FOUND)
        pkg_check_modules(HIREDIS QUIET IMPORTED_TARGET hiredis)
        if(HIREDIS_FOUND AND HIREDIS_VERSION VERSION_GREATER_EQUAL
           ilk_hiredis_min)
            pkg_get_variable(dir hiredis includedir)
            target_include_directories(ilk_hiredis SYSTEM INTERFACE ${dir})
            target_link_libraries(ilk_hiredis INTERFACE PkgConfig::HIREDIS)
            target_link_libraries(ilk_hiredis_link INTERFACE
                PkgConfig::HIREDIS)
            set(${out} ${HIREDIS_VERSION} PARENT_SCOPE)
            return()
        elseif(HIREDIS_FOUND)
            set(found " (pkg-config knows ${HIREDIS_VERSION})")
        endif()
    endif()
    find_package(hiredis ${ilk_hiredis_min} CONFIG QUIET)
    if(TARGET hiredis::hiredis)
        target_link_libraries(ilk_hiredis INTERFACE hiredis::hiredis)
        target_link_libraries(ilk_hiredis_link INTERFACE hiredis::hiredis)
        set(${out} ${hiredis_VERSION} PARENT_SCOPE)
    endif()
    set(ilk_hiredis_too_old "${found}" PARENT_SCOPE)
endfunction()

# A source tree from Debian or PyPI, checked and cached by tools/get-hiredis.
function(ilk_fetch_hiredis out)
    message(STATUS "interlock: fetching a hiredis source (tools/get-hiredis)")
    execute_process(
        COMMAND ${PROJECT_SOURCE_DIR}/tools/get-hiredis
        OUTPUT_VARIABLE dir OUTPUT_STRIP_TRAILING_WHITESPACE
        RESULT_VARIABLE failed)
    if(failed)
        message(FATAL_ERROR "tools/get-hiredis found no hiredis source."
            " Install hiredis >= ${ilk_hiredis_min} (libhiredis-dev), or unpack"
            " one and give -DILK_HIREDIS_SOURCE_DIR=<its directory>")
    endif()
    set(${out} ${dir} PARENT_SCOPE)
endfunction()

function(ilk_source_version out dir)
    if(NOT EXISTS ${dir}/hiredis.h)
        message(FATAL_ERROR "ILK_HIREDIS_SOURCE_DIR: no hiredis.h in '${dir}'")
    endif()
    file(READ ${dir}/hiredis.h text)
    set(version "")
    foreach(part MAJOR MINOR PATCH)
        string(REGEX MATCH "define HIREDIS_${part} ([0-9]+)" _ "${text}")
        string(APPEND version ".${CMAKE_MATCH_1}")
    endforeach()
    string(SUBSTRING "${version}" 1 -1 version)
    set(${out} ${version} PARENT_SCOPE)
endfunction()

function(ilk_compile_hiredis dir)
    # A directory in which <hiredis/hiredis.h> is found.
    set(include ${PROJECT_BINARY_DIR}/hiredis-include)
    file(MAKE_DIRECTORY ${include})
    file(CREATE_LINK ${dir} ${include}/hiredis SYMBOLIC)
    add_library(ilk_hiredis_objects OBJECT
        ${dir}/alloc.c ${dir}/async.c ${dir}/hiredis.c ${dir}/net.c
        ${dir}/read.c ${dir}/sds.c ${dir}/sockcompat.c)
    set_target_properties(ilk_hiredis_objects PROPERTIES C_EXTENSIONS ON)
    # -fwrapv: its reader adds 2 to a length that may be the greatest number.
    # The sum is refused in reply.c, and defined by this option.
    target_compile_options(ilk_hiredis_objects PRIVATE -w -fwrapv)
    target_include_directories(ilk_hiredis SYSTEM INTERFACE ${include})
endfunction()

if(ILK_HIREDIS STREQUAL "system" OR
   (ILK_HIREDIS STREQUAL "auto" AND NOT ILK_HIREDIS_SOURCE_DIR))
    ilk_find_system_hiredis(ilk_hiredis_version)
    if(ilk_hiredis_version)
        set(ILK_HIREDIS_SYSTEM ON)
    elseif(ILK_HIREDIS STREQUAL "system")
        message(FATAL_ERROR "hiredis >= ${ilk_hiredis_min} not found"
            "${ilk_hiredis_too_old}; -DILK_HIREDIS=bundled compiles one in")
    endif()
endif()

if(ILK_HIREDIS_SYSTEM)
    message(STATUS "interlock: hiredis ${ilk_hiredis_version} of the system")
else()
    set(ilk_hiredis_dir ${ILK_HIREDIS_SOURCE_DIR})
    if(NOT ilk_hiredis_dir)
        ilk_fetch_hiredis(ilk_hiredis_dir)
    endif()
    ilk_source_version(ilk_hiredis_version ${ilk_hiredis_dir})
    if(ilk_hiredis_version VERSION_LESS ilk_hiredis_min)
        message(FATAL_ERROR "hiredis ${ilk_hiredis_version} in"
            " '${ilk_hiredis_dir}' is older than ${ilk_hiredis_min};"
            " -DILK_HIREDIS=bundled without a source directory fetches one")
    endif()
    ilk_compile_hiredis(${ilk_hiredis_dir})
    # Its licence asks for the notice wherever the compiled code goes.
    set(ilk_hiredis_notice ${ilk_hiredis_dir}/COPYING)
    if(NOT EXISTS ${ilk_hiredis_notice})
        message(WARNING "interlock: no COPYING in '${ilk_hiredis_dir}', so what"
            " is installed lacks the notice of hiredis")
        set(ilk_hiredis_notice "")
    endif()
    message(STATUS
        "interlock: hiredis ${ilk_hiredis_version} compiled in")
endif()
