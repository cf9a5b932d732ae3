# SPDX-License-Identifier: MIT
# The wheel: the extension module interlock._core and the command, with the core
# compiled straight into both.
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
