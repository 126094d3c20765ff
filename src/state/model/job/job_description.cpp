#include "model/job/job.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Enumeration& description(Tag<JobType>) {
  static const Enumeration e = describe::enumeration<JobType>("job type");
  return e;
}
const Enumeration& description(Tag<JobStatus>) {
  static const Enumeration e = describe::enumeration<JobStatus>("job status");
  return e;
}
const Enumeration& description(Tag<DependencyScope>) {
  static const Enumeration e = describe::enumeration<DependencyScope>("scope");
  return e;
}
const Enumeration& description(Tag<OnFailure>) {
  static const Enumeration e = describe::enumeration<OnFailure>("on_failure");
  return e;
}
const Enumeration& description(Tag<RestartMode>) {
  static const Enumeration e = describe::enumeration<RestartMode>("restart mode");
  return e;
}
const Enumeration& description(Tag<LifecycleHook>) {
  static const Enumeration e = describe::enumeration<LifecycleHook>("lifecycle hook");
  return e;
}
const Enumeration& description(Tag<ChangeMode>) {
  static const Enumeration e = describe::enumeration<ChangeMode>("change mode");
  return e;
}

const Structure& description(Tag<Dependency>) {
  static const Structure s =
      Builder<Dependency>("depends_on", "Starts only when another job is healthy.")
          .attribute<&Dependency::job>("job", "Job", "ID of the job to wait for.")
          .required()
          .attribute<&Dependency::scope>("scope", "Scope",
                                         "`node`: healthy on the same node; `any`: healthy wherever it runs.")
          .attribute<&Dependency::on_failure>(
              "on_failure", "OnFailure",
              "When the other one fails later: `hold` what would start anew, `ignore` it, or `stop` until it is back.")
          .done();
  return s;
}

const Structure& description(Tag<Port>) {
  static const Structure s =
      Builder<Port>("port", "A port that the group needs: static, or assigned from the node's dynamic range.")
          .label<&Port::label>("label", "Label", "The port's name, as in `NOMAD_PORT_<label>`.")
          .attribute<&Port::value>("static", "Value", "A fixed port of the host; without it one is assigned.")
          .destructive()
          .attribute<&Port::to>("to", "To", "The port inside the group's network; -1: the same.")
          .destructive()
          .attribute<&Port::host_network>("host_network", "HostNetwork", "The node's network on which it is reserved.")
          .destructive()
          .attribute<&Port::ignore_collision>("ignore_collision", "IgnoreCollision",
                                              "Allows a static port that others on the node use too.")
          .done();
  return s;
}

const Structure& description(Tag<NetworkResource>) {
  static const Structure s =
      Builder<NetworkResource>("network", "The group's network and its ports.")
          .attribute<&NetworkResource::mode>("mode", "Mode",
                                             "`host` shares the node's network; `none` has only loopback.")
          .destructive()
          .attribute<&NetworkResource::hostname>("hostname", "Hostname", "Host name inside the group's network.")
          .destructive()
          .wire<&NetworkResource::ip>("IP", "The address on the node.")
          .wire<&NetworkResource::device>("Device", "The node's interface.")
          .wire<&NetworkResource::reserved_ports>("ReservedPorts", "Static ports.")
          .destructive()
          .wire<&NetworkResource::dynamic_ports>("DynamicPorts", "Assigned ports.")
          .destructive()
          .block<&NetworkResource::dns>("dns", "DNS", "How its tasks resolve names.")
          .destructive()
          .block<&NetworkResource::cni>("cni", "CNI", "What the CNI plugins are told.")
          .destructive()
          .attribute<&NetworkResource::mbits>("mbits", "MBits", "Of old files: kept, nobody measures it.")
          .done();
  return s;
}

const Structure& description(Tag<Resources>) {
  static const Structure s =
      Builder<Resources>("resources", "What the task needs of its node.")
          .attribute<&Resources::cpu>("cpu", "CPU", "CPU in MHz.")
          .destructive()
          .attribute<&Resources::cores>("cores", "Cores", "Whole cores that it holds alone, instead of `cpu`.")
          .destructive()
          .attribute<&Resources::memory_mb>("memory", "MemoryMB",
                                            "Memory in MiB; the limit too, unless `memory_max` is given.")
          .destructive()
          .attribute<&Resources::memory_max_mb>("memory_max", "MemoryMaxMB",
                                                "Limit of memory in MiB when above `memory`; -1: none.")
          .destructive()
          .attribute<&Resources::pids>("pids", "PIDs", "Limit of processes and threads; 0: the agent's default.")
          .destructive()
          .attribute<&Resources::secrets_mb>("secrets", "SecretsMB",
                                             "MiB of its secrets directory, beside its memory; 0: the agent's default.")
          .destructive()
          .block<&Resources::devices>("device", "Devices", "Devices that it holds alone.")
          .destructive()
          .block<&Resources::numa>("numa", "NUMA", "How its cores lie.")
          .destructive()
          .block<&Resources::networks>("network", "Networks", "Of old files: taken as the group's network.")
          .destructive()
          .attribute<&Resources::disk_mb>("disk", "DiskMB", "Of old files: kept; see `ephemeral_disk`.")
          .attribute<&Resources::iops>("iops", "IOPS", "Of old files: kept.")
          .done();
  return s;
}

