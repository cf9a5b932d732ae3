# SPDX-License-Identifier: MIT
# libinterlock-zookeeper.so: locks, elections, registers and groups in ZooKeeper. It
# speaks the protocol itself and needs no other library.
file(GLOB ilk_zookeeper_sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/libcore/backends/zookeeper/*.c
    ${PROJECT_SOURCE_DIR}/libcore/backends/shared/*.c)
ilk_add_backend(zookeeper ilk__zk_backend ${ilk_zookeeper_sources})

if(NOT ILK_TESTS)
    return()
endif()
ilk_add_test(
    ${PROJECT_SOURCE_DIR}/tests/backends/zookeeper/ut_zookeeper.c ut 120)
target_sources(ut_zookeeper PRIVATE ${ilk_zookeeper_sources})
target_include_directories(ut_zookeeper PRIVATE ${PROJECT_SOURCE_DIR}/libcore)
add_dependencies(unit_tests ut_zookeeper)

# Its server's frames as a fuzz target, which runs over its corpus.
function(ilk_add_zookeeper_fuzz name)
    ilk_add_fuzz(${name}
        ${PROJECT_SOURCE_DIR}/tests/backends/zookeeper/fuzz_zookeeper_frames.c
        ${ilk_zookeeper_sources} ${ARGN})
    target_include_directories(${name} PRIVATE
        ${PROJECT_SOURCE_DIR}/tests/fuzz ${PROJECT_SOURCE_DIR}/libcore)
endfunction()
ilk_add_zookeeper_fuzz(fuzz_zookeeper_frames
    ${PROJECT_SOURCE_DIR}/tests/fuzz/driver.c)
add_test(NAME fuzz_zookeeper_frames COMMAND ${ILK_TEST_LAUNCHER}
    $<TARGET_FILE:fuzz_zookeeper_frames>
    ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus_zookeeper_frames)
set_tests_properties(fuzz_zookeeper_frames PROPERTIES LABELS ut TIMEOUT 60)
add_dependencies(unit_tests fuzz_zookeeper_frames)
if(ILK_FUZZ)
    ilk_add_zookeeper_fuzz(fuzzer_zookeeper_frames)
    target_link_options(fuzzer_zookeeper_frames PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers fuzzer_zookeeper_frames)
endif()

# The test with a server looks at its nodes with the client of ZooKeeper's authors
# (Debian: libzookeeper-st-dev).
find_path(ILK_ZOOKEEPER_INCLUDE zookeeper/zookeeper.h)
find_library(ILK_ZOOKEEPER_LIBRARY NAMES zookeeper_st)
mark_as_advanced(ILK_ZOOKEEPER_INCLUDE ILK_ZOOKEEPER_LIBRARY)
if(NOT ILK_ZOOKEEPER_INCLUDE OR NOT ILK_ZOOKEEPER_LIBRARY)
    message(STATUS "interlock: no test ct_zookeeper, there is no libzookeeper-st-dev")
    return()
endif()
ilk_add_test(
    ${PROJECT_SOURCE_DIR}/tests/backends/zookeeper/ct_zookeeper.c store 600)
target_sources(ct_zookeeper PRIVATE
    ${PROJECT_SOURCE_DIR}/tests/backends/zookeeper/zookeeper_server.c)
target_include_directories(ct_zookeeper SYSTEM PRIVATE ${ILK_ZOOKEEPER_INCLUDE})
target_link_libraries(ct_zookeeper PRIVATE ${ILK_ZOOKEEPER_LIBRARY})
target_compile_definitions(ct_zookeeper PRIVATE
    ILK_TEST_OBJECTS="$<TARGET_FILE_DIR:interlock_zookeeper>")
add_dependencies(ct_zookeeper interlock_zookeeper)
