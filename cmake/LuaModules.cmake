# SPDX-License-Identifier: MIT
# The private Lua module interlock.core, for each Lua that is installed.
#
# One generated C file serves all of them; it is compiled once per Lua into
# <build>/lua/<lua>/interlock/core.so with the core inside, so that neither an
# rpath nor an installed library is needed.
include(Backend)
include(Exports)
set(ilk_swig_dir ${PROJECT_SOURCE_DIR}/bindings/swig)
file(GLOB ilk_swig_inputs CONFIGURE_DEPENDS ${ilk_swig_dir}/*.i)
set(ilk_swig_c ${PROJECT_BINARY_DIR}/lua/interlock_lua.c)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lua)
add_custom_command(
    OUTPUT ${ilk_swig_c}
    COMMAND ${ILK_SWIG} -lua -includeall -DILK_BINDGEN
        -I${PROJECT_SOURCE_DIR}/libcore/include
        -I${PROJECT_SOURCE_DIR}/libcore/include/interlock
        -I${ilk_swig_dir} -o ${ilk_swig_c} ${ilk_swig_dir}/interlock.i
    DEPENDS ${ilk_swig_inputs} ${ilk_headers}
    COMMENT "Generating the Lua module"
    VERBATIM)
add_custom_target(ilk_swig_generated DEPENDS ${ilk_swig_c})

# LuaRocks names the headers of the one Lua that it builds for.
set(ILK_LUA_INCLUDE_DIR "" CACHE PATH
    "Headers of a Lua to build for, as lua/rock; empty: all that are known")

function(ilk_add_lua lua)
    add_library(ilk_core_${lua} MODULE ${ilk_swig_c} ${ilk_all_objects})
    add_dependencies(ilk_core_${lua} ilk_swig_generated)
    target_include_directories(ilk_core_${lua} PRIVATE
        ${PROJECT_SOURCE_DIR}/libcore/include)
    target_include_directories(ilk_core_${lua} SYSTEM PRIVATE ${ARGN})
    target_compile_options(ilk_core_${lua} PRIVATE -w)
    target_link_libraries(ilk_core_${lua} PRIVATE
        ilk_platform ilk_hiredis_link ilk_tls Threads::Threads
        ${CMAKE_DL_LIBS})
    set_target_properties(ilk_core_${lua} PROPERTIES
        PREFIX "" OUTPUT_NAME core SUFFIX .so
        LIBRARY_OUTPUT_DIRECTORY
            ${PROJECT_BINARY_DIR}/lua/${lua}/interlock)
    ilk_export_only(ilk_core_${lua} luaopen_interlock_core)
    ilk_link_backends(${PROJECT_BINARY_DIR}/lua/${lua}/interlock)
    if(APPLE)
        target_link_options(ilk_core_${lua} PRIVATE
            -undefined dynamic_lookup)
    endif()
endfunction()

set(ilk_luas "")
if(ilk_swig_inputs AND ILK_LUA_INCLUDE_DIR)
    ilk_add_lua(rock ${ILK_LUA_INCLUDE_DIR})
elseif(ilk_swig_inputs)
    foreach(lua lua5.1 lua5.3 lua5.4 luajit)
        pkg_check_modules(ILK_${lua} QUIET ${lua})
        if(ILK_${lua}_FOUND)
            list(APPEND ilk_luas ${lua})
            ilk_add_lua(${lua} ${ILK_${lua}_INCLUDE_DIRS})
        endif()
    endforeach()
    if(NOT ilk_luas)
        message(STATUS "interlock: no Lua found by pkg-config")
    endif()
endif()
