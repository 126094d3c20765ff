#include "node/streams/log_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::node {

LogReader::LogReader(std::string directory, std::string_view task, std::string_view type, std::string_view origin,
                     std::int64_t offset)
    : directory_(std::move(directory)), prefix_(fmt::format("{}.{}.", task, type)) {
  if (type != "stdout" && type != "stderr")
    throw Error(Code::invalid, fmt::format("a log's type is stdout or stderr, not '{}'", type));
  if (origin != "start" && origin != "end")
    throw Error(Code::invalid, fmt::format("origin is start or end, not '{}'", origin));
  const auto kept = numbers(directory_, prefix_);
  std::vector<std::int64_t> sizes;
  std::int64_t total = 0;
  for (const std::int64_t number : kept) {
    struct stat status{};
    sizes.push_back(::stat(path(number).c_str(), &status) == 0 ? status.st_size : 0);
    total += sizes.back();
  }
  std::int64_t skip = std::clamp<std::int64_t>(origin == "end" ? total - offset : offset, 0, total);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const bool last = i + 1 == kept.size();
    if (skip >= sizes[i] && !last) {
      skip -= sizes[i];
      continue;
    }
    number_ = kept[i] - 1;
    if (open_next()) ::lseek(file_.get(), skip, SEEK_SET);
    break;
  }
}

std::string LogReader::path(std::int64_t number) const { return fmt::format("{}/{}{}", directory_, prefix_, number); }

bool LogReader::any(const std::string& directory, std::string_view task, std::string_view type) {
  return !numbers(directory, fmt::format("{}.{}.", task, type)).empty();
}

std::vector<std::int64_t> LogReader::numbers(const std::string& directory, const std::string& prefix) {
  std::vector<std::int64_t> found;
  if (!os::exists(directory)) return found;
  for (const auto& entry : os::list_directory(directory)) {
    if (!entry.name.starts_with(prefix)) continue;
    const auto number = parse_number<std::int64_t>(std::string_view(entry.name).substr(prefix.size()));
    if (number) found.push_back(*number);
  }
  std::ranges::sort(found);
  return found;
}

bool LogReader::open_next() {
  for (const std::int64_t number : numbers(directory_, prefix_)) {
    if (number <= number_) continue;
    os::Fd file(::open(path(number).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file) continue;  // rotated away since it was listed
    file_ = std::move(file);
    number_ = number;
    return true;
  }
  return false;
}

std::string LogReader::read(std::size_t most) {
  std::string bytes(most, '\0');
  while (true) {
    if (!file_ && !open_next()) return {};
    const auto got = ::read(file_.get(), bytes.data(), bytes.size());
    if (got < 0) throw errno_error(errno, fmt::format("cannot read log '{}'", path(number_)));
    if (got > 0) {
      bytes.resize(static_cast<std::size_t>(got));
      return bytes;
    }
    // The end of this file. A newer one is begun only when this one is complete, but it may have grown between
    // our read and its beginning: look once more at the old one before leaving it.
    const os::Fd old = std::move(file_);
    const std::int64_t old_number = number_;
    if (!open_next()) {
      file_ = os::Fd(old.duplicate());
      number_ = old_number;
      return {};
    }
    const auto rest = ::read(old.get(), bytes.data(), bytes.size());
    if (rest > 0) {
      // Come back to the newer one when this is used up.
      file_ = old.duplicate();
      number_ = old_number;
      bytes.resize(static_cast<std::size_t>(rest));
      return bytes;
    }
  }
}

}  // namespace underway::node
