# orbit_library(NAME [SMALL] [DEPS folder...] [LINK target...] [TEST_LINK target...])
#
# Declares src/orbit/NAME as the static library orbit_NAME and its tests (src/orbit/NAME/tests/*.cpp) as the
# program NAME_tests. The folder is made visible through an include root of its own,
# <build>/include/NAME/orbit/NAME -> src/orbit/NAME, and a library only has the roots of the folders it
# declares: an undeclared `#include "orbit/other/x.hpp"` does not compile. There is no common root. TEST_LINK names what
# only the tests may use besides: real parts of other folders in the place of fakes.
# SMALL: optimised for size. For folders whose time goes elsewhere (disk, network, people): the binary is capped at 12 MB.
function(orbit_library name)
  cmake_parse_arguments(arg "SMALL" "" "DEPS;LINK;TEST_LINK" ${ARGN})
  set(folder ${CMAKE_SOURCE_DIR}/src/orbit/${name})
  set(root ${CMAKE_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${root}/orbit)
  file(CREATE_LINK ${folder} ${root}/orbit/${name} SYMBOLIC)

  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  if(sources)
    add_library(orbit_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(orbit_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(orbit_${name} ${scope} ${root})
  foreach(dep ${arg_DEPS})
    target_link_libraries(orbit_${name} ${scope} orbit_${dep})
  endforeach()
  target_link_libraries(orbit_${name} ${scope} ${arg_LINK})
  if(arg_SMALL AND sources AND CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(orbit_${name} PRIVATE -Os)
  endif()

  file(GLOB tests CONFIGURE_DEPENDS ${folder}/tests/*.cpp)
  if(tests)
    add_executable(${name}_tests ${tests})
    target_compile_options(${name}_tests PRIVATE -O0)  # compiled far more often than run
    target_link_libraries(${name}_tests PRIVATE orbit_${name} ${arg_TEST_LINK} GTest::gtest_main GTest::gmock rapidcheck rapidcheck_gtest)
    target_compile_definitions(${name}_tests PRIVATE ORBIT_SOURCE_DIR="../..")  # from build/<preset>, where tests run: objects are the same in every clone
    gtest_discover_tests(${name}_tests TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60 PROPERTIES LABELS unit TIMEOUT 120)
    set_property(GLOBAL APPEND PROPERTY ORBIT_UNIT_TESTS ${name}_tests)
  endif()
endfunction()

# orbit_test_program(NAME LIBRARY SOURCES...)
#
# Tests that share something dear to start (a database): one program, one entry of ctest, run as a whole.
function(orbit_test_program name library)
  add_executable(${name} ${ARGN})
  target_compile_options(${name} PRIVATE -O0)
  target_link_libraries(${name} PRIVATE ${library} GTest::gtest_main GTest::gmock rapidcheck rapidcheck_gtest)
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 300)
  set_property(GLOBAL APPEND PROPERTY ORBIT_UNIT_TESTS ${name})
endfunction()
