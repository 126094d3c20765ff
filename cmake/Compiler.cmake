# How every target is compiled. Options choose how to build, never which features exist.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(UNDERWAY_WERROR "treat warnings as errors" ON)
set(UNDERWAY_SANITIZE "" CACHE STRING "sanitizers for every target, e.g. address,undefined or thread")
option(UNDERWAY_UNITY "compile the files of a library in batches: less than half the work, when all of it is to be done" OFF)
option(UNDERWAY_TIME_TRACE "have the compiler tell what it spends its time with: cmake/dearest" OFF)
option(UNDERWAY_FUZZ "build the fuzz targets with libFuzzer instead of the replay driver" OFF)

# g++ 12.2 destroys a capturing lambda inside a co_await expression twice: refuse a compiler that does.
if(NOT DEFINED UNDERWAY_COROUTINES_SOUND)
  try_run(UNDERWAY_PROBE_EXIT UNDERWAY_PROBE_COMPILED ${CMAKE_BINARY_DIR}/probe
          ${CMAKE_SOURCE_DIR}/cmake/coroutine_probe.cpp CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
  if(NOT UNDERWAY_PROBE_COMPILED OR NOT UNDERWAY_PROBE_EXIT EQUAL 0)
    message(FATAL_ERROR "${CMAKE_CXX_COMPILER} miscompiles coroutines (see cmake/coroutine_probe.cpp).\n"
                        "Configure with a preset, or with -DCMAKE_CXX_COMPILER=clang++-19.")
  endif()
  set(UNDERWAY_COROUTINES_SOUND ON CACHE INTERNAL "the compiler passed cmake/coroutine_probe.cpp")
endif()

# Two checkouts share what was compiled: nothing that the compiler is given names the checkout (paths below it are made
# relative), and of a precompiled header, which does, the cache looks at a sum (cmake/cached).
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/cmake/cached ${CMAKE_SOURCE_DIR} ${CCACHE})
endif()

add_library(underway_options INTERFACE)
target_compile_options(underway_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
  -Wold-style-cast -Woverloaded-virtual -Wextra-semi -fno-omit-frame-pointer
  -Wno-missing-designated-field-initializers  # designated initializers with defaults are the house style
  $<$<BOOL:${UNDERWAY_WERROR}>:-Werror>)
if(UNDERWAY_TIME_TRACE)
  target_compile_options(underway_options INTERFACE -ftime-trace)
endif()
target_compile_definitions(underway_options INTERFACE _GNU_SOURCE SPDLOG_FMT_EXTERNAL)
# For "src/…" and "cmake/…" in the files that this build makes.
target_compile_options(underway_options INTERFACE "SHELL:-iquote ${CMAKE_SOURCE_DIR}")
# Each function is a section of its own, so that a program has no more of a library than it calls: an idle agent's memory is
# mostly pages of its program.
target_compile_options(underway_options INTERFACE -ffunction-sections -fdata-sections)
target_link_options(underway_options INTERFACE -fuse-ld=lld -Wl,--as-needed -Wl,--gc-sections -Wl,--icf=safe)
target_compile_options(underway_options INTERFACE "SHELL:-Xclang -fno-pch-timestamp")

# These daemons run as root and read what strangers send: a mistake in memory shall end a process, and not more. A
# program has its addresses chosen at its start, and its tables are read-only from then on.
set(UNDERWAY_HARDEN_COMPILE -fPIE -fstack-protector-strong -ftrivial-auto-var-init=zero)
set(UNDERWAY_HARDEN_LINK -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
target_compile_options(underway_options INTERFACE ${UNDERWAY_HARDEN_COMPILE})
target_link_options(underway_options INTERFACE ${UNDERWAY_HARDEN_LINK})
if(NOT UNDERWAY_SANITIZE)  # the sanitizers watch the same calls, and would not see them behind these checks
  target_compile_options(underway_options INTERFACE $<$<CONFIG:Release>:-U_FORTIFY_SOURCE>
                         $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=3>)
endif()
if(UNDERWAY_SANITIZE)
  target_compile_options(underway_options INTERFACE -fsanitize=${UNDERWAY_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(underway_options INTERFACE -fsanitize=${UNDERWAY_SANITIZE})
endif()
if(UNDERWAY_FUZZ)
  # Every library is instrumented, or the fuzzer would see the coverage of its own target's file only.
  target_compile_options(underway_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
