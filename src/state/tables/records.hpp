#pragma once
/// @file
/// Records with a type: what a capability above the engine keeps durable and watched. It describes a struct, names its
/// kind here, and has decisions put and delete it:
///
///   template <>
///   struct RecordOf<model::Capsule> {
///     static constexpr std::string_view kind = "capsule";
///     static std::string name(const model::Capsule& capsule) { return capsule.ns + "/" + capsule.name; }
///   };
///   …
///   if (const auto capsule = find_record<model::Capsule>(tables, "default/slurm")) …
///   decision.changes.push_back(put_record(changed));
///
/// A struct that has the members create_index and modify_index reads the row's there. Rows are decoded whenever they
/// are read: for thousands of them in a hot path, follow `Topic::records` and keep what you need.

#include <concepts>
#include <optional>

#include "base/json/json.hpp"
#include "tables/tables.hpp"

namespace underway::tables {

template <class T>
struct RecordOf;

template <class T>
std::string record_key(std::string_view name) {
  return std::string(RecordOf<T>::kind) + "/" + std::string(name);
}

template <class T>
Change put_record(const T& row) {
  model::Record record;
  record.kind = RecordOf<T>::kind;
  record.name = RecordOf<T>::name(row);
  record.body = json::to_value(row, json::Encoding::compact);
  return Put<model::Record>{std::move(record)};
}

/// Deleting what is not there is without effect.
template <class T>
Change delete_record(std::string_view name) {
  return Delete<model::Record>{record_key<T>(name)};
}

/// Errors: internal when the row cannot be read (a newer version wrote it).
template <class T>
T decode_record(const model::Record& record) {
  T row = json::decode<T>(record.body, record.kind);
  if constexpr (requires { row.create_index; }) row.create_index = record.create_index;
  if constexpr (requires { row.modify_index; }) row.modify_index = record.modify_index;
  return row;
}

template <class T>
std::optional<T> find_record(const Tables& tables, std::string_view name) {
  const auto row = tables.find<model::Record>(record_key<T>(name));
  if (!row) return std::nullopt;
  return decode_record<T>(*row);
}

/// In the order of names.
template <class T>
std::vector<T> records(const Tables& tables, std::string_view name_prefix = {}) {
  std::vector<T> found;
  for (const auto& row : tables.rows<model::Record>(record_key<T>(name_prefix)))
    found.push_back(decode_record<T>(*row));
  return found;
}

/// To wait for one record.
template <class T>
Scope record_scope(std::string_view name) {
  return {Topic::records, record_key<T>(name)};
}
/// To wait for any record, of whatever kind.
inline Scope records_scope() { return {Topic::records, ""}; }

}  // namespace underway::tables
