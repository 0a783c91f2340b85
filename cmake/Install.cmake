# What `cmake --install` gives: the command, its libraries, the public headers and a CMake package, so that
# `find_package(attend)` has attend::core (no torch) and attend::attend. Using either needs no other package:
# the public headers include only the standard library.
include(CMakePackageConfigHelpers)
option(ATTEND_BUNDLE_TORCH "Install libtorch's libraries too; else they are found where they lie now" OFF)

set(torch_rpath ${Libtorch_LIBRARY_DIR})
if(ATTEND_BUNDLE_TORCH)
  set(torch_rpath "")
  set(bundle RUNTIME_DEPENDENCIES DIRECTORIES ${Libtorch_LIBRARY_DIR}
    POST_EXCLUDE_REGEXES "^/lib" "^/usr/lib" "^${PROJECT_BINARY_DIR}")
endif()
target_compile_features(attend-core PUBLIC cxx_std_20)  # the public headers use std::span
set_target_properties(attend-core PROPERTIES EXPORT_NAME core INSTALL_RPATH "$ORIGIN")
set_target_properties(attend-torch PROPERTIES EXPORT_NAME attend)
set_target_properties(attend-torch attend-verbs PROPERTIES INSTALL_RPATH "$ORIGIN;${torch_rpath}")

install(TARGETS attend-program attend-verbs LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS attend-core attend-torch EXPORT attend ${bundle})
install(DIRECTORY include/attend DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/attend)
install(EXPORT attend NAMESPACE attend:: FILE attendTargets.cmake DESTINATION ${package_folder})
configure_package_config_file(cmake/attendConfig.cmake.in ${PROJECT_BINARY_DIR}/attendConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attendConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attendConfig.cmake ${PROJECT_BINARY_DIR}/attendConfigVersion.cmake
  DESTINATION ${package_folder})
