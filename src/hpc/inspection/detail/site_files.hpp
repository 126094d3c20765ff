#pragma once
/// @file
/// What a machine's configuration files say of what it does for others: by the clock (cron), with its directories
/// (exports), with packets (sysctl, nftables, iptables), and which management system it belongs to.

#include "inspection/detail/root_view.hpp"
#include "inspection/host_survey.hpp"

namespace underway::inspection::detail {

/// A crontab: crontab(5). `with_user`: it has the column of /etc/crontab and /etc/cron.d.
std::vector<TimedJob> parse_crontab(std::string_view text, const std::string& source, bool with_user);
/// exports(5).
std::vector<Export> parse_exports(std::string_view text, const std::string& source);
/// The lines of nftables' or iptables' rules that translate addresses.
std::vector<std::string> nat_lines(std::string_view text);
/// Whether the text of a sysctl.conf turns IPv4 forwarding on.
bool enables_forwarding(std::string_view text);

/// Adds timed_jobs, exports, nat_rules, forwards and hints from the files of `root`. Blocks: yes (disk).
void read_site_files(const RootView& root, HostSurvey& survey);

}  // namespace underway::inspection::detail
