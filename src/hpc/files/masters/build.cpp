#include "files/masters/build.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "files/masters/pieces.hpp"
#include "model/capsule/capsule_name.hpp"

namespace underway::files {

using model::FileContent;
using model::FileDeclaration;
using model::FileTemplate;
using model::FileType;

namespace {

std::string digest_text(std::string_view bytes) { return hex(crypto::sha256(bytes)); }

std::shared_ptr<const TemplateContext> make_template_context(const tables::Tables& tables, const std::string& cluster,
                                                             const std::string& server_name) {
  TemplateContext::Inputs inputs;
  for (const auto& node : tables.nodes()) {
    if (node->cluster == cluster) inputs.nodes.push_back(node);
  }
  inputs.cluster = tables.find_cluster(cluster);
  if (!cluster.empty()) inputs.hosts = tables.hosts(cluster);
  inputs.server_name = server_name;
  return std::make_shared<const TemplateContext>(inputs);
}

/// Not for secrets, and not against forgers: FNV-1a over everything, with the lengths.
class Stamper {
 public:
  Stamper& add(std::string_view text) {
    for (const char c : text) mix(static_cast<unsigned char>(c));
    return add(static_cast<std::int64_t>(text.size()));
  }
  Stamper& add(std::int64_t number) {
    for (int i = 0; i < 8; ++i) mix(static_cast<unsigned char>(static_cast<std::uint64_t>(number) >> (8 * i)));
    return *this;
  }
  Stamper& add(const model::StringMap& map) {
    for (const auto& [key, value] : map) add(key).add(value);
    return add(static_cast<std::int64_t>(map.size()));
  }
  std::uint64_t value() const { return value_; }

