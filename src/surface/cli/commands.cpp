#include "cli/commands.hpp"

namespace underway::cli {

const std::vector<const Command*>& commands() {
  static const std::vector<const Command*> all = {&up_command(),
                                                  &plan_command(),
                                                  &apply_command(),
                                                  &down_command(),
                                                  &status_command(),
                                                  &job_run_command(),
                                                  &job_plan_command(),
                                                  &job_status_command(),
                                                  &job_stop_command(),
                                                  &job_validate_command(),
                                                  &job_inspect_command(),
                                                  &job_history_command(),
                                                  &job_allocs_command(),
                                                  &job_eval_command(),
                                                  &node_status_command(),
                                                  &node_drain_command(),
                                                  &node_eligibility_command(),
                                                  &node_purge_command(),
                                                  &join_token_create_command(),
                                                  &join_token_list_command(),
                                                  &join_token_revoke_command(),
                                                  &alloc_status_command(),
                                                  &alloc_logs_command(),
                                                  &alloc_exec_command(),
                                                  &alloc_restart_command(),
                                                  &alloc_signal_command(),
                                                  &alloc_stop_command(),
                                                  &alloc_fs_command(),
                                                  &eval_status_command(),
                                                  &eval_list_command(),
                                                  &host_list_command(),
                                                  &host_exec_command(),
                                                  &cluster_list_command(),
                                                  &tls_ca_create_command(),
                                                  &tls_ca_info_command(),
                                                  &tls_cert_create_command(),
                                                  &tls_rotate_command(),
                                                  &system_gc_command(),
                                                  &server_members_command(),
                                                  &operator_api_command(),
                                                  &agent_command(),
                                                  &agent_info_command(),
                                                  &completion_command(),
                                                  &man_command(),
                                                  &version_command()};
  return all;
}

}  // namespace underway::cli
