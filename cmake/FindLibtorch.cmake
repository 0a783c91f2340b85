# Finds libtorch and gives Libtorch::torch.
#
# Looks in ATTEND_TORCH (CMake variable or environment: a folder with include/ and lib/), then in the
# folder where scripts/setup unpacks the pinned wheel. PyTorch's own CMake package is not used: a
# CUDA-built libtorch makes it demand a CUDA toolkit (pytorch #73427).
set(ATTEND_TORCH "$ENV{ATTEND_TORCH}" CACHE PATH "A libtorch: the folder that holds include/ and lib/")
include(${PROJECT_SOURCE_DIR}/cmake/Cache.cmake)

find_path(Libtorch_INCLUDE_DIR torch/csrc/api/include/torch/torch.h
  HINTS ${ATTEND_TORCH} ${ATTEND_TORCH_CACHE} PATH_SUFFIXES include NO_DEFAULT_PATH)
find_library(Libtorch_CPU_LIBRARY torch_cpu HINTS ${ATTEND_TORCH} ${ATTEND_TORCH_CACHE} PATH_SUFFIXES lib
  NO_DEFAULT_PATH)
find_library(Libtorch_C10_LIBRARY c10 HINTS ${ATTEND_TORCH} ${ATTEND_TORCH_CACHE} PATH_SUFFIXES lib
  NO_DEFAULT_PATH)
find_library(Libtorch_LIBRARY torch HINTS ${ATTEND_TORCH} ${ATTEND_TORCH_CACHE} PATH_SUFFIXES lib
  NO_DEFAULT_PATH)
find_library(Libtorch_CUDA_LIBRARY torch_cuda HINTS ${ATTEND_TORCH} PATH_SUFFIXES lib NO_DEFAULT_PATH)
mark_as_advanced(Libtorch_INCLUDE_DIR Libtorch_CPU_LIBRARY Libtorch_C10_LIBRARY Libtorch_LIBRARY
  Libtorch_CUDA_LIBRARY)

if(Libtorch_INCLUDE_DIR)
  # Of PyTorch and of what it has in it.
  get_filename_component(Libtorch_LICENSES ${Libtorch_INCLUDE_DIR}/../licenses ABSOLUTE)
  # Newer releases keep the numbers in torch/headeronly; the old header then only includes the new one.
  set(version_header ${Libtorch_INCLUDE_DIR}/torch/headeronly/version.h)
  if(NOT EXISTS ${version_header})
    set(version_header ${Libtorch_INCLUDE_DIR}/torch/csrc/api/include/torch/version.h)
  endif()
  file(READ ${version_header} version_text)
  foreach(part MAJOR MINOR PATCH)
    string(REGEX MATCH "TORCH_VERSION_${part} ([0-9]+)" _ "${version_text}")
    set(version_${part} ${CMAKE_MATCH_1})
  endforeach()
  set(Libtorch_VERSION ${version_MAJOR}.${version_MINOR}.${version_PATCH})
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libtorch
  REQUIRED_VARS Libtorch_CPU_LIBRARY Libtorch_C10_LIBRARY Libtorch_LIBRARY Libtorch_INCLUDE_DIR
  VERSION_VAR Libtorch_VERSION
  REASON_FAILURE_MESSAGE "run scripts/setup, or set ATTEND_TORCH to a folder with include/ and lib/")

if(Libtorch_FOUND AND NOT TARGET Libtorch::torch)
  get_filename_component(Libtorch_LIBRARY_DIR ${Libtorch_CPU_LIBRARY} DIRECTORY)
  add_library(Libtorch::torch INTERFACE IMPORTED)
  target_include_directories(Libtorch::torch SYSTEM INTERFACE
    ${Libtorch_INCLUDE_DIR} ${Libtorch_INCLUDE_DIR}/torch/csrc/api/include)
  target_link_libraries(Libtorch::torch INTERFACE ${Libtorch_CPU_LIBRARY} ${Libtorch_C10_LIBRARY})
  if(Libtorch_CUDA_LIBRARY)
    # Nothing refers to these by name: they register their kernels when loaded.
    target_link_libraries(Libtorch::torch INTERFACE -Wl,--no-as-needed ${Libtorch_LIBRARY}
      ${Libtorch_CUDA_LIBRARY} -Wl,--as-needed)
  endif()
  # The OpenMP run-time that libtorch was built with; a second one would fight with it over the cores.
  file(GLOB Libtorch_OPENMP_LIBRARY ${Libtorch_LIBRARY_DIR}/libgomp*.so*)
  target_link_libraries(Libtorch::torch INTERFACE ${Libtorch_OPENMP_LIBRARY})
  target_compile_definitions(Libtorch::torch INTERFACE _GLIBCXX_USE_CXX11_ABI=1 ATTEND_TORCH)
endif()
