# tequio_tables(<target> <files>...): puts the bytes of each file into the target, as
# `const char table_<name>[]`, ended by a zero byte (src/job/spec/machines.c reads them).
function(tequio_tables target)
    foreach(file IN LISTS ARGN)
        get_filename_component(name ${file} NAME_WE)
        set(out ${PROJECT_BINARY_DIR}/tables/${name}.c)
        add_custom_command(OUTPUT ${out}
            COMMAND ${CMAKE_COMMAND} -DFROM=${file} -DNAME=${name} -DTO=${out}
                    -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
            DEPENDS ${file} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
            COMMENT "Embedding ${name}.csv" VERBATIM)
        target_sources(${target} PRIVATE ${out})
    endforeach()
endfunction()
