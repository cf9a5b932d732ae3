# SPDX-License-Identifier: MIT
# The interlock command: on the shared library and its public headers only.
file(GLOB ilk_cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.c)
if(ilk_cli_sources)
    add_executable(interlock_cli ${ilk_cli_sources})
    set_target_properties(interlock_cli PROPERTIES OUTPUT_NAME interlock)
    target_link_libraries(interlock_cli
        PRIVATE ilk_warnings ilk_platform interlock)
endif()
