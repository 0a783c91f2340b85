# `make package`: the components of Install.cmake as Debian packages (CPack), for the release they are built on.
#   attend           runs, trains, serves and explains models
#   libattend-dev    headers and CMake package, of the same version
#   attend-torch     several processes that train together, and GPUs; needs a libtorch, which no Debian package has
# What other packages they need is read from the files by dpkg-shlibdeps and written nowhere else. That the linker is to
# take notice of new libraries, CPack sees by itself.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The Attend maintainers <maintainers@attend.invalid>")  # there is no address to write to
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)  # Apache-2.0
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)  # compress on all cores

set(CPACK_COMPONENTS_ALL attend development)
if(TARGET attend-torch)
  list(APPEND CPACK_COMPONENTS_ALL torch)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(same_version "attend (= ${PROJECT_VERSION})")

set(CPACK_DEBIAN_ATTEND_PACKAGE_NAME attend)
set(CPACK_DEBIAN_ATTEND_PACKAGE_SECTION science)
set(CPACK_DEBIAN_ATTEND_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_ATTEND_DESCRIPTION "runs and trains Transformers from Hugging Face model directories
Embeds, classifies, translates, generates, chats, fine-tunes and explains on
the CPU, with one command or from C++ programs. Needs no Python.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libattend-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${same_version}")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "C++20 headers and CMake package of Attend
For programs that run or train Transformers: find_package(attend),
attend::attend.")

set(CPACK_DEBIAN_TORCH_PACKAGE_NAME attend-torch)
set(CPACK_DEBIAN_TORCH_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TORCH_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TORCH_PACKAGE_DEPENDS "${same_version}")
set(CPACK_COMPONENT_TORCH_DESCRIPTION "Transformers on GPUs, and trained in several processes and on several machines
A module of the command attend. It needs libtorch ${Libtorch_VERSION} (pip install torch),
to which ATTEND_TORCH points.")

# Where dpkg-shlibdeps finds libtorch, which is in no package: nothing to depend on by name.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${Libtorch_LIBRARY_DIR})
include(CPack)
