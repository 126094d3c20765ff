#include "inspection/detail/unit_files.hpp"

#include <dirent.h>

#include "base/text.hpp"

namespace underway::inspection::detail {
namespace {

constexpr std::size_t kMaxUnitBytes = 1U << 20;
constexpr std::size_t kMaxUnits = 5000;

/// Later ones hide earlier ones of the same name (systemd.unit(5), "Unit File Load Path").
constexpr const char* kUnitDirectories[] = {"/lib/systemd/system", "/usr/lib/systemd/system",
                                            "/usr/local/lib/systemd/system", "/etc/systemd/system"};

/// Words as systemd splits them, without its escapes; quotes keep blanks.
std::vector<std::string> command_words(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  char quote = 0;
  bool any = false;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      any = true;
    } else if (c == ' ' || c == '\t') {
      if (any || !word.empty()) out.push_back(std::move(word));
      word.clear();
      any = false;
    } else {
      word += c;
    }
  }
  if (any || !word.empty()) out.push_back(std::move(word));
  return out;
}

class UnitReader {
 public:
  explicit UnitReader(Unit& unit) : unit_(unit) {}

  void line(std::string_view text) {
    text = trim(text);
    if (text.empty() || text.front() == '#' || text.front() == ';') return;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) return;
    set(trim(text.substr(0, equals)), trim(text.substr(equals + 1)));
  }

 private:
  void set(std::string_view key, std::string_view value) {
    if (key == "ExecStart") {
      // An empty value forgets what was said before; of several commands (oneshot) the first is told.
      if (value.empty()) unit_.command.clear();
      value.remove_prefix(std::min(value.find_first_not_of("@-:+!|"), value.size()));
      if (unit_.command.empty()) unit_.command = command_words(value);
    } else if (key == "User") {
      unit_.user = std::string(value);
    } else if (key == "Requires" || key == "Requisite" || key == "BindsTo" || key == "Wants" || key == "After") {
      for (const auto& other : command_words(value))
        if (other.ends_with(".service")) unit_.needs.push_back(fmt::format("{}={}", key, other));
    } else if (key == "StateDirectory" || key == "LogsDirectory") {
      const char* base = key == "StateDirectory" ? "/var/lib/" : "/var/log/";
      for (const auto& name : command_words(value)) unit_.state_directories.push_back(base + name);
    } else if (key == "EnvironmentFile") {
      if (!value.empty() && value.front() == '-') value.remove_prefix(1);
      unit_.environment_files.emplace_back(value);
    } else if (key.starts_with("On") && unit_.name.ends_with(".timer")) {
      unit_.when.push_back(fmt::format("{}={}", key, value));
    }
  }

  Unit& unit_;
};

class UnitFinder {
 public:
  UnitFinder(const RootView& root, std::vector<std::string>& gaps) : root_(root), gaps_(gaps) {}

  std::map<std::string, Unit> find() {
    for (const char* directory : kUnitDirectories) read_directory(directory);
    for (const char* directory : {"/lib/systemd/system", "/usr/lib/systemd/system", "/etc/systemd/system"})
      read_enabled(directory);
    return std::move(units_);
  }

 private:
  static bool is_unit(std::string_view name) { return name.ends_with(".service") || name.ends_with(".timer"); }

  void read_directory(const std::string& path) {
    for (const auto& entry : root_.entries(path, gaps_)) {
      if (units_.size() >= kMaxUnits) return;
      if (entry.type == DT_REG && is_unit(entry.name)) {
        Unit& unit = units_[entry.name] = Unit{};
        unit.name = entry.name;
        read(path + "/" + entry.name, unit);
      } else if (entry.type == DT_DIR && entry.name.ends_with(".d") &&
                 units_.contains(entry.name.substr(0, entry.name.size() - 2))) {
        Unit& unit = units_[entry.name.substr(0, entry.name.size() - 2)];
        for (const auto& drop_in : root_.entries(path + "/" + entry.name, gaps_))
          if (drop_in.name.ends_with(".conf")) read(path + "/" + entry.name + "/" + drop_in.name, unit);
      }
    }
  }

  void read(const std::string& path, Unit& unit) {
    if (const auto text = root_.find_text(path, kMaxUnitBytes, gaps_)) read_unit(*text, unit);
  }

  void read_enabled(const std::string& path) {
    for (const auto& entry : root_.entries(path, gaps_)) {
      if (entry.type != DT_DIR || !(entry.name.ends_with(".wants") || entry.name.ends_with(".requires"))) continue;
      for (const auto& link : root_.entries(path + "/" + entry.name, gaps_)) {
        const auto found = units_.find(link.name);
        if (found != units_.end()) found->second.enabled = true;
      }
    }
  }

  const RootView& root_;
  std::vector<std::string>& gaps_;
  std::map<std::string, Unit> units_;
};

}  // namespace

void read_unit(std::string_view text, Unit& unit) {
  UnitReader reader(unit);
  std::string joined;
  for (const auto& line : split(text, '\n')) {
    if (line.ends_with('\\') && joined.size() < kMaxUnitBytes) {
      joined.append(line, 0, line.size() - 1);
      joined += ' ';
      continue;
    }
    reader.line(joined + line);
    joined.clear();
  }
  if (!joined.empty()) reader.line(joined);
}

std::string started_by(const Unit& unit) {
  if (unit.command.empty()) return {};
  const std::string& first = unit.command[0];
  const std::string name = first.substr(first.rfind('/') + 1);
  if (name == "true") return {};
  if (name != "sh" && name != "bash" && name != "dash" && name != "env") return first;
  std::vector<std::string> words;
  for (std::size_t i = 1; i < unit.command.size(); ++i)
    for (auto& word : command_words(unit.command[i])) words.push_back(std::move(word));
  const auto is_program = [](const std::string& word) {
    return word.starts_with('/') && word.find("bin/") != std::string::npos &&
           word.find_first_of("`$;*") == std::string::npos;
  };
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "exec" && is_program(words[i + 1])) return words[i + 1];
  const auto found = std::find_if(words.begin(), words.end(), is_program);
  return found == words.end() ? std::string{} : *found;
}

std::map<std::string, Unit> read_units(const RootView& root, std::vector<std::string>& gaps) {
  return UnitFinder(root, gaps).find();
}

}  // namespace underway::inspection::detail
