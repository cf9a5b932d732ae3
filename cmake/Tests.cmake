# SPDX-License-Identifier: MIT
# C tests: ut_ need no server, ct_ start one. Each file is one program. Those that
# start a server of another store than Redis have the label `store`, and run in the
# tier `stores`, which installs these servers.
#
# They link the static library, which shows the hidden names. A test that
# needs linker options of its own says so in a comment line
#     /* link: -Wl,--wrap=send */
# `@support/NAME` there is a file with one option in a line.
# The folders are those of libcore/src and libcore/stores. Other .c files are shared:
# those in support/ by all tests, the rest by those of their folder.
# ILK_TEST_LAUNCHER goes before each program: "valgrind;-q", "setarch;-R".
set(ILK_TEST_LAUNCHER "" CACHE STRING "Command that runs the test programs")
set(ilk_tests ${PROJECT_SOURCE_DIR}/tests/core)
file(GLOB_RECURSE ilk_ut CONFIGURE_DEPENDS ${ilk_tests}/ut_*.c)
file(GLOB_RECURSE ilk_ct CONFIGURE_DEPENDS ${ilk_tests}/ct_*.c)
file(GLOB_RECURSE ilk_test_support CONFIGURE_DEPENDS ${ilk_tests}/*.c)
list(REMOVE_ITEM ilk_test_support
    ${ilk_ut} ${ilk_ct} ${ilk_tests}/headertest.c)

# The functions whose names end in _start, as C strings, for the test that all
# are in a table.
set(ilk_start_functions "")
foreach(header ${ilk_headers})
    file(STRINGS ${header} lines REGEX "ilk_[a-z_]+_start\\(([^)]|$)")
    foreach(line ${lines})
        string(REGEX MATCH "ilk_[a-z_]+_start" name "${line}")
        string(APPEND ilk_start_functions "\"${name}\",\n")
    endforeach()
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/tests/include/start_functions.inc
    CONTENT "${ilk_start_functions}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ilk_headers})

add_library(ilk_test_base INTERFACE)
target_include_directories(ilk_test_base INTERFACE ${ilk_tests}/support
    ${PROJECT_SOURCE_DIR}/libcore ${PROJECT_SOURCE_DIR}/libcore/src
    ${ILK_SCRIPTS_DIR}
    ${PROJECT_BINARY_DIR}/tests/include)
target_link_libraries(ilk_test_base INTERFACE
    ilk_warnings ilk_platform ilk_hiredis interlock_static PkgConfig::CMOCKA)
set(ilk_support "")
if(ilk_test_support)
    add_library(ilk_test_support STATIC ${ilk_test_support})
    target_link_libraries(ilk_test_support PUBLIC ilk_test_base)
    set(ilk_support ilk_test_support)
endif()

# These begin first: no run ends before the longest of its programs.
set(ilk_longest ct_alloc ct_barrier_parties ct_election_processes
    ct_lock_server ct_lock_signals ct_loop_alloc ct_semaphore_alloc
    ct_semaphore_processes ct_signal ct_signal_alloc ct_signal_lost
    ct_signal_many ct_syscalls ct_syscalls_primitives
    ct_embedded_syscalls)

# The words of a source's comment line /* <what>: word... */
function(ilk_comment_words out source what)
    file(STRINGS ${source} line REGEX "^/\\* ${what}: .* \\*/$" LIMIT_COUNT 1)
    string(REGEX REPLACE "^/\\* ${what}: (.*) \\*/$" "\\1" words "${line}")
    separate_arguments(words UNIX_COMMAND "${words}")
    set(${out} ${words} PARENT_SCOPE)
endfunction()

function(ilk_add_test source label timeout)
    cmake_path(GET source STEM name)
    add_executable(${name} ${source})
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_link_libraries(${name} PRIVATE ${ilk_support} ilk_test_base)
    ilk_comment_words(flags ${source} link)
    list(TRANSFORM flags REPLACE "@support/" "@${ilk_tests}/support/")
    target_link_options(${name} PRIVATE ${flags})
    add_test(NAME ${name}
        COMMAND ${ILK_TEST_LAUNCHER} $<TARGET_FILE:${name}>)
    set_tests_properties(${name} PROPERTIES
        LABELS ${label} TIMEOUT ${timeout} SKIP_RETURN_CODE 77)
    if(name IN_LIST ilk_longest)
        set_tests_properties(${name} PROPERTIES COST 100)
    endif()
endfunction()

add_custom_target(unit_tests) # all with the label ut
foreach(source ${ilk_ut})
    ilk_add_test(${source} ut 120)
    cmake_path(GET source STEM name)
    add_dependencies(unit_tests ${name})
endforeach()
foreach(source ${ilk_ct})
    ilk_add_test(${source} ct 300)
endforeach()

# --- What tests/chaos starts: a process in C, and one's time of day in steps.
add_executable(chaos_worker ${PROJECT_SOURCE_DIR}/tests/chaos/worker.c)
target_link_libraries(chaos_worker
    PRIVATE ilk_warnings ilk_platform interlock Threads::Threads)
set_target_properties(chaos_worker PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_library(chaos_clock MODULE ${PROJECT_SOURCE_DIR}/tests/chaos/clock.c)
target_link_libraries(chaos_clock PRIVATE ilk_warnings)
set_target_properties(chaos_clock PROPERTIES
    C_VISIBILITY_PRESET default # its functions take the place of libc's
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)

# --- The public headers, each alone and all together, as C99 and C++11.
set(ilk_pedantic -pedantic -Wall -Wextra -Werror)
function(ilk_add_headertest language extension flag)
    set(name headertest_${extension})
    add_executable(${name} ${ilk_tests}/headertest.${extension})
    foreach(header ${ilk_headers})
        cmake_path(GET header STEM stem)
        set(alone ${PROJECT_BINARY_DIR}/headertest/${stem}.${extension})
        file(CONFIGURE OUTPUT ${alone}
            CONTENT "#include <interlock/${stem}.h>\ntypedef int ${stem}_ok;\n")
        target_sources(${name} PRIVATE ${alone})
    endforeach()
    set_target_properties(${name} PROPERTIES
        LINKER_LANGUAGE ${language}
        C_STANDARD 99 CXX_STANDARD 11 CXX_EXTENSIONS OFF
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_compile_options(${name} PRIVATE ${flag} ${ilk_pedantic})
    target_link_libraries(${name} PRIVATE interlock)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS ut TIMEOUT 30)
    add_dependencies(unit_tests ${name})
endfunction()
ilk_add_headertest(C c -std=c99)
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
    enable_language(CXX)
    ilk_add_headertest(CXX cc -std=c++11)
endif()

# --- What cmake/Hardening.cmake asks for is in the files. glibc names its checks.
find_program(ILK_READELF readelf)
if(ILK_HARDEN AND NOT ILK_SANITIZE AND ILK_READELF AND ILK_HAVE_FORTIFY_3
   AND CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_BUILD_TYPE MATCHES "Rel")
    set(files $<TARGET_FILE:interlock>)
    foreach(target interlock_cli ilk_core_lua5.4)
        if(TARGET ${target})
            list(APPEND files $<TARGET_FILE:${target}>)
        endif()
    endforeach()
    add_test(NAME hardening
        COMMAND ${PROJECT_SOURCE_DIR}/tools/check_hardening.sh ${files})
    set_tests_properties(hardening PROPERTIES LABELS ut TIMEOUT 30)
endif()
include(StoreTests)
include(Outages)
include(Fuzz)
include(Sim)
include(Gateway)
include(BackendsShared)
