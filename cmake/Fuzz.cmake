# SPDX-License-Identifier: MIT
# Fuzz targets: always run over their corpus as a test; with ILK_FUZZ and
# clang also built as fuzzers, fuzzer_<name>, to be run by hand:
#     build/tests/fuzzer_reply -max_total_time=60 tests/fuzz/corpus_reply
option(ILK_FUZZ "Build the fuzz targets as libFuzzer programs too (clang)" OFF)
set(ilk_fuzz ${PROJECT_SOURCE_DIR}/tests/fuzz)
file(GLOB ilk_fuzz_targets CONFIGURE_DEPENDS ${ilk_fuzz}/fuzz_*.c)

foreach(source ${ilk_fuzz_targets})
    cmake_path(GET source STEM name)
    string(REPLACE fuzz_ "" noun ${name})
    add_executable(${name} ${source} ${ilk_fuzz}/driver.c)
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_link_libraries(${name} PRIVATE ilk_test_base)
    add_test(NAME ${name} COMMAND ${name} ${ilk_fuzz}/corpus_${noun})
    set_tests_properties(${name} PROPERTIES LABELS ut TIMEOUT 60)
    add_dependencies(unit_tests ${name})
    if(ILK_FUZZ)
        add_executable(fuzzer_${noun} ${source})
        set_target_properties(fuzzer_${noun} PROPERTIES
            RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
        target_compile_options(fuzzer_${noun} PRIVATE -fsanitize=fuzzer)
        target_link_options(fuzzer_${noun} PRIVATE -fsanitize=fuzzer)
        target_link_libraries(fuzzer_${noun} PRIVATE ilk_test_base)
    endif()
endforeach()
