# A Debian package by cpack: `make package`. One package holds program, libraries and headers; what Debian's policy asks for beside the installed tree comes from
# packaging/debian.
set(PANTOUM_CONTACT "Pantoum contributors <contributors@pantoum.example>" CACHE STRING "maintainer of the package: who publishes it")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pantoum)
set(CPACK_PACKAGE_CONTACT "${PANTOUM_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "trains neural networks inside a hard RAM budget")
set(CPACK_PACKAGE_DESCRIPTION "Pantoum is an ahead-of-time compiler and a small runtime. It takes an ONNX
model, plans its training step into a RAM budget (what to retain, to compute
again, or to write to storage and read back), proves how near the plan is to
the least energy or time, and trains, on a host or as a C project for a
microcontroller.
.
This package holds the program, the C++ library, the C library that trains from
a plan file, and the C99 runtime, each shared and static, with their headers,
CMake package and pkg-config files.")
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_SET_DESTDIR OFF)
set(CPACK_MONOLITHIC_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)       # oneDNN among them: the fast kernels are no extra
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/package/shlibs @ONLY CONTENT "libpantoum_rt @PANTOUM_ABI_VERSION@ pantoum (>= @PROJECT_VERSION@)
libpantoum_train @PANTOUM_ABI_VERSION@ pantoum (>= @PROJECT_VERSION@)
libpantoum @PANTOUM_ABI_VERSION@ pantoum (>= @PROJECT_VERSION@)
")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/triggers ${CMAKE_BINARY_DIR}/package/shlibs)
if(IPSEC_MB)
  set(cipher " libipsec-mb-dev,")
else()
  set(cipher "")
endif()
# What the static libraries leave to others, and what `pantoum emit` and `run-firmware` drive.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "cmake, pkg-config, g++, libfmt-dev, libxxhash-dev, liburing-dev, libsodium-dev,${cipher} zlib1g-dev, libpng-dev, libjpeg62-turbo-dev, \
libonnx-dev, libprotobuf-dev, libtomlplusplus-dev, libsqlite3-dev, coinor-libclp-dev, coinor-libcbc-dev, gcc-arm-none-eabi, libnewlib-arm-none-eabi, qemu-system-arm")
set(CPACK_PANTOUM_STRIP ${CMAKE_STRIP})
if(CMAKE_CROSSCOMPILING)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${PANTOUM_CROSS_DEBIAN})
  # dpkg-shlibdeps looks into the sysroot, whose database cmake/sysroot.sh writes.
  set(CPACK_PANTOUM_DATABASE ${CMAKE_SYSROOT}/var/lib/dpkg)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} ${CMAKE_SYSROOT}/lib/${CMAKE_LIBRARY_ARCHITECTURE})
endif()
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian/finish.cmake)
include(CPack)
