# SPDX-License-Identifier: MIT
# -DILK_SANITIZE=address,undefined or thread, for everything that is built.
if(ILK_SANITIZE)
    add_compile_options(-fsanitize=${ILK_SANITIZE} -fno-omit-frame-pointer -g)
    add_compile_definitions(ILK_TEST_SHARE=4)
    add_link_options(-fsanitize=${ILK_SANITIZE})
    if(ILK_SANITIZE MATCHES "undefined")
        add_compile_options(-fno-sanitize-recover=undefined)
    endif()
endif()

# -DILK_FUZZ=ON with clang and ILK_SANITIZE: libFuzzer sees which code runs.
option(ILK_FUZZ "Build the fuzz targets as libFuzzer programs, too" OFF)
if(ILK_FUZZ AND NOT ILK_SANITIZE)
    message(FATAL_ERROR "ILK_FUZZ needs ILK_SANITIZE, as address,undefined")
endif()
if(ILK_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
