#include "jobspec/cluster_file.hpp"

#include "base/text.hpp"
#include "hcl/parse/parser.hpp"
#include "jobspec/decode.hpp"
#include "jobspec/detail/job_dialect.hpp"
#include "jobspec/detail/masters.hpp"
#include "jobspec/detail/parse.hpp"
#include "jobspec/detail/safe_update.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace underway::jobspec {
namespace {

/// Most files of a directory; more are a wrong directory.
constexpr std::size_t kMaxFiles = 1000;

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw errno_error(errno, fmt::format("cannot open '{}'", path.string()));
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) throw errno_error(errno, fmt::format("cannot read '{}'", path.string()));
  return text;
}

std::vector<SourceFile> read_directory(const std::filesystem::path& path) {
  std::error_code failure;
  std::vector<std::filesystem::path> names;
  for (std::filesystem::directory_iterator it(path, failure), end; !failure && it != end; it.increment(failure)) {
    if (it->path().extension() == ".hcl" && it->is_regular_file(failure)) names.push_back(it->path());
  }
  if (failure) throw errno_error(failure.value(), fmt::format("cannot read the directory '{}'", path.string()));
  if (names.size() > kMaxFiles)
    throw Error(Code::too_large, fmt::format("'{}' holds {} .hcl files", path.string(), names.size()))
        .because(fmt::format("a cluster's directory has at most {}", kMaxFiles));
  std::sort(names.begin(), names.end());
  std::vector<SourceFile> files;
  for (const auto& name : names) files.push_back({name.filename().string(), read_text(name)});
  return files;
}

/// One job of the directory while it is being checked.
struct Parsed {
  const SourceFile* file;
  ParseResult result;
};

class DirectoryLoader {
 public:
  DirectoryLoader(const std::vector<SourceFile>& files, const std::filesystem::path& base,
                  const DirectoryInputs& inputs)
      : files_(files), base_(base), options_(inputs), inputs_(inputs.inputs) {
    inputs_.base_dir = base;
    if (const SourceFile* file = find(kVariablesFile))
      inputs_.variable_files.insert(inputs_.variable_files.begin(), {file->name, file->text});
  }

  DirectoryResult load() {
    DirectoryResult out;
    detail::guard(out.diagnostics, {}, [&] { run(); });
    append(std::move(diagnostics_), out.diagnostics);
    if (out.diagnostics.has_errors()) return out;
    Directory directory;
    for (auto& parsed : parsed_) {
      parsed.result.job->cluster = cluster_.name;
      cluster_.jobs.push_back(parsed.result.job->id);
      directory.jobs.push_back({parsed.file->name, parsed.file->text, std::move(*parsed.result.job)});
    }
    cluster_.directory = base_.string();
    directory.cluster = std::move(cluster_);
    directory.namespaces = std::move(namespaces_);
    directory.files = std::move(masters_);
    out.directory = std::move(directory);
    return out;
  }

 private:
  const SourceFile* find(std::string_view name) const {
    const auto it = std::find_if(files_.begin(), files_.end(), [&](const SourceFile& f) { return f.name == name; });
    return it == files_.end() ? nullptr : &*it;
  }

  /// The variables and locals of cluster.hcl are part of every job file, and so are the errors in them: said once.
  static void append(hcl::Diagnostics from, hcl::Diagnostics& to) {
    for (const auto& diagnostic : from.all()) {
      const auto& known = to.all();
      const bool said = std::any_of(known.begin(), known.end(), [&](const hcl::Diagnostic& other) {
        return other.summary == diagnostic.summary && other.range.source == diagnostic.range.source &&
               other.range.begin == diagnostic.range.begin;
      });
      if (!said) to.add(diagnostic);
    }
  }

  void run() {
    const SourceFile* file = find(kClusterFile);
    if (file == nullptr)
      throw Error(Code::not_found, fmt::format("there is no {} in '{}'", kClusterFile, base_.string()))
          .advise("name the directory that holds it");
    const detail::GivenValues values(inputs_, diagnostics_);
    const hcl::Body shared = read_cluster(*file, values);
    const bool usable = !diagnostics_.has_errors() && add_roots();
    if (usable) read_masters(shared, values);
    for (const auto& each : files_) {
      if (each.name == kClusterFile || each.name == kVariablesFile || each.name.ends_with(kFilesEnding)) continue;
      read_job_file(each, shared, values, usable);
    }
    if (usable && all_read_) values.check_known(names_, diagnostics_);
    if (!usable || diagnostics_.has_errors()) return;
    check_ids();
    check_dependencies();
  }

