#pragma once
/// @file
/// Variables, services, keys and secrets as templates see them, named as in consul-template.

#include "gotemplate/data_source.hpp"
#include "gotemplate/value.hpp"

#include <utility>

namespace underway::gotemplate {

/// Fields by name, in the order of Go's struct. Without `text` it is printed as Go prints a pointer to a struct;
/// without `plain` JSON and the like see the fields.
Value record(std::string_view type, std::vector<std::pair<std::string_view, Value>> fields,
             std::optional<std::string> text = {}, std::optional<Value> plain = {});

/// A variable's items: a map whose values have .Key and .Value and print as their value; .Keys, .Values, .Tuples,
/// .Metadata, .Parent, .ItemsMap.
Value variable_items(Variable variable);
/// Prints as its path; .Path, .Namespace, .CreateIndex, .ModifyIndex, .CreateTime, .ModifyTime.
Value metadata_value(VariableMetadata metadata);
/// .ID, .Name, .Node, .Address, .Port, .Datacenter, .Tags, .JobID, .AllocID.
Value service_value(ServiceInstance instance);
/// .Name, .Tags.
Value summary_value(ServiceSummary summary, std::string_view type = "*dependency.NomadServicesSnippet");

/// consul-template's HealthService: .Name, .Address, .Port, .Tags, .ID, .Node, .NodeAddress, .ServiceMeta, .Status,
/// .Checks, …
Value foreign_instance_value(ForeignInstance instance);
/// .Path, .Key (`key`), .Value, .Exists, .CreateIndex, .ModifyIndex, .LockIndex, .Flags, .Session.
Value key_value(const KeyPair& pair, std::string_view key);
/// .Data, .LeaseID, .LeaseDuration, .Renewable, .RequestID, .Warnings. Charged to the rendering.
Value secret_value(const Secret& secret, Run& run);

}  // namespace underway::gotemplate
