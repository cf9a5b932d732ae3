# SPDX-License-Identifier: MIT
# -DILK_TLS: rediss:// by OpenSSL. Without it such a URL is refused by name.
find_package(OpenSSL 1.1.1 QUIET)
option(ILK_TLS "Accept rediss:// URLs (needs OpenSSL)" ${OPENSSL_FOUND})
add_library(ilk_tls INTERFACE)
if(ILK_TLS)
    if(NOT OPENSSL_FOUND)
        message(FATAL_ERROR "ILK_TLS=ON needs OpenSSL >= 1.1.1 and its headers"
            " (Debian: libssl-dev); -DILK_TLS=OFF builds without rediss://")
    endif()
    target_compile_definitions(ilk_tls INTERFACE ILK_TLS=1)
    target_link_libraries(ilk_tls INTERFACE OpenSSL::SSL OpenSSL::Crypto)
endif()
message(STATUS "interlock: TLS ${ILK_TLS}")
