# One room of the house = one folder = one static library room_NAME + one test program NAME_test of all its *_test.cc.
#
#   pantoum_room(NAME [DEPENDS rooms and libraries...] [PRIVATE system libraries...] [TEST_DEPENDS rooms...]
#                [THREADED tests...] [ALONE tests...] [APART files...] [COLD])
#
# Builds every .c and .cc of the folder except *_test.cc. Each FOO_test.cc is a ctest test NAME/FOO_test: its suites,
# run by the room's program.
#   THREADED  tests that start threads: all that TSan can find something about
#   ALONE     tests that are programs of their own (they replace the allocator)
#   APART     files that no unity build takes in: their private names are those of another file
#   COLD      no time is spent in this room while a step runs or a plan is sought: PANTOUM_COLD_OPTIMIZATION, as tests are; -O1
#             compiles in two thirds of the time of -O3, and with sanitizers -O0 in half the time of -O1
#
# Unity builds (PANTOUM_UNITY): five files (PANTOUM_UNITY_FILES) are compiled as one, in half the time. `all`: every room of C++ and its tests, as
# the sanitizers are built and clang-tidy looks at it; `cold`: COLD rooms, and all tests; `none`: no room, for daily work. C is never.

set(PANTOUM_UNITY cold CACHE STRING "rooms whose files are compiled several at a time: none, cold, all")
if(NOT PANTOUM_UNITY MATCHES "^(none|cold|all)$")
  message(FATAL_ERROR "PANTOUM_UNITY is none, cold or all, not ${PANTOUM_UNITY}")
endif()

set(PANTOUM_UNITY_FILES 5 CACHE STRING "how many files at most a unity build compiles as one")

set(PANTOUM_COLD_OPTIMIZATION -O1 CACHE STRING "how COLD rooms and tests are optimized")

add_custom_target(unit_tests)      # builds every unit test
add_custom_target(threaded_tests)  # those that start threads

# What most files include. Precompiled once for the rooms and once, with GoogleTest, for their tests.
set(PANTOUM_COMMON_HEADERS <algorithm> <array> <cmath> <cstddef> <cstdint> <cstring> <functional> <map> <memory> <optional> <set>
  <span> <string> <string_view> <utility> <vector> <fmt/format.h>)

function(pantoum_precompiled target options libraries)
  file(WRITE ${CMAKE_BINARY_DIR}/${target}.cc.new "// Carries precompiled headers; nothing else.\n")
  file(COPY_FILE ${CMAKE_BINARY_DIR}/${target}.cc.new ${CMAKE_BINARY_DIR}/${target}.cc ONLY_IF_DIFFERENT)
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/${target}.cc)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  target_link_libraries(${target} PRIVATE ${libraries})
  target_compile_options(${target} PRIVATE ${options})
endfunction()
pantoum_precompiled(pantoum_headers "" fmt::fmt ${PANTOUM_COMMON_HEADERS})
pantoum_precompiled(pantoum_cold_headers ${PANTOUM_COLD_OPTIMIZATION} fmt::fmt ${PANTOUM_COMMON_HEADERS})
if(PANTOUM_TESTS)
pantoum_precompiled(pantoum_test_headers ${PANTOUM_COLD_OPTIMIZATION} "fmt::fmt;GTest::gtest;GTest::gmock" ${PANTOUM_COMMON_HEADERS} <gtest/gtest.h> <gmock/gmock.h>)
set_target_properties(pantoum_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)  # of programs: as these are compiled
endif()

# "Suite.*:*/Suite.*/*:Suite/*.*" for every suite of the file, however it is parametrized.
function(pantoum_suites file result)
  file(STRINGS ${file} lines REGEX "^(TEST|TEST_F|TEST_P|TYPED_TEST)\\(")
  set(filters "")
  foreach(line ${lines})
    string(REGEX REPLACE "^[A-Z_]+\\( *([A-Za-z0-9_]+).*" "\\1" suite "${line}")
    list(APPEND filters "${suite}.*" "*/${suite}.*" "${suite}/*")
  endforeach()
  if(NOT filters)
    message(FATAL_ERROR "${file} has no test that ctest could run")
  endif()
  list(REMOVE_DUPLICATES filters)
  list(JOIN filters ":" joined)
  set(${result} "${joined}" PARENT_SCOPE)
