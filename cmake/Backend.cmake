# SPDX-License-Identifier: MIT
# ilk_add_backend(SCHEME VARIABLE SOURCE...): libinterlock-SCHEME.so, whose
# ilk__backend is VARIABLE. It shows one name. Of the core it has copies of what it
# uses, but for what libcore/stores/object.c passes to the core that loads it.
include(Exports)
set(ILK_BACKENDS_DIR ${PROJECT_BINARY_DIR}/lib/interlock)

function(ilk_add_backend scheme variable)
    set(target interlock_${scheme})
    add_library(${target} MODULE ${ARGN}
        ${PROJECT_SOURCE_DIR}/libcore/stores/object.c)
    set_target_properties(${target} PROPERTIES
        PREFIX lib OUTPUT_NAME interlock-${scheme} SUFFIX .so)
    target_compile_definitions(${target} PRIVATE ILK_BACKEND=${variable})
    target_compile_definitions(${target} PRIVATE
        ILK_BACKEND_VERSION="$<TARGET_PROPERTY:${target},ILK_BACKEND_VERSION>")
    set_target_properties(${target} PROPERTIES
        ILK_BACKEND_VERSION ${PROJECT_VERSION})
    target_include_directories(${target} PRIVATE
        ${PROJECT_SOURCE_DIR}/libcore ${PROJECT_SOURCE_DIR}/libcore/src
        ${ILK_SCRIPTS_DIR})
    target_link_libraries(${target} PRIVATE
        ilk_warnings ilk_platform ilk_hiredis interlock_static)
    ilk_export_only(${target} interlock_backend)
    if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT ILK_SANITIZE)
        # What is missing is a fault of the build, not of the first URL.
        target_link_options(${target} PRIVATE -Wl,-z,defs)
    endif()
endfunction()

# ilk_link_backends(DIRECTORY): what lies in this directory of the build tree and
# contains the core finds the backends.
function(ilk_link_backends directory)
    file(MAKE_DIRECTORY ${directory} ${ILK_BACKENDS_DIR})
    if(NOT EXISTS ${directory}/interlock)
        file(RELATIVE_PATH target ${directory} ${ILK_BACKENDS_DIR})
        file(CREATE_LINK ${target} ${directory}/interlock SYMBOLIC)
    endif()
endfunction()
