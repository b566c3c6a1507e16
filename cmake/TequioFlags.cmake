# Compiler flags every target shares. Bits depend on -ffp-contract=off: never remove it.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)      # GNU C: __typeof__, attributes; POSIX and Linux calls

set(TEQUIO_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")
option(TEQUIO_WERROR "Warnings are errors" OFF)
option(TEQUIO_FUZZ "Build the libFuzzer targets (clang)" OFF)
option(TEQUIO_COVERAGE "Instrument for coverage" OFF)

add_compile_definitions(_GNU_SOURCE TEQUIO_VERSION="${PROJECT_VERSION}")
add_compile_options(-ffp-contract=off -fno-math-errno -fno-trapping-math -fno-omit-frame-pointer
                    -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
                    $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes> -Wpointer-arith -Wvla)
if(TEQUIO_WERROR)
    add_compile_options(-Werror)
endif()
if(TEQUIO_SANITIZE)
    add_compile_options(-fsanitize=${TEQUIO_SANITIZE} -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${TEQUIO_SANITIZE})
    add_compile_definitions(TEQUIO_SANITIZED)
    set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O1 -g1 -DNDEBUG")    # half of the time to build; traces have lines
endif()
if(TEQUIO_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)      # the fuzzer sees which branches were taken
endif()
if(TEQUIO_COVERAGE)
    add_compile_options(--coverage)
    add_link_options(--coverage)
endif()
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O3 -DNDEBUG -g1")
