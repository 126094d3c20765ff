#pragma once
/// @file
/// Where a test finds what it was not given. cmake/places.cpp.in has the values, one small file for each test: were
/// they definitions of the compiler, no object of a test could be shared between two checkouts.

#include <string>

namespace underway {

/// The checkout: "/src/underway".
std::string source_dir();
/// Where it was built: "/src/underway/build/release"; programs are in bin/.
std::string binary_dir();
/// The folder tests/ beside the CMakeLists.txt that declares the test.
std::string test_dir();

}  // namespace underway
