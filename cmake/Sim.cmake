# SPDX-License-Identifier: MIT
# ut_sim: the library's machines and the real scripts in one deterministic
# program. It needs a Lua 5.1, the language of the server's scripts, to link.
pkg_search_module(ILK_SIM_LUA IMPORTED_TARGET GLOBAL lua5.1 lua-5.1 lua51)
set(ilk_sim ${PROJECT_SOURCE_DIR}/tests/sim)
file(GLOB ilk_sim_sources CONFIGURE_DEPENDS ${ilk_sim}/*.c)

if(ILK_SIM_LUA_FOUND)
    add_executable(ut_sim ${ilk_sim_sources})
    set_target_properties(ut_sim PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_compile_definitions(ut_sim PRIVATE
        ILK_SIM_STORE="${ilk_sim}/store.lua")
    target_link_libraries(ut_sim PRIVATE ilk_test_base PkgConfig::ILK_SIM_LUA)
    foreach(name now_ms deadline jitter token async_conn_send async_conn_break
            lease_deadline waiter_began)
        target_link_options(ut_sim PRIVATE -Wl,--wrap=ilk__${name})
    endforeach()
    add_test(NAME ut_sim COMMAND ${ILK_TEST_LAUNCHER} $<TARGET_FILE:ut_sim>)
    set_tests_properties(ut_sim PROPERTIES LABELS ut TIMEOUT 300 COST 100)
    add_dependencies(unit_tests ut_sim)
else()
    message(STATUS "No Lua 5.1 to link with: the simulation is not built")
endif()
