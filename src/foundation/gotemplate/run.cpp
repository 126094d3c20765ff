#include "gotemplate/run.hpp"

#include "base/error.hpp"

#include <re2/re2.h>

#include <algorithm>

namespace underway::gotemplate {

void Dependencies::merge(const Dependencies& other) {
  variables.insert(other.variables.begin(), other.variables.end());
  variable_prefixes.insert(other.variable_prefixes.begin(), other.variable_prefixes.end());
  services.insert(other.services.begin(), other.services.end());
  services_list = services_list || other.services_list;
  foreign.insert(other.foreign.begin(), other.foreign.end());
  files.insert(other.files.begin(), other.files.end());
}

ForeignReply DataSource::foreign(const ForeignQuery& /*query*/, Dependencies& /*used*/) {
  throw Error(Code::unsupported, "nothing answers for Consul and Vault here");
}

Run::Run(const Inputs& inputs) : inputs_(inputs) {}

Run::~Run() {
  // Every map is still held by `maps_` while its members go, so nothing is destroyed recursively.
  for (const auto& node : maps_) const Map members = std::move(node->members);
}

void Run::out_of_steps() const {
  throw Error(Code::too_large, fmt::format("the template takes more than {} steps", inputs_.limits.steps))
      .advise("look for a loop that does not end");
}

void Run::out_of_values() const {
  throw Error(Code::too_large, fmt::format("the template makes more than {} bytes of values", inputs_.limits.values))
      .advise("look for a loop or a count that is too large");
}

void Run::make_elements(std::uint64_t count) {
  if (count > inputs_.limits.values / sizeof(Value)) out_of_values();
  make(static_cast<std::size_t>(count) * sizeof(Value));
  step(count / 8);
}

Value Run::map(Map members, Element element) {
  make(sizeof(Value::MapNode) + members.size() * 96);
  auto node = std::make_shared<Value::MapNode>(Value::MapNode{std::move(members), this, element});
  maps_.push_back(node);
  Value value;
  value.data_ = std::move(node);
  return value;
}

bool Run::owns(const Value& map) const {
  const auto* node = std::get_if<std::shared_ptr<Value::MapNode>>(&map.data_);
  return node != nullptr && (*node)->owner == this;
}

Map& Run::change(const Value& map) const {
  const auto* node = std::get_if<std::shared_ptr<Value::MapNode>>(&map.data_);
  if (!owns(map))
    throw Error(Code::invalid, "this map belongs to the data, which templates do not change")
        .advise("make a copy first: deepCopy");
  return (*node)->members;
}

TimePoint Run::now() const {
  if (inputs_.clock == nullptr) throw Error(Code::unsupported, "there is no clock here");
  return inputs_.clock->now();
}

DataSource& Run::source() const {
  if (inputs_.source == nullptr) throw Error(Code::unsupported, "there is no data to ask for here");
  return *inputs_.source;
}

void Run::missing(std::string what) {
  if (std::ranges::find(missing_, what) == missing_.end()) missing_.push_back(std::move(what));
}

namespace {

/// Go writes a group "(?<name>" too, and has no \C.
std::string as_re2(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    out += c;
    if (c == '\\' && i + 1 < pattern.size()) {
      if (pattern[i + 1] == 'C') throw Error(Code::invalid, "error parsing regexp: invalid escape sequence: `\\C`");
      out += pattern[++i];
      if (pattern[i] != 'Q') continue;
      const std::size_t end = std::min(pattern.find("\\E", i), pattern.size());
      out += pattern.substr(i + 1, end - i - 1);
      i = end - 1;
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
      // A ']' in the first place is one of the characters.
      if (pattern.substr(i + 1).starts_with('^')) out += pattern[++i];
      if (pattern.substr(i + 1).starts_with(']')) out += pattern[++i];
    } else if (pattern.substr(i).starts_with("(?<")) {
      out += "?P";
      ++i;
    }
  }
  return out;
}

}  // namespace

const re2::RE2& Run::regex(std::string_view pattern, std::string_view text) {
  // A regex of the largest size visits each byte some dozens of times at worst; RE2 is linear in the text.
  step(1 + text.size() / 16);
  auto found = regexes_.find(pattern);
  if (found == regexes_.end()) {
    const std::string spelled = as_re2(pattern);
    step(100 + pattern.size() * 4);
    make(16'384 + pattern.size() * 64);
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(1 << 20);
    auto compiled = std::make_unique<re2::RE2>(spelled, options);
    if (!compiled->ok())
      throw Error(Code::invalid, fmt::format("error parsing regexp: {}", compiled->error()))
          .advise("write it in RE2's syntax");
    found = regexes_.emplace(std::string(pattern), std::move(compiled)).first;
  }
  return *found->second;
}

}  // namespace underway::gotemplate