const Structure& description(Tag<RestartPolicy>) {
  static const Structure s =
      Builder<RestartPolicy>("restart", "How often a failed task is started again on its node.")
          .attribute<&RestartPolicy::attempts>("attempts", "Attempts",
                                               "Restarts allowed within `interval`; 2 for services, 3 for batch jobs.")
          .attribute<&RestartPolicy::interval>("interval", "Interval",
                                               "The window of `attempts`; 30m for services, 24h for batch jobs.")
          .attribute<&RestartPolicy::delay>("delay", "Delay",
                                            "Wait before a restart; up to a quarter is added at random.")
          .attribute<&RestartPolicy::mode>(
              "mode", "Mode", "After the last attempt: `fail` the allocation, or `delay` until the window ends.")
          .attribute<&RestartPolicy::render_templates>("render_templates", "RenderTemplates",
                                                       "Whether templates are rendered again at a restart.")
          .done();
  return s;
}

const Structure& description(Tag<Lifecycle>) {
  static const Structure s =
      Builder<Lifecycle>("lifecycle", "When a task runs in relation to the group's main tasks.")
          .attribute<&Lifecycle::hook>("hook", "Hook",
                                       "`prestart`: before; `poststart`: once they run; `poststop`: after.")
          .required()
          .destructive()
          .attribute<&Lifecycle::sidecar>("sidecar", "Sidecar", "Whether it runs as long as the main tasks do.")
          .destructive()
          .done();
  return s;
}

const Structure& description(Tag<Artifact>) {
  static const Structure s =
      Builder<Artifact>("artifact", "A file or archive fetched before the task starts.")
          .attribute<&Artifact::source>("source", "GetterSource", "A path, file:// or http(s):// URL.")
          .required()
          .destructive()
          .attribute<&Artifact::destination>("destination", "RelativeDest", "Where in the task directory.")
          .destructive()
          .attribute<&Artifact::mode>("mode", "GetterMode", "`any`: unpack archives; `file`: keep as it is; `dir`.")
          .destructive()
          .block_or_attribute<&Artifact::options>("options", "GetterOptions",
                                                  "`checksum = \"sha256:…\"`, `archive = \"false\"`.")
          .destructive()
          .block_or_attribute<&Artifact::headers>("headers", "GetterHeaders", "HTTP headers of the request.")
          .destructive()
          .attribute<&Artifact::insecure>("insecure", "GetterInsecure", "Accepts any TLS certificate.")
          .destructive()
          .attribute<&Artifact::chown>("chown", "Chown", "Gives the files to the task's user.")
          .destructive()
          .done();
  return s;
}

const Structure& description(Tag<ChangeScript>) {
  static const Structure s = Builder<ChangeScript>("change_script", "What runs in the task when a template changed.")
                                 .attribute<&ChangeScript::command>("command", "Command", "The program.")
                                 .required()
                                 .destructive()
                                 .attribute<&ChangeScript::args>("args", "Args", "Its arguments.")
                                 .destructive()
                                 .attribute<&ChangeScript::timeout>("timeout", "Timeout", "After which it is killed.")
                                 .destructive()
                                 .attribute<&ChangeScript::fail_on_error>("fail_on_error", "FailOnError",
                                                                          "Whether its failure kills the task.")
                                 .destructive()
                                 .attribute<&ChangeScript::run_on_first_render>(
                                     "run_on_first_render", "RunOnFirstRender", "Runs after the start, too.")
                                 .destructive()
                                 .done();
  return s;
}

const Structure& description(Tag<TemplateWait>) {
  static const Structure s =
      Builder<TemplateWait>("wait", "How long changing data is left to settle.")
          .attribute<&TemplateWait::min>("min", "Min", "Renders when nothing has changed for so long.")
          .destructive()
          .attribute<&TemplateWait::max>("max", "Max", "Renders after so long at the latest; 4 times `min`.")
          .destructive()
          .done();
  return s;
}