endfunction()

# Compiles several files of the target at a time, where PANTOUM_UNITY says so. `cold`: the target is a COLD room, or tests.
function(pantoum_unity target cold)
  if(PANTOUM_UNITY STREQUAL "all" OR (PANTOUM_UNITY STREQUAL "cold" AND cold))
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${PANTOUM_UNITY_FILES})
  endif()
endfunction()

#   pantoum_test_program(TARGET FILES... LIBRARIES libraries...)
function(pantoum_test_program target)
  cmake_parse_arguments(program "" "" "LIBRARIES" ${ARGN})
  add_executable(${target} EXCLUDE_FROM_ALL ${program_UNPARSED_ARGUMENTS})
  target_link_libraries(${target} PRIVATE ${program_LIBRARIES} fmt::fmt GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${target} PRIVATE PANTOUM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_compile_options(${target} PRIVATE ${PANTOUM_COLD_OPTIMIZATION})  # the test's own code; halves the time of the build
  target_precompile_headers(${target} REUSE_FROM pantoum_test_headers)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endfunction()

#   pantoum_room_tests(NAME FILES tests... LIBRARIES libraries... [THREADED tests...] [ALONE tests...])
function(pantoum_room_tests name)
  if(NOT PANTOUM_TESTS)
    return()
  endif()
  cmake_parse_arguments(room "" "" "FILES;LIBRARIES;THREADED;ALONE" ${ARGN})
  set(together "")
  foreach(test ${room_FILES})
    get_filename_component(stem ${test} NAME_WE)
    pantoum_suites(${test} suites)
    set(program ${name}_test)
    if(stem IN_LIST room_ALONE)
      set(program ${name}_${stem})
      pantoum_test_program(${program} ${test} LIBRARIES ${room_LIBRARIES})
    else()
      list(APPEND together ${test})
    endif()
    add_test(NAME ${name}/${stem} COMMAND ${program} --gtest_filter=${suites})
    set(labels unit)
    if(stem IN_LIST room_THREADED)
      list(APPEND labels threaded)
      add_dependencies(threaded_tests ${program})
    endif()
    set_tests_properties(${name}/${stem} PROPERTIES LABELS "${labels}")
    add_dependencies(unit_tests ${program})
  endforeach()
  if(together)
    pantoum_test_program(${name}_test ${together} LIBRARIES ${room_LIBRARIES})
    pantoum_unity(${name}_test TRUE)
  endif()
endfunction()

function(pantoum_room name)
  cmake_parse_arguments(room "COLD" "" "DEPENDS;PRIVATE;TEST_DEPENDS;THREADED;ALONE;APART" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc *.c)
  file(GLOB tests CONFIGURE_DEPENDS *_test.cc)
  list(REMOVE_ITEM sources ${tests})
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  set(target room_${name})
  list(TRANSFORM room_APART APPEND .cc)
  set_source_files_properties(${room_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(c_sources ${sources})
  list(FILTER c_sources INCLUDE REGEX "\\.c$")
  set_source_files_properties(${c_sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  if(sources)
    add_library(${target} STATIC EXCLUDE_FROM_ALL ${sources})
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target} PUBLIC ${room_DEPENDS} PRIVATE ${room_PRIVATE})
    pantoum_unity(${target} ${room_COLD})
    list(FILTER sources INCLUDE REGEX "\\.cc$")
    set(headers pantoum_headers)
    if(room_COLD)
      target_compile_options(${target} PRIVATE ${PANTOUM_COLD_OPTIMIZATION})
      set(headers pantoum_cold_headers)
    endif()
    if(sources)
      target_precompile_headers(${target} REUSE_FROM ${headers})
    endif()
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target} INTERFACE ${room_DEPENDS})
  endif()
  pantoum_room_tests(${name} FILES ${tests} LIBRARIES ${target} ${room_TEST_DEPENDS} THREADED ${room_THREADED} ALONE ${room_ALONE})
endfunction()
