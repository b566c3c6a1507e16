# tequio_page(<target> <folder>): puts the page of src/cli/look/page into the target as `const char table_page[]`: one
# HTML file with its style, its scripts and Chart.js, which Debian has in libjs-chart.js. Without Chart.js 3 or 4 pages
# have no curves, and say so.
find_file(TEQUIO_CHART_JS NAMES chart.umd.js chart.min.js
          PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist
          DOC "Chart.js 3 or 4, as one script")
if(TEQUIO_CHART_JS AND EXISTS "${TEQUIO_CHART_JS}")
    file(STRINGS ${TEQUIO_CHART_JS} tequio_chart_banner REGEX "Chart.js v[0-9]" LIMIT_COUNT 1)
endif()
set(tequio_chart ${TEQUIO_CHART_JS})
if(NOT "${tequio_chart_banner}" MATCHES "Chart.js v[34]")
    message(STATUS "Chart.js 3 or 4 is not here (Debian: libjs-chart.js): pages will have no curves")
    set(tequio_chart "")
endif()

function(tequio_page target folder)
    file(GLOB assets CONFIGURE_DEPENDS ${folder}/*)
    set(page ${PROJECT_BINARY_DIR}/tables/page.html)
    set(out ${PROJECT_BINARY_DIR}/tables/page.c)
    add_custom_command(OUTPUT ${out}
        COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DCHART=${tequio_chart} -DTO=${page}
                -P ${PROJECT_SOURCE_DIR}/cmake/page.cmake
        COMMAND ${CMAKE_COMMAND} -DFROM=${page} -DNAME=page -DTO=${out} -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
        DEPENDS ${assets} ${tequio_chart}
                ${PROJECT_SOURCE_DIR}/cmake/page.cmake ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
        COMMENT "Embedding the page" VERBATIM)
    target_sources(${target} PRIVATE ${out})
endfunction()
