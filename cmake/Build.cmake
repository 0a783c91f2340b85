# How everything is compiled: the standard, the warnings, the sanitizers and the tools that make it fast.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# Symbols are the library's own business, but for those that ATTEND_API shows.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# What is hot is in kernels/, which asks for -O3 itself.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

# -fPIC everywhere: the precompiled header is then the same for libraries, programs and tests.
add_compile_options(-fPIC -Wall -Wextra -Wno-unused-parameter)
if(ATTEND_WARNINGS_AS_ERRORS)
  # gcc 12 sees overlapping copies inside std::string that are not there (its bug 105651), and elements behind
  # vectors of tensors; and, without optimisation, fmt writing too far.
  add_compile_options(-Werror -Wno-error=restrict -Wno-error=array-bounds -Wno-stringop-overflow)
endif()
if(ATTEND_SANITIZE)
  add_compile_options(-fsanitize=${ATTEND_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ATTEND_SANITIZE})
endif()

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_CURRENT_LIST_DIR}/compile-cached ${CCACHE})
  add_compile_options(-fpch-preprocess)
endif()
