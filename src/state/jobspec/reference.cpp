#include "jobspec/reference.hpp"

#include "base/text.hpp"
#include "jobspec/detail/job_dialect.hpp"
#include "model/cluster.hpp"
#include "model/file.hpp"

#include <boost/json/serialize.hpp>

#include <set>

namespace underway::jobspec {
namespace {

using describe::Field;
using describe::Form;
using describe::Kind;
using describe::Structure;
using describe::Type;

const Structure* structure_below(const Type& type) {
  if (type.kind == Kind::structure) return &type.structure();
  if (type.kind == Kind::any || type.element == nullptr) return nullptr;
  return structure_below(*type.element);
}

std::string type_name(const Field& field) {
  const Type* type = field.type->kind == Kind::optional ? field.type->element : field.type;
  switch (type->kind) {
    case Kind::boolean:
      return "bool";
    case Kind::integer:
      return "integer";
    case Kind::number:
      return "number";
    case Kind::string:
      return "string";
    case Kind::duration:
      return "duration";
    case Kind::enumeration:
      return "string";
    case Kind::any:
      return "map, or block of anything";
    case Kind::map:
      return type->element->kind == Kind::structure ? "blocks" : "map, or block, of strings";
    case Kind::list:
      return type->element->kind == Kind::structure ? "blocks" : "list";
    default:
      return "block";
  }
}

std::string default_text(const Field& field, const void* defaults) {
  if (field.form == Form::label) return "label";
  if (field.required) return "required";
  const void* value = field.in(defaults);
  switch (field.type->kind) {
    case Kind::boolean:
      return *static_cast<const bool*>(value) ? "`true`" : "`false`";
    case Kind::integer:
      return fmt::format("`{}`", *static_cast<const std::int64_t*>(value));
    case Kind::number:
      return fmt::format("`{}`", *static_cast<const double*>(value));
    case Kind::string: {
      const auto& text = *static_cast<const std::string*>(value);
      return text.empty() ? "" : fmt::format("`\"{}\"`", text);
    }
    case Kind::duration:
      return fmt::format("`\"{}\"`", format_duration(*static_cast<const Duration*>(value)));
    case Kind::enumeration:
      return fmt::format("`\"{}\"`", field.type->enumeration().spell(field.type->enumeration().get(value)));
    case Kind::list: {
      if (field.type->element->kind != Kind::string || field.type->size(value) == 0) return "";
      std::vector<std::string> items;
      for (std::size_t i = 0; i < field.type->size(value); ++i)
        items.push_back(fmt::format("\"{}\"", *static_cast<const std::string*>(field.type->element_at(value, i))));
      return fmt::format("`[{}]`", join(items, ", "));
    }
    default:
      return "";
  }
}

/// A cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

class Reference {
 public:
  /// `sugared`: with what the job language has beyond the descriptions.
  explicit Reference(bool sugared) : sugared_(sugared) {}

  void title(std::string_view text, std::string_view introduction) {
    out_ += fmt::format("# {}\n\n{}\n", text, introduction);
  }
  void text(std::string_view text) { out_ += text; }

  /// The structure and, after it, every block in it that was not described yet. `path` is how one gets there.
  void structure(const Structure& s, const std::string& path) {
    if (!done_.insert(&s).second) return;
    out_ +=
        fmt::format("\n## {}\n\n{}\n\n| name | type | default | meaning |\n| --- | --- | --- | --- |\n", path, s.doc);
    std::vector<const Field*> inner;
    for (const auto& field : s.fields) {
      if (field.form == Form::wire) continue;
      row(field, s.defaults());
      if (field.form == Form::block) inner.push_back(&field);
    }
    const bool network = sugared_ && s.name == "network";
    if (network) out_ += "| `port` | blocks |  | Its ports. |\n";
    if (s.name == "job")
      out_ += "| `task` | blocks |  | A task of its own: short for a group of the same name that holds it. |\n";
    if (s.name == "constraint" || s.name == "affinity") shorthands();
    if (sugared_) sugar(s.name);
    const std::string prefix = path + " → ";
    if (network) structure(describe::structure_of<model::Port>(), prefix + "port");
    for (const Field* field : inner) {
      if (const Structure* next = structure_below(*field->type)) structure(*next, prefix + std::string(field->hcl));
    }
  }

  std::string take() { return std::move(out_); }

 private:
  void row(const Field& field, const void* defaults) {
    std::string doc(field.doc);
    if (field.change == describe::Change::destructive) doc += " ⟳";
    out_ += fmt::format("| `{}` | {} | {} | {} |\n", field.hcl, type_name(field), cell(default_text(field, defaults)),
                        cell(doc));
  }

  void shorthands() {
    for (const auto& shorthand : detail::constraint_shorthands())
      out_ += fmt::format("| `{}` | {} |  | Short for `operator = \"{}\"`. {} |\n", shorthand.name,
                          shorthand.takes == detail::Shorthand::Takes::flag ? "bool" : "string", shorthand.name,
                          cell(shorthand.doc));
  }

  /// What the dialect reads beyond the description, and what it refuses.
  void sugar(std::string_view structure) {
    if (structure == "job" || structure == "group")
      out_ +=
          "| `vault` | block |  | Of each task that has none of its own. |\n"
          "| `secret` | blocks |  | Of each task that has none of that name. |\n";
    if (structure == "task") out_ += "| `scaling` | blocks |  | Bounds of its `cpu` or `mem`, which is the label. |\n";
    if (structure == "template") out_ += "| `vault_grace` | string |  | Of old files: means nothing. |\n";
    if (structure == "logs") out_ += "| `enabled` | bool |  | Of old files: the opposite of `disabled`. |\n";
    std::string refused;
    for (const auto& name : detail::refused_names()) {
      if (name.structure == structure) refused += fmt::format("\n- `{}`: {}.", name.hcl, name.why);
    }
    if (!refused.empty()) out_ += fmt::format("\nRefused:\n{}\n", refused);
  }

