#pragma once
/// @file
/// Rows to values of the store and back.

#include "tables/tables.hpp"

#include "base/json/json.hpp"

namespace underway::tables::detail {

/// Exactly as long as it is: most of the work of a commit is on its way through these.
template <class T>
std::string encode_row(const T& row) {
  thread_local std::string scratch;  // grown once
  scratch.clear();
  json::append(scratch, describe::kType<T>, &row, json::Encoding::compact);
  return {scratch.data(), scratch.size()};
}
/// A row stays for long, and there are a million: gives back what its vectors reserved for growing.
void trim(model::Allocation& allocation);
std::string encode_version(const JobVersion& version);

/// Throws Error(internal) naming the key.
boost::json::value parse_value(const store::KeyValue& kv);
[[noreturn]] void refuse_value(const store::KeyValue& kv, const Error& why);

/// The row with its indexes, as the key's revisions have them. Throws Error(internal) naming the key.
template <class T>
T decode_row(const store::KeyValue& kv) {
  try {
    T row = json::decode<T>(parse_value(kv));
    row.create_index = kv.create_revision;
    row.modify_index = kv.mod_revision;
    return row;
  } catch (const Error& error) {
    refuse_value(kv, error);
  }
}
JobVersion decode_version(const store::KeyValue& kv);

}  // namespace underway::tables::detail
