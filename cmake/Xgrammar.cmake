# XGrammar, which keeps generated text to a grammar (src/generation/forms/grammar.h), compiled from its source as
# the target `xgrammar`. No distribution has it as a library, and its own CMake sets flags for everything.
#
# Looks in ATTEND_XGRAMMAR (CMake variable or environment), then where scripts/setup unpacks the pinned one.
set(ATTEND_XGRAMMAR "$ENV{ATTEND_XGRAMMAR}" CACHE PATH
  "XGrammar's source: the folder that holds include/, cpp/ and 3rdparty/")
include(${PROJECT_SOURCE_DIR}/cmake/Cache.cmake)
set(xgrammar_source ${ATTEND_XGRAMMAR})
if(NOT xgrammar_source)
  set(xgrammar_source ${ATTEND_XGRAMMAR_CACHE})
endif()
if(NOT EXISTS ${xgrammar_source}/include/xgrammar/xgrammar.h)
  message(FATAL_ERROR "There is no XGrammar in ${xgrammar_source}: run scripts/setup, or set ATTEND_XGRAMMAR "
    "to a folder with include/, cpp/ and 3rdparty/")
endif()

file(GLOB xgrammar_sources ${xgrammar_source}/cpp/*.cc ${xgrammar_source}/cpp/support/*.cc)
add_library(xgrammar STATIC ${xgrammar_sources})
target_include_directories(xgrammar SYSTEM PUBLIC ${xgrammar_source}/include
  ${xgrammar_source}/3rdparty/picojson ${xgrammar_source}/3rdparty/dlpack/include)
# Errors and remarks go through us (src/generation/forms/grammar.cpp).
target_compile_definitions(xgrammar PRIVATE XGRAMMAR_LOG_CUSTOMIZE=1 XGRAMMAR_ENABLE_CPPTRACE=0)
target_compile_features(xgrammar PRIVATE cxx_std_17)
target_compile_options(xgrammar PRIVATE -w -fvisibility=hidden)
# A third of the time that its files take one by one.
set_target_properties(xgrammar PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
target_link_libraries(xgrammar PRIVATE Threads::Threads)
