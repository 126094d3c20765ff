#include "model/job/extras.hpp"

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<UiLink>) {
  static const Structure s = Builder<UiLink>("link", "A link on the job's page.")
                                 .attribute<&UiLink::label>("label", "Label", "What it says.")
                                 .attribute<&UiLink::url>("url", "URL", "Where it leads.")
                                 .done();
  return s;
}

const Structure& description(Tag<JobUi>) {
  static const Structure s =
      Builder<JobUi>("ui", "What the job's page says of it.")
          .attribute<&JobUi::description>("description", "Description", "Text, in Markdown; 1000 characters at most.")
          .block<&JobUi::links>("link", "Links", "Links.")
          .done();
  return s;
}

const Structure& description(Tag<VersionTag>) {
  static const Structure s = Builder<VersionTag>("version tag", "A name for a version of a job.")
                                 .wire<&VersionTag::name>("Name", "The tag; unique in its job.")
                                 .wire<&VersionTag::description>("Description", "For people.")
                                 .wire<&VersionTag::tagged_time>("TaggedTime", "Unix time in nanoseconds.")
                                 .done();
  return s;
}

const Structure& description(Tag<Action>) {
  static const Structure s = Builder<Action>("action", "A command that people may run in the task.")
                                 .label<&Action::name>("name", "Name", "Unique in its task.")
                                 .attribute<&Action::command>("command", "Command", "The program.")
                                 .required()
                                 .attribute<&Action::args>("args", "Args", "Its arguments.")
                                 .done();
  return s;
}

const Structure& description(Tag<SecretRequest>) {
  static const Structure s =
      Builder<SecretRequest>("secret", "Values that the task sees as `${secret.<name>.<key>}`.")
          .label<&SecretRequest::name>("name", "Name", "Unique in its task.")
          .attribute<&SecretRequest::provider>("provider", "Provider", "`nomad`: a variable.")
          .destructive()
          .attribute<&SecretRequest::path>("path", "Path", "The variable's path; the task must be allowed to read it.")
          .destructive()
          .block_or_attribute<&SecretRequest::config>("config", "Config",
                                                      "`namespace`: the variable's, when it is not the job's.")
          .destructive()
          .block_or_attribute<&SecretRequest::env>("env", "Env",
                                                   "Of providers that are programs: refused with `nomad`.")
          .destructive()
          .done();
  return s;
}

const Structure& description(Tag<Scaling>) {
  static const Structure s =
      Builder<Scaling>("scaling", "Bounds within which the count is set by an autoscaler, or by hand.")
          .wire<&Scaling::id>("ID", "UUID, given by the server, and kept from version to version.")
          .attribute<&Scaling::type>("type", "Type", "`horizontal`: the group's count.")
          .attribute<&Scaling::min>("min", "Min", "The least; the count when that is not given.")
          .attribute<&Scaling::max>("max", "Max", "The most.")
          .attribute<&Scaling::enabled>("enabled", "Enabled", "Whether an autoscaler shall act on it.")
          .block_or_attribute<&Scaling::policy>("policy", "Policy", "The autoscaler's own.")
          .done();
  return s;
}

const Structure& description(Tag<TaskScheduleCron>) {
  static const Structure s = Builder<TaskScheduleCron>("cron", "When the task shall run.")
                                 .attribute<&TaskScheduleCron::start>("start", "Start", "A cron expression.")
                                 .attribute<&TaskScheduleCron::end>("end", "End", "A cron expression.")
                                 .attribute<&TaskScheduleCron::timezone>("timezone", "Timezone", "Their zone.")
                                 .done();
  return s;
}

const Structure& description(Tag<TaskSchedule>) {
  static const Structure s = Builder<TaskSchedule>("schedule", "Kept, not acted on.")
                                 .block<&TaskSchedule::cron>("cron", "Cron", "When the task shall run.")
                                 .destructive()
                                 .done();
  return s;
}

const Structure& description(Tag<VaultUse>) {
  static const Structure s =
      Builder<VaultUse>("vault", "Kept, not acted on: secrets are variables here.")
          .attribute<&VaultUse::policies>("policies", "Policies", "Kept.")
          .attribute<&VaultUse::role>("role", "Role", "Kept.")
          .attribute<&VaultUse::ns>("namespace", "Namespace", "Kept.")
          .attribute<&VaultUse::cluster>("cluster", "Cluster", "Kept.")
          .attribute<&VaultUse::env>("env", "Env", "Kept.")
          .attribute<&VaultUse::disable_file>("disable_file", "DisableFile", "Kept.")
          .attribute<&VaultUse::change_mode>("change_mode", "ChangeMode", "Kept.")
          .attribute<&VaultUse::change_signal>("change_signal", "ChangeSignal", "Kept.")
          .attribute<&VaultUse::allow_token_expiration>("allow_token_expiration", "AllowTokenExpiration", "Kept.")
          .done();
  return s;
}

const Structure& description(Tag<ConsulUse>) {
  static const Structure s = Builder<ConsulUse>("consul", "Kept, not acted on: the catalogue is built in.")
                                 .attribute<&ConsulUse::ns>("namespace", "Namespace", "Kept.")
                                 .attribute<&ConsulUse::cluster>("cluster", "Cluster", "Kept.")
                                 .attribute<&ConsulUse::partition>("partition", "Partition", "Kept.")
                                 .done();
  return s;
}

const Structure& description(Tag<Dns>) {
  static const Structure s = Builder<Dns>("dns", "How the group's tasks resolve names.")
                                 .attribute<&Dns::servers>("servers", "Servers", "Addresses of name servers.")
                                 .destructive()
                                 .attribute<&Dns::searches>("searches", "Searches", "Domains that are tried.")
                                 .destructive()
                                 .attribute<&Dns::options>("options", "Options", "Options of resolv.conf(5).")
                                 .destructive()
                                 .done();
  return s;
}

const Structure& description(Tag<CniUse>) {
  static const Structure s = Builder<CniUse>("cni", "What the CNI plugins are told.")
                                 .block_or_attribute<&CniUse::args>("args", "Args", "CNI_ARGS.")
                                 .destructive()
                                 .done();
  return s;
}

}  // namespace underway::model