const Structure& description(Tag<Template>) {
  static const Structure s =
      Builder<Template>("template", "A file rendered for the task before it starts.")
          .attribute<&Template::source>("source", "SourcePath",
                                        "A template file in the task directory, e.g. from an artifact.")
          .destructive()
          .attribute<&Template::destination>("destination", "DestPath", "Where it is written, in the task directory.")
          .required()
          .destructive()
          .attribute<&Template::data>("data", "EmbeddedTmpl", "The template itself.")
          .destructive()
          .attribute<&Template::change_mode>(
              "change_mode", "ChangeMode",
              "What to do when the rendered text changes: `noop`, `restart`, `signal`, `script`.")
          .destructive()
          .attribute<&Template::change_signal>("change_signal", "ChangeSignal",
                                               "The signal of change_mode `signal`; SIGHUP when not given.")
          .destructive()
          .block<&Template::change_script>("change_script", "ChangeScript", "The script of change_mode `script`.")
          .destructive()
          .attribute<&Template::splay>("splay", "Splay", "Upper bound of a random wait before acting on a change.")
          .destructive()
          .attribute<&Template::perms>("perms", "Perms", "The file's mode, octal.")
          .destructive()
          .attribute<&Template::uid>("uid", "Uid", "Owner by number; -1: the task's user.")
          .destructive()
          .attribute<&Template::gid>("gid", "Gid", "Group by number; -1: the task user's.")
          .destructive()
          .attribute<&Template::env>("env", "Envvars",
                                     "Reads the rendered KEY=value lines into the task's environment.")
          .destructive()
          .attribute<&Template::once>("once", "Once", "Renders a single time.")
          .destructive()
          .attribute<&Template::left_delimiter>("left_delimiter", "LeftDelim", "Opens an action.")
          .destructive()
          .attribute<&Template::right_delimiter>("right_delimiter", "RightDelim", "Closes an action.")
          .destructive()
          .attribute<&Template::error_on_missing_key>("error_on_missing_key", "ErrMissingKey",
                                                      "Whether a missing map key is an error.")
          .destructive()
          .block<&Template::wait>("wait", "Wait", "How long changing data is left to settle.")
          .destructive()
          .done();
  return s;
}

const Structure& description(Tag<LogConfig>) {
  static const Structure s = Builder<LogConfig>("logs", "How the task's output is kept, per stream.")
                                 .attribute<&LogConfig::max_files>("max_files", "MaxFiles", "Files kept.")
                                 .attribute<&LogConfig::max_file_size_mb>(
                                     "max_file_size", "MaxFileSizeMB", "Size of a file in MB before the next is begun.")
                                 .attribute<&LogConfig::disabled>("disabled", "Disabled", "Discards the output.")
                                 .destructive()
                                 .done();
  return s;
}

const Structure& description(Tag<EphemeralDisk>) {
  static const Structure s =
      Builder<EphemeralDisk>("ephemeral_disk", "The allocation directory's disk.")
          .attribute<&EphemeralDisk::size_mb>("size", "SizeMB", "Size in MB, for placement.")
          .destructive()
          .attribute<&EphemeralDisk::sticky>("sticky", "Sticky", "Prefers the node that holds the data.")
          .destructive()
          .attribute<&EphemeralDisk::migrate>("migrate", "Migrate", "Copies the data to the next node, best effort.")
          .destructive()
          .done();
  return s;
}

