# SPDX-License-Identifier: MIT
# Installation: libraries, backends, headers, interlock.pc, CMake package, the
# command with its manual page and completions, Lua files.

set(ilk_installed_archive "$<TARGET_FILE:interlock>") # none
if(ILK_ARCHIVE AND ilk_archive)
    set(ilk_installed_archive ${ilk_archive})
elseif(ILK_ARCHIVE)
    set(ilk_installed_archive "$<TARGET_FILE:interlock_static>")
endif()

# `cmake --install` without a build before it builds first.
install(CODE "
    if(NOT EXISTS \"$<TARGET_FILE:interlock>\" OR
       NOT EXISTS \"${ilk_installed_archive}\")
        execute_process(COMMAND \"${CMAKE_COMMAND}\" --build
            \"${PROJECT_BINARY_DIR}\" --parallel COMMAND_ERROR_IS_FATAL ANY)
    endif()")

include(CMakePackageConfigHelpers)
set(ilk_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/interlock)
install(TARGETS interlock EXPORT interlockTargets)
if(ILK_ARCHIVE)
    install(FILES ${ilk_installed_archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
# What a program links beside the archive, as names for the linker.
set(ILK_STATIC_LIBS "")
if(ILK_HIREDIS_SYSTEM)
    list(APPEND ILK_STATIC_LIBS hiredis)
endif()
if(ILK_TLS)
    list(APPEND ILK_STATIC_LIBS ssl crypto)
endif()
list(APPEND ILK_STATIC_LIBS ${CMAKE_THREAD_LIBS_INIT} ${CMAKE_DL_LIBS})
set(ILK_STATIC_OPTIONS "")
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(ILK_STATIC_OPTIONS "LINKER:--exclude-libs,libinterlock.a")
endif()
if(ilk_built_backends)
    install(TARGETS ${ilk_built_backends}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/interlock)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/libcore/include/
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT interlockTargets NAMESPACE interlock::
    DESTINATION ${ilk_package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/interlockConfig.cmake.in
    ${PROJECT_BINARY_DIR}/interlockConfig.cmake
    INSTALL_DESTINATION ${ilk_package_dir}
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/interlockConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/interlockConfig.cmake
    ${PROJECT_BINARY_DIR}/interlockConfigVersion.cmake
    DESTINATION ${ilk_package_dir})

# --- A page of section 3 for each function: `cmake --install . --component man3`
# installs nothing else.
set(ilk_man3 ${PROJECT_BINARY_DIR}/man3)
add_custom_command(
    OUTPUT ${ilk_man3}/made
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${ilk_man3}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/make_man.py
        ${ilk_man3}
    COMMAND ${CMAKE_COMMAND} -E touch ${ilk_man3}/made
    DEPENDS ${ilk_headers} ${PROJECT_SOURCE_DIR}/tools/make_man.py
        ${PROJECT_SOURCE_DIR}/tools/check_headers.py
    COMMENT "Writing the manual pages of the functions"
    VERBATIM)
add_custom_target(interlock_man ALL DEPENDS ${ilk_man3}/made)
install(DIRECTORY ${ilk_man3} DESTINATION ${CMAKE_INSTALL_MANDIR}
    COMPONENT man3 FILES_MATCHING PATTERN "*.3")

if(ilk_hiredis_notice)
    install(FILES ${ilk_hiredis_notice} DESTINATION ${CMAKE_INSTALL_DOCDIR}
        RENAME copyright.hiredis)
endif()

# --- interlock.pc finds its prefix from where it lies, so a tree may move.
set(ILK_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
set(ILK_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(ILK_PC_LIBDIR ${CMAKE_INSTALL_LIBDIR})
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(ILK_PC_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
endif()
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
    BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
    OUTPUT_VARIABLE ILK_PC_PREFIX)
# Not Requires.private: users of the shared library need no other .pc file.
set(ILK_PC_LIBS_PRIVATE "")
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    string(APPEND ILK_PC_LIBS_PRIVATE " -Wl,--exclude-libs,libinterlock.a")
endif()
if(ILK_HIREDIS_SYSTEM)
    string(APPEND ILK_PC_LIBS_PRIVATE " -lhiredis")
endif()
if(ILK_TLS)
    string(APPEND ILK_PC_LIBS_PRIVATE " -lssl -lcrypto")
endif()
string(APPEND ILK_PC_LIBS_PRIVATE " ${CMAKE_THREAD_LIBS_INIT}")
foreach(lib ${CMAKE_DL_LIBS})
    string(APPEND ILK_PC_LIBS_PRIVATE " -l${lib}")
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/interlock.pc.in
    ${PROJECT_BINARY_DIR}/interlock.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/interlock.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# --- The command. It finds the library beside it, wherever the prefix is.
if(TARGET interlock_cli)
    if(NOT APPLE)
        cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR
            BASE_DIRECTORY ${CMAKE_INSTALL_FULL_BINDIR}
            OUTPUT_VARIABLE libdir_from_bin)
        set_target_properties(interlock_cli PROPERTIES
            INSTALL_RPATH "$ORIGIN/${libdir_from_bin}")
    endif()
    install(TARGETS interlock_cli)
    install(FILES ${PROJECT_SOURCE_DIR}/cli/interlock.1
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${PROJECT_SOURCE_DIR}/cli/completions/interlock.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME interlock OPTIONAL)
    install(FILES ${PROJECT_SOURCE_DIR}/cli/completions/_interlock
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions OPTIONAL)
    install(FILES ${PROJECT_SOURCE_DIR}/cli/completions/interlock.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
        OPTIONAL)
endif()

# --- Lua: one module per version; LuaJIT loads that of 5.1.
foreach(lua ${ilk_luas})
    if(lua MATCHES "^lua(5\\.[0-9])$")
        set(version ${CMAKE_MATCH_1})
        install(TARGETS ilk_core_${lua}
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/lua/${version}/interlock)
        if(ilk_built_backends)
            # The module has the core inside, and looks beside itself.
            set(link ${PROJECT_BINARY_DIR}/lua/installed/interlock)
            file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lua/installed)
            file(CREATE_LINK ../../../interlock ${link} SYMBOLIC)
            install(FILES ${link}
                DESTINATION ${CMAKE_INSTALL_LIBDIR}/lua/${version}/interlock)
        endif()
        install(DIRECTORY ${PROJECT_SOURCE_DIR}/lua/interlock
            DESTINATION ${CMAKE_INSTALL_DATADIR}/lua/${version}
            FILES_MATCHING PATTERN "*.lua")
    endif()
endforeach()
