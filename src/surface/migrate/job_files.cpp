#include "migrate/detail/job_files.hpp"

#include "base/json/json.hpp"
#include "base/text.hpp"
#include "migrate/file_text.hpp"
#include "migrate/job_reading.hpp"
#include "migrate/kinds.hpp"
#include "migrate/nomad_names.hpp"
#include "model/job/spelled_policies.hpp"

#include <map>

namespace underway::migrate::detail {
namespace {

bool is_stopped(const Object& object) {
  const auto* stop = object.body.if_contains("Stop");
  return stop != nullptr && stop->is_bool() && stop->get_bool();
}

std::string label(const Object& object) { return printable(fmt::format("job '{}' ({})", object.name, object.ns)); }

/// Takes out of the wire's form what a Nomad does not know, and says what.
class Pruner {
 public:
  explicit Pruner(std::vector<std::string>& out) : out_(out) {}

  void prune(boost::json::value& json, const describe::Type& type, const std::string& where) {
    using describe::Kind;
    if (type.kind == Kind::structure && json.is_object()) return prune(json.get_object(), type.structure(), where);
    if (type.kind == Kind::optional) return prune(json, *type.element, where);
    if (type.kind == Kind::list && json.is_array()) {
      for (auto& element : json.get_array()) prune(element, *type.element, where);
    } else if (type.kind == Kind::map && json.is_object()) {
      for (auto& element : json.get_object()) prune(element.value(), *type.element, where);
    }
  }

 private:
  void prune(boost::json::object& object, const describe::Structure& structure, std::string where) {
    const auto* name = object.if_contains("Name");
    const bool named = structure.name == "group" || structure.name == "task";
    if (named && name != nullptr && name->is_string())
      where += fmt::format("{}{} '{}'", where.empty() ? "" : " ", structure.name, std::string_view(name->get_string()));
    std::vector<std::string> gone;
    for (auto& [key, value] : object) {
      const auto* field = structure.find_json(std::string(key));
      if (field == nullptr) continue;
      if (!nomad_knows(structure, *field)) {
        if (!says_nothing(value)) out_.push_back(fmt::format("{}{}{}", where, where.empty() ? "" : ": ", field->hcl));
        gone.emplace_back(key);
      } else {
        prune(value, *field->type, where);
      }
    }
    for (const auto& key : gone) object.erase(key);
    if (structure.name == "task") prune_config(object, where);
  }

  void prune_config(boost::json::object& task, const std::string& where) {
    const auto* driver = task.if_contains("Driver");
    auto* config = task.if_contains("Config");
    if (driver == nullptr || !driver->is_string() || config == nullptr || !config->is_object()) return;
    std::vector<std::string> gone;
    for (const auto& [key, value] : config->get_object()) {
      if (!nomad_driver_knows(std::string(std::string_view(driver->get_string())), key)) gone.emplace_back(key);
    }
    for (const auto& key : gone) {
      out_.push_back(fmt::format("{}: config.{}", where, key));
      config->get_object().erase(key);
    }
  }

  std::vector<std::string>& out_;
};

/// The n-th line that holds `text`, from 1; 0 when there is none.
std::size_t line_of(const std::string& file, const std::string& text, std::size_t nth) {
  std::size_t number = 0;
  for (const auto& line : split(file, '\n')) {
    ++number;
    if (trim(line) == text && nth-- == 0) return number;
  }
  return 0;
}

class JobWriter {
 public:
  JobWriter(Files& out, const FilesOptions& options) : out_(out), options_(options) {}

  JobFile add(const Object& object, const JobReading& reading) {
    JobFile file{object.name, object.ns, "", is_stopped(object)};
    const std::string base = path_of(object);
    if (!reading.job) {
      out_.files.push_back({base + ".json", json::pretty(object.body) + "\n"});
      for (const auto& why : reading.refusals)
        out_.inexpressible.push_back({label(object), base + ".json", 0, "the job", why});
      return file;
    }
    const bool as_json = options_.format == Format::json;
    file.path = base + (as_json ? ".json" : ".nomad.hcl");
    std::string text = as_json ? json_text(*reading.job, object, file.path) : hcl_text(*reading.job, object, file.path);
    if (options_.for_nomad) note_drivers(*reading.job, object, file.path, text);
    out_.files.push_back({file.path, std::move(text)});
    if (object.submission) add_source(*object.submission, base);
    return file;
  }

 private:
  std::string hcl_text(const model::Job& whole, const Object& object, const std::string& path) {
    const auto job = model::without_policies(whole);
    if (!options_.for_nomad) return jobspec::write_job(job);
    auto written = jobspec::write_job(job, {nomad_knows, nomad_driver_knows, true});
    for (const auto& left : written.left_out) {
      out_.inexpressible.push_back({label(object), path, left.line,
                                    left.where.empty() ? left.name : printable(left.where) + ": " + left.name,
                                    left.name == "numa" ? "Nomad's free edition refuses it; it is a comment in the file"
                                                        : "Nomad does not know it; it is a comment in the file"});
    }
    return std::move(written.text);
  }

  std::string json_text(const model::Job& job, const Object& object, const std::string& path) {
    auto body = json::to_value(job);
    std::vector<std::string> gone;
    if (options_.for_nomad) Pruner(gone).prune(body, describe::kType<model::Job>, "");
    for (const auto& what : gone)
      out_.inexpressible.push_back({label(object), path, 0, printable(what), "Nomad does not know it; it is left out"});
    return json::pretty(boost::json::object{{"Job", std::move(body)}}) + "\n";
  }

  void note_drivers(const model::Job& job, const Object& object, const std::string& path, const std::string& text) {
    std::map<std::string, std::size_t> seen;
    for (const auto& group : job.groups) {
      for (const auto& task : group.tasks) {
        if (nomad_has_driver(task.driver)) continue;
        const std::size_t nth = seen[task.driver]++;
        out_.inexpressible.push_back(
            {label(object), path, line_of(text, fmt::format("driver = \"{}\"", task.driver), nth),
             printable(fmt::format("group '{}' task '{}': driver '{}'", group.name, task.name, task.driver)),
             "no Nomad node has it: the job would wait"});
      }
    }
  }

  /// As its author wrote it, with the values of its variables: they may be secret.
  void add_source(const model::JobSubmission& submission, const std::string& base) {
    if (submission.source.empty() || submission.format == "json") return;
    out_.files.push_back({base + ".source.hcl", submission.source});
    std::string values = submission.variables;
    if (!values.empty() && values.back() != '\n') values += '\n';
    for (const auto& [name, value] : submission.variable_flags)
      values += fmt::format("# -var {}={}\n", name, shell_word(value));
    if (!values.empty() && options_.with_secrets) out_.files.push_back({base + ".source.vars.hcl", values, true});
  }

  Files& out_;
  const FilesOptions& options_;
};

}  // namespace

std::vector<JobFile> add_job_files(Files& out, const Inventory& inventory, const FilesOptions& options) {
  std::vector<JobFile> files;
  JobWriter writer(out, options);
  for (const auto& job : read_jobs(inventory)) files.push_back(writer.add(*job.from, job.reading));
  return files;
}

}  // namespace underway::migrate::detail
