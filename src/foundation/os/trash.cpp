#include "os/trash.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <ranges>

#include "base/error.hpp"
#include "os/file.hpp"

namespace underway::os {
namespace {

constexpr std::size_t kTimeSize = std::string_view("20261123T154200Z").size();

std::string stamp(TimePoint at) {
  return fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(
                                              std::chrono::time_point_cast<std::chrono::system_clock::duration>(at))));
}

/// Nothing for what somebody else has put here.
std::optional<Discarded> parse_name(const std::string& name) {
  if (name.size() <= kTimeSize + 1 || name[kTimeSize] != '-') return std::nullopt;
  const auto part = [&](std::size_t from, std::size_t size) { return name.substr(from, size); };
  const auto at = parse_time(
      fmt::format("{}-{}-{}T{}:{}:{}Z", part(0, 4), part(4, 2), part(6, 2), part(9, 2), part(11, 2), part(13, 2)));
  if (!at) return std::nullopt;
  return Discarded{name, name.substr(kTimeSize + 1), *at};
}

bool has_room(const std::string& directory, const Trash::Limits& limits) {
  struct statvfs disk = {};
  if (::statvfs(directory.c_str(), &disk) != 0) return false;
  return std::uint64_t{disk.f_bavail} * disk.f_frsize >= limits.free_bytes ||
         disk.f_bavail * 100 >= disk.f_blocks * limits.free_percent;
}

}  // namespace

void Trash::put(const std::string& path, std::string_view what, TimePoint now) const {
  if (!exists(path)) return;
  make_directories(directory_, 0700);
  std::size_t kept = 1;
  for (const auto& older : list()) {
    if (older.what == what && ++kept > limits_.of_the_same) remove_tree(directory_ + "/" + older.name);
  }
  std::string to;
  // Of two of the same in one second the second has the next one's name.
  for (auto at = now; to.empty() || exists(to); at += std::chrono::seconds(1))
    to = fmt::format("{}/{}-{}", directory_, stamp(at), what);
  if (::rename(path.c_str(), to.c_str()) != 0)
    throw errno_error(errno, fmt::format("cannot move '{}' to '{}'", path, to));
  collect(now);
}

std::vector<Discarded> Trash::list() const {
  std::vector<Discarded> all;
  if (!exists(directory_)) return all;
  for (const auto& entry : list_directory(directory_)) {
    if (auto item = parse_name(entry.name)) all.push_back(std::move(*item));
  }
  std::ranges::sort(all, std::greater(), &Discarded::name);
  return all;
}

std::string Trash::find(std::string_view name) const {
  const auto all = list();
  if (std::ranges::find(all, name, &Discarded::name) == all.end())
    throw Error(Code::not_found, fmt::format("there is no '{}' in the trash", name))
        .advise("look: underway trash list");
  return fmt::format("{}/{}", directory_, name);
}

void Trash::remove(const std::string& name) const { remove_tree(find(name)); }

void Trash::collect(TimePoint now) const {
  const auto all = list();
  // Of two that collect at once the second finds less than it has read of: nothing is asked of what is gone.
  for (const auto& item : all | std::views::reverse) {
    if (now - item.at > limits_.keep || !has_room(directory_, limits_)) remove_tree(directory_ + "/" + item.name);
  }
}

}  // namespace underway::os
