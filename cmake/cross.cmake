# What the toolchain files of other processors share. Before it: PANTOUM_CROSS_PROCESSOR (QEMU's name, and the sysroot's: build/NAME-sysroot) and
# PANTOUM_CROSS_TRIPLET and PANTOUM_CROSS_DEBIAN (Debian's names of the triplet and the architecture). Libraries, headers and CMake packages are the
# sysroot's alone; programs (protoc, flatc, Python) this machine's.
# The C and C++ libraries to compile with are the cross compiler's own, of the same versions as the sysroot's, which QEMU runs with.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${PANTOUM_CROSS_PROCESSOR})
set(CMAKE_C_COMPILER ${PANTOUM_CROSS_TRIPLET}-gcc)
set(CMAKE_CXX_COMPILER ${PANTOUM_CROSS_TRIPLET}-g++)

get_filename_component(PANTOUM_CROSS_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/${PANTOUM_CROSS_PROCESSOR}-sysroot ABSOLUTE)
set(CMAKE_SYSROOT ${PANTOUM_CROSS_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# CMake asks for the library's folder before it has compiled anything; libraries of libraries are looked for in the sysroot alone.
set(CMAKE_LIBRARY_ARCHITECTURE ${PANTOUM_CROSS_TRIPLET})

set(ENV{PKG_CONFIG_DIR} "")
set(ENV{PKG_CONFIG_PATH} "")
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/${PANTOUM_CROSS_TRIPLET}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)

find_program(PANTOUM_QEMU qemu-${PANTOUM_CROSS_PROCESSOR})
mark_as_advanced(PANTOUM_QEMU)
if(PANTOUM_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${PANTOUM_QEMU};-L;${CMAKE_SYSROOT}")
endif()
