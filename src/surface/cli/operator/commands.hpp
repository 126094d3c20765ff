#pragma once
/// @file
/// Commands for operators: quotas, node pools, snapshots, metrics and what is gathered for whoever helps.

#include "cli/command.hpp"

namespace underway::cli {

const Command& quota_apply_command();
const Command& quota_list_command();
const Command& quota_status_command();
const Command& quota_inspect_command();
const Command& quota_delete_command();
const Command& quota_init_command();
const Command& node_pool_apply_command();
const Command& node_pool_list_command();
const Command& node_pool_info_command();
const Command& node_pool_nodes_command();
const Command& node_pool_jobs_command();
const Command& node_pool_delete_command();
const Command& node_pool_init_command();
const Command& operator_snapshot_save_command();
const Command& operator_snapshot_restore_command();
const Command& operator_snapshot_inspect_command();
const Command& operator_metrics_command();
const Command& operator_debug_command();
const Command& system_reconcile_summaries_command();
const Command& config_validate_command();
const Command& tls_cert_info_command();

}  // namespace underway::cli
