# Version and build id: `underway version` prints both. The build id is the commit, read at configure time.
find_package(Git QUIET)
set(UNDERWAY_BUILD_ID "unknown")
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} rev-parse --short=12 HEAD
                  OUTPUT_VARIABLE UNDERWAY_BUILD_ID OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(UNDERWAY_VERSION_HEADER_DIR ${CMAKE_BINARY_DIR}/generated)
configure_file(${CMAKE_SOURCE_DIR}/cmake/version.cpp.in ${UNDERWAY_VERSION_HEADER_DIR}/version.cpp @ONLY)
