#pragma once
/// @file
/// Variables and services as templates see them, named as in consul-template.

#include "gotemplate/data_source.hpp"
#include "gotemplate/value.hpp"

namespace underway::gotemplate::detail {

/// A variable's items: a map whose values have .Key and .Value and print as their value; .Keys, .Values, .Tuples,
/// .Metadata, .Parent, .ItemsMap.
Value variable_items(Variable variable);
/// Prints as its path; .Path, .Namespace, .CreateIndex, .ModifyIndex, .CreateTime, .ModifyTime.
Value metadata_value(VariableMetadata metadata);
/// .ID, .Name, .Node, .Address, .Port, .Datacenter, .Tags, .JobID, .AllocID.
Value service_value(ServiceInstance instance);
/// .Name, .Tags.
Value summary_value(ServiceSummary summary);

}  // namespace underway::gotemplate::detail
