# SPDX-License-Identifier: MIT
# libinterlock-zookeeper.so: locks, elections, registers and groups in ZooKeeper. It
# speaks the protocol itself and needs no other library.
file(GLOB ilk_zookeeper_sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/libcore/stores/zookeeper/*.c
    ${PROJECT_SOURCE_DIR}/libcore/stores/shared/*.c)
ilk_add_backend(zookeeper ilk__zk_backend ${ilk_zookeeper_sources})

if(NOT ILK_TESTS)
    return()
endif()
ilk_add_test(
    ${PROJECT_SOURCE_DIR}/tests/backends/zookeeper/ut_zookeeper.c ut 120)
target_sources(ut_zookeeper PRIVATE ${ilk_zookeeper_sources})
add_dependencies(unit_tests ut_zookeeper)

# Its server's frames and its URLs as fuzz targets, which run over their corpus.
add_library(ilk_zookeeper_objects STATIC EXCLUDE_FROM_ALL
    ${ilk_zookeeper_sources})
target_link_libraries(ilk_zookeeper_objects PUBLIC ilk_test_base)
foreach(noun zookeeper_frames zookeeper_options)
    ilk_add_store_fuzz(${noun}
        ${PROJECT_SOURCE_DIR}/tests/backends/zookeeper/fuzz_${noun}.c
        ilk_zookeeper_objects)
endforeach()

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
