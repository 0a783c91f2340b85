# With ATTEND_UNITY, files of one folder of src/ are compiled together, with those of the folders in it, up to
# ATTEND_UNITY_FILES at a time:
# what headers cost is then paid once for them. Names in the unnamed namespaces of a folder must therefore be
# different. Without it each file is compiled by itself, which is what clang-tidy checks and what a change of one file wants.

# For sources of this folder's target.
function(compile_folders_together target)
  if(NOT ATTEND_UNITY)
    return()
  endif()
  set(previous "")
  set(count 0)
  foreach(source IN LISTS ARGN)
    string(REGEX REPLACE "^.*/(src|tests)/" "" folder "${source}")
    string(REGEX REPLACE "/.*$" "" folder "${folder}")
    if(NOT folder STREQUAL previous)
      set(count 0)
      set(previous "${folder}")
    endif()
    math(EXPR group "${count} / ${ATTEND_UNITY_FILES}")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${folder}_${group}")
    math(EXPR count "${count} + 1")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # gcc takes a file that is included for a header, in which an unnamed namespace would be a mistake.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
endfunction()
