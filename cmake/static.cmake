# ONEFOLD_STATIC_WORKER: instead of the program, one of the same name with the worker's role alone, which
# needs no library where it runs, glibc neither. For hosts with an old userland; also cross-built
# (cmake/arm64.cmake).
#
# CMake's packages of Debian's libraries name shared objects. So each of their targets becomes an empty
# one, and all archives stand at the end of the link line, as one group: they refer to each other in
# all directions.

find_program(ONEFOLD_PROTOC protoc REQUIRED)
find_program(ONEFOLD_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)
add_executable(protobuf::protoc IMPORTED GLOBAL)
set_target_properties(protobuf::protoc PROPERTIES IMPORTED_LOCATION ${ONEFOLD_PROTOC})
add_executable(gRPC::grpc_cpp_plugin IMPORTED GLOBAL)
set_target_properties(gRPC::grpc_cpp_plugin PROPERTIES IMPORTED_LOCATION ${ONEFOLD_GRPC_PLUGIN})

file(GLOB_RECURSE lists ${PROJECT_SOURCE_DIR}/*/CMakeLists.txt)
list(FILTER lists EXCLUDE REGEX "/build/")
foreach(list ${lists})
  file(READ ${list} text)
  string(REGEX MATCHALL "(absl|gRPC|RocksDB|CLI11|nlohmann_json|PkgConfig|protobuf)::[A-Za-z0-9_+-]+" targets "${text}")
  foreach(target ${targets})
    if(NOT TARGET ${target})
      add_library(${target} INTERFACE IMPORTED GLOBAL)
    endif()
  endforeach()
endforeach()

find_package(PkgConfig REQUIRED)
set(OPENSSL_USE_STATIC_LIBS ON)
execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --static --libs grpc++ libxxhash libb2
                OUTPUT_VARIABLE archives OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "-ldl|-lrt|-lm |-pthread|-fopenmp|-lgomp" "" archives "${archives}")
set(CMAKE_EXE_LINKER_FLAGS "${CMAKE_EXE_LINKER_FLAGS} -static")
set(CMAKE_CXX_STANDARD_LIBRARIES "-Wl,--start-group ${archives} -lgrpc++ -lgrpc -lupb -lgpr -laddress_sorting \
-lprotobuf -lyaml-cpp -lcares -lre2 -lssl -lcrypto -lz -Wl,--end-group -lpthread -ldl -lm")
