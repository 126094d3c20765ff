#include "node/fingerprint/dynamic_meta.hpp"

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "os/file.hpp"

namespace underway::node {
namespace {

void check(const std::string& key, const std::optional<std::string>& value) {
  const auto refuse = [&](const char* why) {
    throw Error(Code::invalid, fmt::format("metadata key \"{}\" is invalid", key)).because(why);
  };
  if (key.empty() || key.find_first_of(std::string_view(" \t\r\n\0", 5)) != std::string::npos)
    refuse("a key has characters, and no blanks among them");
  if (key.front() == '.' || key.back() == '.' || key.find("..") != std::string::npos)
    refuse("its dots must have something on both sides");
  if (key.size() > DynamicMeta::kLongestValue || (value && value->size() > DynamicMeta::kLongestValue))
    refuse("it is too long");
}

}  // namespace

void DynamicMeta::open(const std::string& data_dir, model::StringMap fixed) {
  path_ = data_dir + "/node/meta.json";
  now_.fixed = std::move(fixed);
  const auto kept = os::find_file(path_);
  set(kept ? json::decode_text<protocol::MetadataRequest>(*kept, path_).meta : Changes{});
}

DynamicMeta::Changes DynamicMeta::next(const protocol::MetadataRequest& request) const {
  auto next = now_.dynamic;
  for (const auto& [key, value] : request.meta) {
    check(key, value);
    // To take away what nobody else gives, nothing need be kept.
    if (value || now_.fixed.contains(key))
      next[key] = value;
    else
      next.erase(key);
  }
  if (next.size() > kMostKeys) throw Error(Code::invalid, fmt::format("more than {} keys of metadata", kMostKeys));
  return next;
}

void DynamicMeta::write(const Changes& changes) const {
  os::write_file(path_, json::encode(protocol::MetadataRequest{changes}), 0600);
}

void DynamicMeta::set(Changes changes) {
  now_.meta = now_.fixed;
  for (const auto& [key, value] : changes) {
    if (value)
      now_.meta[key] = *value;
    else
      now_.meta.erase(key);
  }
  now_.dynamic = std::move(changes);
}

}  // namespace underway::node
