# `make package`: the components of Install.cmake as Debian packages (CPack), for the release they are built on.
#   attend           runs models, without torch
#   libattend-dev    headers and CMake package, of the same version
#   attend-serving   the verb serve, with what HTTP needs
#   attend-training  trains, with libtorch in a folder of its own; not there with ATTEND_TRAINING=OFF
# What other packages they need is read from the files by dpkg-shlibdeps and written nowhere else. That the linker is to
# take notice of new libraries, CPack sees by itself.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The Attend maintainers <maintainers@attend.invalid>")  # there is no address to write to
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)  # Apache-2.0
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)  # compress on all cores

set(CPACK_COMPONENTS_ALL attend development serving)
if(ATTEND_TRAINING)
  list(APPEND CPACK_COMPONENTS_ALL training)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(same_version "attend (= ${PROJECT_VERSION})")

set(CPACK_DEBIAN_ATTEND_PACKAGE_NAME attend)
set(CPACK_DEBIAN_ATTEND_PACKAGE_SECTION science)
set(CPACK_DEBIAN_ATTEND_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_ATTEND_PACKAGE_SUGGESTS "attend-serving, attend-training")
set(CPACK_COMPONENT_ATTEND_DESCRIPTION "runs Transformers from Hugging Face model directories
Embeds, classifies, translates, generates and chats on the CPU, with one
command or from C++ programs. Needs no Python and no libtorch.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libattend-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${same_version}")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "C++20 headers and CMake package of Attend
For programs that run Transformers: find_package(attend), attend::attend.
With attend-training installed, attend::training trains them too.")

set(CPACK_DEBIAN_SERVING_PACKAGE_NAME attend-serving)
set(CPACK_DEBIAN_SERVING_PACKAGE_SECTION science)
set(CPACK_DEBIAN_SERVING_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_SERVING_PACKAGE_DEPENDS "${same_version}")
set(CPACK_COMPONENT_SERVING_DESCRIPTION "serves Transformers over HTTP
The verb serve of the command attend: texts, chats and vectors by OpenAI's
API, and tasks.")

set(CPACK_DEBIAN_TRAINING_PACKAGE_NAME attend-training)
set(CPACK_DEBIAN_TRAINING_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TRAINING_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TRAINING_PACKAGE_DEPENDS "${same_version}")
set(CPACK_COMPONENT_TRAINING_DESCRIPTION "trains, fine-tunes and explains Transformers
The verbs of the command attend that need gradients, and the library
attend::training. Brings a libtorch that nothing else uses.")

# Where dpkg-shlibdeps finds what lies in another component, or in no package: nothing to depend on by name.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib ${Libtorch_LIBRARY_DIR})
include(CPack)
