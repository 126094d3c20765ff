#pragma once
/// @file
/// state.bin: every key of a store with its value and revisions, in order. After a mark of eight bytes follow the
/// keys, each as the lengths of key and value (32 bits each), the three numbers of the key (64 bits each) and the
/// bytes; at the end a length of 2^32 - 1 and the count. Numbers are little-endian. Everything blocks: disk.

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
