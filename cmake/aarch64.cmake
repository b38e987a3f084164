# Toolchain: Debian's cross compiler for 64-bit Arm, against the sysroot that `make aarch64-setup` lays out; QEMU runs what is made.
set(PANTOUM_CROSS_PROCESSOR aarch64)
set(PANTOUM_CROSS_TRIPLET aarch64-linux-gnu)
set(PANTOUM_CROSS_DEBIAN arm64)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
