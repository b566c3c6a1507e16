# A program with every library inside but glibc, which has to stay outside: the libraries that are
# opened at run time (NVIDIA's, libcurl, libmicrohttpd) bring the host's with them. packaging/make portable builds it
# where there are static libraries, on the oldest glibc it is to run with.
option(TEQUIO_PORTABLE "Link every library into the program but glibc" OFF)

set(tequio_cxx_runtime "")      # what static libraries of C++ want beside them
if(TEQUIO_PORTABLE)
    set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
    set(OpenMP_pthread_LIBRARY pthread CACHE STRING "glibc's own, which stays outside")
    set(tequio_cxx_runtime -l:libstdc++.a)
    # nothing of what is inside may stand in for a library that is opened later
    add_link_options(-static-libgcc LINKER:--exclude-libs,ALL LINKER:--gc-sections)
endif()

# tequio_portable_finish(): once the libraries are found, what their archives want beside them.
macro(tequio_portable_finish)
    if(TEQUIO_PORTABLE)
        set_property(TARGET PkgConfig::zmq APPEND PROPERTY
                     INTERFACE_LINK_LIBRARIES PkgConfig::sodium ${tequio_cxx_runtime} rt)
    endif()
    get_target_property(kind DNNL::dnnl TYPE)
    if(kind STREQUAL STATIC_LIBRARY AND NOT TEQUIO_PORTABLE)
        set(tequio_cxx_runtime stdc++)
    endif()
endmacro()
