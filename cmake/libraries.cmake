# The libraries: lists of whole rooms (docs/design/architecture.md), each static and shared, each whole: whoever links one
# file has all that it needs of Pantoum. A device needs pantoum_rt (C, libc and libm alone); a trainer pantoum_train, which
# is the C library for the host; all else is libpantoum, the C++ library.
#
#   pantoum_library(TARGET OUTPUT_NAME name ROOMS rooms... USES libraries...)
#
# makes TARGET (static) and TARGET_shared. The shared one shows what is marked in the public headers alone; its soname is
# the version whose releases keep the ABI: major.minor before 1.0, major after.
function(pantoum_library target)
  cmake_parse_arguments(library "" "OUTPUT_NAME" "ROOMS;USES" ${ARGN})
  set(objects "")
  foreach(room ${library_ROOMS})
    list(APPEND objects $<TARGET_OBJECTS:room_${room}>)
  endforeach()
  add_library(${target} STATIC ${objects})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${library_OUTPUT_NAME})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  target_link_libraries(${target} PUBLIC "$<BUILD_INTERFACE:${library_USES}>")
  if(NOT PANTOUM_SANITIZE)  # whose runtime is the program's
    pantoum_shared_library(${target}_shared "${objects}" "${library_OUTPUT_NAME}" "${library_USES}")
  endif()
endfunction()

function(pantoum_shared_library target objects name uses)
  set(names ${PROJECT_SOURCE_DIR}/cmake/exported_names.map)
  add_library(${target} SHARED ${objects})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${PANTOUM_ABI_VERSION} LINK_DEPENDS ${names}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(${target} PRIVATE ${uses})
  target_link_options(${target} PRIVATE -Wl,--version-script=${names} -Wl,--no-undefined -Wl,--as-needed -Wl,-Bsymbolic-functions -Wl,-z,relro,-z,now)
  set_target_properties(${target} PROPERTIES BUILD_RPATH ${CMAKE_BINARY_DIR}/lib/pantoum)
endfunction()

set(rt_rooms kernels_f32 runtime)
set(train_rooms base data weights opencl host train)
set(compiler_rooms settings kernels_f64 ir import aten autodiff rewrite problem cost_meters cost place plan_simulate plan_bound plan_search plan_order plan_realize plan_baselines plan
  check plan_attempts artifact emit report pipeline)
foreach(room capi)
  if(TARGET room_${room})
    list(APPEND train_rooms ${room})
  endif()
endforeach()
foreach(room layers ini tflite api)
  if(TARGET room_${room})
    list(APPEND compiler_rooms ${room})
  endif()
endforeach()

set(train_uses m fmt::fmt nlohmann_json::nlohmann_json ZLIB::ZLIB PNG::PNG JPEG::JPEG PkgConfig::XXHASH PkgConfig::URING PkgConfig::SODIUM
  Threads::Threads ${CMAKE_DL_LIBS})
if(IPSEC_MB)
  list(APPEND train_uses ${IPSEC_MB})
endif()

pantoum_library(pantoum_rt OUTPUT_NAME pantoum_rt ROOMS ${rt_rooms} USES m)
pantoum_library(pantoum_train OUTPUT_NAME pantoum_train ROOMS ${rt_rooms} ${train_rooms} USES ${train_uses})
pantoum_library(libpantoum OUTPUT_NAME pantoum ROOMS ${rt_rooms} ${train_rooms} ${compiler_rooms}
  USES ${train_uses} onnx_proto tomlplusplus::tomlplusplus SQLite::SQLite3 PkgConfig::CLP PkgConfig::CBC)
# A program that is copied out of the build finds its back end there; what is installed finds it relative to itself
# (src/host/kernel_set.cc), so that the tree can be moved.
set_target_properties(pantoum PROPERTIES BUILD_RPATH ${CMAKE_BINARY_DIR}/lib/pantoum)
