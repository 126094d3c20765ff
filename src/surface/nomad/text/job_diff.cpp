#include "nomad/text/job_diff.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "cli/terminal.hpp"
#include "nomad/text/text.hpp"

namespace underway::nomad {
namespace {

using boost::json::array;
using boost::json::object;
using cli::Colour;
using cli::elements;
using cli::Json;
using cli::text;

std::string blanks(std::size_t count) { return std::string(count, ' '); }
std::size_t wider(std::size_t longest, std::size_t own) { return longest > own ? longest - own : 0; }

/// What stands before a line, and how wide it is.
struct Marker {
  std::string text;
  std::size_t width = 0;
};

Marker marker_of(const Json& part) {
  const std::string type = text(part, "Type");
  if (type == "Added") return {cli::paint(Colour::green, "+") + " ", 2};
  if (type == "Deleted") return {cli::paint(Colour::red, "-") + " ", 2};
  if (type == "Edited") return {cli::paint(Colour::yellow, "+/-") + " ", 4};
  return {};
}

/// Names and markers of one block stand below each other.
struct Widths {
  std::size_t field = 0, marker = 0;

  void see(const array& parts) {
    for (const auto& part : parts) marker = std::max(marker, marker_of(part).width);
  }
};

Widths widths_of(const Json& part) {
  Widths widths;
  for (const auto& field : elements(part, "Fields")) widths.field = std::max(widths.field, text(field, "Name").size());
  widths.see(elements(part, "Fields"));
  widths.see(elements(part, "Objects"));
  return widths;
}

std::string annotation(const std::string& words) {
  if (words == "forces create") return cli::paint(Colour::green, words);
  if (words == "forces destroy") return cli::paint(Colour::red, words);
  if (words == "forces create/destroy update") return cli::paint(Colour::yellow, words);
  return words == "forces in-place update" ? cli::paint(Colour::blue, words) : words;
}

std::string annotations_of(const Json& part) {
  std::vector<std::string> words;
  for (const auto& annotated : elements(part, "Annotations"))
    words.push_back(annotation(std::string(annotated.as_string())));
  return words.empty() ? std::string() : " (" + join(words, ", ") + ")";
}

std::string value_of(const Json& field) {
  const std::string type = text(field, "Type"), before = go_quote(text(field, "Old")),
                    after = go_quote(text(field, "New"));
  if (type == "Edited") return before + " => " + after;
  return type == "Deleted" ? before : after;
}

std::string field_line(const Json& field, std::size_t start, const Widths& widths) {
  const auto marker = marker_of(field);
  const std::string name = text(field, "Name");
  return blanks(start) + marker.text + blanks(wider(widths.marker, marker.width)) + name + ": " +
         blanks(wider(widths.field, name.size())) + value_of(field) + annotations_of(field);
}

std::string body_text(const Json& part, std::size_t start, const Widths& widths);

std::string object_text(const Json& part, std::size_t start, const Widths& widths) {
  const auto marker = marker_of(part);
  const std::size_t key = wider(widths.marker, marker.width);
  return blanks(start) + marker.text + blanks(key) + text(part, "Name") + " {\n" +
         body_text(part, start + key + 2, widths_of(part)) + "\n" + blanks(start + marker.width + key) + "}";
}

/// Its fields and then its objects, a line break between two of them.
std::string body_text(const Json& part, std::size_t start, const Widths& widths) {
  std::vector<std::string> lines;
  for (const auto& field : elements(part, "Fields")) lines.push_back(field_line(field, start, widths));
  for (const auto& inner : elements(part, "Objects")) lines.push_back(object_text(inner, start, widths));
  return join(lines, "\n");
}

bool shows_body(const Json& part, bool verbose) { return verbose || text(part, "Type") == "Edited"; }

std::string task_text(const Json& task, std::size_t start, std::size_t key, bool verbose) {
  const std::string type = text(task, "Type");
  std::string head = blanks(start) + marker_of(task).text + blanks(key) +
                     cli::paint(Colour::bold, "Task: " + go_quote(text(task, "Name"))) + annotations_of(task);
  if (type == "None" || !shows_body(task, verbose)) return head;
  return head + "\n" + body_text(task, start + 2, widths_of(task));
}

constexpr std::pair<const char*, const char*> kUpdates[] = {
    {"Canary", "canary"},  {"Place", "create"},  {"DestructiveUpdate", "create/destroy update"},
    {"Stop", "destroy"},   {"Ignore", "ignore"}, {"InPlaceUpdate", "in-place update"},
    {"Migrate", "migrate"}};

/// "1 create, 2 ignore", by name.
std::string counts_of(const Json& group, const Json& desired) {
  std::vector<std::string> counts;
  for (const auto& [name, count] : cli::members(group, "Updates"))
    counts.push_back(fmt::format("{} {}", boost::json::serialize(count), std::string_view(name)));
  if (counts.empty()) {
    for (const auto& [member, words] : kUpdates) {
      if (const auto count = cli::number(desired, member); count > 0)
        counts.push_back(fmt::format("{} {}", count, words));
    }
  }
  return counts.empty() ? std::string() : " (" + join(counts, ", ") + ")";
}

std::string group_text(const Json& group, std::size_t prefix, const Json& updates, bool verbose) {
  const std::string name = text(group, "Name");
  const auto* desired = updates.is_object() ? updates.get_object().if_contains(name) : nullptr;
  std::string out = marker_of(group).text + blanks(prefix) + cli::paint(Colour::bold, "Task Group: " + go_quote(name)) +
                    counts_of(group, desired == nullptr ? Json() : *desired) + "\n";
  auto widths = widths_of(group);
  widths.see(elements(group, "Tasks"));
  const std::size_t start = prefix + 2;
  if (shows_body(group, verbose)) {
    const std::string body = body_text(group, start, widths);
    out += body + (body.empty() ? "" : "\n");
  }
  for (const auto& task : elements(group, "Tasks"))
    out += task_text(task, start, wider(widths.marker, marker_of(task).width), verbose) + "\n";
  return out;
}

bool named(const array& parts, const std::string& name) {
  return std::any_of(parts.begin(), parts.end(), [&](const Json& part) { return text(part, "Name") == name; });
}

void sort_by_name(array& parts) {
  std::sort(parts.begin(), parts.end(), [](const Json& a, const Json& b) { return text(a, "Name") < text(b, "Name"); });
}

array& parts_of(Json& whole, const char* name) {
  auto& found = whole.as_object()[name];
  if (!found.is_array()) found = array{};
  return found.get_array();
}

void add_unchanged(Json& whole, const char* name, const std::vector<std::string>& names) {
  auto& parts = parts_of(whole, name);
  for (const auto& part_name : names) {
    if (!named(parts, part_name)) parts.push_back(object{{"Type", "None"}, {"Name", part_name}});
  }
  sort_by_name(parts);
}

}  // namespace

std::string job_diff_text(const Json& diff, bool verbose, const Json& updates) {
  auto widths = widths_of(diff);
  widths.see(elements(diff, "TaskGroups"));
  std::string out = marker_of(diff).text + cli::paint(Colour::bold, "Job: " + go_quote(text(diff, "ID"))) + "\n";
  if (shows_body(diff, verbose)) {
    const std::string body = body_text(diff, 0, widths);
    out += body + (body.empty() ? "" : "\n");
  }
  for (const auto& group : elements(diff, "TaskGroups"))
    out += group_text(group, wider(widths.marker, marker_of(group).width), updates, verbose) + "\n";
  return std::string(trim(out)) + "\n";
}

Json with_unchanged(Json diff, const model::Job& job) {
  if (!diff.is_object()) return diff;
  std::vector<std::string> groups;
  for (const auto& group : job.groups) groups.push_back(group.name);
  add_unchanged(diff, "TaskGroups", groups);
  for (auto& part : diff.as_object()["TaskGroups"].as_array()) {
    const auto* group = job.find_group(text(part, "Name"));
    if (group == nullptr) continue;
    std::vector<std::string> tasks;
    for (const auto& task : group->tasks) tasks.push_back(task.name);
    add_unchanged(part, "Tasks", tasks);
  }
  return diff;
}

}  // namespace underway::nomad
