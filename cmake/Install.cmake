# What `cmake --install` gives: the command, its libraries, the public headers and a CMake package, so that
# `find_package(attend)` has attend::core (no tensors), attend::attend (runs models, without torch) and, where it
# was built, attend::training. Using any of them needs no other package: the public headers include only the
# standard library. The component `training` (cmake --install DIR --component training) is what needs torch.
include(CMakePackageConfigHelpers)
option(ATTEND_BUNDLE_TORCH "Install libtorch's libraries too; else they are found where they lie now" OFF)

target_compile_features(attend-core PUBLIC cxx_std_20)  # the public headers use std::span
set_target_properties(attend-core PROPERTIES EXPORT_NAME core INSTALL_RPATH "$ORIGIN")
set_target_properties(attend-inference PROPERTIES EXPORT_NAME attend INSTALL_RPATH "$ORIGIN")
install(TARGETS attend-program attend-inference-verbs LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT attend
  RUNTIME COMPONENT attend)
install(TARGETS attend-core attend-inference EXPORT attend
  LIBRARY COMPONENT attend NAMELINK_COMPONENT development)

if(ATTEND_TRAINING)
  set(torch_rpath ${Libtorch_LIBRARY_DIR})
  if(ATTEND_BUNDLE_TORCH)
    set(torch_rpath "")
    set(bundle RUNTIME_DEPENDENCIES DIRECTORIES ${Libtorch_LIBRARY_DIR}
      POST_EXCLUDE_REGEXES "^/lib" "^/usr/lib" "^${PROJECT_BINARY_DIR}")
  endif()
  set_target_properties(attend-training PROPERTIES EXPORT_NAME training)
  set_target_properties(attend-training attend-training-verbs PROPERTIES INSTALL_RPATH "$ORIGIN;${torch_rpath}")
  install(TARGETS attend-training-verbs LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT training)
  install(TARGETS attend-training EXPORT attend-training ${bundle} LIBRARY COMPONENT training)
endif()
install(DIRECTORY include/attend DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/attend)
install(EXPORT attend NAMESPACE attend:: FILE attendTargets.cmake DESTINATION ${package_folder}
  COMPONENT development)
if(ATTEND_TRAINING)
  install(EXPORT attend-training NAMESPACE attend:: FILE attendTrainingTargets.cmake
    DESTINATION ${package_folder} COMPONENT training)
endif()
configure_package_config_file(cmake/attendConfig.cmake.in ${PROJECT_BINARY_DIR}/attendConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attendConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attendConfig.cmake ${PROJECT_BINARY_DIR}/attendConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT development)
