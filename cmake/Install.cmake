# What `cmake --install` gives, in three components (cmake --install DIR --component NAME; without one: all):
#   attend       the program, and the library
#   development  the public headers and a CMake package: find_package(attend) has attend::attend
#   torch        the module for several processes and for devices, which needs a libtorch
# A program that uses it needs no other package: the public headers include only the standard library.
#
#   bin/attend           needs nothing of the library
#   LIB/libattend.so*    what programs link; LIB is lib, or what the system has for the prefix
#                        (lib/x86_64-linux-gnu for Debian's /usr: GNUInstallDirs)
#   LIB/attend/attend-torch.so   the module; programs do not link it, so it is outside the linker's path
# Run paths are relative to the file that has them, so that a prefix may be moved.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/attend)

target_compile_features(attend-library INTERFACE cxx_std_20)  # the public headers use std::span
# Where both look for the module.
set(module_folder ${CMAKE_INSTALL_LIBDIR}/attend)
set_target_properties(attend-program PROPERTIES INSTALL_RPATH "$ORIGIN/../${module_folder}")
set_target_properties(attend-library PROPERTIES EXPORT_NAME attend INSTALL_RPATH "$ORIGIN/attend")
install(TARGETS attend-program COMPONENT attend)
if(TARGET attend-torch)
  # The libtorch is the user's (ATTEND_TORCH), or one that lies in the linker's path.
  set_target_properties(attend-torch PROPERTIES INSTALL_RPATH "" INSTALL_REMOVE_ENVIRONMENT_RPATH ON)
  install(TARGETS attend-torch LIBRARY DESTINATION ${module_folder} COMPONENT torch)
endif()
install(TARGETS attend-library EXPORT attend
  LIBRARY COMPONENT attend NAMELINK_COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT attend)
# Debian wants a copyright file in each package, under the package's name.
foreach(package "attend attend" "development libattend-dev" "torch attend-torch")
  if(package STREQUAL "torch attend-torch" AND NOT TARGET attend-torch)
    continue()
  endif()
  separate_arguments(package)
  list(POP_FRONT package component)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/copyright
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package} COMPONENT ${component})
endforeach()
# XGrammar is compiled into both; its licence wants to go where they go.
install(FILES ${xgrammar_source}/LICENSE ${xgrammar_source}/NOTICE
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/xgrammar COMPONENT attend)

install(DIRECTORY include/attend DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT attend NAMESPACE attend:: FILE attendTargets.cmake DESTINATION ${package_folder}
  COMPONENT development)
configure_package_config_file(cmake/attendConfig.cmake.in ${PROJECT_BINARY_DIR}/attendConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attendConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attendConfig.cmake ${PROJECT_BINARY_DIR}/attendConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT development)
