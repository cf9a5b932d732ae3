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
    ilk_add_gateway_test(ct_gateway ${ilk_gateway}/ct_gateway.c)
    ilk_add_gateway_test(ct_gateway_wire ${ilk_gateway}/ct_gateway_wire.c
        ${ilk_gateway}/wire_case.c)
    ilk_add_gateway_test(ct_gateway_alloc ${ilk_gateway}/ct_gateway_alloc.c)
    file(STRINGS ${ilk_tests}/support/gateway_alloc.link ilk_gateway_alloc)
    target_link_options(ct_gateway_alloc PRIVATE ${ilk_gateway_alloc})
    # It loads the object, so it has no part of it.
    ilk_add_test(${ilk_gateway}/ct_gateway_object.c ct 120)
    add_dependencies(ct_gateway_object
        interlock_memory interlock_older chaos_clock)
    target_compile_definitions(ct_gateway_object PRIVATE
        ILK_TEST_OBJECTS="${PROJECT_BINARY_DIR}/tests")
    ilk_add_gateway_test(ct_gateway_conformance
        ${ilk_gateway}/conformance_server.c
        ${ilk_tests}/conformance/ct_conformance.c)
endif()
