# Helpers for the folders: heddle_library, heddle_program, heddle_test.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(GLIB REQUIRED IMPORTED_TARGET glib-2.0)

add_library(heddle_flags INTERFACE)
target_include_directories(heddle_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
target_compile_definitions(heddle_flags INTERFACE _GNU_SOURCE HEDDLE_VERSION="${PROJECT_VERSION}")
target_compile_options(heddle_flags INTERFACE -Wall -Wextra -Werror -Wno-unused-parameter
                       -fno-strict-aliasing -fstack-protector-strong)
if(HEDDLE_SANITIZE STREQUAL "address")
  target_compile_options(heddle_flags INTERFACE -fsanitize=address,undefined
                         -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(heddle_flags INTERFACE -fsanitize=address,undefined)
elseif(HEDDLE_SANITIZE STREQUAL "thread")
  target_compile_options(heddle_flags INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(heddle_flags INTERFACE -fsanitize=thread)
elseif(NOT HEDDLE_SANITIZE STREQUAL "")
  message(FATAL_ERROR "HEDDLE_SANITIZE=${HEDDLE_SANITIZE}: use address, thread or nothing")
endif()

# heddle_library(NAME SOURCES a.c .. [LIBS lib ..]): a static library of one folder.
function(heddle_library name)
  cmake_parse_arguments(A "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name} PUBLIC heddle_flags ${A_LIBS})
endfunction()

# heddle_program(NAME SOURCES a.c .. [LIBS lib ..])
function(heddle_program name)
  cmake_parse_arguments(A "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE heddle_flags ${A_LIBS})
endfunction()

# heddle_test(NAME SOURCES x_test.c .. [LIBS lib ..] [LABEL unit|world|slow] [TIMEOUT s]):
# a cmocka program, registered with ctest under NAME. Label "slow" runs only with --full.
function(heddle_test name)
  cmake_parse_arguments(A "" "LABEL;TIMEOUT" "SOURCES;LIBS;ARGS" ${ARGN})
  if(NOT A_LABEL)
    set(A_LABEL unit)
  endif()
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 120)
  endif()
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE heddle_flags cmocka ${A_LIBS})
  add_test(NAME ${name} COMMAND ${name} ${A_ARGS} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${A_LABEL} TIMEOUT ${A_TIMEOUT}
    ENVIRONMENT "HEDDLE_SOURCE=${CMAKE_SOURCE_DIR};HEDDLE_BUILD=${CMAKE_BINARY_DIR}")
endfunction()
