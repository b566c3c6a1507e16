# The CUDA backend: whether it is built, with which nvcc, for which chips. CUDA is no language of this
# project: nvcc makes one object of every .cu, gcc links them with NVIDIA's static runtime, and so the
# program starts on a host without any file of CUDA. The big libraries are opened at run time
# (src/backend/cuda/library/api.h), so their headers and files are not needed here.
set(TEQUIO_CUDA "AUTO" CACHE STRING "CUDA backend: AUTO (where nvcc works), ON or OFF")
set_property(CACHE TEQUIO_CUDA PROPERTY STRINGS AUTO ON OFF)
set(TEQUIO_CUDA_ARCHS "75-real;80-real;86-real;89-real;90;100-real;120-real" CACHE STRING
    "Chips to compile kernels for, written as for CMAKE_CUDA_ARCHITECTURES: 90 is code for the chip
and PTX for later ones, 90-real the first alone, 90-virtual the second")
set(TEQUIO_CUDA_FLAGS "" CACHE STRING "Further flags for nvcc")

# nvcc rounds like gcc here: a product and a sum become one operation only where the source says fmaf.
# The bits that CPU and GPU have in common depend on -fmad=false: never remove it.
set(cuda_flags -O3 -std=c++17 -fmad=false
    -Xcompiler=-fno-exceptions,-fno-rtti,-fno-threadsafe-statics,-ffp-contract=off)

# Where programs of the wheels are that scripts/setup has fetched as `name`.
function(tequio_fetched name ret)
    set(cache $ENV{XDG_CACHE_HOME})
    if(NOT cache)
        set(cache $ENV{HOME}/.cache)
    endif()
    file(GLOB folders ${cache}/tequio/${name}/lib/python3*/site-packages/nvidia/cu*/bin)
    set(${ret} ${folders} PARENT_SCOPE)
endfunction()

# nvcc: $CUDACXX, $CUDA_HOME, the path, the usual place, what scripts/setup --cuda has fetched.
function(tequio_find_nvcc)
    if(NOT TEQUIO_NVCC AND DEFINED ENV{CUDACXX})
        set(TEQUIO_NVCC $ENV{CUDACXX} CACHE FILEPATH "NVIDIA's compiler" FORCE)
        return()
    endif()
    tequio_fetched(cuda fetched)
    find_program(TEQUIO_NVCC nvcc HINTS ENV CUDA_HOME PATH_SUFFIXES bin
                 PATHS /usr/local/cuda/bin ${fetched} DOC "NVIDIA's compiler")
endfunction()

# Sets `cuda_gencode`, a flag an architecture, and `cuda_archs`, their names for people, from what was
# asked for and what this nvcc knows.
macro(tequio_cuda_archs)
    execute_process(COMMAND ${TEQUIO_NVCC} --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
    set(cuda_gencode)
    set(cuda_archs)
    foreach(arch IN LISTS TEQUIO_CUDA_ARCHS)
        string(REGEX MATCH "^([0-9]+[a-z]?)(-real|-virtual)?$" whole "${arch}")
        if(NOT whole)
            message(FATAL_ERROR "TEQUIO_CUDA_ARCHS: '${arch}' is none; write 90, 90-real or 90-virtual")
        endif()
        set(chip ${CMAKE_MATCH_1})
        set(kind ${CMAKE_MATCH_2})
        if(NOT known MATCHES "compute_${chip}[ \r\n]")
            message(STATUS "CUDA backend: nvcc ${cuda_version} does not know sm_${chip}; left out")
            continue()
        endif()
        if(NOT kind STREQUAL "-virtual")
            list(APPEND cuda_gencode -gencode=arch=compute_${chip},code=sm_${chip})
            list(APPEND cuda_archs sm_${chip})
        endif()
        if(NOT kind STREQUAL "-real")
            list(APPEND cuda_gencode -gencode=arch=compute_${chip},code=compute_${chip})
            list(APPEND cuda_archs compute_${chip})
        endif()
    endforeach()
    list(JOIN cuda_archs " " cuda_archs)
endmacro()

# Whether this nvcc makes an object: needs a host compiler it agrees with. Remembered for the same nvcc.
macro(tequio_try_nvcc)
    set(cuda_trial "${TEQUIO_NVCC} ${cuda_version} ${cuda_gencode}")
    if(NOT cuda_trial STREQUAL "${TEQUIO_NVCC_WORKED}")
        set(trial ${PROJECT_BINARY_DIR}/CMakeFiles/tequio_trial)
        file(WRITE ${trial}.cu "__global__ void one(float *x) { *x = 1; }\n")
        list(GET cuda_gencode 0 first)
        execute_process(COMMAND ${TEQUIO_NVCC} ${cuda_flags} ${first} -c ${trial}.cu -o ${trial}.o
                        RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
        if(failed)
            string(STRIP "${said}" said)
            set(cuda_why "${TEQUIO_NVCC} does not compile: ${said}")
        else()
            set(TEQUIO_NVCC_WORKED "${cuda_trial}" CACHE INTERNAL "")
        endif()
    endif()
endmacro()

# Where this nvcc's toolkit is. What is called nvcc may be a script that calls another: it tells itself.
function(tequio_cuda_home ret)
    execute_process(COMMAND ${TEQUIO_NVCC} --dryrun -x cu -c /dev/null
                    OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(said MATCHES "#\\$ TOP=([^\r\n]+)")
        get_filename_component(home ${CMAKE_MATCH_1} REALPATH)
    else()
        get_filename_component(home ${TEQUIO_NVCC} REALPATH)
        get_filename_component(home ${home}/../.. ABSOLUTE)
    endif()
    set(${ret} ${home} PARENT_SCOPE)
endfunction()

# Sets `cuda_why` to what is missing, "" if nothing is; else also the variables named above,
# `cuda_version`, `cuda_runtime` (its library) and `cuda_include`.
macro(tequio_look_for_cuda)
    set(cuda_why "")
    tequio_find_nvcc()
    if(NOT TEQUIO_NVCC)
        set(cuda_why "no nvcc in $CUDACXX, $CUDA_HOME/bin, $PATH or /usr/local/cuda/bin; `scripts/setup --cuda` fetches one")
    else()
        execute_process(COMMAND ${TEQUIO_NVCC} --version OUTPUT_VARIABLE said ERROR_QUIET)
        string(REGEX MATCH "V([0-9]+\\.[0-9]+\\.[0-9]+)" whole "${said}")
        set(cuda_version ${CMAKE_MATCH_1})
        tequio_cuda_home(home)
        find_library(cuda_runtime cudart_static NO_CACHE NO_SYSTEM_ENVIRONMENT_PATH HINTS ${home}
                     PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib)
        find_path(cuda_include cuda_runtime_api.h NO_CACHE NO_SYSTEM_ENVIRONMENT_PATH
                  HINTS ${home} PATH_SUFFIXES include targets/x86_64-linux/include)
        if(NOT whole)
            set(cuda_why "'${TEQUIO_NVCC} --version' tells no version")
        elseif(NOT cuda_runtime OR NOT cuda_include)
            set(cuda_why "no libcudart_static.a or no cuda_runtime_api.h below ${home}")
        else()
            tequio_cuda_archs()
            if(cuda_gencode)
                tequio_try_nvcc()
            else()
                set(cuda_why "nvcc ${cuda_version} knows none of ${TEQUIO_CUDA_ARCHS}")
            endif()
        endif()
    endif()
endmacro()

# tequio_cuda_kernels(<target> <files>...): an object of each .cu, by nvcc, into the target.
function(tequio_cuda_kernels target)
    separate_arguments(further UNIX_COMMAND "${TEQUIO_CUDA_FLAGS}")
    execute_process(COMMAND ${TEQUIO_NVCC} --help OUTPUT_VARIABLE help ERROR_QUIET)
    if(help MATCHES "--compress-mode")
        list(APPEND further -compress-mode=size)
    endif()
    foreach(file IN LISTS ARGN)
        get_filename_component(name ${file} NAME_WE)
        set(object ${PROJECT_BINARY_DIR}/cuda/${name}.o)
        add_custom_command(OUTPUT ${object} BYPRODUCTS ${object}.usage
            COMMAND ${PROJECT_SOURCE_DIR}/cmake/keep_usage ${object}.usage
                    ${CMAKE_C_COMPILER_LAUNCHER} ${TEQUIO_NVCC} ${cuda_flags} ${cuda_gencode} ${further}
                    --resource-usage
                    -I${PROJECT_SOURCE_DIR}/src -MD -MF ${object}.d -c ${file} -o ${object}
            DEPENDS ${file} DEPFILE ${object}.d COMMENT "Building CUDA object ${name}.o" VERBATIM)
        set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
        target_sources(${target} PRIVATE ${object})
    endforeach()
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/cuda)
endfunction()

# Decides by TEQUIO_CUDA and makes the library tequio_cuda: src/backend/cuda with its kernels, or
# src/backend/absent.c, which says that it is not there. Sets TEQUIO_CUDA_BUILT to which: if it is,
# also `cuda_archs`, `cuda_include`, `cuda_kernels` and `cuda_version`, if nvcc is missing, `cuda_why`.
function(tequio_cuda_library)
    set(TEQUIO_CUDA_BUILT OFF)
    if(NOT TEQUIO_CUDA MATCHES "^(AUTO|ON|OFF)$")
        message(FATAL_ERROR "TEQUIO_CUDA is '${TEQUIO_CUDA}'; it must be AUTO, ON or OFF")
    elseif(TEQUIO_CUDA STREQUAL "OFF")
        message(STATUS "CUDA backend: off")
    else()
        tequio_look_for_cuda()
        if(NOT cuda_why)
            set(TEQUIO_CUDA_BUILT ON)
            message(STATUS "CUDA backend: nvcc ${cuda_version} for ${cuda_archs}")
        elseif(TEQUIO_CUDA STREQUAL "ON")
            message(FATAL_ERROR "CUDA backend: ${cuda_why}")
        else()
            message(STATUS "CUDA backend: left out: ${cuda_why}")
            set(cuda_why ${cuda_why} PARENT_SCOPE)
        endif()
    endif()
    if(TEQUIO_CUDA_BUILT)
        file(GLOB cuda_kernels CONFIGURE_DEPENDS src/backend/cuda/kernels/*.cu)
        tequio_floor(cuda DIRS src/backend/cuda DEPENDS tequio_backend ${cuda_runtime}
                     Threads::Threads ${CMAKE_DL_LIBS} rt)
        target_include_directories(tequio_cuda SYSTEM PRIVATE ${cuda_include})
        set_source_files_properties(src/backend/cuda/report.c PROPERTIES
            COMPILE_DEFINITIONS "TEQUIO_CUDA_BUILD=\"nvcc ${cuda_version}, ${cuda_archs}\"")
        tequio_cuda_kernels(tequio_cuda ${cuda_kernels})
        set(cuda_archs ${cuda_archs} PARENT_SCOPE)
        set(cuda_include ${cuda_include} PARENT_SCOPE)
        set(cuda_kernels ${cuda_kernels} PARENT_SCOPE)
        set(cuda_version ${cuda_version} PARENT_SCOPE)
    else()
        tequio_floor(cuda DIRS src/backend ONLY /backend/absent.c DEPENDS tequio_backend)
    endif()
    set(TEQUIO_CUDA_BUILT ${TEQUIO_CUDA_BUILT} PARENT_SCOPE)
endfunction()
