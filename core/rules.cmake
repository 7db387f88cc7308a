# How every library, program and test of this project is declared: the flags that all of our code
# shares, and three functions. The floor plan itself is core/README.md, checked by tests/arch.

add_library(product_flags INTERFACE)
target_compile_options(product_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion
    -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
target_include_directories(product_flags INTERFACE ${PROJECT_SOURCE_DIR})
if(LOCKSTEP_WERROR)
    target_compile_options(product_flags INTERFACE -Werror)
endif()
if(LOCKSTEP_ASSERTS)
    target_compile_options(product_flags INTERFACE -UNDEBUG)
    target_compile_definitions(product_flags INTERFACE QT_FORCE_ASSERTS)
endif()
if(LOCKSTEP_SANITIZE)
    target_compile_options(product_flags INTERFACE -fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer
        -fno-sanitize-recover=all)
    target_link_options(product_flags INTERFACE -fsanitize=${LOCKSTEP_SANITIZE})
    if(LOCKSTEP_SANITIZE MATCHES "thread")
        # GCC 12 warns that TSan does not model atomic_thread_fence, which the standard library uses.
        target_compile_options(product_flags INTERFACE -Wno-tsan)
        target_compile_definitions(product_flags INTERFACE LOCKSTEP_TSAN)
    endif()
endif()

# Engine half: any x86-64-v2 host, and no contraction, so that hosts with and without FMA agree.
add_library(engine_flags INTERFACE)
target_link_libraries(engine_flags INTERFACE product_flags)
target_compile_options(engine_flags INTERFACE -ffp-contract=off)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    target_compile_options(engine_flags INTERFACE -march=x86-64-v2)
endif()

# Control half and ui: Qt without implicit casts from char*.
add_library(control_flags INTERFACE)
target_link_libraries(control_flags INTERFACE product_flags)
target_compile_definitions(control_flags INTERFACE QT_NO_CAST_FROM_ASCII QT_NO_CAST_TO_ASCII
    QT_NO_KEYWORDS QT_DISABLE_DEPRECATED_BEFORE=0x060400)

# lockstep_library(core_base HALF engine|control SOURCES a.cpp HEADERS a.h
#                  PUBLIC Lockstep::x PRIVATE y)
# Headers go into a FILE_SET, so that the target all_verify_interface_header_sets compiles each alone.
function(lockstep_library NAME)
    cmake_parse_arguments(ARG "" "HALF" "SOURCES;HEADERS;PUBLIC;PRIVATE" ${ARGN})
    add_library(${NAME} STATIC ${ARG_SOURCES})
    add_library(Lockstep::${NAME} ALIAS ${NAME})
    target_sources(${NAME} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
    target_link_libraries(${NAME} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
    target_link_libraries(${NAME} PUBLIC ${ARG_HALF}_flags)
    if(ARG_HALF STREQUAL "control")
        set_target_properties(${NAME} PROPERTIES AUTOMOC ON)
    else()
        set_property(GLOBAL APPEND PROPERTY LOCKSTEP_ENGINE_LIBRARIES ${NAME}) # for tests/arch
    endif()
endfunction()

# lockstep_program(lockstepctl HALF control SOURCES ... LIBS ...)
function(lockstep_program NAME)
    cmake_parse_arguments(ARG "" "HALF" "SOURCES;LIBS" ${ARGN})
    add_executable(${NAME} ${ARG_SOURCES})
    target_link_libraries(${NAME} PRIVATE ${ARG_LIBS} ${ARG_HALF}_flags)
    if(ARG_HALF STREQUAL "control")
        set_target_properties(${NAME} PROPERTIES AUTOMOC ON)
    endif()
endfunction()

# lockstep_test(tst_json.cpp LABELS unit LIBS Lockstep::core_base [TIMEOUT 60])
# One executable and one CTest entry per file; the entry is named after the file's path below
# tests/ ("core/base/tst_json"), the target likewise ("core_base_tst_json"). DEPENDS names programs
# that must be built first. LABELS: unit | integration | ssh | multi | gpu | gui | slow | bench | arch.
function(lockstep_test SOURCE)
    cmake_parse_arguments(ARG "" "TIMEOUT" "LABELS;LIBS;EXTRA_SOURCES;ENVIRONMENT;DEPENDS" ${ARGN})
    get_filename_component(stem ${SOURCE} NAME_WE)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR})
    string(REPLACE "/" "_" prefix "${folder}")
    set(target ${prefix}_${stem})
    add_executable(${target} ${SOURCE} ${ARG_EXTRA_SOURCES})
    set_target_properties(${target} PROPERTIES AUTOMOC ON RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_link_libraries(${target} PRIVATE ${ARG_LIBS} Qt6::Test product_flags)
    # Tests are compiled for the person who waits, not for the machine that runs them.
    target_compile_options(${target} PRIVATE -O1 -g1)
    target_compile_definitions(${target} PRIVATE
        LOCKSTEP_SOURCE_DIR="${PROJECT_SOURCE_DIR}" LOCKSTEP_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
        LOCKSTEP_BUILD_DIR="${CMAKE_BINARY_DIR}")
    if(ARG_DEPENDS)
        add_dependencies(${target} ${ARG_DEPENDS})
    endif()
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 60)
    endif()
    set(environment LC_ALL=C.UTF-8 QT_QPA_PLATFORM=offscreen ${ARG_ENVIRONMENT})
    if(LOCKSTEP_SANITIZE MATCHES "address")
        list(APPEND environment "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0")
    endif()
    if(LOCKSTEP_SANITIZE MATCHES "thread")
        # QProcess forks with shared memory, which TSan takes for a fork of this very process.
        list(APPEND environment "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:die_after_fork=0:ignore_noninstrumented_modules=1:suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp")
    endif()
    add_test(NAME ${folder}/${stem} COMMAND ${target})
    set_tests_properties(${folder}/${stem} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
        ENVIRONMENT "${environment}")
endfunction()
