// Mail comes from anybody: it is read or refused, and what is read is text within the limits. Of what a ticket is
// linked to, what is read is written as it was read.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "base/text.hpp"
#include "ticket/mail.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto mail = ticket::parse_mail(text);
    const bool sane = is_utf8(mail.body) && mail.ticket >= 0 && mail.message_id.size() <= ticket::kLongestMessageId &&
                      mail.replies_to.size() <= 2 * ticket::kMostReferences && mail.body.size() <= text.size();
    if (!sane) __builtin_trap();
  } catch (const Error&) {  // refused
  }
  try {
    const auto link = model::parse_ticket_link(model::TicketRelation::about, text);
    if (model::parse_ticket_link(model::TicketRelation::about, model::text_of(link)) != link) __builtin_trap();
  } catch (const Error&) {  // refused
  }
  return 0;
}
