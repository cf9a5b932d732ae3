# SPDX-License-Identifier: MIT
# The wheel: the extension module interlock._core and the command, with the core
# compiled straight into both; and the backends of other stores, whose client
# libraries go along, because nobody installs them with a wheel.
#
# cffi's generator emits C that defines Py_LIMITED_API by itself, so one binary
# serves every Python from the version the wheel is tagged with.
find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
set(ilk_core_c ${PROJECT_BINARY_DIR}/_core.c)
set(ilk_gen ${PROJECT_SOURCE_DIR}/bindings/cffi/gen_core.py)
add_custom_command(
    OUTPUT ${ilk_core_c}
    COMMAND ${CMAKE_COMMAND} -E env CC=${CMAKE_C_COMPILER}
        ${Python_EXECUTABLE} ${ilk_gen} ${ilk_core_c}
    DEPENDS ${ilk_gen} ${ilk_headers}
        ${PROJECT_SOURCE_DIR}/bindings/cffi/log_queue.c
        ${PROJECT_SOURCE_DIR}/bindings/cffi/ring_finder.c
        ${PROJECT_SOURCE_DIR}/libcore/include/interlock.h
    COMMENT "Generating _core.c"
    VERBATIM)
Python_add_library(_core MODULE WITH_SOABI ${ilk_core_c} ${ilk_all_objects})
target_include_directories(_core PRIVATE
    ${PROJECT_SOURCE_DIR}/libcore/include)
target_link_libraries(_core PRIVATE
    ilk_platform ilk_hiredis_link ilk_tls Threads::Threads
    ${CMAKE_DL_LIBS})
if(NOT "${SKBUILD_SABI_VERSION}" STREQUAL "")
    set_target_properties(_core PROPERTIES
        SUFFIX ".abi3${CMAKE_SHARED_MODULE_SUFFIX}")
endif()
include(Exports)
ilk_export_only(_core PyInit__core)
install(TARGETS _core LIBRARY DESTINATION interlock COMPONENT python)

# The command, with the core compiled in: pip puts it beside `python`.
file(GLOB ilk_cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.c)
add_executable(interlock_cli ${ilk_cli_sources} ${ilk_all_objects})
set_target_properties(interlock_cli PROPERTIES OUTPUT_NAME interlock)
target_include_directories(interlock_cli PRIVATE
    ${PROJECT_SOURCE_DIR}/libcore/include)
target_link_libraries(interlock_cli PRIVATE
    ilk_warnings ilk_platform ilk_hiredis_link ilk_tls Threads::Threads
    ${CMAKE_DL_LIBS})
if(DEFINED SKBUILD_SCRIPTS_DIR)
    install(TARGETS interlock_cli
        RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
endif()

# --- Backends. The module finds them in `interlock` beside it. The command lies in
# another directory, which differs from one installation to the next, so it has
# copies at a place that is always the same from there.
set(ILK_BACKENDS_BUNDLED ON)
include(Backends)
target_compile_definitions(ilk_objects PRIVATE
    ILK_BACKENDS_BELOW="/../libexec/interlock")
set(ilk_bundles interlock/interlock)
if(DEFINED SKBUILD_DATA_DIR)
    list(APPEND ilk_bundles ${SKBUILD_DATA_DIR}/libexec/interlock)
endif()

# The licences of what goes along, where the distribution has them.
function(ilk_bundle_licence package)
    if(EXISTS /usr/share/doc/${package}/copyright)
        foreach(bundle ${ilk_bundles})
            install(FILES /usr/share/doc/${package}/copyright
                DESTINATION ${bundle}/licences RENAME ${package}
                COMPONENT python)
        endforeach()
    endif()
endfunction()

if(ilk_hiredis_notice)
    install(FILES ${ilk_hiredis_notice} DESTINATION interlock/interlock/licences
        RENAME hiredis COMPONENT python)
endif()

# Client libraries that are not linked statically, each as one file under the name by
# which the linker looks for it, and nothing else.
function(ilk_bundle_libraries backend bundle)
    install(CODE "
        file(GET_RUNTIME_DEPENDENCIES
            MODULES \"$<TARGET_FILE:${backend}>\"
            PRE_INCLUDE_REGEXES nghttp2 mariadb nanopb
            PRE_EXCLUDE_REGEXES .*
            RESOLVED_DEPENDENCIES_VAR libraries)
        cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_PREFIX OUTPUT_VARIABLE prefix)
        cmake_path(APPEND prefix \"${bundle}\")
        foreach(library IN LISTS libraries)
            cmake_path(GET library FILENAME name)
            file(REAL_PATH \"\${library}\" real)
            message(STATUS \"Installing: \${prefix}/\${name}\")
            file(COPY_FILE \"\${real}\" \"\${prefix}/\${name}\")
        endforeach()" COMPONENT python)
endfunction()

foreach(backend ${ilk_built_backends})
    set_target_properties(${backend} PROPERTIES INSTALL_RPATH "$ORIGIN")
    foreach(bundle ${ilk_bundles})
        install(TARGETS ${backend}
            LIBRARY DESTINATION ${bundle} COMPONENT python)
        ilk_bundle_libraries(${backend} ${bundle})
    endforeach()
endforeach()
if(TARGET interlock_etcd)
    ilk_bundle_licence(libnghttp2-dev)
    ilk_bundle_licence(libnanopb-dev)
endif()
if(TARGET interlock_mysql)
    ilk_bundle_licence(libmariadb3)
    # Ways to log in that are plug-ins of the client library, such as
    # caching_sha2_password, with which MySQL 8 begins.
    find_library(ILK_MARIADB_LIBRARY NAMES mariadb)
    file(REAL_PATH "${ILK_MARIADB_LIBRARY}" ilk_mariadb)
    cmake_path(GET ilk_mariadb PARENT_PATH ilk_mariadb)
    set(ilk_mariadb_plugins "")
    foreach(plugin caching_sha2_password sha256_password client_ed25519)
        file(GLOB found ${ilk_mariadb}/libmariadb3/plugin/${plugin}.so
            ${ilk_mariadb}/mariadb/plugin/${plugin}.so)
        list(APPEND ilk_mariadb_plugins ${found})
    endforeach()
    foreach(bundle ${ilk_bundles})
        install(FILES ${ilk_mariadb_plugins}
            DESTINATION ${bundle}/mariadb COMPONENT python)
    endforeach()
endif()
