#pragma once
/// @file
/// One rotated stream of output: "<prefix>.<index>", as Nomad names and numbers it. libc only: part of the keeper.

#include <cstddef>
#include <cstdint>

namespace underway::keeper {

class LogFile {
 public:
  /// Goes on at `index`, whose file is there from now on, if it can be made. `directory` stays open while this lives.
  void begin(int directory, const char* prefix, std::uint32_t index, std::uint32_t max_files, std::uint64_t max_bytes);
  /// Writes everything; starts the next file when this one is full, at the end of a line if one lies in the
  /// rest, and removes the file that falls out of the window. Returns the bytes that could not be written.
  ///
  /// The task may write in the directory: what is no plain file with one name is never opened.
  std::size_t write(const char* bytes, std::size_t size);
  void close();

 private:
  bool open();
  void rotate();
  const char* name(std::uint32_t index);

  int directory_ = -1;
  int file_ = -1;
  std::uint32_t index_ = 0, max_files_ = 1;
  std::uint64_t max_bytes_ = 1, size_ = 0;
  char name_[256] = {};
  std::size_t prefix_size_ = 0;
};

}  // namespace underway::keeper
