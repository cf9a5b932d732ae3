# SPDX-License-Identifier: MIT
# The test of the backend of etcd, which it loads as a shared object.
set(ilk_etcd_tests ${PROJECT_SOURCE_DIR}/tests/backends/etcd)
ilk_add_test(${ilk_etcd_tests}/ct_etcd.c store 300)
target_sources(ct_etcd PRIVATE
    ${ilk_etcd_tests}/etcd_case.c ${ilk_etcd_tests}/etcd_relay.c
    ${ilk_etcd_tests}/etcd_server.c)
target_compile_definitions(ct_etcd PRIVATE
    ILK_TEST_BACKENDS="$<TARGET_FILE_DIR:interlock_etcd>")
add_dependencies(ct_etcd interlock_etcd)

ilk_add_test(${ilk_etcd_tests}/ut_etcd.c ut 120)
target_sources(ut_etcd PRIVATE ${ilk_etcd_backend_sources})
add_dependencies(unit_tests ut_etcd)
