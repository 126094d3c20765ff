# One helper per kind of target. A library's CMakeLists.txt is a call to underway_library and one to underway_test.
#
#   underway_library(NAME SOURCES a.cpp … DEPENDS underway::base … [LINK PkgConfig::NL …] [ASYNC] [COMMON a.hpp …])
#   underway_test(NAME tests/a_test.cpp … [LABEL unit|sim|integration|chaos|root] [DEPENDS …] [COMMON a.hpp …]
#                 [COST seconds] [SHARDS n] [FIXTURE name] [SERIAL])
#   underway_fuzz(NAME fuzz/a_fuzz.cpp)        corpus in fuzz/corpus/<a>/, replayed as a unit test in every build
#   underway_program(NAME SOURCES … DEPENDS …)
#   underway_static_program(NAME SOURCES … INCLUDES directory …)
#
# DEPENDS is the architecture: cmake/check_includes.cmake refuses an include of a library that is not in it, and the
# link check links the whole library with nothing but it. ASYNC selects the precompiled header that holds Asio. COMMON
# is for many files that begin with the same large header of ours: it is compiled once for all of them, on top of that.
#
# ctest runs several tests at once, those with the greatest COST first: it is for the long ones. Tests with the labels
# integration, chaos and root are each in a lane (tests/harness/lane.cpp). SHARDS has its cases run as so many tests,
# FIXTURE names what is made before it (FIXTURES_REQUIRED of CMake), and SERIAL is for what only holds on a machine that
# does nothing else. None counts for more than one: ctest starts what fits, so such a test waits until the others are
# over, and then runs alone.

function(underway_pch target kind)
  if(ARGN)
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE here)
    list(TRANSFORM ARGN REPLACE "(.+)" "\"${here}/\\1\"" OUTPUT_VARIABLE common)
    target_precompile_headers(${target} PRIVATE "\"cmake/pch_${kind}.hpp\"" ${common})
  else()
    target_precompile_headers(${target} REUSE_FROM underway_pch_${kind})
  endif()
endfunction()

add_custom_target(precompiled_headers)
file(WRITE ${CMAKE_BINARY_DIR}/generated/empty.cpp "")
file(WRITE ${CMAKE_BINARY_DIR}/generated/main_empty.cpp "int main() {}\n")
foreach(kind base async test)
  add_library(underway_pch_${kind} OBJECT ${CMAKE_BINARY_DIR}/generated/empty.cpp)
  target_precompile_headers(underway_pch_${kind} PRIVATE "\"cmake/pch_${kind}.hpp\"")
  target_link_libraries(underway_pch_${kind} PRIVATE underway_options fmt::fmt Boost::json Boost::headers)
  add_dependencies(precompiled_headers underway_pch_${kind})
endforeach()
target_link_libraries(underway_pch_test PRIVATE GTest::gtest GTest::gmock)
# Tests are compiled more often than they are run: optimizing them took two fifths of a clean build.
target_compile_options(underway_pch_test PRIVATE -O0)

# Batches of at most `size` files that are compiled as one: what their headers cost is paid once for all. Names in anonymous
# namespaces of one library differ, or this would not compile. Our own, and not CMake's UNITY_BUILD: its batches name files
# by where the checkout is, so that another checkout finds nothing in the compiler's cache. A source with the property
# UNDERWAY_ALONE is compiled alone.
function(underway_batches result target size)
  set(alone "")
  set(together "")
  foreach(source IN LISTS ARGN)
    get_source_file_property(skip ${source} UNDERWAY_ALONE)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(IS_PREFIX CMAKE_SOURCE_DIR ${path} ours)
    if(skip OR NOT ours OR NOT path MATCHES "[.]cpp$")
      list(APPEND alone ${source})
    else()
      cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
      list(APPEND together "#include \"${path}\"\n")
    endif()
  endforeach()
  list(LENGTH together count)
  if(NOT UNDERWAY_UNITY OR count LESS 2)
    set(${result} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  # Of one size, as the last to be done is waited for.
  math(EXPR last "(${count} - 1) / ${size}")
  math(EXPR size "${count} / (${last} + 1) + 1")
  foreach(number RANGE ${last})
    math(EXPR first "${number} * ${size}")
    list(SUBLIST together ${first} ${size} batch)
    string(JOIN "" text ${batch})
    set(file ${CMAKE_CURRENT_BINARY_DIR}/batches/${target}_${number}.cpp)
    file(GENERATE OUTPUT ${file} CONTENT "${text}")
    list(APPEND alone ${file})
  endforeach()
  set(${result} ${alone} PARENT_SCOPE)
endfunction()

function(underway_library name)
  cmake_parse_arguments(ARG "ASYNC" "" "SOURCES;DEPENDS;LINK;COMMON" ${ARGN})
  set(target underway_${name})
  underway_batches(sources ${target} 16 ${ARG_SOURCES})
  add_library(${target} STATIC ${sources})
  add_library(underway::${name} ALIAS ${target})
  get_filename_component(floor_dir ${CMAKE_CURRENT_SOURCE_DIR} DIRECTORY)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.hpp)
  list(FILTER headers EXCLUDE REGEX "/(detail|tests|fuzz|init|pull|fetch)/")
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${floor_dir} FILES ${headers})
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  target_link_libraries(${target} PUBLIC ${ARG_DEPENDS} fmt::fmt Boost::headers Threads::Threads ${ARG_LINK}
                                  PRIVATE underway_options)
  if(ARG_ASYNC)
    underway_pch(${target} async ${ARG_COMMON})
  else()
    underway_pch(${target} base ${ARG_COMMON})
  endif()
  set_property(GLOBAL APPEND PROPERTY UNDERWAY_LIBRARIES ${name})

  # The link check: every object of the library, nothing but its DEPENDS. What is thrown away would not be looked at.
  add_executable(linkcheck_${name} ${CMAKE_BINARY_DIR}/generated/main_empty.cpp)
  target_link_libraries(linkcheck_${name} PRIVATE underway_options -Wl,--no-gc-sections
    -Wl,--whole-archive $<TARGET_FILE:${target}> -Wl,--no-whole-archive ${ARG_DEPENDS} fmt::fmt Threads::Threads ${ARG_LINK})
  add_dependencies(linkcheck_${name} ${target})
  add_test(NAME includes.${name} COMMAND ${CMAKE_COMMAND} -DLIBRARY=${name} -DDIR=${CMAKE_CURRENT_SOURCE_DIR}
           "-DDEPENDS=${ARG_DEPENDS}" -DSRC=${CMAKE_SOURCE_DIR}/src -P ${CMAKE_SOURCE_DIR}/cmake/check_includes.cmake)
  set_tests_properties(includes.${name} PROPERTIES LABELS unit)
