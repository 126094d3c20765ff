#pragma once
/// @file
/// state.bin: every key of a store with its value and revisions, in order. Everything blocks: disk. Numbers are
/// little-endian. After the eight bytes "UWSTATE1" follow the keys:
///
///     offset       size   field
///     0            4      k, length of the key
///     4            4      v, length of the value
///     8            8      create revision
///     16           8      mod revision
///     24           8      version
///     32           k      key, greater than the one before it
///     32 + k       v      value
///
/// and the end:
///
///     0            4      ff ff ff ff
///     4            8      how many keys there were

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "store/store.hpp"

namespace underway::snapshot {

class StateWriter {
 public:
  /// Makes the file, mode 0600; it must not exist.
  explicit StateWriter(const std::string& path);
  /// Keys come in order. Throws what the disk throws.
  void add(const store::KeyValue& key_value);
  /// Ends it; how many bytes it has.
  std::int64_t finish();

 private:
  void write(std::string_view bytes);
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::uint64_t count_ = 0;
  std::int64_t bytes_ = 0;
};

class StateReader {
 public:
  explicit StateReader(const std::string& path);
  /// Nothing at the end, which was then a proper one. Throws Error(invalid) for a file that no StateWriter finished.
  std::optional<store::KeyValue> next();

 private:
  std::string read(std::size_t bytes);
  std::uint64_t number(std::size_t bytes);
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::uint64_t left_ = 0;  ///< bytes in the file
  std::uint64_t count_ = 0;
  std::string last_;
  bool ended_ = false;
};

}  // namespace underway::snapshot
