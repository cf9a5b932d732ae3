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
