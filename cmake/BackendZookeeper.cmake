# SPDX-License-Identifier: MIT
# libinterlock-zookeeper.so: locks, elections, registers and groups in ZooKeeper. It needs
# its client library without threads, libzookeeper_st (Debian: libzookeeper-st-dev), whose
# loop is the caller's.
find_path(ILK_ZOOKEEPER_INCLUDE zookeeper/zookeeper.h)
find_library(ILK_ZOOKEEPER_LIBRARY NAMES zookeeper_st)
mark_as_advanced(ILK_ZOOKEEPER_INCLUDE ILK_ZOOKEEPER_LIBRARY)
if(NOT ILK_ZOOKEEPER_INCLUDE OR NOT ILK_ZOOKEEPER_LIBRARY)
    set(ILK_ZOOKEEPER_MISSING libzookeeper-st-dev)
    return()
endif()

# Older ones look the hosts up in every turn of the loop.
include(CheckSymbolExists)
set(CMAKE_REQUIRED_INCLUDES ${ILK_ZOOKEEPER_INCLUDE})
set(CMAKE_REQUIRED_LIBRARIES ${ILK_ZOOKEEPER_LIBRARY})
check_symbol_exists(zoo_set_servers_resolution_delay zookeeper/zookeeper.h
    ILK_ZOOKEEPER_IS_NEW)
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_LIBRARIES)
if(NOT ILK_ZOOKEEPER_IS_NEW)
    set(ILK_ZOOKEEPER_MISSING "libzookeeper-st-dev 3.8 or later")
    return()
endif()

file(GLOB ilk_zookeeper_sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/libcore/backends/zookeeper/*.c
    ${PROJECT_SOURCE_DIR}/libcore/backends/shared/*.c)
ilk_add_backend(zookeeper ilk__zk_backend ${ilk_zookeeper_sources})
target_include_directories(interlock_zookeeper SYSTEM
    PRIVATE ${ILK_ZOOKEEPER_INCLUDE})
target_link_libraries(interlock_zookeeper PRIVATE ${ILK_ZOOKEEPER_LIBRARY})

if(ILK_TESTS)
    ilk_add_test(
        ${PROJECT_SOURCE_DIR}/tests/backends/zookeeper/ct_zookeeper.c store 600)
    target_sources(ct_zookeeper PRIVATE
        ${PROJECT_SOURCE_DIR}/tests/backends/zookeeper/zookeeper_server.c)
    target_include_directories(ct_zookeeper SYSTEM
        PRIVATE ${ILK_ZOOKEEPER_INCLUDE})
    target_link_libraries(ct_zookeeper PRIVATE ${ILK_ZOOKEEPER_LIBRARY})
    target_compile_definitions(ct_zookeeper PRIVATE
        ILK_TEST_OBJECTS="$<TARGET_FILE_DIR:interlock_zookeeper>")
    add_dependencies(ct_zookeeper interlock_zookeeper)

    ilk_add_test(
        ${PROJECT_SOURCE_DIR}/tests/backends/zookeeper/ut_zookeeper.c ut 120)
    target_sources(ut_zookeeper PRIVATE ${ilk_zookeeper_sources})
    target_include_directories(ut_zookeeper PRIVATE
        ${PROJECT_SOURCE_DIR}/libcore)
    target_include_directories(ut_zookeeper SYSTEM
        PRIVATE ${ILK_ZOOKEEPER_INCLUDE})
    target_link_libraries(ut_zookeeper PRIVATE ${ILK_ZOOKEEPER_LIBRARY})
    add_dependencies(unit_tests ut_zookeeper)
endif()
