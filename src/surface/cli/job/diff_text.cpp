#include "cli/job/diff_text.hpp"

#include "base/text.hpp"
#include "cli/terminal.hpp"
#include "scheduler/schedule.hpp"

namespace underway::cli {
namespace {

using model::DiffType;

std::string mark(DiffType type) {
  switch (type) {
    case DiffType::added:
      return paint(Colour::green, "+");
    case DiffType::deleted:
      return paint(Colour::red, "-");
    case DiffType::edited:
      return paint(Colour::yellow, "+/-");
    case DiffType::none:
      return " ";
  }
  return " ";
}

std::string indent(int depth) { return std::string(static_cast<std::size_t>(depth) * 2, ' '); }

std::string annotations_text(const std::vector<std::string>& annotations) {
  return annotations.empty() ? std::string() : paint(Colour::dim, " (" + join(annotations, ", ") + ")");
}

std::string field_text(const model::FieldDiff& field, int depth) {
  std::string line = indent(depth) + mark(field.type) + " " + field.name + ": ";
  const auto note = annotations_text(field.annotations);
  if (!field.lines.empty()) {
    line += note + "\n";
    for (const auto& text : field.lines) {
      const Colour colour = text.starts_with('+')   ? Colour::green
                            : text.starts_with('-') ? Colour::red
                            : text.starts_with('@') ? Colour::blue
                                                    : Colour::dim;
      line += indent(depth + 2) + paint(colour, text) + "\n";
    }
    return line;
  }
  switch (field.type) {
    case DiffType::added:
      line += fmt::format("\"{}\"", field.after);
      break;
    case DiffType::deleted:
      line += fmt::format("\"{}\"", field.before);
      break;
    case DiffType::edited:
      line += fmt::format("\"{}\" => \"{}\"", field.before, field.after);
      break;
    case DiffType::none:
      line += fmt::format("\"{}\"", field.after);
      break;
  }
  return line + note + "\n";
}

std::string body_text(const std::vector<model::FieldDiff>& fields, const std::vector<model::ObjectDiff>& objects,
                      int depth) {
  std::string out;
  for (const auto& field : fields) {
    if (field.type != DiffType::none) out += field_text(field, depth);
  }
  for (const auto& object : objects) {
    if (object.type != DiffType::none) out += diff_text(object, depth);
  }
  return out;
}

}  // namespace

std::string diff_text(const model::ObjectDiff& diff, int depth) {
  return indent(depth) + mark(diff.type) + " " + diff.name + " {\n" + body_text(diff.fields, diff.objects, depth + 1) +
         indent(depth) + "  }\n";
}

std::string diff_text(const model::JobDiff& diff) {
  std::string out = mark(diff.type) + " " + paint(Colour::bold, fmt::format("Job: \"{}\"", diff.id)) + "\n" +
                    body_text(diff.fields, diff.objects, 0);
  for (const auto& group : diff.groups) {
    if (group.type == DiffType::none) continue;
    out += fmt::format("{} Task Group: \"{}\"\n", mark(group.type), group.name) +
           body_text(group.fields, group.objects, 1);
    for (const auto& task : group.tasks) {
      if (task.type == DiffType::none) continue;
      out += fmt::format("  {} Task: \"{}\"{}\n", mark(task.type), task.name, annotations_text(task.annotations)) +
             body_text(task.fields, task.objects, 2);
    }
  }
  return out;
}

std::string job_warnings_text(const std::string& warnings) {
  return warnings.empty() ? "" : paint(Colour::yellow, "Job Warnings:\n" + warnings) + "\n\n";
}

std::string touched_text(const std::vector<wire::Touched>& touched) {
  constexpr std::size_t kMost = 20;
  std::string out;
  for (std::size_t i = 0; i < touched.size() && i < kMost; ++i) {
    const auto& allocation = touched[i];
    const Colour colour = allocation.what == "place"  ? Colour::green
                          : allocation.what == "stop" ? Colour::red
                                                      : Colour::yellow;
    out += fmt::format("  {} {} on {}\n", paint(colour, allocation.what), allocation.name, allocation.node);
  }
  if (touched.size() > kMost) out += fmt::format("  … and {} more\n", touched.size() - kMost);
  return out;
}

std::string failures_text(const std::map<std::string, model::AllocMetric>& failed) {
  std::string out;
  for (const auto& [group, metric] : failed) {
    out += fmt::format("  Task Group \"{}\" (failed to place {} allocation{}):\n", group, metric.coalesced_failures + 1,
                       metric.coalesced_failures == 0 ? "" : "s");
    for (const auto& line : scheduler::explain(metric)) out += "    " + line + "\n";
  }
  return out;
}

}  // namespace underway::cli
