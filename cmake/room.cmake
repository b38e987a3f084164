# One room of the house = one folder = one static library room_NAME + one test program per *_test.cc.
#
#   pantoum_room(NAME [DEPENDS rooms and libraries...] [PRIVATE system libraries...] [TEST_DEPENDS rooms...])
#
# Builds every .c and .cc of the folder except *_test.cc, and a test NAME_FOO_test for every FOO_test.cc.

add_custom_target(unit_tests)      # builds every unit test
add_custom_target(threaded_tests)  # those that start threads

#   pantoum_threaded(ROOM tests...)  These unit tests of the room start threads: all that TSan can find something about.
function(pantoum_threaded room)
  foreach(test ${ARGN})
    set_tests_properties(${room}/${test} PROPERTIES LABELS "unit;threaded")
    add_dependencies(threaded_tests ${room}_${test})
  endforeach()
endfunction()

#   pantoum_unit_test(ROOM FILE libraries...)
function(pantoum_unit_test room file)
  get_filename_component(stem ${file} NAME_WE)
  set(target ${room}_${stem})
  add_executable(${target} ${file})
  target_link_libraries(${target} PRIVATE ${ARGN} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${target} PRIVATE PANTOUM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_compile_options(${target} PRIVATE -O1)  # the test's own code; halves the time of the build
  add_test(NAME ${room}/${stem} COMMAND ${target})
  set_tests_properties(${room}/${stem} PROPERTIES LABELS unit)
  add_dependencies(unit_tests ${target})
endfunction()

function(pantoum_room name)
  cmake_parse_arguments(room "" "" "DEPENDS;PRIVATE;TEST_DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc *.c)
  file(GLOB tests CONFIGURE_DEPENDS *_test.cc)
  list(REMOVE_ITEM sources ${tests})
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  set(target room_${name})
  if(sources)
    add_library(${target} STATIC ${sources})
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target} PUBLIC ${room_DEPENDS} PRIVATE ${room_PRIVATE})
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target} INTERFACE ${room_DEPENDS})
  endif()
  foreach(test ${tests})
    pantoum_unit_test(${name} ${test} ${target} ${room_TEST_DEPENDS})
  endforeach()
endfunction()
