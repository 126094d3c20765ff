#pragma once
/// @file
/// From the tables to the manifests of targets. A Snapshot holds all that manifests depend on; what a target shall have
/// is a pure function of it.

#include <set>

#include "files/masters/template.hpp"
#include "files/messages.hpp"
#include "server/variable/keyring.hpp"
#include "tables/file_reports.hpp"

namespace underway::tables {

template <>
struct RecordOf<model::FileDeclaration> {
  static constexpr std::string_view kind = "sync_file";  ///< as states on disk have it
  static std::string name(const model::FileDeclaration& file) { return model::file_key(file.cluster, file.name); }
};
template <>
struct RecordOf<model::FileContent> {
  static constexpr std::string_view kind = "file_content";
  static std::string name(const model::FileContent& content) { return content.id; }
};
template <>
struct RecordOf<model::FilePiece> {
  static constexpr std::string_view kind = "file_piece";
  static std::string name(const model::FilePiece& piece) { return piece.id; }
};
template <>
struct RecordOf<model::FileSettings> {
  static constexpr std::string_view kind = "file_settings";
  static std::string name(const model::FileSettings&) { return "settings"; }
};

}  // namespace underway::tables

namespace underway::files {

/// Where the bytes of a digest come from.
struct Source {
  std::string content_id;                   ///< of a plain or secret master
  std::shared_ptr<const std::string> text;  ///< of a template, rendered
};

struct Built {
  Manifest manifest;
  std::map<std::string, Source> sources;  ///< by digest
  std::vector<std::string> problems;      ///< templates that fail, declarations that rival
};

class Snapshot {
 public:
  /// Secrets are opened here, to know their digests: what cannot be opened is a problem of its targets.
  Snapshot(const tables::Tables& tables, const server::Keyring& keyring, std::string server_name, std::int64_t epoch);

  model::Revision revision() const { return revision_; }
  const std::vector<model::FileDeclaration>& files() const { return files_; }
  /// Nothing for a node that is not there.
  std::optional<Target> target(const std::string& node_id, const std::string& capsule = {}) const;
  std::vector<std::string> node_ids() const;
  /// Thread: any.
  Built build(const Target& target) const;

 private:
  struct Master {
    std::string digest;
    std::int64_t size = 0;
    std::string problem;
    std::shared_ptr<const std::string> text;  ///< of templates and parts
  };
  Master read(const tables::Tables& tables, const server::Keyring& keyring, const model::FileDeclaration& file) const;
  void add(const model::FileDeclaration& file, const Target& target, Built& built) const;
  void add_rendered(const model::FileDeclaration& file, const Master& master, const Target& target, Built& built) const;
  ManifestEntry entry_of(const model::FileDeclaration& file) const;

  model::Revision revision_;
  std::int64_t epoch_;
  std::vector<model::FileDeclaration> files_;
  std::map<std::string, Master> masters_;  ///< by file_key
  std::map<std::string, std::shared_ptr<const model::Node>> nodes_;
  std::map<std::string, std::shared_ptr<const TemplateContext>>
      template_contexts_;  ///< by cluster, where there are templates
};

/// What a secret's bytes are sealed for: they open nowhere else.
std::string seal_context(std::string_view content_id);
/// The bytes of a master that has no pieces. Throws not_found when they are gone, denied when their key is.
crypto::Secret open_content(const model::FileContent& content, const server::Keyring& keyring);

/// A hash of all that manifests depend on: when it is the same, no manifest is another. Cheap.
std::uint64_t inputs_stamp(const tables::Tables& tables);

/// The capsules that run on a node: those of its allocations with a task of driver "capsule".
std::set<std::string> capsules_on(const tables::Tables& tables, const std::string& node_id);

}  // namespace underway::files
