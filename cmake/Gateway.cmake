# SPDX-License-Identifier: MIT
# Tests of the gateway over a store in memory, which the simulation's Lua runs.
set(ilk_gateway ${PROJECT_SOURCE_DIR}/tests/gateway)

function(ilk_add_gateway_test name)
    add_executable(${name} ${ARGN} ${ilk_gateway}/lua_store.c
        ${ilk_gateway}/memory_backend.c ${ilk_gateway}/memory_socket.c)
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_compile_definitions(${name} PRIVATE
        ILK_SIM_STORE="${ilk_sim}/store.lua")
    target_include_directories(${name} PRIVATE ${ilk_gateway}
        ${ilk_tests}/conformance)
    target_link_libraries(${name}
        PRIVATE ${ilk_support} ilk_test_base PkgConfig::ILK_SIM_LUA)
    add_test(NAME ${name}
        COMMAND ${ILK_TEST_LAUNCHER} $<TARGET_FILE:${name}>)
    set_tests_properties(${name} PROPERTIES LABELS ct TIMEOUT 300)
endfunction()

if(ILK_SIM_LUA_FOUND)
    # The store as a shared object, for tests in other languages; and once more as
    # one of another version.
    include(Backend)
    foreach(scheme memory older)
        ilk_add_backend(${scheme} memory_backend
            ${ilk_gateway}/memory_backend.c ${ilk_gateway}/memory_socket.c
            ${ilk_gateway}/lua_store.c)
        target_compile_definitions(interlock_${scheme} PRIVATE
            ILK_SIM_STORE="${ilk_sim}/store.lua")
        target_link_libraries(interlock_${scheme}
            PRIVATE PkgConfig::ILK_SIM_LUA)
        set_target_properties(interlock_${scheme} PROPERTIES
            LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    endforeach()
    set_target_properties(interlock_older PROPERTIES ILK_BACKEND_VERSION 0.0.1)
    # Objects whose client library is not found when they are loaded.
    set(ilk_orphan ${PROJECT_BINARY_DIR}/tests/orphan)
    file(WRITE ${ilk_orphan}/client.c
        "int ilk_client(void); int ilk_client(void) { return 1; }")
    file(WRITE ${ilk_orphan}/object.c
        "int ilk_client(void); int ilk_used(void);"
        "int ilk_used(void) { return ilk_client(); }")
    set(ilk_client_of_etcd nghttp2)
    set(ilk_client_of_mysql mariadb)
    foreach(store etcd mysql)
        add_library(ilk_orphan_client_${store} SHARED ${ilk_orphan}/client.c)
        set_target_properties(ilk_orphan_client_${store} PROPERTIES
            OUTPUT_NAME ${ilk_client_of_${store}} VERSION 999 SOVERSION 999
            C_VISIBILITY_PRESET default
            LIBRARY_OUTPUT_DIRECTORY ${ilk_orphan}/client)
        add_library(ilk_orphan_${store} MODULE ${ilk_orphan}/object.c)
        target_link_libraries(ilk_orphan_${store}
            PRIVATE ilk_orphan_client_${store})
        set_target_properties(ilk_orphan_${store} PROPERTIES
            PREFIX lib OUTPUT_NAME interlock-${store} SUFFIX .so
            SKIP_BUILD_RPATH ON C_VISIBILITY_PRESET default
            LIBRARY_OUTPUT_DIRECTORY ${ilk_orphan})
    endforeach()
    ilk_add_gateway_test(ct_gateway ${ilk_gateway}/ct_gateway.c)
    ilk_add_gateway_test(ct_gateway_wire ${ilk_gateway}/ct_gateway_wire.c
        ${ilk_gateway}/wire_case.c)
    ilk_add_gateway_test(ct_gateway_alloc ${ilk_gateway}/ct_gateway_alloc.c)
    file(STRINGS ${ilk_tests}/support/gateway_alloc.link ilk_gateway_alloc)
    target_link_options(ct_gateway_alloc PRIVATE ${ilk_gateway_alloc})
    # It loads the object, so it has no part of it.
    ilk_add_test(${ilk_gateway}/ct_gateway_object.c ct 120)
    add_dependencies(ct_gateway_object
        interlock_memory interlock_older ilk_orphan_etcd ilk_orphan_mysql
        chaos_clock)
    target_compile_definitions(ct_gateway_object PRIVATE
        ILK_TEST_OBJECTS="${PROJECT_BINARY_DIR}/tests")
    ilk_add_gateway_test(ct_gateway_conformance
        ${ilk_gateway}/conformance_server.c
        ${ilk_tests}/conformance/ct_conformance.c)
endif()
