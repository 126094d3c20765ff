#pragma once
/// @file
/// JSON as Nomad's servers write it, of what is described (base/json/describe.hpp). Where a list, a map or a time has
/// nothing in it Go says null, and not [], {} or the year 1; of allocations and evaluations it leaves out whatever is
/// empty. Terraform sees a difference for ever where null and {} are confused, and clients dereference what they find.
/// Which member says what, and what Nomad's structs have beside ours, is in nomad_shapes.cpp; a struct that is not
/// named there is ours alone, and is written as it is described. Source: nomad/structs at v1.6.5, encoded by
/// go-msgpack's JsonHandle ("codec" tags before "json" tags).

#include "base/json/describe.hpp"
#include "base/json/json.hpp"

namespace underway::api {

void append_nomad(std::string& out, const describe::Type& type, const void* value);

template <class T>
std::string nomad_json(const T& value) {
  std::string out;
  append_nomad(out, describe::kType<T>, &value);
  return out;
}
/// A DOM of it, for bodies that are assembled from parts.
template <class T>
boost::json::value nomad_value(const T& value) {
  return json::parse(nomad_json(value));
}

}  // namespace underway::api
