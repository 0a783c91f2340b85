# Where scripts/setup unpacks the pinned libtorch: ATTEND_CACHE, or the user's cache folder.
if(DEFINED ENV{ATTEND_CACHE})
  set(ATTEND_CACHE $ENV{ATTEND_CACHE})
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(ATTEND_CACHE $ENV{XDG_CACHE_HOME}/attend)
else()
  set(ATTEND_CACHE $ENV{HOME}/.cache/attend)
endif()
set(ATTEND_TORCH_CACHE ${ATTEND_CACHE}/libtorch-2.13.0-cpu)
