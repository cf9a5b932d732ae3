# SPDX-License-Identifier: MIT
# ilk_etcd_client: the client of etcd, for the backend and for tests. It needs
# libnghttp2 and nanopb (Debian: libnghttp2-dev, nanopb, libnanopb-dev). Without
# them ILK_ETCD_FOUND is off, and ILK_ETCD_MISSING names what to install.
#
# nanopb's generator makes etcd.pb.{c,h} at build time, so that they fit the
# library's version.
find_package(PkgConfig QUIET)
set(ILK_ETCD_MISSING "")
if(PKG_CONFIG_FOUND)
    pkg_check_modules(ILK_NGHTTP2 QUIET IMPORTED_TARGET libnghttp2>=1.41)
endif()
find_path(ILK_NANOPB_INCLUDE pb_decode.h PATH_SUFFIXES nanopb)
find_library(ILK_NANOPB_LIBRARY NAMES protobuf-nanopb)
find_program(ILK_NANOPB_GENERATOR NAMES nanopb_generator nanopb_generator.py)
find_program(ILK_PROTOC protoc)
if(NOT ILK_NGHTTP2_FOUND)
    list(APPEND ILK_ETCD_MISSING libnghttp2-dev)
endif()
if(NOT ILK_NANOPB_INCLUDE OR NOT ILK_NANOPB_LIBRARY)
    list(APPEND ILK_ETCD_MISSING libnanopb-dev)
endif()
if(NOT ILK_NANOPB_GENERATOR)
    list(APPEND ILK_ETCD_MISSING nanopb)
endif()
if(NOT ILK_PROTOC)
    list(APPEND ILK_ETCD_MISSING protobuf-compiler)
endif()
if(ILK_ETCD_MISSING)
    set(ILK_ETCD_FOUND OFF)
    return()
endif()
set(ILK_ETCD_FOUND ON)

set(ilk_etcd ${PROJECT_SOURCE_DIR}/libcore/stores/etcd)
set(ilk_etcd_generated ${PROJECT_BINARY_DIR}/etcd)
file(MAKE_DIRECTORY ${ilk_etcd_generated})
add_custom_command(
    OUTPUT ${ilk_etcd_generated}/etcd.pb.c ${ilk_etcd_generated}/etcd.pb.h
    COMMAND ${ILK_NANOPB_GENERATOR} -q -T -D ${ilk_etcd_generated} etcd.proto
    WORKING_DIRECTORY ${ilk_etcd}
    DEPENDS ${ilk_etcd}/etcd.proto ${ilk_etcd}/etcd.options
    VERBATIM)

set(ilk_etcd_client_sources
    ${ilk_etcd}/etcd_client.c ${ilk_etcd}/etcd_client_answers.c
    ${ilk_etcd}/etcd_client_calls.c ${ilk_etcd}/etcd_client_errors.c
    ${ilk_etcd}/etcd_client_renewals.c ${ilk_etcd}/etcd_client_requests.c
    ${ilk_etcd}/etcd_client_watches.c ${ilk_etcd}/grpc_conn.c
    ${ilk_etcd}/grpc_frame.c ${ilk_etcd}/http_frames.c
    ${PROJECT_SOURCE_DIR}/libcore/stores/shared/store_socket.c)
add_library(ilk_etcd_client STATIC EXCLUDE_FROM_ALL
    ${ilk_etcd_client_sources} ${ilk_etcd_generated}/etcd.pb.c)
set_source_files_properties(${ilk_etcd_generated}/etcd.pb.c PROPERTIES
    COMPILE_OPTIONS -w)
set_target_properties(ilk_etcd_client PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(ilk_etcd_client
    PUBLIC ${ilk_etcd} ${PROJECT_SOURCE_DIR}/libcore
        ${PROJECT_SOURCE_DIR}/libcore/src)
target_include_directories(ilk_etcd_client SYSTEM
    PRIVATE ${ilk_etcd_generated} ${ILK_NANOPB_INCLUDE})
target_link_libraries(ilk_etcd_client
    PUBLIC interlock_static
    PRIVATE ilk_warnings ilk_platform PkgConfig::ILK_NGHTTP2
        ${ILK_NANOPB_LIBRARY})

file(GLOB ilk_etcd_backend_sources CONFIGURE_DEPENDS
    ${ilk_etcd}/etcd.c ${ilk_etcd}/etcd_[!c]*.c
    ${PROJECT_SOURCE_DIR}/libcore/stores/shared/*.c)
ilk_add_backend(etcd ilk__etcd_backend ${ilk_etcd_backend_sources})
target_link_libraries(interlock_etcd PRIVATE ilk_etcd_client)

# After Tests.cmake: the client's test, with an etcd of its own, and the fuzz targets,
# which run over their corpora.
function(ilk_add_etcd_client_test)
    ilk_add_test(
        ${PROJECT_SOURCE_DIR}/tests/backends/etcd/ct_etcd_client.c store 300)
    target_sources(ct_etcd_client PRIVATE
        ${PROJECT_SOURCE_DIR}/tests/backends/etcd/etcd_server.c)
    target_link_libraries(ct_etcd_client PRIVATE ilk_etcd_client)

    add_library(ilk_etcd_objects STATIC EXCLUDE_FROM_ALL
        ${ilk_etcd_backend_sources})
    target_link_libraries(ilk_etcd_objects PUBLIC ilk_etcd_client ilk_test_base)
    ilk_add_store_fuzz(etcd_answers
        ${PROJECT_SOURCE_DIR}/tests/backends/etcd/fuzz_etcd_answers.c
        ilk_etcd_client)
    ilk_add_store_fuzz(etcd_http
        ${PROJECT_SOURCE_DIR}/tests/backends/etcd/fuzz_etcd_http.c
        ilk_etcd_client)
    ilk_add_store_fuzz(etcd_options
        ${PROJECT_SOURCE_DIR}/tests/backends/etcd/fuzz_etcd_options.c
        ilk_etcd_objects)
    ilk_add_store_fuzz(etcd_names
        ${PROJECT_SOURCE_DIR}/tests/backends/etcd/fuzz_etcd_names.c
        ilk_etcd_client)
endfunction()
if(ILK_TESTS)
    ilk_add_etcd_client_test()
    include(EtcdTests)
endif()
