# What `cmake --install` puts where, relative to any prefix: the tree can be moved. docs/install.md says what is what.
#
# Components: Runtime (the program, the shared libraries, the back end, profiles, schemas, man pages, completions) and
# Development (headers, static libraries, the CMake package, pkg-config files, docs, examples).
include(CMakePackageConfigHelpers)

set(data ${CMAKE_INSTALL_DATADIR}/pantoum)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/pantoum)

# Programs and libraries. A library TARGET is pantoum::NAME_static and pantoum::NAME_shared to who finds the package.
install(TARGETS pantoum RUNTIME COMPONENT Runtime)
if(TARGET pantoum_onednn)
  install(TARGETS pantoum_onednn LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/pantoum COMPONENT Runtime)
endif()

function(pantoum_install_library target name)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name}_static)
  set_target_properties(${target}_shared PROPERTIES EXPORT_NAME ${name}_shared)
  target_link_libraries(${target} INTERFACE "$<INSTALL_INTERFACE:${ARGN}>")  # by their names: what the archive leaves to other libraries
  foreach(kind static shared)
    if(kind STREQUAL "shared")
      set(target ${target}_shared)
    endif()
    target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    if(name STREQUAL "pantoum")
      target_compile_features(${target} INTERFACE $<INSTALL_INTERFACE:cxx_std_20>)  # the others' headers are C
    endif()
    install(TARGETS ${target} EXPORT pantoum-${kind}
      LIBRARY COMPONENT Runtime NAMELINK_COMPONENT Development
      ARCHIVE COMPONENT Development)
  endforeach()
endfunction()

# Names that a linker knows, of libraries and of whole paths to them.
function(pantoum_link_names result)
  set(names "")
  foreach(library ${ARGN})
    string(REGEX REPLACE "^.*/lib([^/]+)\\.(so|a)$" "\\1" name ${library})
    list(APPEND names ${name})
  endforeach()
  list(REMOVE_DUPLICATES names)
  set(${result} ${names} PARENT_SCOPE)
endfunction()

set(rt_names m)
set(cipher_names "")
if(IPSEC_MB)
  set(cipher_names IPSec_MB)
endif()
pantoum_link_names(train_names fmt ${XXHASH_LIBRARIES} ${URING_LIBRARIES} ${SODIUM_LIBRARIES} ${ZLIB_LIBRARIES} ${PNG_LIBRARIES} ${JPEG_LIBRARIES}
  ${cipher_names} pthread dl stdc++ m)
pantoum_link_names(pantoum_names onnx_proto protobuf tomlplusplus ${SQLite3_LIBRARIES} ${CBC_LIBRARIES} ${CLP_LIBRARIES} ${train_names})
pantoum_install_library(pantoum_rt rt ${rt_names})
pantoum_install_library(pantoum_train train ${train_names})
pantoum_install_library(libpantoum pantoum ${pantoum_names})

# Headers: the public ones alone. result.h is how Pantoum's own code passes errors on.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/pantoum DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT Development
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "result.h" EXCLUDE)

# The CMake package and the pkg-config files.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/pantoum-config.cmake.in ${CMAKE_BINARY_DIR}/package/pantoum-config.cmake INSTALL_DESTINATION ${package}
  PATH_VARS CMAKE_INSTALL_FULL_BINDIR NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/pantoum-config-version.cmake COMPATIBILITY ${compatibility})
install(FILES ${CMAKE_BINARY_DIR}/package/pantoum-config.cmake ${CMAKE_BINARY_DIR}/package/pantoum-config-version.cmake DESTINATION ${package} COMPONENT Development)
foreach(kind shared static)
  install(EXPORT pantoum-${kind} FILE pantoum-${kind}.cmake NAMESPACE pantoum:: DESTINATION ${package} COMPONENT Development)
endforeach()

file(RELATIVE_PATH PKGCONFIG_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" PKGCONFIG_TO_PREFIX "${PKGCONFIG_TO_PREFIX}")
function(pantoum_pkgconfig module library description)
  set(MODULE ${module})
  set(LIBRARY ${library})
  set(DESCRIPTION ${description})
  list(TRANSFORM ARGN PREPEND -l)
  list(JOIN ARGN " " PRIVATE_LIBRARIES)
  set(made ${CMAKE_BINARY_DIR}/package/${module}.pc)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/pkgconfig.pc.in ${made} @ONLY)
  install(FILES ${made} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT Development)
endfunction()
pantoum_pkgconfig(pantoum-rt pantoum_rt "runs a planned training step in one arena; C, libc and libm alone" ${rt_names})
pantoum_pkgconfig(pantoum-train pantoum_train "the C library that trains from a plan file" ${train_names})
pantoum_pkgconfig(pantoum pantoum "plans and trains neural networks inside a RAM budget; C++" ${pantoum_names})

# Profiles, schemas, docs, examples.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/devices DESTINATION ${data} COMPONENT Runtime FILES_MATCHING PATTERN "*.toml")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/schema DESTINATION ${data} COMPONENT Runtime FILES_MATCHING PATTERN "*.json")
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT Runtime)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT Development
  PATTERN "design" EXCLUDE PATTERN "results" EXCLUDE PATTERN "schema" EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT Development USE_SOURCE_PERMISSIONS
  PATTERN "__pycache__" EXCLUDE)

# Man pages and completions: the program makes them from its own options.
set(pages ${CMAKE_BINARY_DIR}/pages)
add_custom_command(OUTPUT ${pages}/made COMMAND ${CMAKE_COMMAND} -DPANTOUM=$<TARGET_FILE:pantoum> -DINTO=${pages} "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}"
  -P ${CMAKE_CURRENT_LIST_DIR}/pages.cmake DEPENDS pantoum ${CMAKE_CURRENT_LIST_DIR}/pages.cmake VERBATIM)
add_custom_target(pantoum_pages ALL DEPENDS ${pages}/made)
install(DIRECTORY ${pages}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT Runtime)
install(DIRECTORY ${pages}/bash-completion ${pages}/zsh ${pages}/fish DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT Runtime)