  bool sugared_;
  std::string out_;
  std::set<const Structure*> done_;
};

}  // namespace

std::string job_file_reference() {
  Reference reference(true);
  reference.title("Job file",
                  "A job file declares one `job`; its language is HCL2 in Nomad's dialect, and Nomad's job files are "
                  "read as they are.\nIt may also hold `variable`, `variables` and `locals` blocks. `${attr.…}`, "
                  "`${meta.…}`, `${node.…}` and `${NOMAD_…}` are\nresolved on the node; everything else when the file "
                  "is read.\n\nA change of a field marked ⟳ replaces running allocations; other changes are made in "
                  "place.\nDurations are written like `\"30s\"` or `\"1h15m\"`.\n\n<!-- generated from the model's "
                  "descriptions; UNDERWAY_ACCEPT=1 with the jobspec tests rewrites it -->");
  reference.structure(describe::structure_of<model::Job>(), "job");
  reference.text(
      "\n## Variables\n\nValues come from the default, the environment (`NOMAD_VAR_name`), files (`-var-file`) and "
      "arguments (`-var name=value`);\nlater wins. A variable that a file uses as `var.name` without declaring it is "
      "a string and must be given a value\n(Nomad refuses such files). A value for a variable that is neither "
      "declared nor used is an error,\nor a warning in files that declare none and use some.\n");
  return reference.take();
}

std::string cluster_file_reference() {
  Reference reference(false);
  reference.title("Cluster file",
                  "`cluster.hcl` declares a cluster: networks and pools. Every other `*.hcl` file of the directory is "
                  "a [job file](job-file.md)\nthat sees the cluster as `cluster`; `*.files.hcl` hold `file` blocks; "
                  "`underway.vars.hcl` gives values to variables.\n`variable` and `locals` blocks of `cluster.hcl` are "
                  "shared by all files.\n\n"
                  "<!-- generated from the model's descriptions; UNDERWAY_ACCEPT=1 with the jobspec tests rewrites it "
                  "-->");
  reference.structure(describe::structure_of<model::Cluster>(), "cluster");
  reference.structure(describe::structure_of<model::FileDeclaration>(), "file");
  reference.text(
      "\n## What job files see\n\n| expression | value |\n| --- | --- |\n"
      "| `cluster.name`, `cluster.datacenter` | as declared |\n"
      "| `cluster.networks[\"mgmt\"]` | `name`, `cidr`, `nat` |\n"
      "| `cluster.pools[\"compute\"]` | `name`, `size`, `cpus`, `memory`, `hosts` |\n"
      "| `cluster.pools[\"compute\"].hosts[0]` | `name`, `address` (on the pool's first network), `addresses` (by "
      "network) |\n"
      "| `slurm.pools[\"compute\"]` | `nodes` (`c[1-4]`), `node_line` (its NodeName line of slurm.conf), `size`; "
      "`cpus`, "
      "`memory` as the line has them; `overcommitted`: more processors are declared than the machine has |\n"
      "| `slurm.nodes` | the NodeName lines of all pools |\n"
      "| `slurm.machine` | the machine on which the command is typed, of whose kind local hosts are: `cpus`, `memory` "
      "(MiB, "
      "rounded down to hundreds), `cgroup`: `v1` or `v2` when Slurm can hold its jobs by it, else `none` |\n");
  reference.text(
      "\n## How its jobs are rolled out\n\n"
      "What `update` of a service or system job leaves open is filled in so that a mistake costs one node. A job file "
      "that is run by\nitself (`underway job run`) keeps Nomad's defaults.\n\n"
      "| `update` | system job | service | otherwise |\n| --- | --- | --- | --- |\n"
      "| `canary` | `1`: percent of the nodes, rounded up | none: the first that is replaced is the trial | none |\n"
      "| `auto_promote` | `true` | | `false` |\n"
      "| `max_parallel` | a tenth of the hosts of its pool, at least 1 | `1` | everywhere at once; a service `1` |\n"
      "| `min_healthy_time` | `\"5s\"` | `\"10s\"` | `\"10s\"` |\n"
      "| `healthy_deadline` | `\"40s\"`, below a short SlurmdTimeout | `\"5m\"` | `\"5m\"` |\n"
      "| `progress_deadline` | `\"10m\"` | `\"10m\"` | `\"10m\"` |\n"
      "| `auto_revert` | `true` | `true` | `false` |\n"
      "\nIn a cluster `auto_revert` goes back with the first allocation that is not well, and does not wait for "
      "`progress_deadline`.\nEach line can be said otherwise in the job file; `max_parallel = 0` is everywhere at "
      "once, unwatched. Jobs of capsules are left as\nthey are: a capsule goes back with its data, by `underway "
      "capsule "
      "upgrade`. Why: [rollouts](../explanation/rollouts.md#in-a-cluster).\n");
  return reference.take();
}

std::string structure_reference(std::string_view title, std::string_view introduction,
                                const describe::Structure& structure, const std::string& path) {
  Reference reference(false);
  reference.title(title, introduction);
  reference.structure(structure, path);
  return reference.take();
}

}  // namespace underway::jobspec
