#pragma once
/// @file
/// The commands, one function per file. To add one: write its file, name it here and in commands.cpp.

#include "cli/command.hpp"

namespace underway::cli {

const Command& up_command();
const Command& plan_command();
const Command& apply_command();
const Command& down_command();
const Command& status_command();
const Command& events_command();
const Command& job_run_command();
const Command& job_plan_command();
const Command& job_status_command();
const Command& job_explain_command();
const Command& job_stop_command();
const Command& job_validate_command();
const Command& job_inspect_command();
const Command& job_history_command();
const Command& job_revert_command();
const Command& job_promote_command();
const Command& job_deployments_command();
const Command& job_allocs_command();
const Command& job_eval_command();
const Command& node_status_command();
const Command& node_drain_command();
const Command& node_eligibility_command();
const Command& node_purge_command();
const Command& join_token_create_command();
const Command& join_token_list_command();
const Command& join_token_revoke_command();
const Command& alloc_status_command();
const Command& alloc_checks_command();
const Command& alloc_logs_command();
const Command& alloc_exec_command();
const Command& alloc_restart_command();
const Command& alloc_signal_command();
const Command& alloc_stop_command();
const Command& alloc_fs_command();
const Command& eval_status_command();
const Command& eval_list_command();
const Command& deployment_list_command();
const Command& deployment_status_command();
const Command& deployment_promote_command();
const Command& deployment_fail_command();
const Command& deployment_pause_command();
const Command& deployment_resume_command();
const Command& service_list_command();
const Command& service_info_command();
const Command& service_delete_command();
const Command& host_list_command();
const Command& host_exec_command();
const Command& cluster_list_command();
const Command& tls_ca_create_command();
const Command& tls_ca_info_command();
const Command& tls_cert_create_command();
const Command& tls_rotate_command();
const Command& var_list_command();
const Command& var_get_command();
const Command& var_put_command();
const Command& var_init_command();
const Command& var_purge_command();
const Command& var_lock_command();
const Command& system_gc_command();
const Command& server_members_command();
const Command& operator_api_command();
const Command& operator_root_keyring_list_command();
const Command& operator_root_keyring_rotate_command();
const Command& operator_root_keyring_remove_command();
const Command& agent_command();
const Command& agent_info_command();
const Command& completion_command();
const Command& man_command();
const Command& version_command();

}  // namespace underway::cli
