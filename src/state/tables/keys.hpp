#pragma once
/// @file
/// Where the tables' rows lie in the store. Values are compact JSON of the model (base/json/json.hpp); a row's create
/// and modify index are not in them: they are the key's create and mod revision.
///
///     key                              value
///     j/<namespace>/<job>              the job as it is now
///     v/<namespace>/<job>/<version>    {"Job": …, "Submission": …}: a version of it, with the file it came from; its
///                                      Job has the CreateIndex of the job that it is a version of
///     n/<node>                         a node
///     e/<evaluation>                   an evaluation
///     a/<allocation>                   an allocation, without its job, which is in v/
///     c/<cluster>                      the plain tables (tables/plain.hpp): a cluster,
///     h/<cluster>/<host>                 a host,
///     d/<deployment>                     a deployment,
///     jt/<id>                            a join token,
///     var/<namespace>/<path>             a variable, sealed,
///     lease/<namespace>/<path>           until when its lock is good,
///     ns/<namespace>                     a namespace,
///     ap/<policy>                        a policy,
///     at/<accessor id>                   a token,
///     ar/<role>                          a role
///     rec/<kind>/<name>                records (tables/records.hpp): "rec/capsule/default/slurm"
///     x/<key>                          settings: "x/cluster/id", "x/store/epochs"
///     t/<topic>                        empty; its mod revision is when a row of that table was last deleted, or left a
///                                      group of rows that clients may wait for
///
/// Namespaces, clusters and ids of nodes, evaluations and allocations hold no '/' (validated where they come in).

#include <cstdint>
#include <string>
#include <string_view>

namespace underway::tables {

std::string job_key(std::string_view ns, std::string_view id);
std::string job_version_key(std::string_view ns, std::string_view id, std::int64_t version);
std::string node_key(std::string_view id);
std::string evaluation_key(std::string_view id);
std::string allocation_key(std::string_view id);
std::string setting_key(std::string_view key);
std::string topic_key(std::string_view topic);

}  // namespace underway::tables
