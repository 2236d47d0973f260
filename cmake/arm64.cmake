# Builds for 64-bit ARM on another Debian machine:
#   dpkg --add-architecture arm64; apt-get update; apt-get install g++-aarch64-linux-gnu and the -dev packages of
#   the worker's libraries with :arm64 (STATIC_ARM64_PACKAGES in ./dev)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
