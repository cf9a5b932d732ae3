# SPDX-License-Identifier: MIT
# Tests of libcore/stores/shared, which no library has but the objects of backends.
set(ilk_backend_tests ${PROJECT_SOURCE_DIR}/tests/backends)
file(GLOB ilk_shared_sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/libcore/stores/shared/*.c)

function(ilk_add_shared_test source label timeout)
    cmake_path(GET source STEM name)
    ilk_add_test(${source} ${label} ${timeout})
    target_sources(${name} PRIVATE ${ilk_shared_sources} ${ARGN})
    target_include_directories(${name} PRIVATE ${ilk_backend_tests})
    add_dependencies(unit_tests ${name})
endfunction()

ilk_add_shared_test(${ilk_backend_tests}/ut_name_queue.c ut 120)
ilk_add_shared_test(${ilk_backend_tests}/ut_registers.c ut 120
    ${ilk_backend_tests}/noted_calls.c)
ilk_add_shared_test(${ilk_backend_tests}/ut_groups.c ut 120
    ${ilk_backend_tests}/noted_calls.c)
ilk_add_shared_test(${ilk_backend_tests}/ut_contention.c ut 300
    ${ilk_backend_tests}/list_store.c)

add_executable(ct_list_conformance ${ilk_shared_sources}
    ${ilk_backend_tests}/list_store.c ${ilk_backend_tests}/list_conformance.c
    ${ilk_tests}/conformance/ct_conformance.c)
set_target_properties(ct_list_conformance PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
target_compile_definitions(ct_list_conformance PRIVATE
    ILK_TEST_TABLES="${PROJECT_SOURCE_DIR}/tests/conformance")
target_include_directories(ct_list_conformance PRIVATE
    ${ilk_backend_tests} ${ilk_tests}/conformance)
target_link_libraries(ct_list_conformance PRIVATE ${ilk_support} ilk_test_base)
add_test(NAME ct_list_conformance
    COMMAND ${ILK_TEST_LAUNCHER} $<TARGET_FILE:ct_list_conformance>)
set_tests_properties(ct_list_conformance PROPERTIES LABELS ct TIMEOUT 300)
