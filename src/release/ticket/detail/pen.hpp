#pragma once
/// @file
/// Writes a ticket with its entries and marks: what one decision about one ticket changes.

#include "ticket/requests.hpp"

namespace underway::ticket::detail {

/// Throws exhausted.
void check_may_be_written(const model::Ticket& ticket);

class Pen {
 public:
  Pen(model::Ticket ticket, const Author& by, const server::Context& context);

  void write(model::TicketAct act, std::string text);
  void mark(std::string name);
  /// As long as the ticket is open.
  void mark_open();
  void unmark_open();
  /// Its mail will not be taken a second time.
  void take(const std::string& message_id);

  const model::Ticket& ticket() const { return ticket_; }
  std::vector<server::Change> changes() &&;
  server::Decision<model::Ticket> decision() &&;

 private:
  model::Ticket ticket_;
  Author by_;
  std::int64_t now_;  ///< ns since the epoch
  std::vector<server::Change> changes_;
};

}  // namespace underway::ticket::detail