  /// Fills cluster_; returns the part of the file that job files share.
  hcl::Body read_cluster(const SourceFile& file, const detail::GivenValues& values) {
    const hcl::Schema schema{.blocks = {{"cluster", {"name"}}, {"namespace", {"name"}}, {"file", {"name"}}}};
    hcl::Body body = hcl::parse(file.text, file.name, diagnostics_);
    if (diagnostics_.has_errors()) return body;
    auto context = detail::base_context(inputs_);
    context.unknown_roots(hcl::UnknownRoots::error);
    const auto opened = detail::open_body(body, values, std::move(context), diagnostics_);
    names_.add(opened.names);
    const auto content = opened.rest.content(schema, diagnostics_, "the file");
    const auto blocks = content.blocks_of("cluster");
    if (blocks.empty() && !diagnostics_.has_errors())
      diagnostics_.error(opened.rest.missing_range(), fmt::format("{} declares no cluster", file.name), "",
                         "add cluster \"name\" { … }");
    if (blocks.size() > 1)
      diagnostics_.error(blocks[1]->range, "a second cluster",
                         fmt::format("the first is at {}", blocks[0]->range.where()));
    if (!blocks.empty()) {
      place_ = blocks[0]->range;
      const std::size_t before = diagnostics_.error_count();
      // Where the machines of a pool may be is said by properties of nodes, as in job files.
      auto of_cluster = opened.context;
      of_cluster.keep_roots({"attr", "meta", "node"});
      decode(*blocks[0], describe::structure_of<model::Cluster>(), &cluster_, of_cluster, diagnostics_,
             detail::comparison_dialect());
      if (diagnostics_.error_count() == before) {
        for (auto& problem : model::problems(cluster_)) diagnostics_.error(place_, std::move(problem));
      }
    }
    read_namespaces(content, opened.context);
    hcl::Diagnostics said_above;
    auto [own, rest] = body.partial_content(schema, said_above, "the file");
    for (const auto* block : own.blocks_of("file")) master_blocks_.push_back(*block);
    return rest;
  }

  void read_namespaces(const hcl::Content& content, const hcl::Context& context) {
    std::map<std::string, hcl::Range> seen;
    for (const auto* block : content.blocks_of("namespace")) {
      const auto [it, is_new] = seen.try_emplace(block->label(0), block->range);
      if (!is_new)
        diagnostics_.error(block->range, fmt::format("namespace '{}' is declared twice", block->label(0)),
                           fmt::format("the first is at {}", it->second.where()));
      auto& ns = namespaces_.emplace_back();
      decode(*block, describe::structure_of<model::Namespace>(), &ns, context, diagnostics_);
      for (auto& problem : model::problems(ns)) diagnostics_.error(block->range, std::move(problem));
    }
  }

  /// The `file` blocks of cluster.hcl and of *.files.hcl: they see what job files see.
  void read_masters(const hcl::Body& shared, const detail::GivenValues& values) {
    const hcl::Schema schema{.blocks = {{"file", {"name"}}}};
    hcl::Diagnostics found;
    {
      const auto opened = detail::open_body(shared, values, detail::base_context(inputs_), found);
      for (const auto& block : master_blocks_) read_master(block, opened.context, found);
    }
    for (const auto& each : files_) {
      if (!each.name.ends_with(kFilesEnding)) continue;
      hcl::Body body = hcl::parse(each.text, each.name, found);
      if (found.has_errors()) continue;
      const auto opened =
          detail::open_body(hcl::merge({shared, std::move(body)}), values, detail::base_context(inputs_), found);
      names_.add(opened.names);
      const auto content = opened.rest.content(schema, found, "the file");
      for (const auto* block : content.blocks_of("file")) read_master(*block, opened.context, found);
    }
    append(std::move(found), diagnostics_);
    std::ranges::sort(masters_, {}, &model::FileDeclaration::name);
  }

