#pragma once
/// @file
/// The commands of tickets.

#include "cli/command.hpp"

namespace underway::cli {

const Command& ticket_open_command();
const Command& ticket_list_command();
const Command& ticket_show_command();
const Command& ticket_comment_command();
const Command& ticket_assign_command();
const Command& ticket_link_command();
const Command& ticket_close_command();
const Command& ticket_reopen_command();

}  // namespace underway::cli
