#pragma once
/// @file
/// Types beside each other: which can become which, and the one that all can become. By the rules of cty, whose users
/// see them in conditionals and in functions of lists.

#include "hcl/type.hpp"

namespace underway::hcl::detail {

bool same(const Type& a, const Type& b);
Type container(Type::Form form, Type element);
/// Whether some values of `from` can become `to`.
bool convertible(const Type& from, const Type& to);

}  // namespace underway::hcl::detail
