#include "cli/command.hpp"

#include <algorithm>
#include <cctype>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace underway::cli {

bool Arguments::has(std::string_view flag) const {
  const auto value = find(flag);
  return value && *value != "false";
}

std::optional<std::string> Arguments::find(std::string_view flag) const {
  std::optional<std::string> found;
  for (const auto& [name, value] : flags_) {
    if (name == flag) found = value;
  }
  return found;
}

std::string Arguments::get(std::string_view flag, std::string_view otherwise) const {
  return find(flag).value_or(std::string(otherwise));
}

std::vector<std::string> Arguments::all(std::string_view flag) const {
  std::vector<std::string> out;
  for (const auto& [name, value] : flags_) {
    if (name == flag) out.push_back(value);
  }
  return out;
}

std::optional<std::int64_t> Arguments::number(std::string_view flag) const {
  const auto text = find(flag);
  return text ? parse_number<std::int64_t>(*text) : std::nullopt;
}

const std::vector<Flag>& server_flags() {
  static const std::vector<Flag> flags = {
      {"address", "URL",
       "The agent to talk to: http://HOST:PORT or unix:///PATH. Also UNDERWAY_ADDR, NOMAD_ADDR. Without it, this "
       "machine's agent."},
      {"token", "SECRET-ID", "The ACL token. Better: UNDERWAY_TOKEN or NOMAD_TOKEN, which other users do not see."},
      {"namespace", "NAME", "The namespace. Also UNDERWAY_NAMESPACE, NOMAD_NAMESPACE."},
      {"region", "NAME", "The region. Also UNDERWAY_REGION, NOMAD_REGION."},
      {"ca-cert", "FILE", "Whose certificates are good, of an https address. Also UNDERWAY_CACERT, NOMAD_CACERT."},
      {"client-cert", "FILE", "A certificate to show. Also UNDERWAY_CLIENT_CERT, NOMAD_CLIENT_CERT."},
      {"client-key", "FILE", "Its key. Also UNDERWAY_CLIENT_KEY, NOMAD_CLIENT_KEY."},
      {"tls-server-name", "NAME",
       "The name that the server's certificate must have. Also UNDERWAY_TLS_SERVER_NAME, NOMAD_TLS_SERVER_NAME."},
      {"tls-skip-verify", "",
       "Takes any server for the one that is meant. Also UNDERWAY_SKIP_VERIFY, NOMAD_SKIP_VERIFY."},
      {"state", "DIR", "The state directory of this machine's agent; /var/lib/underway, or UNDERWAY_STATE."},
  };
  return flags;
}

std::vector<Flag> flags_of(const Command& command) {
  std::vector<Flag> flags = command.flags;
  if (command.talks_to_server) flags.insert(flags.end(), server_flags().begin(), server_flags().end());
  return flags;
}

namespace {

const Flag& get_flag(const Command& command, const std::vector<Flag>& flags, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& flag : flags) {
    if (flag.name == name) return flag;
    names.emplace_back(flag.name);
  }
  Error error(Code::invalid, fmt::format("'{}' has no flag -{}", command.name, name));
  if (const auto near = nearest(name, names); !near.empty())
    error.advise(fmt::format("did you mean -{}?", near));
  else
    error.advise(fmt::format("see `underway {} -h`", command.name));
  throw error;
}

/// A SHA-256 in base64url, which is what keys are called by: one of 64 begins with '-'. No flag is so long.
bool is_digest(const std::string& word) {
  constexpr std::size_t kLength = 43;
  return word.size() == kLength && std::all_of(word.begin(), word.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_';
         });
}

bool takes(const Flag& flag, const std::string& value) {
  if (!flag.number) return true;
  const auto number = parse_number<std::int64_t>(value);
  return number && *number >= flag.number->least && *number <= flag.number->most;
}

}  // namespace

Error no_number(const Flag& flag, const std::string& value) {
  return Error(Code::invalid, fmt::format("-{} '{}' is no number that it takes", flag.name, value))
      .because(fmt::format("a whole number from {} to {} is wanted", flag.number->least, flag.number->most));
}

Arguments parse(const Command& command, const std::vector<std::string>& words, NumberRefusal refusal) {
  const auto flags = flags_of(command);
  Arguments out;
  bool flags_over = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!flags_over && word == "--") {
      flags_over = true;
      continue;
    }
    if (flags_over || word.size() < 2 || word[0] != '-' || is_digest(word)) {
      out.positional_.push_back(word);
      // `host exec NAME -- cmd`: the separator after the name is ours, the rest is not.
      if (command.passes_on && i + 1 < words.size() && words[i + 1] == "--" && out.positional_.size() == 1) ++i;
      flags_over = flags_over || command.passes_on;
      continue;
    }
    std::string name = word.substr(word[1] == '-' ? 2 : 1);
    const std::size_t equals = name.find('=');
    std::optional<std::string> value;
    if (equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    const Flag& flag = get_flag(command, flags, name);
    if (flag.value.empty()) {
      value = value.value_or("true");
    } else if (!value) {
      if (i + 1 >= words.size())
        throw Error(Code::invalid, fmt::format("flag -{} needs a value: {}", name, flag.value));
      value = words[++i];
    }
    if (!takes(flag, *value)) throw refusal(flag, *value);
    out.flags_.emplace_back(std::move(name), std::move(*value));
  }
  const std::size_t count = out.positional_.size();
  if (count < command.least || count > command.most) {
    throw Error(Code::invalid, fmt::format("'{}' takes {}", command.name,
                                           command.arguments.empty() ? "no arguments" : command.arguments))
        .because(fmt::format("{} {} given", count, count == 1 ? "was" : "were"))
        .advise(fmt::format("see `underway {} -h`", command.name));
  }
  return out;
}

}  // namespace underway::cli
