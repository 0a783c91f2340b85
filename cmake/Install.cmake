# What `cmake --install` gives, in four components (cmake --install DIR --component NAME; without one: all):
#   attend       the program, its modules, and the libraries that run models
#   development  the public headers and a CMake package: find_package(attend) has attend::core (no tensors),
#                attend::attend (runs models, without torch) and, where it is installed, attend::training
#   serving      the module that answers over HTTP, which needs OpenSSL's libraries
#   training     what needs torch: a library and a module
# A program that uses them needs no other package: the public headers include only the standard library.
#
#   bin/attend
#   LIB/libattend*.so*           what programs link; LIB is lib, or what the system has for the prefix
#                                (lib/x86_64-linux-gnu for Debian's /usr: GNUInstallDirs)
#   LIB/attend/attend-*.so       the program's modules, which nobody links, so not in the linker's path
#   LIB/attend/torch/            libtorch, if ATTEND_BUNDLE_TORCH says so: it brings an OpenMP library named as the
#                                system's, which no other program must find
# Run paths are relative to the file that has them, so that a prefix may be moved; but that of a libtorch that is not
# installed too.
include(CMakePackageConfigHelpers)
option(ATTEND_BUNDLE_TORCH "Install libtorch's libraries too; else they are found where they lie now" OFF)

set(module_folder ${CMAKE_INSTALL_LIBDIR}/attend)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/attend)

target_compile_features(attend-core PUBLIC cxx_std_20)  # the public headers use std::span
set_target_properties(attend-program PROPERTIES INSTALL_RPATH
  "$ORIGIN/../${module_folder};$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
set_target_properties(attend-inference-verbs attend-serving-verbs PROPERTIES INSTALL_RPATH "$ORIGIN/..")
set_target_properties(attend-core PROPERTIES EXPORT_NAME core INSTALL_RPATH "$ORIGIN")
set_target_properties(attend-inference PROPERTIES EXPORT_NAME attend INSTALL_RPATH "$ORIGIN")
install(TARGETS attend-program COMPONENT attend)
install(TARGETS attend-inference-verbs LIBRARY DESTINATION ${module_folder} COMPONENT attend)
install(TARGETS attend-serving-verbs LIBRARY DESTINATION ${module_folder} COMPONENT serving)
install(TARGETS attend-core attend-inference EXPORT attend
  LIBRARY COMPONENT attend NAMELINK_COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT attend)
# Debian wants a copyright file in each package, under the package's name.
foreach(package "attend attend" "development libattend-dev" "serving attend-serving" "training attend-training")
  separate_arguments(package)
  list(POP_FRONT package component)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/copyright
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package} COMPONENT ${component})
endforeach()
# XGrammar is compiled into our libraries; its licence wants to go where they go.
install(FILES ${xgrammar_source}/LICENSE ${xgrammar_source}/NOTICE
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/xgrammar COMPONENT attend)

if(ATTEND_TRAINING)
  set_target_properties(attend-training PROPERTIES EXPORT_NAME training)
  # libtorch's folder first: under /usr, $ORIGIN is where the system's OpenMP library lies.
  if(ATTEND_BUNDLE_TORCH)
    set_target_properties(attend-training PROPERTIES INSTALL_RPATH "$ORIGIN/attend/torch;$ORIGIN")
    set_target_properties(attend-training-verbs PROPERTIES INSTALL_RPATH "$ORIGIN/torch;$ORIGIN/..")
    set(torch RUNTIME_DEPENDENCY_SET torch)
    install(RUNTIME_DEPENDENCY_SET torch DIRECTORIES ${Libtorch_LIBRARY_DIR}
      POST_EXCLUDE_REGEXES "^/lib" "^/usr/lib" "^${PROJECT_BINARY_DIR}"
      LIBRARY DESTINATION ${module_folder}/torch COMPONENT training)
    if(EXISTS ${Libtorch_LICENSES})
      install(DIRECTORY ${Libtorch_LICENSES}/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/torch COMPONENT training)
    else()
      message(WARNING "There is no ${Libtorch_LICENSES}, so what is installed has libtorch without the licences that "
        "want to go with it: where scripts/setup unpacked it, remove the folder and run that again")
    endif()
  else()
    set_target_properties(attend-training PROPERTIES INSTALL_RPATH "${Libtorch_LIBRARY_DIR};$ORIGIN")
    set_target_properties(attend-training-verbs PROPERTIES INSTALL_RPATH "${Libtorch_LIBRARY_DIR};$ORIGIN/..")
  endif()
  install(TARGETS attend-training-verbs LIBRARY DESTINATION ${module_folder} COMPONENT training)
  install(TARGETS attend-training EXPORT attend-training ${torch} LIBRARY COMPONENT training)
  install(EXPORT attend-training NAMESPACE attend:: FILE attendTrainingTargets.cmake
    DESTINATION ${package_folder} COMPONENT training)
endif()

install(DIRECTORY include/attend DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT attend NAMESPACE attend:: FILE attendTargets.cmake DESTINATION ${package_folder}
  COMPONENT development)
configure_package_config_file(cmake/attendConfig.cmake.in ${PROJECT_BINARY_DIR}/attendConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attendConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attendConfig.cmake ${PROJECT_BINARY_DIR}/attendConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT development)
