# SPDX-License-Identifier: MIT
# libinterlock-mysql.so: locks, elections and registers in a table of MariaDB or MySQL. It
# needs libmariadb, whose calls that do not block MySQL's own library lacks.
pkg_check_modules(ILK_MARIADB QUIET IMPORTED_TARGET libmariadb>=3.1)
if(NOT ILK_MARIADB_FOUND)
    message(STATUS "mysql: no libmariadb, so no backend for mysql://")
    return()
endif()
include(Backend)

set(ilk_stores ${PROJECT_SOURCE_DIR}/libcore/stores)
file(GLOB ilk_mysql_sources CONFIGURE_DEPENDS ${ilk_stores}/mysql/*.c)
file(GLOB ilk_shared_sources CONFIGURE_DEPENDS ${ilk_stores}/shared/*.c)
ilk_add_backend(mysql ilk__mysql_backend
    ${ilk_mysql_sources} ${ilk_shared_sources})
target_link_libraries(interlock_mysql PRIVATE PkgConfig::ILK_MARIADB)
# mariadb:// is the same: the object is looked for under the scheme's name.
add_custom_command(TARGET interlock_mysql POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink libinterlock-mysql.so
        $<TARGET_FILE_DIR:interlock_mysql>/libinterlock-mariadb.so)

if(ILK_TESTS AND COMMAND ilk_add_test)
    ilk_add_test(${PROJECT_SOURCE_DIR}/tests/backends/mysql/ct_mysql.c store 600)
    target_sources(ct_mysql PRIVATE
        ${PROJECT_SOURCE_DIR}/tests/backends/mysql/mysql_fixture.c)
    target_link_libraries(ct_mysql PRIVATE PkgConfig::ILK_MARIADB)
    target_compile_definitions(ct_mysql PRIVATE
        ILK_TEST_OBJECTS="$<TARGET_FILE_DIR:interlock_mysql>")
    add_dependencies(ct_mysql interlock_mysql)
    add_library(ilk_mysql_objects STATIC EXCLUDE_FROM_ALL
        ${ilk_mysql_sources} ${ilk_shared_sources})
    target_include_directories(ilk_mysql_objects PRIVATE
        ${PROJECT_SOURCE_DIR}/libcore ${PROJECT_SOURCE_DIR}/libcore/src
        ${ILK_SCRIPTS_DIR})
    target_link_libraries(ilk_mysql_objects
        PUBLIC interlock_static PkgConfig::ILK_MARIADB
        PRIVATE ilk_warnings ilk_platform ilk_hiredis)
    ilk_add_store_fuzz(mysql_options
        ${PROJECT_SOURCE_DIR}/tests/backends/mysql/fuzz_mysql_options.c
        ilk_mysql_objects)
    ilk_add_store_fuzz(mysql_frames
        ${PROJECT_SOURCE_DIR}/tests/backends/mysql/fuzz_mysql_frames.c)
endif()