  void read_master(const hcl::Block& block, const hcl::Context& context, hcl::Diagnostics& found) {
    detail::guard(found, block.range, [&] {
      const std::size_t before = found.error_count();
      model::FileDeclaration file;
      decode(block, describe::structure_of<model::FileDeclaration>(), &file, context, found);
      if (!file.source.empty() && file.content)
        found.error(block.range, fmt::format("file '{}' has both `source` and `content`", file.name));
      const bool followed = !file.from.empty();
      if (followed && file.source.empty() && !file.content) file.source = file.where();
      std::vector<model::FileDeclaration> below;
      if (found.error_count() == before && !file.source.empty() && !followed) {
        if (file.type == model::FileType::directory) {
          below = detail::read_master_tree(file, base_ / file.source);
          file.templating = model::FileTemplate::none;
          file.secret = false;
        } else {
          file.content = detail::read_master_bytes(base_ / file.source);
        }
      }
      const bool whole = found.error_count() == before;
      add_master(std::move(file), block.range, whole, found);
      for (auto& each : below) add_master(std::move(each), block.range, true, found);
    });
  }

  void add_master(model::FileDeclaration file, const hcl::Range& place, bool whole, hcl::Diagnostics& found) {
    if (whole) {
      for (auto& problem : model::problems(file)) found.error(place, std::move(problem));
    }
    const auto [it, is_new] = master_places_.try_emplace(file.name, place);
    if (!is_new)
      found.error(place, fmt::format("file '{}' is declared twice", file.name),
                  fmt::format("the first is at {}", it->second.where()),
                  "give one of them a label of its own, and its path as `path`");
    masters_.push_back(std::move(file));
  }

  /// `cluster`, and what the caller adds. False when that failed.
  bool add_roots() {
    const std::size_t before = diagnostics_.error_count();
    detail::guard(diagnostics_, place_, [&] {
      const Addresses addresses = options_.addresses ? options_.addresses(cluster_) : Addresses{};
      const hcl::Value root = cluster_root(cluster_, addresses);
      inputs_.roots.insert_or_assign("cluster", root);
      if (!options_.roots) return;
      for (auto& [name, value] : options_.roots(cluster_, root)) inputs_.roots.insert_or_assign(name, value);
    });
    return diagnostics_.error_count() == before;
  }

  void read_job_file(const SourceFile& file, const hcl::Body& shared, const detail::GivenValues& values, bool usable) {
    hcl::Diagnostics found;
    hcl::Body body = hcl::parse(file.text, file.name, found);
    if (found.has_errors()) all_read_ = false;
    if (usable && !found.has_errors()) {
      detail::guard(found, body.range(), [&] {
        const auto opened =
            detail::open_body(hcl::merge({shared, std::move(body)}), values, detail::base_context(inputs_), found);
        names_.add(opened.names);
        const auto complete = [this](model::Job& job) { detail::roll_out_safely(job, cluster_); };
        ParseResult result = detail::read_job(opened, inputs_, !found.has_errors(), complete);
        found.append(std::move(result.diagnostics));
        parsed_.push_back({&file, std::move(result)});
      });
    }
    append(std::move(found), diagnostics_);
  }

  void check_ids() {
    std::map<std::string, const Parsed*> seen;
    for (const auto& parsed : parsed_) {
      const std::string& id = parsed.result.job->id;
      const auto [it, is_new] = seen.try_emplace(id, &parsed);
      if (is_new) continue;
      diagnostics_.error(parsed.result.place, fmt::format("job '{}' is declared twice", id),
                         fmt::format("the first is at {}", it->second->result.place.where()));
    }
  }

  void check_dependencies() {
    std::map<std::string, const Parsed*> jobs;
    std::vector<std::string> ids;
    for (const auto& parsed : parsed_) {
      jobs.emplace(parsed.result.job->id, &parsed);
      ids.push_back(parsed.result.job->id);
    }
    for (const auto& parsed : parsed_) {
      for (const auto& dependency : parsed.result.dependencies) {
        if (jobs.contains(dependency.job) || (options_.job_exists && options_.job_exists(dependency.job))) continue;
        diagnostics_.error(dependency.range, fmt::format("depends_on: there is no job '{}'", dependency.job), "",
                           hcl::suggest(dependency.job, ids));
      }
    }
    std::map<std::string, bool> finished;  // false: on the path that is being followed
    std::vector<std::string> path;
    for (const auto& id : ids) follow(id, jobs, finished, path);
  }

