# target_add_kernels(TARGET FOLDER FLAGS SET...): compiles every FOLDER/*.simd.cpp once per instruction set,
# with FLAGS and those of the set, each time into its own namespace (ATTEND_ISA), and every other FOLDER/*.cpp
# once. FOLDER/dispatch.cpp picks the best set the machine has when the program starts.
set(avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c -mprefer-vector-width=512)
set(ATTEND_ISA_FLAGS_portable "")
set(ATTEND_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(ATTEND_ISA_FLAGS_avx512 ${avx512})
set(ATTEND_ISA_FLAGS_avx512_bf16 ${avx512} -mavx512bf16)
# Products of integers: src/kernels/int8.
set(ATTEND_ISA_FLAGS_int8_portable "")
set(ATTEND_ISA_FLAGS_int8_avx2 -mavx2 -mfma)
set(ATTEND_ISA_FLAGS_int8_avx_vnni -mavx2 -mfma -mavxvnni)
set(ATTEND_ISA_FLAGS_int8_avx512_vnni ${avx512} -mavx512vnni)

function(target_add_kernels target folder flags)
  file(GLOB simd CONFIGURE_DEPENDS ${folder}/*.simd.cpp)
  file(GLOB plain CONFIGURE_DEPENDS ${folder}/*.cpp)
  list(REMOVE_ITEM plain ${simd})
  target_sources(${target} PRIVATE ${plain})
  foreach(set ${ARGN})
    if(NOT set MATCHES "portable$")
      if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        continue()
      endif()
      target_compile_definitions(${target} PRIVATE ATTEND_X86)
    endif()
    add_library(${target}-${set} OBJECT ${simd})
    target_include_directories(${target}-${set} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(${target}-${set} PRIVATE ATTEND_ISA=${set})
    # Nothing that would change the meaning of NaN or infinity.
    target_compile_options(${target}-${set} PRIVATE -O3 ${flags} -fno-math-errno -fno-trapping-math
      -Wno-psabi ${ATTEND_ISA_FLAGS_${set}})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}-${set}>)
  endforeach()
endfunction()
