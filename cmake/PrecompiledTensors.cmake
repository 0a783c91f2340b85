# The precompiled header with tensors costs a file some seconds, where they are torch's, even if nothing of it
# is used. So a source has
# it only if it includes src/tensor/tensor.h, by itself or through other headers of the project.

# Sets `result` to whether the file does.
function(includes_tensors file result)
  get_property(known GLOBAL PROPERTY "includes_tensors ${file}")
  if("${known}" STREQUAL "")
    set(known OFF)
    if("${file}" STREQUAL "${PROJECT_SOURCE_DIR}/src/tensor/tensor.h")
      set(known ON)
    endif()
    file(STRINGS "${file}" lines REGEX "^#include [<\"][a-z_0-9/]+\\.h[>\"]")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include [<\"]([^>\"]+).*" "\\1" name "${line}")
      foreach(folder src include tests)
        if(NOT known AND EXISTS "${PROJECT_SOURCE_DIR}/${folder}/${name}")
          includes_tensors("${PROJECT_SOURCE_DIR}/${folder}/${name}" known)
        endif()
      endforeach()
    endforeach()
    set_property(GLOBAL PROPERTY "includes_tensors ${file}" ${known})
  endif()
  set(${result} ${known} PARENT_SCOPE)
endfunction()

# For sources of this folder's targets, as absolute paths.
function(precompile_tensors_where_included)
  foreach(source IN LISTS ARGN)
    includes_tensors("${source}" included)
    if(NOT included)
      set_source_files_properties("${source}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()
