# SPDX-License-Identifier: MIT
# Backends of other stores: libinterlock-<scheme>.so, loaded when the first URL of
# its scheme is opened. Each is made by cmake/Backend<Store>.cmake, which looks for
# the store's client library and calls ilk_add_backend() where it finds it. Where not, it
# may say in ILK_<STORE>_MISSING which packages it lacks.
#
#   ILK_BACKENDS=AUTO          those whose client library is found
#   ILK_BACKENDS="etcd;mysql"  these, and an error where one cannot be built
#   ILK_BACKENDS=OFF           none
#
# The build tree has them where the installed library has them: in the directory
# `interlock` beside it.
include(Backend)
set(ilk_backends_default OFF)
if(PROJECT_IS_TOP_LEVEL)
    set(ilk_backends_default AUTO)
endif()
set(ILK_BACKENDS ${ilk_backends_default} CACHE STRING
    "AUTO, OFF, or some of etcd, zookeeper, mysql")
option(ILK_BACKENDS_BUNDLED
    "Backends take their client libraries along, for a wheel" OFF)

set(ilk_known_backends etcd zookeeper mysql)
set(ilk_etcd_packages "libnghttp2-dev libnanopb-dev nanopb")
set(ilk_mysql_packages "libmariadb-dev")

string(REPLACE "," ";" ilk_wanted_backends "${ILK_BACKENDS}")
if(ILK_BACKENDS STREQUAL "AUTO")
    set(ilk_wanted_backends ${ilk_known_backends})
elseif(NOT ILK_BACKENDS)
    set(ilk_wanted_backends "")
endif()
foreach(one ${ilk_wanted_backends})
    if(NOT one IN_LIST ilk_known_backends)
        message(FATAL_ERROR "ILK_BACKENDS must be AUTO, OFF or some of"
            " ${ilk_known_backends}, got '${ILK_BACKENDS}'")
    endif()
endforeach()

# An archive can only be part of a shared object when all of its code permits that. A
# distribution's may not: that of nghttp2 in Debian 12 does not.
function(ilk_archive_is_linkable out archive)
    set(${out} OFF PARENT_SCOPE)
    if(NOT archive)
        return()
    endif()
    set(dir ${PROJECT_BINARY_DIR}/CMakeFiles/try-archive-in-object)
    file(WRITE ${dir}/none.map "{ local: *; };\n")
    execute_process(
        COMMAND ${CMAKE_C_COMPILER} -shared -o object.so
            -Wl,--version-script=none.map -Wl,-z,text -Wl,-z,defs
            -Wl,--whole-archive ${archive} -Wl,--no-whole-archive
            ${CMAKE_THREAD_LIBS_INIT} -lm
        WORKING_DIRECTORY ${dir}
        RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT failed)
        set(${out} ON PARENT_SCOPE)
    endif()
endfunction()

# Where the client libraries go along, that of etcd is linked statically if that is
# possible. MariaDB's is LGPL and loads plug-ins, so it stays a library of its own,
# beside the object. The backend for ZooKeeper has none.
set(ilk_etcd_archive nghttp2)
set(ilk_zookeeper_archive "")
set(ilk_mysql_archive "")

function(ilk_archives_first out scheme)
    set(${out} ${CMAKE_FIND_LIBRARY_SUFFIXES} PARENT_SCOPE)
    if(NOT ILK_BACKENDS_BUNDLED OR NOT ilk_${scheme}_archive
       OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
        return()
    endif()
    set(name ${ilk_${scheme}_archive})
    find_library(ILK_ARCHIVE_${name} NAMES lib${name}.a)
    mark_as_advanced(ILK_ARCHIVE_${name})
    ilk_archive_is_linkable(works "${ILK_ARCHIVE_${name}}")
    if(works)
        set(${out} .a ${CMAKE_FIND_LIBRARY_SUFFIXES} PARENT_SCOPE)
    endif()
endfunction()

set(ilk_built_backends "")
set(ilk_listed_backends "")
foreach(scheme ${ilk_wanted_backends})
    string(SUBSTRING ${scheme} 0 1 initial)
    string(SUBSTRING ${scheme} 1 -1 rest)
    string(TOUPPER ${initial} initial)
    set(file ${CMAKE_CURRENT_LIST_DIR}/Backend${initial}${rest}.cmake)
    set(suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
    ilk_archives_first(CMAKE_FIND_LIBRARY_SUFFIXES ${scheme})
    include(${file} OPTIONAL RESULT_VARIABLE included)
    set(CMAKE_FIND_LIBRARY_SUFFIXES ${suffixes})
    if(TARGET interlock_${scheme})
        list(APPEND ilk_built_backends interlock_${scheme})
        list(APPEND ilk_listed_backends "${scheme} ON")
        set_target_properties(interlock_${scheme} PROPERTIES
            LIBRARY_OUTPUT_DIRECTORY ${ILK_BACKENDS_DIR})
        continue()
    endif()
    set(why "its client library was not found (Debian: ${ilk_${scheme}_packages})")
    string(TOUPPER ${scheme} upper)
    if(NOT included)
        set(why "this source has none")
    elseif(ILK_${upper}_MISSING)
        list(JOIN ILK_${upper}_MISSING " " missing)
        set(why "there is no ${missing} (Debian's names)")
    endif()
    list(APPEND ilk_listed_backends "${scheme} OFF")
    if(NOT ILK_BACKENDS STREQUAL "AUTO")
        message(FATAL_ERROR "ILK_BACKENDS names ${scheme}, and ${why};"
            " -DILK_BACKENDS=AUTO builds those that can be built")
    endif()
    message(STATUS "interlock: no backend for ${scheme}://, ${why}")
endforeach()
list(JOIN ilk_listed_backends ", " listed)
if(NOT listed)
    set(listed "OFF")
endif()
message(STATUS "interlock: backends: ${listed}")
add_custom_target(interlock_backends DEPENDS ${ilk_built_backends})

# --- Each exports its entry alone, and is hardened as the library is.
if(ILK_TESTS AND ILK_READELF AND CMAKE_NM AND NOT ILK_SANITIZE
   AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(files "")
    foreach(target interlock_memory ${ilk_built_backends})
        if(TARGET ${target})
            list(APPEND files $<TARGET_FILE:${target}>)
        endif()
    endforeach()
    if(files)
        add_test(NAME backends
            COMMAND ${PROJECT_SOURCE_DIR}/tools/check_backends.sh ${files})
        set_tests_properties(backends PROPERTIES LABELS ct TIMEOUT 30)
    endif()
    if(files AND TEST hardening)
        add_test(NAME hardening_backends
            COMMAND ${PROJECT_SOURCE_DIR}/tools/check_hardening.sh ${files})
        set_tests_properties(hardening_backends
            PROPERTIES LABELS ct TIMEOUT 30)
    endif()
endif()
