# SPDX-License-Identifier: MIT
# The callers in C of tests/outages, which starts the servers: no test of ctest.
add_executable(outage_caller ${PROJECT_SOURCE_DIR}/tests/outages/caller.c
    ${PROJECT_SOURCE_DIR}/tests/outages/caller_rows.c)
set_target_properties(outage_caller PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
target_link_libraries(outage_caller PRIVATE ${ilk_support} ilk_test_base)
