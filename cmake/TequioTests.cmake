# Whether the tests are built: where what they need is there, unless BUILD_TESTING says ON, which
# insists, or OFF. Included before CTest, whose option that is.
include(CheckLanguage)
find_package(PkgConfig QUIET)

if(NOT DEFINED BUILD_TESTING OR BUILD_TESTING)
    set(tests_missing "")
    if(PKG_CONFIG_FOUND)
        pkg_check_modules(tests_cmocka QUIET cmocka)
    endif()
    if(NOT tests_cmocka_FOUND)
        list(APPEND tests_missing "cmocka (libcmocka-dev)")
    endif()
    check_language(CXX)
    if(NOT CMAKE_CXX_COMPILER)
        unset(CMAKE_CXX_COMPILER CACHE) # or it is never looked for again
        list(APPEND tests_missing "a C++ compiler (g++)")
    endif()
    list(JOIN tests_missing " and " tests_missing)
    if(tests_missing AND BUILD_TESTING)
        message(FATAL_ERROR "Tests: they lack ${tests_missing}; `scripts/test` installs what they need")
    elseif(tests_missing)
        message(STATUS "Tests: not built, for lack of ${tests_missing}; `scripts/test` installs what they need")
        set(BUILD_TESTING OFF) # for this time: once it is there they are built
    endif()
endif()
