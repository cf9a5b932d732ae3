# SPDX-License-Identifier: MIT
# Fuzz targets: each runs over its corpus as a test; with ILK_FUZZ and clang it
# is also a libFuzzer program, fuzzer_<name>, which tests/fuzz/run.sh runs.
#
# A target that needs other files or linker options says so in comment lines
#     /* sources: cli/duration.c cli/text.c */
#     /* link: -Wl,--wrap=poll */
set(ilk_fuzz ${PROJECT_SOURCE_DIR}/tests/fuzz)
file(GLOB ilk_fuzz_targets CONFIGURE_DEPENDS ${ilk_fuzz}/fuzz_*.c)
add_custom_target(fuzzers)

function(ilk_add_fuzz name source)
    ilk_comment_words(sources ${source} sources)
    ilk_comment_words(flags ${source} link)
    list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/)
    add_executable(${name} ${source} ${sources} ${ARGN})
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_link_libraries(${name} PRIVATE ilk_test_base)
    target_link_options(${name} PRIVATE ${flags})
endfunction()

foreach(source ${ilk_fuzz_targets})
    cmake_path(GET source STEM name)
    string(REPLACE fuzz_ "" noun ${name})
    ilk_add_fuzz(${name} ${source} ${ilk_fuzz}/driver.c)
    add_test(NAME ${name} COMMAND ${ILK_TEST_LAUNCHER}
        $<TARGET_FILE:${name}> ${ilk_fuzz}/corpus_${noun})
    set_tests_properties(${name} PROPERTIES LABELS ut TIMEOUT 60)
    add_dependencies(unit_tests ${name})
    if(ILK_FUZZ)
        ilk_add_fuzz(fuzzer_${noun} ${source})
        target_link_options(fuzzer_${noun} PRIVATE -fsanitize=fuzzer)
        add_dependencies(fuzzers fuzzer_${noun})
    endif()
endforeach()

# ilk_add_store_fuzz(NOUN SOURCE LIBRARY...): a target that lies with a store's tests.
# Its corpus is tests/fuzz/corpus_NOUN.
function(ilk_add_store_fuzz noun source)
    set(targets fuzz_${noun})
    ilk_add_fuzz(fuzz_${noun} ${source} ${ilk_fuzz}/driver.c)
    add_test(NAME fuzz_${noun} COMMAND ${ILK_TEST_LAUNCHER}
        $<TARGET_FILE:fuzz_${noun}> ${ilk_fuzz}/corpus_${noun})
    set_tests_properties(fuzz_${noun} PROPERTIES LABELS ut TIMEOUT 60)
    add_dependencies(unit_tests fuzz_${noun})
    if(ILK_FUZZ)
        list(APPEND targets fuzzer_${noun})
        ilk_add_fuzz(fuzzer_${noun} ${source})
        target_link_options(fuzzer_${noun} PRIVATE -fsanitize=fuzzer)
        add_dependencies(fuzzers fuzzer_${noun})
    endif()
    foreach(target ${targets})
        target_include_directories(${target} PRIVATE ${ilk_fuzz})
        target_link_libraries(${target} PRIVATE ${ARGN})
    endforeach()
endfunction()
