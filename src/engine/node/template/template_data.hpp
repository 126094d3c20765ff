#pragma once
/// @file
/// ClusterData over the link: what templates ask is looked up in what the server has told so far, and in what the
/// site's Consul and Vault have.

#include "node/server/cluster_data.hpp"
#include "node/server/server_data.hpp"
#include "sources/sources.hpp"

namespace underway::node {

class TemplateData final : public ClusterData {
 public:
  /// `server` must outlive it and its tokens.
  explicit TemplateData(ServerData& server) : server_(server) {}
  /// `sources` must outlive it as well; null: there are none.
  void use(sources::Sources* sources) { sources_ = sources; }

  /// These four throw denied when the task may not know it.
  Answer<std::optional<gotemplate::Variable>> variable(const TemplateAsker& asker, const std::string& path,
                                                       const std::string& ns) override;
  Answer<std::vector<gotemplate::VariableMetadata>> variables(const TemplateAsker& asker, const std::string& prefix,
                                                              const std::string& ns) override;
  Answer<std::vector<gotemplate::ServiceInstance>> service(const TemplateAsker& asker,
                                                           const std::string& name) override;
  Answer<std::vector<gotemplate::ServiceSummary>> services(const TemplateAsker& asker) override;
  Answer<std::vector<gotemplate::ForeignInstance>> catalogue(const TemplateAsker& asker, const std::string& name,
                                                             bool passing) override;
  gotemplate::ForeignReply foreign(const TemplateAsker& asker, const gotemplate::ForeignQuery& query) override;
  std::shared_ptr<void> watch(const TemplateAsker& asker, const gotemplate::Dependencies& what,
                              std::function<void()> changed) override;

 private:
  std::optional<protocol::DataValue> find(const TemplateAsker& asker, protocol::DataKind kind, const std::string& name,
                                          const std::string& ns = {}) const;

  ServerData& server_;
  sources::Sources* sources_ = nullptr;
};

/// What the server must be asked so that a rendering that asked for `what` is done again in time.
std::set<protocol::DataNeed> needs_of(const TemplateAsker& asker, const gotemplate::Dependencies& what);

}  // namespace underway::node
