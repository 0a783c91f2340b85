# What `cmake --install` gives, in two components (cmake --install DIR --component NAME; without one: all):
#   attend       the program, and the library
#   development  the public headers and a CMake package: find_package(attend) has attend::attend
# A program that uses it needs no other package: the public headers include only the standard library.
#
#   bin/attend           needs nothing of the library
#   LIB/libattend.so*    what programs link; LIB is lib, or what the system has for the prefix
#                        (lib/x86_64-linux-gnu for Debian's /usr: GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/attend)

target_compile_features(attend-library INTERFACE cxx_std_20)  # the public headers use std::span
set_target_properties(attend-library PROPERTIES EXPORT_NAME attend)
install(TARGETS attend-program COMPONENT attend)
install(TARGETS attend-library EXPORT attend
  LIBRARY COMPONENT attend NAMELINK_COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT attend)
# Debian wants a copyright file in each package, under the package's name.
foreach(package "attend attend" "development libattend-dev")
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
