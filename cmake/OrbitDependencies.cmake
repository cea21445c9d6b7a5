# Debian 12 packages only (docs/adr/0002). Static but for libc: the runner is exec'ed once a run, and its start is
# the floor of throughput (shared libraries cost 21 ms against 5 ms). fmt and spdlog come without an archive in Debian:
# their sources are compiled once into orbit_base (base/fmt_impl.cpp, base/spdlog_impl.cpp).
find_package(Threads REQUIRED)
set(OPENSSL_USE_STATIC_LIBS ON)
find_package(OpenSSL 3 REQUIRED)
set(Boost_USE_STATIC_LIBS ON)
find_package(Boost 1.81 REQUIRED COMPONENTS json url)
find_package(GTest REQUIRED)
find_package(CLI11 QUIET)
if(NOT TARGET CLI11::CLI11)
  add_library(CLI11::CLI11 INTERFACE IMPORTED)
endif()

add_library(fmt_spdlog INTERFACE)
target_compile_definitions(fmt_spdlog INTERFACE SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL SPDLOG_NO_EXCEPTIONS_LOGGED)
target_link_libraries(fmt_spdlog INTERFACE Threads::Threads)

function(orbit_static name)
  cmake_parse_arguments(arg "" "TARGET" "FILES" ${ARGN})
  add_library(${name} INTERFACE)
  foreach(file ${arg_FILES})
    find_library(${name}_${file}_LIBRARY NAMES ${file} REQUIRED)
    target_link_libraries(${name} INTERFACE ${${name}_${file}_LIBRARY})
  endforeach()
endfunction()

orbit_static(soci FILES libsoci_sqlite3.a libsoci_core.a libsqlite3.a)
target_link_libraries(soci INTERFACE ${CMAKE_DL_LIBS})
orbit_static(yaml-cpp FILES libyaml-cpp.a)
orbit_static(rapidcheck FILES librapidcheck.a)
add_library(rapidcheck_gtest INTERFACE)
add_library(valijson INTERFACE)