const Structure& description(Tag<Task>) {
  static const Structure s =
      Builder<Task>("task", "One process (tree) with its files, run by a driver.")
          .label<&Task::name>("name", "Name", "Unique in its group.")
          .attribute<&Task::driver>("driver", "Driver", "How it runs: `raw_exec` or `exec`.")
          .required()
          .destructive()
          .attribute<&Task::user>("user", "User",
                                  "The user it runs as; `exec`: nobody, `raw_exec`: the agent's, when not given.")
          .destructive()
          .block_or_attribute<&Task::config>("config", "Config", "The driver's own settings.")
          .destructive()
          .block_or_attribute<&Task::env>("env", "Env", "Environment of the task.")
          .destructive()
          .block_or_attribute<&Task::meta>("meta", "Meta", "Free pairs, seen as `NOMAD_META_<key>`.")
          .destructive()
          .block<&Task::constraints>("constraint", "Constraints", "Where it may run.")
          .block<&Task::affinities>("affinity", "Affinities", "Where it should rather run.")
          .block<&Task::resources>("resources", "Resources", "What it needs.")
          .block<&Task::lifecycle>("lifecycle", "Lifecycle", "When it runs, if it is no main task.")
          .destructive()
          .block<&Task::dispatch_payload>("dispatch_payload", "DispatchPayload", "Where the dispatch's bytes go.")
          .destructive()
          .block<&Task::volume_mounts>("volume_mount", "VolumeMounts", "Volumes of the group that it mounts.")
          .destructive()
          .block<&Task::artifacts>("artifact", "Artifacts", "Files to fetch first.")
          .destructive()
          .block<&Task::templates>("template", "Templates", "Files to render first.")
          .destructive()
          .wire<&Task::identity>("Identity", "The default identity.")
          .destructive()
          .block<&Task::identities>("identity", "Identities", "Tokens that say which task this is.")
          .destructive()
          .block<&Task::services>("service", "Services", "Names under which it is found, and their checks.")
          .block<&Task::restart>("restart", "RestartPolicy", "Restarts, when they differ from the group's.")
          .block<&Task::logs>("logs", "LogConfig", "How output is kept.")
          .block<&Task::actions>("action", "Actions", "Commands that people may run in it.")
          .block<&Task::secrets>("secret", "Secrets", "Values that it sees as `${secret.…}`.")
          .destructive()
          .wire<&Task::scaling>("ScalingPolicies", "Bounds of its cpu and memory.")
          .block<&Task::schedule>("schedule", "Schedule", "Kept, not acted on.")
          .destructive()
          .block<&Task::vault>("vault", "Vault", "Kept, not acted on: secrets are variables here.")
          .block<&Task::consul>("consul", "Consul", "Kept, not acted on: the catalogue is built in.")
          .attribute<&Task::kind>("kind", "Kind", "Of Consul's mesh: kept.")
          .attribute<&Task::leader>("leader", "Leader", "Its end stops the group's other tasks.")
          .destructive()
          .attribute<&Task::kill_timeout>("kill_timeout", "KillTimeout", "Wait between the kill signal and SIGKILL.")
          .attribute<&Task::kill_signal>("kill_signal", "KillSignal",
                                         "The signal that asks it to stop; SIGINT when not given.")
          .destructive()
          .attribute<&Task::shutdown_delay>("shutdown_delay", "ShutdownDelay", "Wait before that signal.")
          .done();
  return s;
}

const Structure& description(Tag<TaskGroup>) {
  static const Structure s =
      Builder<TaskGroup>("group", "Tasks that are placed together on one node.")
          .label<&TaskGroup::name>("name", "Name", "Unique in its job.")
          .attribute<&TaskGroup::count>("count", "Count", "How many allocations of the group there shall be.")
          .block<&TaskGroup::constraints>("constraint", "Constraints", "Where it may run.")
          .block<&TaskGroup::affinities>("affinity", "Affinities", "Where it should rather run.")
          .block<&TaskGroup::spreads>("spread", "Spreads", "Over what it is shared out.")
          .block<&TaskGroup::volumes>("volume", "Volumes", "Directories that outlive its allocations.")
          .destructive()
          .block<&TaskGroup::networks>("network", "Networks", "Its network and ports.")
          .destructive()
          .block<&TaskGroup::restart>("restart", "RestartPolicy", "Restarts of its tasks on their node.")
          .block<&TaskGroup::update>("update", "Update", "How a new version replaces the old one.")
          .block<&TaskGroup::migrate>("migrate", "Migrate", "How a drain moves it.")
          .block<&TaskGroup::reschedule>("reschedule", "ReschedulePolicy", "Replacements of failed allocations.")
          .block<&TaskGroup::disconnect>("disconnect", "Disconnect", "When its node is not heard of.")
          .block<&TaskGroup::services>("service", "Services", "Names under which it is found, and their checks.")
          .block<&TaskGroup::ephemeral_disk>("ephemeral_disk", "EphemeralDisk", "The allocation directory's disk.")
          .block<&TaskGroup::depends_on>("depends_on", "DependsOn", "What must be healthy first.")
          .block<&TaskGroup::tasks>("task", "Tasks", "The tasks.")
          .block<&TaskGroup::scaling>("scaling", "Scaling", "Bounds of its count.")
          .block<&TaskGroup::consul>("consul", "Consul", "Kept, not acted on: the catalogue is built in.")
          .block_or_attribute<&TaskGroup::meta>("meta", "Meta", "Free pairs, seen by its tasks.")
          .destructive()
          .attribute<&TaskGroup::shutdown_delay>("shutdown_delay", "ShutdownDelay",
                                                 "Wait before its tasks are signalled.")
          .attribute<&TaskGroup::max_run_duration>("max_run_duration", "MaxRunDuration",
                                                   "Stops an allocation that has run for so long.")
          .attribute<&TaskGroup::max_client_disconnect>("max_client_disconnect", "MaxClientDisconnect",
                                                        "Of old files: `disconnect { lost_after }`.")
          .attribute<&TaskGroup::stop_after_client_disconnect>("stop_after_client_disconnect",
                                                               "StopAfterClientDisconnect",
                                                               "Of old files: `disconnect { stop_on_client_after }`.")
          .attribute<&TaskGroup::prevent_reschedule_on_lost>("prevent_reschedule_on_lost", "PreventRescheduleOnLost",
                                                             "Of old files: `disconnect { replace = false }`.")
          .done();
  return s;
}