endfunction()

# Gives `target` the functions of tests/harness/places.hpp.
function(underway_places target)
  set(places ${CMAKE_CURRENT_BINARY_DIR}/${target}_places.cpp)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/places.cpp.in ${places} @ONLY)
  set_property(SOURCE ${places} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
  target_sources(${target} PRIVATE ${places})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
endfunction()

function(underway_test name)
  cmake_parse_arguments(ARG "SERIAL" "LABEL;TIMEOUT;COST;FIXTURE;SHARDS" "DEPENDS;COMMON" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set(target test_${name}_${ARG_LABEL})
  underway_batches(sources ${target} 8 ${ARG_UNPARSED_ARGUMENTS})
  add_executable(${target} ${sources})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  underway_places(${target})
  target_link_libraries(${target} PRIVATE underway_options ${ARG_DEPENDS} GTest::gtest GTest::gmock
                                          fmt::fmt Boost::json)
  if(ARG_LABEL MATCHES "^(integration|chaos|root)$")
    target_link_libraries(${target} PRIVATE underway_lane)
  else()
    target_link_libraries(${target} PRIVATE GTest::gtest_main)
  endif()
  if(TARGET underway_${name})
    target_link_libraries(${target} PRIVATE underway::${name})
  endif()
  if(ARG_LABEL STREQUAL sim)  # these run for long
    underway_pch(${target} async ${ARG_COMMON})
  else()
    underway_pch(${target} test ${ARG_COMMON})
    target_compile_options(${target} PRIVATE -O0)
  endif()
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    set(test ${ARG_LABEL}.${name})
    if(ARG_SHARDS GREATER 1)
      string(APPEND test .${shard})
    endif()
    add_test(NAME ${test} COMMAND ${target})
    set_tests_properties(${test} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
    if(ARG_SHARDS GREATER 1)
      math(EXPR index "${shard} - 1")
      set_tests_properties(${test} PROPERTIES ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${index}")
    endif()
    if(ARG_COST)
      set_tests_properties(${test} PROPERTIES COST ${ARG_COST})
    endif()
    if(ARG_FIXTURE)
      set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED ${ARG_FIXTURE})
    endif()
    if(ARG_SERIAL)
      set_tests_properties(${test} PROPERTIES RUN_SERIAL ON)
    endif()
  endforeach()
endfunction()

function(underway_fuzz name source)
  get_filename_component(what ${source} NAME_WE)
  set(corpus ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${what})
  add_executable(${what} ${source})
  target_link_libraries(${what} PRIVATE underway_options underway::${name})
  target_include_directories(${what} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  if(UNDERWAY_FUZZ)
    target_compile_options(${what} PRIVATE -fsanitize=fuzzer)
    target_link_options(${what} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${what} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/fuzz_replay.cpp)
    underway_pch(${what} test)
    target_compile_options(${what} PRIVATE -O0)  # as tests: replayed in no time
    add_test(NAME fuzz.${what} COMMAND ${what} ${corpus})
    set_tests_properties(fuzz.${what} PROPERTIES LABELS unit)
  endif()
endfunction()

function(underway_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE underway_options ${ARG_DEPENDS})
  target_link_options(${name} PRIVATE -pie)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  # Four fifths of it are lines for debuggers, which find them in NAME.debug beside it.
  add_custom_command(TARGET ${name} POST_BUILD VERBATIM
    COMMAND ${CMAKE_OBJCOPY} --only-keep-debug $<TARGET_FILE:${name}> $<TARGET_FILE:${name}>.debug
    COMMAND ${CMAKE_OBJCOPY} --strip-debug --add-gnu-debuglink=$<TARGET_FILE:${name}>.debug $<TARGET_FILE:${name}>)
endfunction()

# Small, resident once per task, host or capsule, or the first process of a root that has no libraries: static, with no
# C++ library, no sanitizer and no exceptions.
function(underway_static_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;INCLUDES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${ARG_INCLUDES})
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  target_compile_options(${name} PRIVATE -Os -g1 -Wall -Wextra -Wpedantic -Wshadow -Wold-style-cast -Werror
    -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-asynchronous-unwind-tables -ffunction-sections -fdata-sections
    ${UNDERWAY_HARDEN_COMPILE} -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  target_link_options(${name} PRIVATE -fuse-ld=lld -static-pie -nostdlib++ -Wl,--gc-sections ${UNDERWAY_HARDEN_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endfunction()
