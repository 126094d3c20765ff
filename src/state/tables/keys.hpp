#pragma once
/// @file
/// Where the tables' rows lie in the store. Values are compact JSON of the model (base/json.hpp); a row's create and
/// modify index are not in them: they are the key's create and mod revision.
///
///     j/<namespace>/<job>            the job as it is now
///     v/<namespace>/<job>/<version>  a version of it, with its submission: {"Job": …, "Submission": …}; its Job has
///     the
///                                    CreateIndex of the job it is a version of
///     n/<node>   e/<evaluation>   a/<allocation>
///     c/<cluster>   h/<cluster>/<host>   d/<deployment>   ns/<namespace>
///     ap/<policy>   at/<accessor id of a token>   ar/<role>      and the other plain tables, see tables/plain.hpp
///     rec/<kind>/<name>              records, see tables/records.hpp
///     x/<key>                        settings
///     t/<topic>                      empty; its mod revision is when a row of that table was last deleted, or left a
///                                    group of rows that clients may wait for
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
