set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(ORBIT_SANITIZE "" CACHE STRING "Empty, 'asan' (AddressSanitizer + UndefinedBehaviorSanitizer) or 'tsan'")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # hash_dir=false + base_dir: a second build folder or a fresh clone reuses the objects of the first.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=time_macros ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough
                    -Werror -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports these inside libstdc++ and Boost for correct code at -O2; clang 19 is the second opinion.
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread
                      -Wno-array-bounds -Wno-free-nonheap-object)
else()
  # clang 19 reports what libstdc++ 12 itself deprecates when our code instantiates it (std::stable_sort uses
  # std::get_temporary_buffer). Deprecated calls of our own are caught by the GCC build.
  add_compile_options(-Wno-deprecated-declarations)
endif()
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections)

if(ORBIT_SANITIZE STREQUAL "asan")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
elseif(ORBIT_SANITIZE STREQUAL "tsan")
  add_compile_options(-fsanitize=thread)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)
  endif()
  add_link_options(-fsanitize=thread)
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  # Not libgcc: with an unwinder of our own, exceptions of a library that is loaded at run time (SOCI's PostgreSQL backend)
  # would end the process instead of being caught.
  add_link_options(-static-libstdc++)
endif()
