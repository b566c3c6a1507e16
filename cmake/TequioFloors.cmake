# tequio_floor(<name> DIRS <folders> [EXCEPT <pattern>] [ONLY <pattern>] DEPENDS <targets>): a static
# library tequio_<name> of every .c below the folders, by pattern but for some or only some. What it may
# include is what it links, so the floors hold at link time too.
function(tequio_floor name)
    cmake_parse_arguments(FLOOR "" "EXCEPT;ONLY" "DIRS;DEPENDS" ${ARGN})
    set(sources)
    foreach(dir IN LISTS FLOOR_DIRS)
        file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${dir}/*.c)
        list(APPEND sources ${found})
    endforeach()
    if(FLOOR_EXCEPT)
        list(FILTER sources EXCLUDE REGEX ${FLOOR_EXCEPT})
    endif()
    if(FLOOR_ONLY)
        list(FILTER sources INCLUDE REGEX ${FLOOR_ONLY})
    endif()
    if(NOT sources AND TEQUIO_ALLOW_EMPTY)
        add_library(tequio_${name} INTERFACE)
        return()
    endif()
    if(NOT sources)
        message(FATAL_ERROR "floor ${name}: no sources below ${FLOOR_DIRS}")
    endif()
    add_library(tequio_${name} STATIC ${sources})
    target_include_directories(tequio_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
    target_link_libraries(tequio_${name} PUBLIC ${FLOOR_DEPENDS})
endfunction()

# tequio_protobuf(<target> <files>): C code of the .proto files, by protobuf-c.
function(tequio_protobuf target)
    set(out ${PROJECT_BINARY_DIR}/proto)
    file(MAKE_DIRECTORY ${out})
    set(sources)
    foreach(proto IN LISTS ARGN)
        get_filename_component(stem ${proto} NAME_WE)
        add_custom_command(
            OUTPUT ${out}/${stem}.pb-c.c ${out}/${stem}.pb-c.h
            COMMAND ${PROTOC} --proto_path=${PROJECT_SOURCE_DIR}/proto --c_out=${out}
                    ${PROJECT_SOURCE_DIR}/${proto}
            DEPENDS ${PROJECT_SOURCE_DIR}/${proto})
        list(APPEND sources ${out}/${stem}.pb-c.c ${out}/${stem}.pb-c.h)
    endforeach()
    add_library(${target} STATIC ${sources})
    target_include_directories(${target} SYSTEM PUBLIC ${PROJECT_BINARY_DIR})   # "proto/x.pb-c.h"
    target_compile_options(${target} PRIVATE -w)
    target_link_libraries(${target} PUBLIC PkgConfig::protobuf_c)
endfunction()
