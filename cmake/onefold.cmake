# The functions every CMakeLists.txt of the tree uses, and the options they obey.
#
#   onefold_library(NAME SRCS a.cc… DEPS targets…)
#   onefold_program(NAME SRCS main.cc… DEPS targets…)
#   onefold_test(NAME TIER SRCS a_test.cc… DEPS targets… [TIMEOUT seconds])
#   onefold_script_test(NAME TIER COMMAND python3 a_test.py… [TIMEOUT seconds])
#
# TIER is unit, sim, btrfs, e2e, browser or packages and becomes the ctest label: `ctest -L unit` picks one.

set(ONEFOLD_SANITIZE "" CACHE STRING "Build with a sanitizer: address, thread or nothing")
set_property(CACHE ONEFOLD_SANITIZE PROPERTY STRINGS "" address thread)
option(ONEFOLD_WERROR "Warnings are errors (for development; packagers leave it off)" OFF)
option(ONEFOLD_FAST_TOOLS "Use ccache and mold where they are installed" ON)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(ONEFOLD_FAST_TOOLS)
  find_program(ONEFOLD_CCACHE ccache)
  find_program(ONEFOLD_MOLD mold)
  mark_as_advanced(ONEFOLD_CCACHE ONEFOLD_MOLD)
  if(ONEFOLD_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # Clones of the same sources in different folders share what was compiled; what the sloppiness
    # allows is what precompiled headers need.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
        CCACHE_NOHASHDIR=true CCACHE_SLOPPINESS=pch_defines,time_macros
        ${ONEFOLD_CCACHE})
  endif()
  if(ONEFOLD_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()

if(ONEFOLD_SANITIZE STREQUAL "address" OR ONEFOLD_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=${ONEFOLD_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ONEFOLD_SANITIZE})
elseif(ONEFOLD_SANITIZE)
  message(FATAL_ERROR "ONEFOLD_SANITIZE is '${ONEFOLD_SANITIZE}'; it may be address, thread or empty")
endif()

# How the sources of tests are compiled, and the header that they share precompiled. -pthread, because
# some libraries ask for it and the header fits only what is compiled like it.
set(ONEFOLD_TEST_COMPILE_OPTIONS -O0 -pthread)

add_library(onefold_warnings INTERFACE)
target_compile_options(onefold_warnings INTERFACE -Wall -Wextra)
if(ONEFOLD_WERROR)
  target_compile_options(onefold_warnings INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlapping copies inside std::string where there are none (GCC bug 105651).
  target_compile_options(onefold_warnings INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # The one thing a clang build is for: checking the lock annotations, which gcc ignores.
  target_compile_options(onefold_warnings INTERFACE -Werror=thread-safety)
endif()

# Adds those of the given folders that have a CMakeLists.txt.
macro(onefold_subdirectories)
  foreach(folder ${ARGN})
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
      add_subdirectory(${folder})
    endif()
  endforeach()
endmacro()

# A static library. DEPS are public: whoever links it gets them too. Without SRCS it has headers only.
function(onefold_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SRCS;DEPS")
  _onefold_check_arguments(onefold_library ${name})
  if(arg_SRCS)
    add_library(${name} STATIC ${arg_SRCS})
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC ${arg_DEPS} PRIVATE onefold_warnings)
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} INTERFACE ${arg_DEPS})
  endif()
endfunction()

function(onefold_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SRCS;DEPS")
  _onefold_check_arguments(onefold_program ${name})
  add_executable(${name} ${arg_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} onefold_warnings)
endfunction()

# A GoogleTest program with our main (tests/main/test_main.cc). Does nothing without
# BUILD_TESTING. Building the target `onefold_tests` builds all of them.
#
# ThreadSanitizer sees races inside Debian's uninstrumented gRPC that are none. In such a build, tests
# whose libraries reach gRPC are left out.
function(onefold_test name tier)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIMEOUT" "SRCS;DEPS")
  _onefold_check_arguments(onefold_test ${name})
  _onefold_check_tier(${name} ${tier})
  if(NOT BUILD_TESTING)
    return()
  endif()
  add_executable(${name} ${arg_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} onefold_test_main onefold_warnings)
  # Tests are compiled far more often than they run: what they test is optimised, they are not.
  target_compile_options(${name} PRIVATE ${ONEFOLD_TEST_COMPILE_OPTIONS})
  target_precompile_headers(${name} REUSE_FROM onefold_test_main)
  if(ONEFOLD_SANITIZE STREQUAL "thread")
    _onefold_reaches_grpc(reaches_grpc ${arg_DEPS})
    if(reaches_grpc)
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
      return()
    endif()
  endif()
  if(NOT TARGET onefold_tests)
    add_custom_target(onefold_tests)
  endif()
  add_dependencies(onefold_tests ${name})
  add_test(NAME ${name} COMMAND ${name})
  _onefold_test_properties(${name} ${tier} 60 "${arg_TIMEOUT}")
endfunction()

# A test written as a script. It finds the program of this build in ONEFOLD_BIN and the tree in
# ONEFOLD_SOURCE_DIR. Exit 77 means skipped; the reason is a line "SKIP: …" of its output.
function(onefold_script_test name tier)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIMEOUT" "COMMAND")
  _onefold_check_arguments(onefold_script_test ${name})
  _onefold_check_tier(${name} ${tier})
  if(NOT BUILD_TESTING OR ONEFOLD_SANITIZE STREQUAL "thread")
    return()
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  _onefold_test_properties(${name} ${tier} 300 "${arg_TIMEOUT}")
  set(environment ONEFOLD_SOURCE_DIR=${PROJECT_SOURCE_DIR} PYTHONDONTWRITEBYTECODE=1)
  if(TARGET onefold)
    list(APPEND environment ONEFOLD_BIN=$<TARGET_FILE:onefold>)
  endif()
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ${environment})
endfunction()

# ---- inside this file only ----

function(_onefold_test_properties name tier timeout_default timeout)
  if(NOT timeout)
    set(timeout ${timeout_default})
  endif()
  set(environment ONEFOLD_SANITIZE=${ONEFOLD_SANITIZE})
  if(ONEFOLD_SANITIZE)
    math(EXPR timeout "${timeout} * 3")  # instrumented code is about that much slower
  endif()
  if(ONEFOLD_SANITIZE STREQUAL "address")
    list(APPEND environment ASAN_OPTIONS=abort_on_error=0:detect_stack_use_after_return=1
         LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/lsan.supp:print_suppressions=0)
  elseif(ONEFOLD_SANITIZE STREQUAL "thread")
    list(APPEND environment
         TSAN_OPTIONS=halt_on_error=1:ignore_noninstrumented_modules=1:suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan.supp)
  endif()
  set_tests_properties(${name} PROPERTIES
    LABELS ${tier} TIMEOUT ${timeout} SKIP_RETURN_CODE 77 ENVIRONMENT "${environment}")
endfunction()

macro(_onefold_check_arguments function name)
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${function}(${name}): what is '${arg_UNPARSED_ARGUMENTS}'?")
  endif()
endmacro()

function(_onefold_check_tier name tier)
  if(NOT tier MATCHES "^(unit|sim|btrfs|e2e|browser|packages)$")
    message(FATAL_ERROR "${name}: '${tier}' is no tier; unit, sim, btrfs, e2e, browser or packages")
  endif()
endfunction()

# Sets `result` to whether one of the given targets links gRPC, directly or through others.
function(_onefold_reaches_grpc result)
  set(todo ${ARGN})
  set(seen "")
  set(${result} FALSE PARENT_SCOPE)
  while(todo)
    list(POP_FRONT todo target)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" target "${target}")
    if(target IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${target})
    if(target MATCHES "^gRPC::")
      set(${result} TRUE PARENT_SCOPE)
      return()
    endif()
    if(TARGET ${target})
      get_target_property(next ${target} INTERFACE_LINK_LIBRARIES)
      if(next)
        list(APPEND todo ${next})
      endif()
    endif()
  endwhile()
endfunction()
