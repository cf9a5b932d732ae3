# SPDX-License-Identifier: MIT
# Options that make a fault in the code harder to exploit, for everything that
# is built here. Each is used where the compiler and the linker know it.
# -DILK_HARDEN=OFF leaves them to the flags of the caller, such as a
# distribution's. Sanitizers do without: they intercept the same functions.
option(ILK_HARDEN "Stack protector, _FORTIFY_SOURCE, CET, BIND_NOW" ON)
if(NOT ILK_HARDEN OR ILK_SANITIZE)
    return()
endif()

include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

# An option that only has no effect on this processor, such as CET's on ARM,
# makes clang warn and nothing else.
set(CMAKE_REQUIRED_FLAGS "-Werror")
foreach(flag -fstack-protector-strong -fstack-clash-protection
        -fcf-protection -mbranch-protection=standard)
    string(MAKE_C_IDENTIFIER "ILK_HAVE${flag}" have)
    check_c_compiler_flag(${flag} ${have})
    if(${have})
        add_compile_options(${flag})
    endif()
endforeach()
unset(CMAKE_REQUIRED_FLAGS)

foreach(flag -Wl,-z,noexecstack -Wl,-z,relro -Wl,-z,now)
    string(MAKE_C_IDENTIFIER "ILK_HAVE${flag}" have)
    check_linker_flag(C ${flag} ${have})
    if(${have})
        add_link_options(${flag})
    endif()
endforeach()

# Level 3 needs GCC 12 or clang 9, and glibc 2.34. The checks work in optimised
# code only, and glibc warns elsewhere. A level that the caller's flags choose
# stays.
foreach(level 3 2)
    set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -D_FORTIFY_SOURCE=${level}")
    check_c_source_compiles("
        #include <stdio.h>
        #if defined __USE_FORTIFY_LEVEL && __USE_FORTIFY_LEVEL < ${level}
        #error the C library knows a lower level only
        #endif
        int main(void) { return puts(\"\") < 0; }" ILK_HAVE_FORTIFY_${level})
    unset(CMAKE_REQUIRED_FLAGS)
    if(ILK_HAVE_FORTIFY_${level})
        add_compile_options(
            $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-D_FORTIFY_SOURCE=${level}>)
        break()
    endif()
endforeach()