const Structure& description(Tag<Job>) {
  static const Structure s =
      Builder<Job>("job", "A service, system or batch workload, declared as a whole.")
          .label<&Job::id>("id", "ID", "Unique in its namespace; no spaces.")
          .attribute<&Job::name>("name", "Name", "Name for people; the ID when not given.")
          .attribute<&Job::ns>("namespace", "Namespace", "The namespace.")
          .attribute<&Job::region>("region", "Region", "The region.")
          .attribute<&Job::type>("type", "Type", "`service`, `batch`, `system` or `sysbatch`.")
          .attribute<&Job::priority>("priority", "Priority", "1 to 100; higher is placed first.")
          .attribute<&Job::datacenters>("datacenters", "Datacenters", "Patterns of datacenters it may run in.")
          .attribute<&Job::node_pool>("node_pool", "NodePool", "The node pool; `all` is every node.")
          .attribute<&Job::all_at_once>("all_at_once", "AllAtOnce", "Refuses a plan that places only part of it.")
          .block<&Job::constraints>("constraint", "Constraints", "Where it may run.")
          .block<&Job::affinities>("affinity", "Affinities", "Where it should rather run.")
          .block<&Job::spreads>("spread", "Spreads", "Over what its groups are shared out.")
          .block<&Job::periodic>("periodic", "Periodic", "Starts it anew by the clock.")
          .block<&Job::parameterized>("parameterized", "ParameterizedJob", "Starts it for each dispatch.")
          .block<&Job::depends_on>("depends_on", "DependsOn", "What must be healthy first.")
          .block<&Job::update>("update", "Update", "For groups that say nothing else.")
          .block<&Job::migrate>("migrate", "Migrate", "For groups that say nothing else.")
          .block<&Job::reschedule>("reschedule", "Reschedule", "For groups that say nothing else.")
          .block<&Job::groups>("group", "TaskGroups", "Its groups.")
          .block_or_attribute<&Job::meta>("meta", "Meta", "Free pairs, seen by its tasks.")
          .destructive()
          .block<&Job::ui>("ui", "UI", "What its page says of it.")
          .wire<&Job::parent_id>("ParentID", "The periodic or parameterized job that started it.")
          .wire<&Job::dispatched>("Dispatched", "Whether a dispatch started it.")
          .wire<&Job::payload>("Payload", "What the dispatch brought, base64.")
          .wire<&Job::dispatch_token>("DispatchIdempotencyToken", "By which a repeated dispatch is known.")
          .wire<&Job::version_tag>("VersionTag", "The version's name.")
          .wire<&Job::stop>("Stop", "Whether it was asked to stop.")
          .wire<&Job::status>("Status", "pending, running or dead.")
          .wire<&Job::status_description>("StatusDescription", "Why.")
          .wire<&Job::version>("Version", "Grows with each change of the specification, from 0.")
          .wire<&Job::stable>("Stable", "Whether this version is known to be good.")
          .wire<&Job::submit_time>("SubmitTime", "When it was registered, ns since the epoch.")
          .wire<&Job::cluster>("Cluster", "The cluster that declared it.")
          .wire<&Job::create_index>("CreateIndex", "Revision of its creation.")
          .wire<&Job::modify_index>("ModifyIndex", "Revision of its last change.")
          .wire<&Job::job_modify_index>("JobModifyIndex", "Revision of the last change of its specification.")
          .done();
  return s;
}

const Structure& description(Tag<JobSubmission>) {
  static const Structure s =
      Builder<JobSubmission>("submission", "The source of a job version.")
          .wire<&JobSubmission::source>("Source", "Text of the file.")
          .wire<&JobSubmission::format>("Format", "hcl2 or json.")
          .wire<&JobSubmission::variables>("Variables", "Text of variable files.")
          .wire<&JobSubmission::variable_flags>("VariableFlags", "Values given on the command line.")
          .done();
  return s;
}

}  // namespace underway::model
