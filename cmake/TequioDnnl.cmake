# oneDNN 3: the system's, or where that is older or missing the one that scripts/setup has fetched.
set(fetched $ENV{XDG_CACHE_HOME})
if(NOT fetched)
    set(fetched $ENV{HOME}/.cache)
endif()
find_package(dnnl 3.0 CONFIG QUIET PATHS ${fetched}/tequio/onednn)
if(NOT dnnl_FOUND)
    message(FATAL_ERROR "oneDNN 3 or newer is needed. scripts/setup installs or fetches it; "
                        "another one's folder can be named by -Ddnnl_ROOT=DIR.")
endif()
if(NOT DNNL_CPU_RUNTIME STREQUAL OMP)
    message(FATAL_ERROR "${dnnl_DIR}: this oneDNN runs its threads by ${DNNL_CPU_RUNTIME}; "
                        "one built for OpenMP is needed (ONEDNN_CPU_RUNTIME=OMP).")
endif()
message(STATUS "oneDNN ${dnnl_VERSION}: ${dnnl_DIR}")
# where it is not the system's, an installed program finds it where it was found here
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