 private:
  void mix(unsigned char byte) { value_ = (value_ ^ byte) * 1099511628211ULL; }
  std::uint64_t value_ = 14695981039346656037ULL;
};

/// "/etc/network/x" of "/etc/network/default" and "x".
std::string beside(const std::string& path, const std::string& name) {
  return path.substr(0, path.rfind('/') + 1) + name;
}

}  // namespace

std::string seal_context(std::string_view content_id) { return fmt::format("file content {}", content_id); }

crypto::Secret open_content(const FileContent& content, const server::Keyring& keyring) {
  if (content.key_id.empty()) return crypto::Secret::take(base64_decode(content.data));
  return keyring.open({content.key_id, base64_decode(content.data)}, seal_context(content.id));
}

Snapshot::Snapshot(const tables::Tables& tables, const server::Keyring& keyring, std::string server_name,
                   std::int64_t epoch)
    : revision_(tables.revision()), epoch_(epoch), files_(tables::records<FileDeclaration>(tables)) {
  for (const auto& node : tables.nodes()) nodes_.emplace(node->id, node);
  for (const auto& file : files_) {
    masters_.emplace(model::file_key(file.cluster, file.name), read(tables, keyring, file));
    if (file.templating != FileTemplate::none && !template_contexts_.contains(file.cluster))
      template_contexts_.emplace(file.cluster, make_template_context(tables, file.cluster, server_name));
  }
}

Snapshot::Master Snapshot::read(const tables::Tables& tables, const server::Keyring& keyring,
                                const FileDeclaration& file) const {
  Master out;
  if (file.content_id.empty() && !file.from.empty())
    out.problem = fmt::format("its master on node '{}' was not read yet", file.from);
  if (file.content_id.empty()) return out;
  try {
    const auto content = tables::find_record<FileContent>(tables, file.content_id);
    if (!content) throw Error(Code::not_found, fmt::format("the bytes of file '{}' are gone", file.name));
    constexpr std::string_view kPlain = "sha256-";
    const bool needs_text = file.templating != FileTemplate::none || file.type == FileType::part;
    out.size = file.size;
    if (!needs_text && file.content_id.starts_with(kPlain)) {
      out.digest = file.content_id.substr(kPlain.size());
      return out;
    }
    if (!content->pieces.empty()) {
      out.digest = content_digest(*content, keyring);
      return out;
    }
    const auto bytes = open_content(*content, keyring);
    out.digest = digest_text(bytes.bytes());
    if (needs_text) out.text = std::make_shared<const std::string>(bytes.bytes());
  } catch (const Error& error) {
    out.problem = error.one_line();
  }
  return out;
}

std::optional<Target> Snapshot::target(const std::string& node_id, const std::string& capsule) const {
  const auto it = nodes_.find(node_id);
  if (it == nodes_.end()) return std::nullopt;
  const auto& node = *it->second;
  return Target{node.id, node.name, node.cluster, node.node_pool, node.node_class, capsule};
}

std::vector<std::string> Snapshot::node_ids() const {
  std::vector<std::string> out;
  for (const auto& [id, node] : nodes_) out.push_back(id);
  return out;
}

ManifestEntry Snapshot::entry_of(const FileDeclaration& file) const {
  ManifestEntry out;
  out.path = file.where();
  out.file = file.name;
  out.type = file.type;
  out.mode = model::file_mode(file);
  out.owner = file.owner;
  out.group = file.group;
  out.xattrs = file.xattrs;
  out.link = file.link;
  out.secret = file.secret;
  out.before = file.before;
  out.after = file.after;
  out.reloads = file.reloads;
  out.drift = file.drift;
  out.when_removed = file.when_removed;
  return out;
}

void Snapshot::add_rendered(const FileDeclaration& file, const Master& master, const Target& target,
                            Built& built) const {
  const auto include = [&](const std::string& name) -> std::optional<std::string> {
    for (const auto& other : files_) {
      if (other.cluster != file.cluster || (other.name != name && other.where() != name && other.source != name))
        continue;
      const auto it = masters_.find(model::file_key(other.cluster, other.name));
      if (it == masters_.end() || !it->second.text) continue;
      if (other.secret && !file.secret)
        throw Error(Code::denied, fmt::format("'{}' is secret, and '{}' is not", other.name, file.name));
      return *it->second.text;
    }
    return std::nullopt;
  };
  for (auto& rendered : template_contexts_.at(file.cluster)->render(file, *master.text, target, include).files) {
    auto entry = entry_of(file);
    if (!rendered.name.empty()) entry.path = beside(file.where(), rendered.name);
    if (!rendered.link.empty()) {
      entry.type = FileType::symlink;
      entry.link = rendered.link;
    } else {
      entry.digest = digest_text(rendered.text);
      entry.size = static_cast<std::int64_t>(rendered.text.size());
      built.sources[entry.digest].text = std::make_shared<const std::string>(std::move(rendered.text));
    }
    built.manifest.entries.push_back(std::move(entry));
  }
}

void Snapshot::add(const FileDeclaration& file, const Target& target, Built& built) const {
  const auto& master = masters_.at(model::file_key(file.cluster, file.name));
  auto entry = entry_of(file);
  entry.problem = master.problem;
  if (file.templating != FileTemplate::none && entry.problem.empty()) {
    try {
      return add_rendered(file, master, target, built);
    } catch (const Error& error) {
      entry.problem = fmt::format("it cannot be rendered: {}", error.one_line());
    }
  }
  if (!entry.problem.empty()) {
    built.problems.push_back(fmt::format("'{}': {}", file.name, entry.problem));
    built.manifest.entries.push_back(std::move(entry));
    return;
  }
  if (file.type == FileType::file) {
    entry.digest = master.digest;
    entry.size = master.size;
    built.sources[entry.digest].content_id = file.content_id;
  }
  built.manifest.entries.push_back(std::move(entry));
}

Built Snapshot::build(const Target& target) const {
  Built built;
  built.manifest.node_id = target.node_id;
  built.manifest.capsule = target.capsule;
  built.manifest.epoch = epoch_;
  built.manifest.revision = revision_;
  auto selection = select(files_, target);
  built.problems = std::move(selection.problems);
  for (const auto* file : selection.files) add(*file, target, built);
  auto& entries = built.manifest.entries;
  std::ranges::sort(entries, {}, [](const ManifestEntry& entry) { return std::tie(entry.path, entry.file); });
  // Templates name files that nobody sees before they are rendered.
  for (std::size_t i = 1; i < entries.size();) {
    if (entries[i].path != entries[i - 1].path) {
      ++i;
      continue;
    }
    built.problems.push_back(fmt::format("'{}' and '{}' both make '{}'; '{}' counts", entries[i - 1].file,
                                         entries[i].file, entries[i].path, entries[i - 1].file));
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return built;
}

std::uint64_t inputs_stamp(const tables::Tables& tables) {
  Stamper stamp;
  for (const std::string_view kind :
       {tables::RecordOf<FileDeclaration>::kind, tables::RecordOf<model::FileSettings>::kind,
        tables::RecordOf<FileContent>::kind}) {
    for (const auto& row : tables.rows<model::Record>(std::string(kind) + "/"))
      stamp.add(row->name).add(row->modify_index);
  }
  for (const auto& cluster : tables.clusters()) stamp.add(cluster->name).add(cluster->modify_index);
  for (const auto& host : tables.hosts()) stamp.add(host->cluster).add(host->name).add(host->addresses);
  for (const auto& node : tables.nodes()) {
    stamp.add(node->id).add(node->name).add(node->cluster).add(node->node_pool).add(node->node_class).add(node->host);
    stamp.add(node->meta);
    for (const auto& network : node->networks)
      stamp.add(network.name).add(network.device).add(network.ip).add(network.cidr);
    const auto kernel = node->attributes.find("kernel.version");
    if (kernel != node->attributes.end()) stamp.add(kernel->second);
  }
  return stamp.value();
}

std::set<std::string> capsules_on(const tables::Tables& tables, const std::string& node_id) {
  std::set<std::string> names;
  for (const auto& allocation : tables.allocations_on_node(node_id)) {
    if (allocation->client_terminal() || !allocation->job) continue;
    const auto* group = allocation->job->find_group(allocation->group);
    if (group != nullptr && model::capsule_task(*group) != nullptr)
      names.insert(model::capsule_name(*allocation->job, *group));
  }
  return names;
}

}  // namespace underway::files
