# SPDX-License-Identifier: MIT
# The C runner of the table for tests/stores, which says at which store: no test of
# ctest, because it starts no server.
add_executable(store_conformance ${ilk_tests}/conformance/ct_conformance.c
    ${PROJECT_SOURCE_DIR}/tests/stores/conformance_url.c)
set_target_properties(store_conformance PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
target_include_directories(store_conformance PRIVATE ${ilk_tests}/conformance)
target_link_libraries(store_conformance PRIVATE ${ilk_support} ilk_test_base)