  /// Depth-first; a job met again on its own path closes a cycle.
  void follow(const std::string& id, const std::map<std::string, const Parsed*>& jobs,
              std::map<std::string, bool>& finished, std::vector<std::string>& path) {
    const auto job = jobs.find(id);
    if (job == jobs.end() || !finished.try_emplace(id, false).second) return;
    path.push_back(id);
    for (const auto& dependency : job->second->result.dependencies) {
      const auto state = finished.find(dependency.job);
      if (state != finished.end() && !state->second) {
        std::vector<std::string> cycle(std::find(path.begin(), path.end(), dependency.job), path.end());
        cycle.push_back(dependency.job);
        diagnostics_.error(dependency.range,
                           fmt::format("depends_on: the jobs wait for each other: {}", join(cycle, " → ")), "",
                           "remove one of these depends_on blocks");
      } else {
        follow(dependency.job, jobs, finished, path);
      }
    }
    path.pop_back();
    finished[id] = true;
  }

  const std::vector<SourceFile>& files_;
  const std::filesystem::path& base_;
  const DirectoryInputs& options_;
  Inputs inputs_;
  hcl::Diagnostics diagnostics_;
  model::Cluster cluster_;
  std::vector<model::Namespace> namespaces_;
  std::vector<hcl::Block> master_blocks_;  ///< of cluster.hcl
  std::vector<model::FileDeclaration> masters_;
  std::map<std::string, hcl::Range> master_places_;  ///< by name
  hcl::Range place_;
  detail::VariableNames names_;
  bool all_read_ = true;  ///< names_ knows every file
  std::vector<Parsed> parsed_;
};

}  // namespace

DirectoryResult load_directory(const std::vector<SourceFile>& files, const std::filesystem::path& base,
                               const DirectoryInputs& inputs) {
  return DirectoryLoader(files, base, inputs).load();
}

DirectoryResult load_directory(const std::filesystem::path& path, const DirectoryInputs& inputs) {
  DirectoryResult failed;
  std::vector<SourceFile> files;
  detail::guard(failed.diagnostics, {}, [&] { files = read_directory(path); });
  return failed.diagnostics.has_errors() ? failed : load_directory(files, path, inputs);
}

hcl::Value cluster_root(const model::Cluster& cluster, const Addresses& addresses) {
  hcl::Value::Object networks, pools;
  for (const auto& network : cluster.networks) {
    networks[network.name] = hcl::Value::object(
        {{"name", hcl::Value(network.name)}, {"cidr", hcl::Value(network.cidr)}, {"nat", hcl::Value(network.nat)}});
  }
  for (const auto& pool : cluster.pools) {
    std::string first = pool.networks.empty() ? "" : pool.networks.front();
    if (first.empty() && !cluster.networks.empty()) first = cluster.networks.front().name;
    hcl::Value::List hosts;
    for (const auto& name : pool.host_names()) {
      hcl::Value::Object of_host;
      std::string address;
      if (const auto it = addresses.find(name); it != addresses.end()) {
        for (const auto& [network, value] : it->second) of_host[network] = hcl::Value(value);
        if (const auto found = it->second.find(first); found != it->second.end()) address = found->second;
      }
      hosts.push_back(hcl::Value::object({{"name", hcl::Value(name)},
                                          {"address", hcl::Value(address)},
                                          {"addresses", hcl::Value::map(std::move(of_host))}}));
    }
    pools[pool.name] = hcl::Value::object({{"name", hcl::Value(pool.name)},
                                           {"size", hcl::Value(pool.size)},
                                           {"cpus", hcl::Value(pool.cpus)},
                                           {"memory", hcl::Value(pool.memory_mb)},
                                           {"hosts", hcl::Value::list(std::move(hosts))}});
  }
  return hcl::Value::object({{"name", hcl::Value(cluster.name)},
                             {"datacenter", hcl::Value(cluster.datacenter)},
                             {"networks", hcl::Value::map(std::move(networks))},
                             {"pools", hcl::Value::map(std::move(pools))}});
}

}  // namespace underway::jobspec
