#pragma once
/// @file
/// The cluster's variables and services, and what the site's Consul and Vault say, as this node knows them, for
/// templates. Whoever holds the link implements it and gives it to the runners (RunnerContext::cluster_data).

#include <functional>
#include <memory>
#include <string>

#include "gotemplate/data_source.hpp"
#include "sources/settings.hpp"

namespace underway::node {

/// Whose template asks: variables are read with the rights of its job, secrets of Vault with its task's role.
using TemplateAsker = sources::Asker;

/// Thread: the look-ups from any; they never wait. An answer that is nothing means "not known yet", and what is not
/// known is learnt once it is watched. A namespace that is empty is the asker's.
class ClusterData {
 public:
  template <class T>
  using Answer = gotemplate::DataSource::Answer<T>;

  virtual ~ClusterData() = default;
  /// Known and absent is an answer that holds nothing.
  virtual Answer<std::optional<gotemplate::Variable>> variable(const TemplateAsker& asker, const std::string& path,
                                                               const std::string& ns) = 0;
  virtual Answer<std::vector<gotemplate::VariableMetadata>> variables(const TemplateAsker& asker,
                                                                      const std::string& prefix,
                                                                      const std::string& ns) = 0;
  /// Healthy instances.
  virtual Answer<std::vector<gotemplate::ServiceInstance>> service(const TemplateAsker& asker,
                                                                   const std::string& name) = 0;
  virtual Answer<std::vector<gotemplate::ServiceSummary>> services(const TemplateAsker& asker) = 0;

  /// The same instances with all that is known of them; `passing` false: those too that are not healthy.
  virtual Answer<std::vector<gotemplate::ForeignInstance>> catalogue(const TemplateAsker& /*asker*/,
                                                                     const std::string& /*name*/, bool /*passing*/) {
    return std::nullopt;
  }
  /// What the site's Consul or Vault says. Errors: denied, invalid, unsupported.
  virtual gotemplate::ForeignReply foreign(const TemplateAsker& /*asker*/, const gotemplate::ForeignQuery& /*query*/) {
    return {};
  }

  /// Calls `changed` after an answer to one of `what` has become known or different, until the token is destroyed.
  /// Thread: loop only, for the call back too; never from inside this call.
  virtual std::shared_ptr<void> watch(const TemplateAsker& asker, const gotemplate::Dependencies& what,
                                      std::function<void()> changed) = 0;
};

}  // namespace underway::node
